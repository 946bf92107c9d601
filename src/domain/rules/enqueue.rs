//! Queues work: all of it or nothing.

use super::draft::Draft;
use super::member;
use crate::domain::command::{Enqueue, NewBatch, NewIssue};
use crate::domain::config::Workdir;
use crate::domain::event::{BatchFormed, BatchSealed, IssueEnqueued, Mode};
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::refusal::Refusal;
use crate::domain::state::{BatchStatus, IssueStatus, State};
use std::collections::{BTreeMap, BTreeSet};

const ISSUE_PRIORITY: i32 = 0;
const BATCH_PRIORITY: i32 = 10;

pub(super) fn enqueue(draft: &mut Draft<'_>, work: &Enqueue) -> Result<(), Refusal> {
    if work.issues.is_empty() && work.batches.is_empty() {
        return Err(Refusal::usage("there is nothing to queue"));
    }
    check_issues(&draft.state, work)?;
    check_batches(&draft.state, work)?;
    check_cycles(&draft.state, &work.issues)?;
    for batch in &work.batches {
        if draft.state.batch(&batch.id).is_none() {
            draft.push(BatchFormed {
                batch: batch.id.clone(),
                mode: batch.mode.unwrap_or(Mode::Serial),
                priority: batch.priority.unwrap_or(BATCH_PRIORITY),
            });
        }
    }
    work.issues.iter().for_each(|issue| queue(draft, work, issue));
    work.issues.iter().for_each(|issue| after(draft, work, issue));
    work.batches.iter().filter(|b| !b.more).try_for_each(|batch| seal(draft, batch))
}

fn check_issues(state: &State, work: &Enqueue) -> Result<(), Refusal> {
    let mut named = BTreeSet::new();
    for issue in &work.issues {
        if !named.insert(&issue.id) {
            return Err(Refusal::usage(format!("issue {} is named twice", issue.id)));
        }
        if let Some(known) = state.issue(&issue.id).filter(|i| !i.status.is_terminal()) {
            let message = format!("issue {} is {} already", issue.id, known.status.name());
            let remedy = if known.status.is_parked() {
                format!("to queue it again:  sched requeue --issue {}", issue.id)
            } else {
                format!("see:  sched why issue:{}", issue.id)
            };
            return Err(Refusal::refused(message).remedy(remedy));
        }
        check_profile(state, issue)?;
        check_joins(state, work, issue)?;
        for dep in &issue.deps {
            let known = state.issues.contains_key(dep)
                || work.settled.contains_key(dep)
                || work.issues.iter().any(|other| other.id == *dep);
            if !known {
                let message = format!("issue {} depends on {dep}, which does not exist", issue.id);
                return Err(Refusal::no_such(message)
                    .remedy(format!("queue it first or with it:  sched enqueue --issues {dep}")));
            }
        }
    }
    Ok(())
}

/// The batch that an issue joins is formed with it, or is still forming.
fn check_joins(state: &State, work: &Enqueue, issue: &NewIssue) -> Result<(), Refusal> {
    let Some(id) = &issue.batch else { return Ok(()) };
    if work.batches.iter().any(|b| b.id == *id) {
        return Ok(()); // its own check follows
    }
    match state.batch(id) {
        Some(batch) if batch.status == BatchStatus::Forming => Ok(()),
        Some(batch) => {
            let status = batch.status.name();
            Err(Refusal::refused(format!("batch {id} is {status} and takes no more")))
        }
        None => Err(Refusal::no_such(format!("there is no batch {id}"))),
    }
}

fn check_profile(state: &State, issue: &NewIssue) -> Result<(), Refusal> {
    let Some(applied) = &state.applied else { return Ok(()) };
    let name = issue.profile.as_deref().unwrap_or("agent");
    let Some(profile) = applied.config.profile(name) else {
        let message = format!("issue {} names profile `{name}`, which is not configured", issue.id);
        return Err(Refusal::usage(message));
    };
    if issue.batch.is_some() && profile.workdir == Workdir::None {
        let message = format!("issue {} has no worktree: profile `{name}`", issue.id);
        return Err(
            Refusal::usage(message).detail("only issues with a worktree can be members of a batch")
        );
    }
    Ok(())
}

