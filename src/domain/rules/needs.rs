//! Which dispatches units need now, in the order in which they get them.
//!
//! Nothing here is stored: a need is derived from the state each time, so `planned` is never a
//! queue. A need disappears when its dispatch is planned.

use crate::domain::config::{Config, Workdir};
use crate::domain::event::Role;
use crate::domain::ids::{BatchId, IssueId, Unit};
use crate::domain::state::{Batch, BatchStatus, Issue, IssueStatus, Judging, Member, State, Tally};
use crate::domain::time::{Now, Timestamp};
use std::time::Duration;

/// What is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeedKind {
    /// A batch is ready to start.
    StartBatch(BatchId),
    /// A stand-alone issue with a tree is ready to start, as a batch of one.
    StartIssue(IssueId),
    /// A stand-alone issue without a tree is ready to run.
    RunIssue(IssueId),
    /// The current member's agent.
    Agent(BatchId, IssueId),
    /// Unsaved work is in the way of the gates.
    Rescue(BatchId, IssueId),
    /// The member's next gate.
    Gate(BatchId, IssueId),
    /// The failing gate, asked of the integration tip itself.
    Baseline(BatchId, IssueId),
    /// The blocked gate, once more.
    Recheck(BatchId, IssueId),
    /// The suite.
    Suite(BatchId),
    /// The trees of a batch that is over.
    RemoveTrees(BatchId),
}

/// A dispatch that a unit needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Whose.
    pub unit: Unit,
    /// High first.
    pub priority: i32,
    /// Oldest first.
    pub since: Timestamp,
    /// What.
    pub kind: NeedKind,
}

impl Need {
    /// Whether it takes a slot; else it takes a task permit.
    pub fn takes_slot(&self) -> bool {
        matches!(
            self.kind,
            NeedKind::StartBatch(_)
                | NeedKind::StartIssue(_)
                | NeedKind::RunIssue(_)
                | NeedKind::Agent(..)
        )
    }

    fn key(&self) -> (i32, Timestamp, String) {
        (-self.priority, self.since, self.unit.to_string())
    }
}

/// Every need, in order: priority, then age, then id.
pub fn needs(state: &State, now: &Now) -> Vec<Need> {
    let config = state.config();
    let mut needs: Vec<Need> =
        state.batches.values().filter_map(|b| batch_need(state, &config, b, now)).collect();
    needs.extend(state.issues.values().filter_map(|i| issue_need(state, &config, i, now)));
    needs.sort_by_cached_key(Need::key);
    needs
}

/// Whether new dispatches that take a slot are held back, and why.
pub fn may_start(state: &State) -> Result<(), &'static str> {
    if state.health.pause.is_some() {
        return Err("pause");
    }
    if state.health.condition("disk-low", "").is_some() {
        return Err("disk-low");
    }
    Ok(())
}

/// What an issue or batch that is not at work waits for; `None` when it is at work or over.
pub fn waiting_for(state: &State, issue: &Issue) -> Option<String> {
    match issue.status {
        IssueStatus::Blocked => None,
        IssueStatus::Queued => {
            if let Some(dep) = unsatisfied(state, issue, None) {
                return Some(format!("dependency:{dep}"));
            }
            if let Some(batch) = &issue.batch {
                return Some(format!("batch:{batch}"));
            }
            let config = state.config();
            if is_unusable(state, &config, issue.profile()) {
                return Some(format!("profile:{}", issue.profile()));
            }
            if state.health.condition("unreachable", config.base_branch()).is_some() {
                return Some(format!("branch:{}", config.base_branch()));
            }
            Some(may_start(state).err().unwrap_or("slot").to_owned())
        }
        IssueStatus::Waiting => member_waits_for(state, issue),
        _ => None,
    }
}

/// What keeps the current member of a batch from its agent.
fn member_waits_for(state: &State, issue: &Issue) -> Option<String> {
    let batch = state.batches.get(issue.batch.as_ref()?)?;
    let turn = batch.current.as_ref() == Some(&issue.id);
    if batch.status != BatchStatus::Executing || !turn {
        return Some(format!("batch:{}", batch.id)).filter(|_| batch.issue.is_none());
    }
    if state.dispatches_of(&batch.member_unit(&issue.id)).next().is_some() {
        return None;
    }
    let config = state.config();
    let profile = profile_of(&config, batch, issue);
    if is_unusable(state, &config, profile) {
        return Some(format!("profile:{profile}"));
    }
    Some(may_start(state).err().unwrap_or("slot").to_owned())
}

