//! Rule 12: dependencies are satisfied before dispatch: shipped or done; inside the same batch,
//! landed.

use super::Case;
use super::history::{Batch, Left};
use crate::domain::event::{DispatchPlanned, Event, Role, Tree};
use crate::domain::ids::{BatchId, IssueId, Unit};

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::BatchStarted(e) => match &e.issue {
            Some(issue) => outside(case, issue, None, Unit::Issue(issue.clone())),
            None => batch_starts(case, &e.batch),
        },
        Event::DispatchPlanned(e) if e.role == Role::Agent => dispatched(case, e),
        _ => {}
    }
}

fn batch_starts(case: &mut Case<'_>, id: &BatchId) {
    let Some(batch) = case.history.batch(id) else { return };
    let open = batch.members.iter().filter(|(_, member)| member.outcome.is_none());
    for (issue, _) in open {
        outside(case, issue, Some(batch), Unit::Member(id.clone(), issue.clone()));
    }
}

/// Dependencies outside the batch.
fn outside(case: &mut Case<'_>, issue: &IssueId, batch: Option<&Batch>, unit: Unit) {
    let Some(known) = case.history.issue(issue) else { return };
    for dep in &known.deps {
        let inside = batch.is_some_and(|batch| batch.members.contains_key(dep));
        let satisfied = case.history.issue(dep).is_some_and(|dep| dep.satisfied);
        if !inside && !satisfied {
            let queued = case.history.issue(dep).map_or(0, |dep| dep.queued);
            let message = format!("{unit} starts, and {dep}, which it depends on, is not done");
            case.found(12, &[known.queued, queued], Some(unit.clone()), message);
        }
    }
}

fn dispatched(case: &mut Case<'_>, e: &DispatchPlanned) {
    match &e.unit {
        Unit::Issue(issue) if e.tree == Tree::None => outside(case, issue, None, e.unit.clone()),
        Unit::Member(batch, issue) => inside(case, batch, issue, &e.unit),
        _ => {} // a batch of one was judged when it started
    }
}

/// Dependencies inside the batch.
fn inside(case: &mut Case<'_>, id: &BatchId, issue: &IssueId, unit: &Unit) {
    let found = case.history.issue(issue).zip(case.history.batch(id));
    let Some((known, batch)) = found else { return };
    for dep in &known.deps {
        let Some(member) = batch.members.get(dep) else { continue };
        if member.outcome.is_none_or(|(_, how)| how != Left::Landed) {
            let message = format!("{unit} starts, and {dep}, which it depends on, has not landed");
            let left = member.outcome.map_or(0, |(seq, _)| seq);
            case.found(12, &[known.queued, left], Some(unit.clone()), message);
        }
    }
}
