//! Rule 5: an eviction's line also holds the release of the slot, if the member held one, and
//! the batch's next move, where one is due.
//!
//! A move is due unless the batch waits for something else: it is blocked, is being rebased, or
//! ends as soon as its processes are gone; or unless another member is at work. Whether it stands
//! in the line is seen from where the batch is behind it.

use super::Case;
use super::history::{Batch, Pinned};
use crate::domain::event::{Event, EvictionKind};
use crate::domain::ids::{BatchId, IssueId, Unit};

pub(super) fn line(case: &mut Case<'_>) {
    let mut batches: Vec<&BatchId> = Vec::new();
    for event in &case.entry.events {
        let (batch, member) = match event {
            Event::MemberEvicted(e) => {
                if !batches.contains(&&e.batch) {
                    batches.push(&e.batch);
                }
                (&e.batch, &e.member)
            }
            Event::EvictionDuplicate(e) => (&e.batch, &e.member),
            _ => continue,
        };
        slot(case, batch, member);
    }
    for id in batches {
        let Some(batch) = case.history.batch(id).filter(|batch| moves(batch)) else { continue };
        if is_stuck(batch) {
            let message = format!("a member left batch {id}, and its next move is missing");
            case.found(5, &[], Some(unit(id, batch)), message);
        } else if is_undecided(case, id, batch) {
            let (evicted, threshold) = (batch.evicted(), batch.threshold());
            let message = format!(
                "{evicted} members of batch {id} were evicted, more than {threshold}, and nothing \
                 is said about a dissolve"
            );
            case.found(5, &[], Some(unit(id, batch)), message);
        }
    }
}

fn unit(id: &BatchId, batch: &Batch) -> Unit {
    let issue = batch.issue.clone().map(Unit::Issue);
    issue.unwrap_or_else(|| Unit::Batch(id.clone()))
}

fn slot(case: &mut Case<'_>, batch: &BatchId, member: &IssueId) {
    let unit = case.history.member_unit(batch, member);
    let held = case.history.slots.iter().find(|(_, held)| held.unit == unit);
    if let Some((slot, held)) = held {
        let message = format!("{unit} left, and holds slot {slot} still");
        case.found(5, &[held.since], Some(unit), message);
    }
}

/// Whether the batch waits for nothing.
fn moves(batch: &Batch) -> bool {
    let ends = batch.over.is_some() || batch.dissolving || batch.stopping.is_some();
    !ends && batch.block.is_none() && !batch.rebasing
}

/// Whether nothing of it would ever go on by itself.
fn is_stuck(batch: &Batch) -> bool {
    let resolved = |issue| batch.members.get(issue).is_some_and(|m| m.outcome.is_some());
    match &batch.pinned {
        None => batch.sealed && !batch.has_unresolved(),
        Some(_) if batch.whole => false,
        Some(Pinned { serial: true, .. }) => batch.current.as_ref().is_none_or(resolved),
        Some(_) => !batch.has_unresolved(),
    }
}

/// Whether more members were evicted than the threshold allows, and the batch goes on without a
/// word about it. A batch of one has no threshold.
fn is_undecided(case: &Case<'_>, id: &BatchId, batch: &Batch) -> bool {
    let counts = |event: &Event| match event {
        Event::MemberEvicted(e) => e.batch == *id && e.kind == EvictionKind::Evicted,
        _ => false,
    };
    let decided = |event: &Event| matches!(event, Event::DissolveSuppressed(e) if e.0.batch == *id);
    let events = &case.entry.events;
    batch.issue.is_none()
        && batch.pinned.is_some()
        && batch.evicted() > batch.threshold()
        && events.iter().any(counts)
        && !events.iter().any(decided)
}