fn check_batches(state: &State, work: &Enqueue) -> Result<(), Refusal> {
    let mut named = BTreeSet::new();
    for batch in &work.batches {
        if !named.insert(&batch.id) {
            return Err(Refusal::usage(format!("batch {} is named twice", batch.id)));
        }
        let joining = work.issues.iter().filter(|i| i.batch.as_ref() == Some(&batch.id)).count();
        let known = state.batch(&batch.id);
        if let Some(known) = known.filter(|b| b.status != BatchStatus::Forming) {
            let message =
                format!("batch {} is {} and takes no more", batch.id, known.status.name());
            return Err(Refusal::refused(message).remedy("choose another name for the new batch"));
        }
        let empty = joining == 0 && known.is_none_or(|b| b.members.is_empty());
        if empty && !batch.more {
            return Err(Refusal::usage(format!("batch {} would have no members", batch.id))
                .remedy("name its issues:  sched enqueue --batch B --issues 101,102"));
        }
    }
    Ok(())
}

/// Refuses a cycle, naming the issues on it.
fn check_cycles(state: &State, new: &[NewIssue]) -> Result<(), Refusal> {
    let fresh: BTreeMap<&IssueId, &[IssueId]> =
        new.iter().map(|i| (&i.id, i.deps.as_slice())).collect();
    let deps = |id: &IssueId| -> Vec<IssueId> {
        match fresh.get(id) {
            Some(deps) => deps.to_vec(),
            None => state.issue(id).map_or_else(Vec::new, |i| i.deps.clone()),
        }
    };
    let mut finished = BTreeSet::new();
    for issue in new {
        let mut path: Vec<(IssueId, Vec<IssueId>)> = vec![(issue.id.clone(), deps(&issue.id))];
        while let Some((id, open)) = path.last_mut() {
            let Some(dep) = open.pop() else {
                finished.insert(id.clone());
                path.pop();
                continue;
            };
            if let Some(start) = path.iter().position(|(on_path, _)| *on_path == dep) {
                let mut cycle: Vec<String> =
                    path[start..].iter().map(|(id, _)| id.to_string()).collect();
                cycle.push(dep.to_string());
                return Err(Refusal::usage(format!(
                    "the dependencies form a cycle: {}",
                    cycle.join(" → ")
                )));
            }
            if !finished.contains(&dep) {
                let next = deps(&dep);
                path.push((dep, next));
            }
        }
    }
    Ok(())
}

fn queue(draft: &mut Draft<'_>, work: &Enqueue, issue: &NewIssue) {
    let known = draft.state.issue(&issue.id);
    let settled = work.settled.get(&issue.id);
    let generation = known.map(|i| i.generation).or(settled.map(|s| s.generation)).unwrap_or(0);
    let runs = known.map(|i| i.runs).or(settled.map(|s| s.runs)).unwrap_or(0);
    draft.push(IssueEnqueued {
        issue: issue.id.clone(),
        generation: generation + 1,
        runs,
        title: issue.title.clone(),
        prompt: issue.prompt.clone(),
        profile: issue.profile.clone(),
        tier: issue.tier,
        priority: issue.priority.unwrap_or(ISSUE_PRIORITY),
        deps: issue.deps.clone(),
        batch: issue.batch.clone(),
    });
    member::lift_dependents(draft, &issue.id);
}

/// What depends on something that has failed already can never start either.
fn after(draft: &mut Draft<'_>, work: &Enqueue, issue: &NewIssue) {
    let failed = issue.deps.iter().find_map(|dep| match draft.state.issue(dep) {
        Some(known) if known.status.fails_dependents() => Some(format!("dep-failed:{dep}")),
        Some(known) if known.status == IssueStatus::Blocked => {
            let reason = known.block.as_ref().map(|b| b.reason.clone()).unwrap_or_default();
            reason.starts_with("dep-failed:").then_some(reason)
        }
        Some(_) => None,
        None => {
            let settled = work.settled.get(dep)?;
            settled.outcome.fails_dependents().then(|| format!("dep-failed:{dep}"))
        }
    });
    if let Some(reason) = failed {
        member::block_issue(draft, &issue.id, &reason, None);
        member::block_waiting(draft, &issue.id, &reason);
    }
}

fn seal(draft: &mut Draft<'_>, batch: &NewBatch) -> Result<(), Refusal> {
    let id: &BatchId = &batch.id;
    let Some(found) = draft.state.batch(id) else {
        return Err(Refusal::no_such(format!("there is no batch {id}")));
    };
    let members = found.members.iter().map(|m| m.issue.clone()).collect();
    draft.push(BatchSealed { batch: id.clone(), members });
    Ok(())
}
