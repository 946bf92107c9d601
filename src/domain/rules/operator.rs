//! Operator verbs: each is one line, states who and why, and is refused when it makes no sense.

use super::draft::Draft;
use super::{dissolve, member, start, stop};
use crate::domain::command::Target;
use crate::domain::event::{
    IssueRequeued, OperatorActed, Reprioritized, SchedulerPaused, SchedulerResumed, StopReason,
    UnitStopping, Verb,
};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use crate::domain::refusal::Refusal;
use crate::domain::state::{Batch, BatchStatus, IssueStatus, Outcome, Stopping};

pub(super) fn pause(draft: &mut Draft<'_>, reason: Option<String>) -> Result<(), Refusal> {
    if draft.state.health.pause.as_ref().is_some_and(|p| !p.automatic) {
        return Err(Refusal::refused("the scheduler is paused already").remedy("sched resume"));
    }
    draft.push(SchedulerPaused { reason });
    supersede_unstarted(draft, "pause");
    Ok(())
}

/// A pause supersedes in its own line what takes a slot and is planned and not started.
pub(super) fn supersede_unstarted(draft: &mut Draft<'_>, reason: &str) {
    let planned: Vec<DispatchId> = draft
        .state
        .dispatches
        .values()
        .filter(|d| !d.is_started() && d.plan.role.takes_slot())
        .map(|d| d.id)
        .collect();
    planned.into_iter().for_each(|id| start::supersede(draft, id, reason));
}

pub(super) fn resume(draft: &mut Draft<'_>, reason: Option<String>) -> Result<(), Refusal> {
    let health = &draft.state.health;
    if health.pause.is_none() && health.spawn.is_none() && health.profiles.is_empty() {
        return Err(Refusal::refused("the scheduler is not paused")
            .remedy("for a blocked unit:  sched resume --batch B, or --issue N"));
    }
    draft.push(SchedulerResumed { reason });
    Ok(())
}

pub(super) fn find_unit(draft: &Draft<'_>, target: &Target) -> Result<Unit, Refusal> {
    match target {
        Target::Issue(id) => {
            let Some(issue) = draft.state.issue(id) else {
                return Err(Refusal::no_such(format!("there is no issue {id}"))
                    .remedy("see:  sched status"));
            };
            let member = issue.batch.as_ref().and_then(|b| draft.state.batch(b));
            Ok(member.map_or_else(|| issue.unit(), |b| b.member_unit(id)))
        }
        Target::Batch(id) => {
            match draft.state.batch(id) {
                Some(batch) if batch.issue.is_none() => Ok(batch.unit()),
                _ => Err(Refusal::no_such(format!("there is no batch {id}"))
                    .remedy("see:  sched status")),
            }
        }
    }
}

fn acted(draft: &mut Draft<'_>, verb: Verb, unit: Unit, reason: Option<String>) {
    draft.push(OperatorActed { verb, unit, reason });
}

fn over(what: &str, id: &dyn std::fmt::Display, status: &str) -> Refusal {
    Refusal::refused(format!("{what} {id} is {status} already"))
}

/// Refuses to end a batch whose work is on its base, or on the way there: it cannot be taken
/// back, whatever blocks its cleaning up.
fn refuse_shipped(batch: &Batch, what: &str, id: &dyn std::fmt::Display) -> Result<(), Refusal> {
    let from = batch.block.as_ref().map_or(batch.status, |block| block.from);
    if from == BatchStatus::Merged {
        return Err(over(what, id, BatchStatus::Merged.name()));
    }
    if batch.shipping.is_some() {
        return Err(Refusal::refused(format!("{what} {id} is being moved onto its base just now"))
            .remedy("see whether it has shipped:  sched status"));
    }
    Ok(())
}

pub(super) fn abandon(
    draft: &mut Draft<'_>,
    target: &Target,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let unit = find_unit(draft, target)?;
    match target {
        Target::Issue(id) => end_one(draft, Verb::Abandon, id, unit, reason),
        Target::Batch(id) => {
            let Some(batch) = draft.batch(id) else { return Ok(()) };
            refuse_ending(&batch, batch.status.may_dissolve())?;
            acted(draft, Verb::Abandon, unit, reason);
            dissolve::dissolve(draft, &batch, "operator");
            raise_running(draft, id);
            Ok(())
        }
    }
}

/// Refuses to end a batch that is ending, or cannot.
fn refuse_ending(batch: &Batch, can: bool) -> Result<(), Refusal> {
    refuse_shipped(batch, "batch", &batch.id)?;
    let under_way = batch.stopping.is_some() && !batch.is_over();
    match can && batch.stopping.is_none() {
        true => Ok(()),
        false if under_way => Err(over("batch", &batch.id, "being stopped")),
        false => Err(over("batch", &batch.id, batch.status.name())),
    }
}

/// What was being stopped for a weaker reason is now stopped for this one.
fn raise_running(draft: &mut Draft<'_>, id: &BatchId) {
    let Some(batch) = draft.batch(id) else { return };
    let running: Vec<DispatchId> = draft.state.dispatches_in(&batch).map(|d| d.id).collect();
    running.into_iter().for_each(|d| stop::request(draft, d, StopReason::Operator));
}

