//! Rule 4: a resolved member is never dispatched again as an agent in its batch, and each member
//! has exactly one outcome. A landed one may leave afterwards: reverted, or queued again by a
//! dissolve.

use super::Case;
use super::history::Left;
use crate::domain::event::{DispatchPlanned, Event, Role, Tree};
use crate::domain::ids::{BatchId, IssueId, Unit};

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::DispatchPlanned(e) if e.role == Role::Agent && e.tree != Tree::None => {
            dispatched(case, e);
        }
        Event::MemberLanded(e) => resolved(case, &e.batch, &e.member, Left::Landed),
        Event::MemberEvicted(e) => resolved(case, &e.batch, &e.member, Left::by(e.kind)),
        Event::MemberRequeued(e) => resolved(case, &e.batch, &e.member, Left::Requeued),
        Event::EvictionDuplicate(e) => {
            let member = case.history.member(&e.batch, &e.member);
            if member.is_none_or(|m| m.outcome.is_none()) {
                let unit = case.history.member_unit(&e.batch, &e.member);
                let message = format!("{unit} is said to have left twice, and never left");
                case.found(4, &[], Some(unit), message);
            }
        }
        _ => {}
    }
}

fn dispatched(case: &mut Case<'_>, e: &DispatchPlanned) {
    let Some((batch, issue)) = case.history.membership(&e.unit) else { return };
    let unit = Some(e.unit.clone());
    if let Some(seq) = case.history.past_batch(&batch) {
        let message = format!("batch {batch} is over, and its member {issue} is dispatched again");
        return case.found(4, &[seq], unit, message);
    }
    let outcome = case.history.member(&batch, &issue).and_then(|member| member.outcome);
    if let Some((seq, how)) = outcome {
        let message = format!("{} is {}, and is dispatched again", e.unit, how.word());
        case.found(4, &[seq], unit, message);
    }
}

fn resolved(case: &mut Case<'_>, batch: &BatchId, issue: &IssueId, how: Left) {
    let unit = case.history.member_unit(batch, issue);
    let Some(member) = case.history.member(batch, issue) else {
        let over: Vec<u64> = case.history.past_batch(batch).into_iter().collect();
        let message = match over.is_empty() {
            true => format!("{unit} is {}, and no entry made it a member", how.word()),
            false => format!("{unit} is {} after its batch was over", how.word()),
        };
        return case.found(4, &over, Some(unit), message);
    };
    match member.outcome {
        Some((_, Left::Landed)) if how != Left::Landed => {}
        Some((seq, before)) => {
            let message =
                format!("{unit} has two outcomes: {}, then {}", before.word(), how.word());
            case.found(4, &[seq], Some(unit), message);
        }
        None => {}
    }
}

/// The batch that is over with an event.
pub(super) fn batch_over(event: &Event) -> Option<&BatchId> {
    match event {
        Event::BatchDone(e) => Some(&e.batch),
        Event::BatchStopped(e) => Some(&e.batch),
        Event::BatchDissolved(e) => Some(&e.0.batch),
        _ => None,
    }
}

/// A batch that is over leaves no member without an outcome.
pub(super) fn line(case: &mut Case<'_>) {
    for id in case.entry.events.iter().filter_map(batch_over) {
        let Some(batch) = case.history.batch(id).filter(|b| b.has_unresolved()) else { continue };
        let left = batch.members.iter().filter(|(_, member)| member.outcome.is_none());
        let ended = |issue: &IssueId| case.history.issue(issue).is_some_and(|i| i.over);
        let open: Vec<Unit> = left
            .filter(|(issue, _)| !ended(issue))
            .map(|(issue, _)| case.history.member_unit(id, issue))
            .collect();
        for unit in open {
            let message = format!("batch {id} is over, and {unit} has no outcome");
            case.found(4, &[], Some(unit), message);
        }
    }
}
