//! Events about issues in the queue.

use super::{IllegalEvent, batch_mut, illegal, issue_mut, move_batch, move_issue};
use crate::domain::event::{BatchFormed, Event, IssueBlocked, IssueEnqueued};
use crate::domain::ids::Unit;
use crate::domain::state::{
    Batch, BatchStatus, Issue, IssueBlock, IssueStatus, Member, State, Tally,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn apply(state: &mut State, event: &Event) -> Result<(), IllegalEvent> {
    let stamp = state.head.stamp.clone();
    match event {
        Event::IssueEnqueued(e) => enqueue(state, event, e),
        Event::BatchFormed(e) => form(state, event, e),
        Event::BatchSealed(e) => {
            move_batch(state, event, &e.batch, BatchStatus::Ready)?;
            batch_mut(state, event, &e.batch)?.ready = stamp;
            Ok(())
        }
        Event::IssueDone(e) => {
            move_issue(state, event, &e.issue, IssueStatus::Done)?;
            end_issue(state, event, &e.issue, None)
        }
        Event::IssueFailed(e) => {
            move_issue(state, event, &e.issue, IssueStatus::Failed)?;
            end_issue(state, event, &e.issue, Some(e.reason.clone()))
        }
        Event::IssueStopped(e) => {
            move_issue(state, event, &e.issue, IssueStatus::Stopped)?;
            end_issue(state, event, &e.issue, Some(e.reason.clone()))
        }
        Event::IssueBlocked(e) => block(state, event, e),
        Event::IssueUnblocked(e) => {
            let issue = issue_mut(state, event, &e.issue)?;
            let Some(block) = issue.block.take() else {
                let subject = format!("issue {}", e.issue);
                return Err(illegal(event, subject, issue.status.name(), "blocked"));
            };
            let left = matches!(block.from, IssueStatus::Evicted | IssueStatus::HandedBack);
            if left {
                issue.batch = None;
                issue.reason = None;
                issue.tally = Tally::default();
            }
            let open = issue.dispatch.is_some() && block.from == IssueStatus::Dispatched;
            issue.status = if open { IssueStatus::Dispatched } else { back_to(block.from) };
            Ok(())
        }
        Event::IssueRequeued(e) => {
            move_issue(state, event, &e.issue, IssueStatus::Queued)?;
            let issue = issue_mut(state, event, &e.issue)?;
            issue.batch = None;
            issue.reason = None;
            issue.tally = Tally::default();
            Ok(())
        }
        Event::Reprioritized(e) => match &e.unit {
            Unit::Batch(batch) => {
                batch_mut(state, event, batch)?.priority = e.priority;
                Ok(())
            }
            Unit::Issue(issue) | Unit::Member(_, issue) => {
                let found = issue_mut(state, event, issue)?;
                found.priority = e.priority;
                let own = found.batch.clone().and_then(|id| state.batches.get_mut(&id));
                if let Some(batch) = own.filter(|b| b.issue.as_ref() == Some(issue)) {
                    Arc::make_mut(batch).priority = e.priority;
                }
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

fn block(state: &mut State, event: &Event, e: &IssueBlocked) -> Result<(), IllegalEvent> {
    let since = state.head.stamp.clone();
    let from = issue_mut(state, event, &e.issue)?.status;
    move_issue(state, event, &e.issue, IssueStatus::Blocked)?;
    let (reason, detail) = (e.reason.clone(), e.detail.clone());
    issue_mut(state, event, &e.issue)?.block = Some(IssueBlock { reason, detail, from, since });
    Ok(())
}

/// Where a block ends: work whose process is over starts from the queue.
fn back_to(from: IssueStatus) -> IssueStatus {
    match from {
        IssueStatus::Dispatched | IssueStatus::Evicted | IssueStatus::HandedBack => {
            IssueStatus::Queued
        }
        other => other,
    }
}

fn enqueue(state: &mut State, event: &Event, e: &IssueEnqueued) -> Result<(), IllegalEvent> {
    let known = state.issue(&e.issue);
    if let Some(issue) = known.filter(|i| !i.status.is_terminal()) {
        let subject = format!("issue {}", e.issue);
        return Err(illegal(
            event,
            subject,
            issue.status.name(),
            "no such issue, or a terminal one",
        ));
    }
    let issue = Issue {
        id: e.issue.clone(),
        generation: e.generation,
        title: e.title.clone(),
        prompt: e.prompt.clone(),
        profile: e.profile.clone(),
        tier: e.tier,
        priority: e.priority,
        deps: e.deps.clone(),
        queued: state.head.stamp.clone(),
        status: IssueStatus::Queued,
        block: None,
        reason: None,
        batch: e.batch.clone(),
        runs: e.runs,
        branch: None,
        dispatch: None,
        tally: Tally::default(),
        evidence: crate::domain::event::Evidence::default(),
        stopping: None,
    };
    if let Some(id) = &e.batch {
        let batch = batch_mut(state, event, id)?;
        if batch.status != BatchStatus::Forming {
            let subject = format!("batch {id}");
            return Err(illegal(event, subject, batch.status.name(), "forming"));
        }
        let n = u32::try_from(batch.members.len()).unwrap_or(u32::MAX).saturating_add(1);
        batch.members.push(new_member(e.issue.clone(), n));
    }
    state.ended.retain(|unit| *unit != issue.unit());
    state.issues.insert(e.issue.clone(), Arc::new(issue));
    Ok(())
}

pub(super) fn new_member(issue: crate::domain::ids::IssueId, n: u32) -> Member {
    Member {
        issue,
        n,
        outcome: None,
        tally: Tally::default(),
        judging: None,
        landing: None,
        landed: None,
        reprompted: None,
        agent: None,
        evidence: crate::domain::event::Evidence::default(),
        stopping: None,
    }
}

fn form(state: &mut State, event: &Event, e: &BatchFormed) -> Result<(), IllegalEvent> {
    if let Some(batch) = state.batch(&e.batch) {
        let subject = format!("batch {}", e.batch);
        return Err(illegal(event, subject, batch.status.name(), "no such batch"));
    }
    let batch = new_batch(state, e);
    state.batches.insert(e.batch.clone(), Arc::new(batch));
    Ok(())
}

pub(super) fn new_batch(state: &State, e: &BatchFormed) -> Batch {
    Batch {
        id: e.batch.clone(),
        issue: None,
        mode: e.mode,
        priority: e.priority,
        status: BatchStatus::Forming,
        ready: state.head.stamp.clone(),
        block: None,
        members: Vec::new(),
        current: None,
        pinned: None,
        base_commit: None,
        integration: None,
        evictions: Vec::new(),
        baselines: Vec::new(),
        dissolving: None,
        stopping: None,
        suite_losses: 0,
        validated: None,
        lane: false,
        shipping: None,
        rebasing: None,
        rebases: 0,
        trees: BTreeMap::new(),
        reclaim: Tally::default(),
        reclaim_failures: 0,
    }
}

fn end_issue(
    state: &mut State,
    event: &Event,
    id: &crate::domain::ids::IssueId,
    reason: Option<String>,
) -> Result<(), IllegalEvent> {
    let issue = issue_mut(state, event, id)?;
    issue.reason = reason;
    issue.dispatch = None;
    issue.stopping = None;
    issue.block = None;
    // what ended is shown by its outcome; the rest stands in the journal
    issue.prompt = None;
    issue.tally = Tally { attempts: issue.tally.attempts, ..Tally::default() };
    issue.evidence = crate::domain::event::Evidence::default();
    let unit = issue.unit();
    if !state.ended.contains(&unit) {
        state.ended.push(unit);
    }
    Ok(())
}