pub(super) fn stop(
    draft: &mut Draft<'_>,
    target: &Target,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let unit = find_unit(draft, target)?;
    match target {
        Target::Issue(id) => end_one(draft, Verb::Stop, id, unit, reason),
        Target::Batch(id) => {
            let Some(batch) = draft.batch(id) else { return Ok(()) };
            refuse_ending(&batch, !batch.is_over())?;
            acted(draft, Verb::Stop, unit.clone(), reason.clone());
            let reason = reason.unwrap_or_else(|| "stopped".into());
            draft.push(UnitStopping { unit, verb: Verb::Stop, reason });
            member::hold_back(draft, &batch, "stop");
            raise_running(draft, id);
            stop::conclude_batch(draft, id);
            Ok(())
        }
    }
}

/// Stops or abandons one issue: in the queue, or as a member of a batch.
fn end_one(
    draft: &mut Draft<'_>,
    verb: Verb,
    id: &IssueId,
    unit: Unit,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let Some(issue) = draft.issue(id) else { return Ok(()) };
    if issue.status.is_terminal() {
        return Err(over("issue", id, issue.status.name()));
    }
    let member = issue.batch.as_ref().and_then(|b| draft.member(b, id));
    let under_way = member.is_some_and(|m| m.outcome.is_none() && m.stopping.is_some());
    if issue.stopping.is_some() || under_way {
        return Err(over("issue", id, "being stopped"));
    }
    let alone = issue.batch.as_ref().and_then(|b| draft.batch(b)).filter(|b| b.issue.is_some());
    if let Some(batch) = &alone {
        refuse_shipped(batch, "issue", id)?;
    }
    // the work of a batch of one is on nothing but its own integration branch
    let landed = issue.status == IssueStatus::Landed && alone.is_none();
    if landed || issue.status == IssueStatus::Shipped {
        let message = format!("issue {id} is {} and cannot be taken back", issue.status.name());
        return Err(Refusal::refused(message)
            .detail("reverting a landed member is not available in this version"));
    }
    acted(draft, verb, unit.clone(), reason.clone());
    let word = if verb == Verb::Stop { "stopped" } else { "abandoned" };
    let reason = reason.unwrap_or_else(|| word.into());
    let stopping = Stopping { verb, reason: reason.clone() };
    draft.push(UnitStopping { unit: unit.clone(), verb, reason });
    let open: Vec<DispatchId> = stop::work_of(&draft.state, &unit).map(|d| d.id).collect();
    open.into_iter().for_each(|d| stop::request(draft, d, StopReason::Operator));
    if stop::work_of(&draft.state, &unit).next().is_some() {
        return Ok(()); // its process must be gone first
    }
    let batch = issue.batch.as_ref().and_then(|b| draft.batch(b));
    let open_member = batch
        .filter(|b| !b.is_over())
        .filter(|b| b.member(id).is_some_and(|m| m.outcome.is_none()) || b.issue.is_some());
    match open_member {
        Some(batch) => end_member(draft, &batch.id, id, &stopping),
        None => end_issue(draft, id, &stopping),
    }
    Ok(())
}

/// A member whose process is gone leaves by the operator's word, and its issue ends.
pub(super) fn end_member(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    id: &IssueId,
    stopping: &Stopping,
) {
    let landed =
        draft.member(batch, id).is_some_and(|m| matches!(m.outcome, Some(Outcome::Landed)));
    if landed {
        let Some(batch) = draft.batch(batch).filter(|b| b.issue.is_some()) else { return };
        dissolve::dissolved(draft, dissolve::decision(&batch, "operator"));
        return end_issue(draft, id, stopping);
    }
    let word = if stopping.verb == Verb::Stop { "stopped" } else { "abandoned" };
    member::leave(draft, batch, id, word, true);
    end_issue(draft, id, stopping);
}

/// An issue ends by the operator's word.
pub(super) fn end_issue(draft: &mut Draft<'_>, id: &IssueId, stopping: &Stopping) {
    member::end_by_operator(draft, id, stopping.verb, &stopping.reason);
}

pub(super) fn requeue(
    draft: &mut Draft<'_>,
    id: &IssueId,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let unit = find_unit(draft, &Target::Issue(id.clone()))?;
    let Some(issue) = draft.issue(id) else { return Ok(()) };
    if !issue.status.is_parked() {
        let message = format!("issue {id} is {}, not parked", issue.status.name());
        let refused = Refusal::refused(message)
            .detail("only members that were evicted or handed back can be requeued");
        return Err(match issue.status.is_terminal() {
            true => refused.remedy(format!("to do it anew:  sched enqueue --issues {id}")),
            false => refused,
        });
    }
    acted(draft, Verb::Requeue, unit, reason);
    draft.push(IssueRequeued { issue: id.clone(), branch: issue.branch });
    member::block_if_dep_failed(draft, id);
    Ok(())
}

pub(super) fn reprioritize(
    draft: &mut Draft<'_>,
    target: &Target,
    priority: i32,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let unit = find_unit(draft, target)?;
    match target {
        Target::Issue(id) => {
            let status = draft.state.issue(id).map(|i| i.status);
            if let Some(status) = status.filter(|s| s.is_terminal()) {
                return Err(over("issue", id, status.name()));
            }
        }
        Target::Batch(id) => {
            let status = draft.state.batch(id).map(|b| b.status);
            if let Some(status) = status.filter(|s| s.is_terminal()) {
                return Err(over("batch", id, status.name()));
            }
        }
    }
    acted(draft, Verb::Reprioritize, unit.clone(), reason);
    draft.push(Reprioritized { unit, priority });
    Ok(())
}
