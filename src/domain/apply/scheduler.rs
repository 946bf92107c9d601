//! Events about the journal and the scheduler as a whole.

use super::{IllegalEvent, illegal};
use crate::domain::config::Config;
use crate::domain::event::Event;
use crate::domain::ids::{BatchId, IssueId, Unit};
use crate::domain::state::{
    Applied, BatchBlock, BatchStatus, Condition, Health, IssueBlock, IssueStatus, JournalInfo,
    Pause, SpawnSuspension, State, Suspension,
};
use crate::domain::time::Stamp;
use std::sync::Arc;

pub(super) fn apply(state: &mut State, event: &Event) -> Result<(), IllegalEvent> {
    let stamp = state.head.stamp.clone();
    match event {
        Event::JournalCreated(e) => {
            if state.journal.is_some() {
                return Err(illegal(event, "the journal", "it exists", "an empty journal"));
            }
            let (journal, place) = (e.journal, e.place.clone());
            state.journal = Some(JournalInfo { journal, place, draft: e.draft.clone() });
        }
        Event::JournalAdopted(e) => {
            let draft = state.journal.as_ref().and_then(|j| j.draft.clone());
            state.journal = Some(JournalInfo { journal: e.journal, place: e.place.clone(), draft });
        }
        Event::JournalRepaired(e) => e.units.iter().for_each(|unit| block_repaired(state, unit)),
        Event::EnvironmentRecorded(e) => state.environment = Some(e.clone()),
        Event::ConfigApplied(e) => {
            let config = Config::parse_lenient(&e.content)
                .map_err(|error| illegal(event, "the configuration", error, "valid TOML"))?;
            state.applied = Some(Applied { digest: e.digest.clone(), config: Arc::new(config) });
        }
        Event::ConditionRaised(e) => {
            let condition = Condition {
                severity: e.severity,
                since: e.since,
                said: stamp,
                message: e.message.clone(),
            };
            let subjects = state.health.conditions.entry(e.code.clone()).or_default();
            subjects.insert(e.subject.clone(), condition);
        }
        Event::ConditionCleared(e) => {
            if let Some(subjects) = state.health.conditions.get_mut(&e.code) {
                subjects.remove(&e.subject);
                if subjects.is_empty() {
                    state.health.conditions.remove(&e.code);
                }
            }
        }
        _ => health(&mut state.health, event, stamp),
    }
    Ok(())
}

/// Events about how the scheduler is.
fn health(health: &mut Health, event: &Event, stamp: Stamp) {
    match event {
        Event::ClockBehind(_) => health.clock_behind_said = true,
        Event::SchedulerPaused(e) => {
            let reason = e.reason.clone();
            health.pause = Some(Pause { reason, automatic: false, since: stamp });
        }
        Event::SchedulerResumed(_) => {
            health.pause = None;
            health.spawn = None;
            health.never_ran = 0;
            health.bad_ends.clear();
            health.profiles.clear();
            health.faults.clear();
        }
        Event::DispatchUnhealthy(e) => {
            let reason = Some(format!("dispatch-unhealthy: {} in a row", e.verdicts.join(", ")));
            health.pause = Some(Pause { reason, automatic: true, since: stamp });
        }
        Event::SpawnFailing(e) => {
            let began = health.spawn.take().map_or_else(|| stamp.clone(), |s| s.began);
            let trial_after_ms = e.trial_after_ms;
            health.spawn = Some(SpawnSuspension { since: stamp, trial_after_ms, began });
        }
        Event::SpawnRecovered(_) => health.spawn = None,
        Event::ProfileSuspended(e) => {
            let (program, reason) = (e.program.clone(), e.reason.clone());
            let suspension = Suspension { program, reason, since: stamp };
            *health.faults.entry(e.profile.clone()).or_default() += 1;
            health.profiles.insert(e.profile.clone(), suspension);
        }
        Event::ProfileRestored(e) => {
            health.profiles.remove(&e.profile);
        }
        _ => {} // said for the record; nothing follows from it
    }
}

/// A unit whose entries were cut off goes nowhere until somebody has looked.
fn block_repaired(state: &mut State, unit: &Unit) {
    match unit {
        Unit::Issue(issue) => {
            block_issue(state, issue);
            let open: Vec<BatchId> = state
                .batches
                .values()
                .filter(|b| b.issue.as_ref() == Some(issue))
                .map(|b| b.id.clone())
                .collect();
            open.iter().for_each(|batch| block_batch(state, batch));
        }
        Unit::Batch(batch) | Unit::Member(batch, _) => block_batch(state, batch),
    }
}

fn block_issue(state: &mut State, id: &IssueId) {
    let since = state.head.stamp.clone();
    let Some(issue) = state.issues.get_mut(id) else { return };
    let from = issue.status;
    let free = matches!(from, IssueStatus::Queued | IssueStatus::Dispatched);
    if !free {
        return;
    }
    let issue = Arc::make_mut(issue);
    issue.status = IssueStatus::Blocked;
    issue.block = Some(IssueBlock { reason: "repaired".into(), detail: None, from, since });
}

fn block_batch(state: &mut State, id: &BatchId) {
    let since = state.head.stamp.clone();
    let Some(batch) = state.batches.get_mut(id) else { return };
    let from = batch.status;
    if !from.may_become(BatchStatus::Blocked) {
        return;
    }
    let batch = Arc::make_mut(batch);
    batch.status = BatchStatus::Blocked;
    batch.block = Some(BatchBlock {
        reason: "repaired".into(),
        detail: None,
        member: None,
        dispatch: None,
        from,
        since,
        recheck: false,
    });
}
