//! Stopping a process: requested, raised, escalated, ineffective, each once. A decision that
//! must not run beside the process waits until it is gone ([`conclude`]).

use super::bounds::dispatch_due;
use super::draft::Draft;
use super::plan::millis;
use super::{dissolve, member, operator, start};
use crate::domain::event::{
    BatchStopped, KillEscalated, KillIneffective, MemberStopRequested, Reclaim, Role, StopReason,
    StopReasonRaised, StopRequested, Tree, Verb,
};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use crate::domain::state::{Dispatch, State, Stop};
use crate::domain::time::Now;
use std::collections::BTreeMap;
use std::time::Duration;

/// For how long at most a dispatch may wait for its tree before that counts as its own time.
const TREE: Duration = Duration::from_secs(60 * 60);

/// Wants a dispatch gone. One that never started has nothing to stop: it is superseded.
pub(super) fn request(draft: &mut Draft<'_>, id: DispatchId, reason: StopReason) {
    let Some(dispatch) = draft.dispatch(&id) else { return };
    let Some(started) = &dispatch.started else {
        return start::supersede(draft, id, reason.name());
    };
    match &dispatch.stop {
        Some(stop) if reason > stop.reason => draft.push(StopReasonRaised { dispatch: id, reason }),
        Some(_) => {}
        None => {
            let bound_ms = millis(draft.state.config().kill_escalation());
            draft.push(StopRequested {
                dispatch: id,
                pid: Some(started.process.pid),
                slot: dispatch.plan.slot,
                reason,
                bound_ms,
            });
            if dispatch.plan.role == Role::Agent && dispatch.plan.tree != Tree::None {
                let member = dispatch.unit.clone();
                draft.push(MemberStopRequested { member, dispatch: id, reason });
            }
        }
    }
}

/// No activity for longer than the bound.
pub(super) fn stalled(draft: &mut Draft<'_>, id: DispatchId) {
    request_started(draft, id, StopReason::Stall);
}

/// More output than the bound.
pub(super) fn flooded(draft: &mut Draft<'_>, id: DispatchId) {
    request_started(draft, id, StopReason::OutputLimit);
}

fn request_started(draft: &mut Draft<'_>, id: DispatchId, reason: StopReason) {
    if draft.dispatch(&id).is_some_and(|d| d.is_started() && d.stop.is_none()) {
        request(draft, id, reason);
    }
}

/// Whether a bound of a command has come. Whoever lets it count looks first whether the command
/// has ended by itself: a tick that comes late is nobody's timeout.
pub fn is_overdue(state: &State, dispatch: &Dispatch, now: &Now) -> bool {
    let wrong = dispatch.stop.is_none() && dispatch.said.wrong.is_some();
    let due = || dispatch_due(state, dispatch, now).is_some_and(|due| due.is_zero());
    dispatch.is_started() && (wrong || due())
}

/// Bounds that have come: timeouts, wrong procedures, kill escalations.
///
/// A bound is broken by a command that runs: what it waited for its tree does not count, up to
/// [`TREE`].
pub(super) fn bounds(draft: &mut Draft<'_>, waited: &BTreeMap<DispatchId, Duration>) {
    let open: Vec<DispatchId> = draft.state.dispatches.keys().copied().collect();
    for id in open {
        let Some(dispatch) = draft.dispatch(&id) else { continue };
        match &dispatch.stop {
            Some(stop) => escalate(draft, &dispatch, &stop.clone()),
            None => {
                let waited = waited.get(&id).copied().unwrap_or_default();
                overdue(draft, &dispatch, waited.min(TREE));
            }
        }
    }
}

fn overdue(draft: &mut Draft<'_>, dispatch: &Dispatch, waited: Duration) {
    let Some(started) = &dispatch.started_at else { return };
    let timeout = Duration::from_millis(dispatch.plan.timeout_ms) + waited;
    if started.remaining(timeout, draft.now).is_zero() {
        request(draft, dispatch.id, StopReason::Timeout);
    } else if dispatch.said.wrong.is_some() {
        request(draft, dispatch.id, StopReason::WrongProcedure);
    }
}