/// Whether a profile is not configured, or its program cannot be executed.
fn is_unusable(state: &State, config: &Config, profile: &str) -> bool {
    config.profile(profile).is_none() || state.health.profiles.contains_key(profile)
}

/// Whether a need cannot be filled before somebody does something.
pub fn is_held(state: &State, need: &Need) -> bool {
    let unreachable = || {
        let starts = matches!(need.kind, NeedKind::StartBatch(_) | NeedKind::StartIssue(_));
        starts && state.health.condition("unreachable", state.config().base_branch()).is_some()
    };
    need.takes_slot() && (may_start(state).is_err() || unreachable())
}

/// The first dependency that is not satisfied; those inside `batch` have to be landed only.
pub(super) fn unsatisfied<'a>(
    state: &State,
    issue: &'a Issue,
    batch: Option<&Batch>,
) -> Option<&'a IssueId> {
    issue.deps.iter().find(|dep| {
        let status = state.issue(dep).map(|i| i.status);
        let inside = batch.is_some_and(|b| b.member(dep).is_some());
        match status {
            // gone from the working state: only what had ended leaves it, and what a waiting
            // issue names never does
            None => false,
            Some(IssueStatus::Landed) => !inside,
            Some(status) => !status.satisfies(),
        }
    })
}

fn rested(tally: &Tally, now: &Now) -> bool {
    tally.since.remaining(Duration::from_millis(tally.delay_ms), now).is_zero()
}

fn issue_need(state: &State, config: &Config, issue: &Issue, now: &Now) -> Option<Need> {
    let ready = issue.status == IssueStatus::Queued
        && issue.batch.is_none()
        && issue.stopping.is_none()
        && unsatisfied(state, issue, None).is_none()
        && rested(&issue.tally, now)
        && !state.health.profiles.contains_key(issue.profile());
    if !ready {
        return None;
    }
    let kind = match config.profile(issue.profile())?.workdir {
        Workdir::Worktree => NeedKind::StartIssue(issue.id.clone()),
        Workdir::None => NeedKind::RunIssue(issue.id.clone()),
    };
    let (unit, priority, since) = (issue.unit(), issue.priority, issue.queued.at);
    Some(Need { unit, priority, since, kind })
}

fn batch_need(state: &State, config: &Config, batch: &Batch, now: &Now) -> Option<Need> {
    let (unit, kind) = match batch.status {
        BatchStatus::Ready if can_start(state, batch) => {
            (batch.unit(), NeedKind::StartBatch(batch.id.clone()))
        }
        BatchStatus::Executing if batch.stopping.is_none() && batch.integration.is_some() => {
            let member = batch.current()?;
            let kind = member_need(state, config, batch, member, now)?;
            (batch.member_unit(&member.issue), kind)
        }
        BatchStatus::Validating if batch.stopping.is_none() => {
            let open = state.dispatches_in(batch).any(|d| d.plan.role == Role::Suite);
            let rested = rested(&batch.reclaim, now);
            let due = batch.pinned.as_ref()?.suite.is_some() && !open && rested;
            (batch.unit(), due.then(|| NeedKind::Suite(batch.id.clone()))?)
        }
        BatchStatus::Blocked if batch.stopping.is_none() && batch.block.as_ref()?.recheck => {
            let issue = batch.block.as_ref()?.member.clone()?;
            let unit = batch.member_unit(&issue);
            let open = state.dispatches_of(&unit).next().is_some();
            (!open).then(|| (unit, NeedKind::Recheck(batch.id.clone(), issue)))?
        }
        _ => remove_need(state, batch, now)?,
    };
    Some(Need { unit, priority: batch.priority, since: batch.ready.at, kind })
}

