//! When something is due that nobody will announce.

use super::needs::{is_held, needs};
use crate::domain::ids::Unit;
use crate::domain::state::{Dispatch, State, Tally};
use crate::domain::time::{Now, Stamp};
use std::time::Duration;

/// How long until the next bound: a timeout, an escalation, the end of a back-off, a trial start.
/// `None` when nothing is due by itself.
pub fn next_due(state: &State, now: &Now) -> Option<Duration> {
    let dispatches = state.dispatches.values().filter_map(|d| dispatch_due(state, d, now));
    let back_offs = back_offs(state).map(|(since, delay)| since.remaining(delay, now));
    dispatches.chain(back_offs.filter(|d| !d.is_zero())).chain(trial(state, now)).min()
}

/// How long until this dispatch's own next bound.
pub fn dispatch_due(state: &State, dispatch: &Dispatch, now: &Now) -> Option<Duration> {
    let Some(started) = &dispatch.started_at else {
        let grace = state.config().spawn_grace() + Duration::from_millis(dispatch.plan.delay_ms);
        return Some(dispatch.planned.remaining(grace, now));
    };
    match &dispatch.stop {
        None => Some(started.remaining(Duration::from_millis(dispatch.plan.timeout_ms), now)),
        Some(stop) if stop.ineffective => None,
        Some(stop) => {
            let since = stop.escalated.as_ref().unwrap_or(&stop.requested);
            Some(since.remaining(Duration::from_millis(stop.bound_ms), now))
        }
    }
}

/// How long until the back-off is over that the last end of this unit's dispatch set, if it set
/// one: its own, or the next trial start.
pub fn back_off(state: &State, unit: &Unit, now: &Now) -> Option<Duration> {
    let mine = |tally: &Tally| {
        let delay = Duration::from_millis(tally.delay_ms);
        Some(tally.since.remaining(delay, now)).filter(|due| !due.is_zero())
    };
    let trial = trial(state, now).filter(|due| !due.is_zero());
    let Some(batch) = state.batch_of(unit) else {
        let issue = unit.issue_id().and_then(|id| state.issue(id));
        let issue = issue.filter(|issue| !issue.status.is_terminal());
        return issue.and_then(|issue| mine(&issue.tally)).into_iter().chain(trial).min();
    };
    let member = unit.issue_id().and_then(|id| batch.member(id));
    let member = member.filter(|m| m.outcome.is_none()).and_then(|m| mine(&m.tally));
    let reclaim = mine(&batch.reclaim).filter(|_| !batch.trees.is_empty() || !batch.is_over());
    member.into_iter().chain(reclaim).chain(trial).min()
}

/// How long until the next trial start, while starting is suspended and something is to start.
fn trial(state: &State, now: &Now) -> Option<Duration> {
    let spawn = state.health.spawn.as_ref()?;
    needs(state, now).iter().find(|need| !is_held(state, need))?;
    Some(spawn.since.remaining(Duration::from_millis(spawn.trial_after_ms), now))
}

fn back_offs(state: &State) -> impl Iterator<Item = (&Stamp, Duration)> {
    let members = state.batches.values().flat_map(|b| {
        let own = std::iter::once(&b.reclaim).filter(|_| !b.trees.is_empty() || !b.is_over());
        own.chain(b.members.iter().filter(|m| m.outcome.is_none()).map(|m| &m.tally))
    });
    let issues = state.issues.values().filter(|i| !i.status.is_terminal()).map(|i| &i.tally);
    members
        .chain(issues)
        .filter(|tally| tally.delay_ms > 0)
        .map(|tally| (&tally.since, Duration::from_millis(tally.delay_ms)))
}