fn escalate(draft: &mut Draft<'_>, dispatch: &Dispatch, stop: &Stop) {
    let bound = Duration::from_millis(stop.bound_ms);
    let started = dispatch.started.as_ref();
    match &stop.escalated {
        None if stop.requested.remaining(bound, draft.now).is_zero() => {
            draft.push(KillEscalated {
                dispatch: dispatch.id,
                pid: started.map(|s| s.process.pid),
                slot: dispatch.plan.slot,
                alive_ms: millis(stop.requested.elapsed(draft.now)),
                group: started.is_some_and(|s| s.process.start_time != 0),
            });
        }
        Some(at) if !stop.ineffective && at.remaining(bound, draft.now).is_zero() => {
            draft.push(KillIneffective { dispatch: dispatch.id });
            unkillable(draft, dispatch);
        }
        _ => {}
    }
}

fn unkillable(draft: &mut Draft<'_>, dispatch: &Dispatch) {
    let batch = draft.state.batch_of(&dispatch.unit).map(|b| b.id.clone());
    let about = dispatch.unit.issue_id().cloned();
    if matches!(dispatch.plan.reclaim, Some(Reclaim::Remove { .. })) {
        return; // its trees stay owed; nothing of the batch waits for them
    }
    match (batch, about) {
        (Some(batch), about) => {
            member::block(draft, &batch, "agent-unkillable", about, Some(dispatch.id), None);
        }
        (None, Some(issue)) => member::block_issue(draft, &issue, "agent-unkillable", None),
        (None, None) => {}
    }
}

/// What of a unit an operator's stop ends: everything but the removal of earlier trees.
pub(super) fn work_of<'a>(state: &'a State, unit: &'a Unit) -> impl Iterator<Item = &'a Dispatch> {
    let removes = |d: &&Dispatch| matches!(d.plan.reclaim, Some(Reclaim::Remove { .. }));
    state.dispatches_of(unit).filter(move |d| !removes(d))
}

/// Whether a decision about this unit waits for its processes to be gone.
pub(super) fn pending(draft: &Draft<'_>, batch: &BatchId, issue: &IssueId) -> bool {
    draft.state.batch(batch).is_some_and(|b| {
        b.dissolving.is_some()
            || b.stopping.is_some()
            || b.is_over()
            || b.member(issue).is_some_and(|m| m.stopping.is_some())
    })
}

/// A process is gone for which a decision waited: the decision, once nothing else runs.
pub(super) fn conclude(draft: &mut Draft<'_>, id: &BatchId, issue: &IssueId) {
    let Some(batch) = draft.batch(id) else { return };
    let unit = batch.member_unit(issue);
    if batch.is_over() {
        return draft.release_slot(&unit);
    }
    let stopping = batch.member(issue).and_then(|m| m.stopping.clone());
    if batch.dissolving.is_none() && batch.stopping.is_none() {
        // an issue that was queued again has its name from its earlier run, whose trees may still
        // be in removal: what ended need not be what the decision waits for
        let works = work_of(&draft.state, &unit).next().is_some();
        if let Some(stopping) = stopping.filter(|_| !works) {
            operator::end_member(draft, id, issue, &stopping);
        }
        return;
    }
    conclude_batch(draft, id);
}

/// Whatever waited for a process of this unit that is gone now.
pub(super) fn conclude_unit(draft: &mut Draft<'_>, unit: &Unit) {
    let batch = draft.state.batch_of(unit).filter(|b| !b.is_over()).map(|b| b.id.clone());
    let Some(batch) = batch else { return };
    match unit.issue_id() {
        Some(issue) if pending(draft, &batch, issue) => conclude(draft, &batch, issue),
        Some(_) => {}
        None => conclude_batch(draft, &batch),
    }
}

/// Ends a batch that is stopping or dissolving, once nothing of it runs.
pub(super) fn conclude_batch(draft: &mut Draft<'_>, id: &BatchId) {
    let Some(batch) = draft.batch(id) else { return };
    if draft.state.dispatches_in(&batch).next().is_some() {
        return;
    }
    // a stop after an abandon is the stronger word: nothing is queued again
    let Some(stopping) = batch.stopping.clone() else {
        if let Some(decision) = batch.dissolving.clone() {
            dissolve::dissolved(draft, decision);
        }
        return;
    };
    for member in &batch.members {
        draft.release_slot(&batch.member_unit(&member.issue));
    }
    draft.push(BatchStopped { batch: id.clone(), reason: stopping.reason.clone() });
    for member in &batch.members {
        // a member that left and was queued again belongs to another run
        let here = draft
            .state
            .issue(&member.issue)
            .is_some_and(|i| !i.status.is_parked() && i.batch.as_ref() == Some(id));
        if here {
            member::end_by_operator(draft, &member.issue, Verb::Stop, &stopping.reason);
        }
    }
}