/// The member whose turn is next: the first that is not resolved and whose dependencies inside
/// the batch have landed.
pub(super) fn next_member<'a>(state: &State, batch: &'a Batch) -> Option<&'a Member> {
    let open = || batch.members.iter().filter(|m| m.outcome.is_none());
    let free = |m: &&Member| {
        let deps = state.issue(&m.issue).map_or(&[][..], |i| i.deps.as_slice());
        !deps.iter().any(|dep| open().any(|other| other.issue == *dep))
    };
    open().find(free).or_else(|| open().next())
}

/// The profile that a member runs with: once something has landed, the default one finishes a
/// batch whose own is no longer configured.
pub(super) fn profile_of<'a>(config: &Config, batch: &Batch, issue: &'a Issue) -> &'a str {
    let gone = config.profile(issue.profile()).is_none() && batch.landed().next().is_some();
    if gone { "agent" } else { issue.profile() }
}

/// A batch may start when each outside dependency of each member is satisfied.
fn can_start(state: &State, batch: &Batch) -> bool {
    let config = state.config();
    let usable = next_member(state, batch).and_then(|m| state.issue(&m.issue)).is_some_and(|i| {
        let profile = i.profile();
        config.profile(profile).is_some() && !state.health.profiles.contains_key(profile)
    });
    usable
        && batch.stopping.is_none()
        && batch.members.iter().filter(|m| m.outcome.is_none()).all(|m| {
            state.issue(&m.issue).is_some_and(|issue| {
                let outside = issue.deps.iter().all(|dep| {
                    batch.member(dep).is_some()
                        || state.issue(dep).is_none_or(|i| i.status.satisfies())
                });
                issue.status == IssueStatus::Queued && outside
            })
        })
}

fn member_need(
    state: &State,
    config: &Config,
    batch: &Batch,
    member: &Member,
    now: &Now,
) -> Option<NeedKind> {
    let unit = batch.member_unit(&member.issue);
    let busy = state.dispatches_of(&unit).any(|d| d.plan.role != Role::Suite);
    if busy || member.outcome.is_some() || member.stopping.is_some() {
        return None;
    }
    let ids = || (batch.id.clone(), member.issue.clone());
    let issue = state.issue(&member.issue)?;
    match issue.status {
        IssueStatus::Waiting => {
            let profile = profile_of(config, batch, issue);
            let can = rested(&member.tally, now)
                && config.profile(profile).is_some()
                && !state.health.profiles.contains_key(profile);
            let (batch, issue) = ids();
            can.then_some(NeedKind::Agent(batch, issue))
        }
        IssueStatus::Working => {
            let judging = member.judging.as_ref()?;
            if judging.rescue {
                let (batch, issue) = ids();
                return rested(&member.tally, now).then_some(NeedKind::Rescue(batch, issue));
            }
            let (id, issue) = ids();
            rested(&member.tally, now).then(|| gate_need(batch, judging, id, issue))
        }
        _ => None,
    }
}

fn gate_need(batch: &Batch, judging: &Judging, id: BatchId, issue: IssueId) -> NeedKind {
    let retries = judging
        .current()
        .and_then(|gate| batch.pinned.as_ref()?.gates.iter().find(|g| g.id == *gate))
        .map_or(0, |gate| gate.retries);
    if judging.failures > retries {
        NeedKind::Baseline(id, issue)
    } else {
        NeedKind::Gate(id, issue)
    }
}

fn remove_need(state: &State, batch: &Batch, now: &Now) -> Option<(Unit, NeedKind)> {
    let over = batch.is_over() || batch.status == BatchStatus::Merged;
    let busy = state.dispatches_in(batch).next().is_some() && !shared_name(state, batch);
    let due = over && !batch.trees.is_empty() && !busy && rested(&batch.reclaim, now);
    due.then(|| (batch.unit(), NeedKind::RemoveTrees(batch.id.clone())))
}

/// Whether the open dispatches under this batch's unit name belong to a later batch: an issue
/// that was queued again has the same unit name in each of its implicit batches.
fn shared_name(state: &State, batch: &Batch) -> bool {
    batch.issue.as_ref().and_then(|issue| state.issue(issue)?.batch.as_ref()) != Some(&batch.id)
        && !state.dispatches_in(batch).any(|d| d.plan.role == Role::Reclaim)
}
