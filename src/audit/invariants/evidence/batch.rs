//! Of what is decided about a whole batch, and of blocks.

use crate::audit::invariants::Case;
use crate::audit::invariants::history::{Batch, Dispatch, Known};
use crate::domain::event::{
    BatchBlocked, BatchMerged, BatchResumed, BatchShipping, BatchValidated, DissolveDecision,
    Event, IssueUnblocked, MemberAdvanceRecovered, RecheckPlanned, Role, SuiteResult, Verdict,
};
use crate::domain::ids::{BatchId, Unit};

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::BatchValidated(e) => validated(case, e),
        Event::BatchShipping(e) => shipping(case, e),
        Event::BatchMerged(e) => merged(case, e),
        Event::BatchDone(e) => {
            check(case, &e.batch, |batch| match batch.merged {
                Some(_) => None,
                None => Some("is done, and has not shipped".into()),
            });
        }
        Event::BatchBlocked(e) => blocked(case, e),
        Event::BatchResumed(e) => resumed(case, e),
        Event::IssueUnblocked(e) => unblocked(case, e),
        Event::RecheckPlanned(e) => rechecked(case, e),
        Event::BatchDissolving(e) => decided(case, &e.0),
        Event::BatchDissolved(e) => decided(case, &e.0),
        Event::DissolveSuppressed(e) => decided(case, &e.0),
        Event::MemberAdvanceRecovered(e) => recovered(case, e),
        _ => {}
    }
}

/// Finds what `lacks` says of a known batch.
fn check(case: &mut Case<'_>, id: &BatchId, lacks: impl FnOnce(&Batch) -> Option<String>) {
    let Some(batch) = case.history.batch(id) else { return };
    if let Some(lacks) = lacks(batch) {
        let unit = batch.issue.clone().map(Unit::Issue);
        let unit = unit.unwrap_or_else(|| Unit::Batch(id.clone()));
        case.found(13, &[], Some(unit), format!("batch {id} {lacks}"));
    }
}

fn validated(case: &mut Case<'_>, e: &BatchValidated) {
    let passed = |d: &Dispatch| {
        d.role == Role::Suite && d.was(Verdict::Passed) && d.commit.as_ref() == Some(&e.commit)
    };
    let history = case.history;
    check(case, &e.batch, |batch| {
        let unit = batch.issue.clone().map(Unit::Issue);
        let unit = unit.unwrap_or_else(|| Unit::Batch(e.batch.clone()));
        let suite = batch.pinned.as_ref().is_some_and(|pinned| pinned.suite);
        match e.suite {
            SuiteResult::Passed if !history.dispatches_of(&unit).any(passed) => {
                Some(format!("is validated, and no suite passed on {}", e.commit))
            }
            SuiteResult::None if suite => Some("is validated without its suite".into()),
            _ => None,
        }
    });
}

fn shipping(case: &mut Case<'_>, e: &BatchShipping) {
    check(case, &e.batch, |batch| match batch.validated.as_ref() == Some(&e.new) {
        true => None,
        false => Some(format!("ships {}, which was not validated", e.new)),
    });
}

fn merged(case: &mut Case<'_>, e: &BatchMerged) {
    check(case, &e.batch, |batch| {
        let nowhere = batch.pinned.as_ref().is_some_and(|pinned| pinned.ships_nowhere);
        let due = if nowhere { &batch.validated } else { &batch.shipping };
        match due.as_ref() == Some(&e.commit) {
            true => None,
            false => Some(format!("has shipped {}, which was not to be shipped", e.commit)),
        }
    });
}

fn blocked(case: &mut Case<'_>, e: &BatchBlocked) {
    let Some(id) = e.dispatch else { return };
    let history = case.history;
    check(case, &e.batch, |batch| {
        let own = |unit: &Unit| match unit {
            Unit::Batch(batch) | Unit::Member(batch, _) => *batch == e.batch,
            Unit::Issue(issue) => batch.issue.as_ref() == Some(issue),
        };
        match history.dispatch(&id) {
            Known::Here(dispatch) if own(&dispatch.unit) => None,
            Known::Past(_) => None,
            _ => Some(format!("is blocked over dispatch {id}, which is none of it")),
        }
    });
}

fn resumed(case: &mut Case<'_>, e: &BatchResumed) {
    check(case, &e.batch, |batch| match &batch.block {
        Some((_, reason)) if *reason == e.reason => None,
        Some((_, reason)) => {
            Some(format!("resumes from `{}`, and is blocked on `{reason}`", e.reason))
        }
        None => Some(format!("resumes from `{}`, and is not blocked", e.reason)),
    });
}

fn unblocked(case: &mut Case<'_>, e: &IssueUnblocked) {
    let Some(issue) = case.history.issue(&e.issue) else { return };
    if issue.block.as_ref().is_none_or(|(_, reason)| *reason != e.reason) {
        let message = format!("issue {} is not blocked on `{}`", e.issue, e.reason);
        case.found(13, &[], Some(Unit::Issue(e.issue.clone())), message);
    }
}

fn rechecked(case: &mut Case<'_>, e: &RecheckPlanned) {
    let judged = case.history.member(&e.batch, &e.member).and_then(|m| m.judged.clone());
    let asked = judged.is_some_and(|(tip, gates)| tip == e.tip && gates.contains(&e.gate));
    check(case, &e.batch, |batch| match (&batch.block, asked) {
        (Some(_), true) => None,
        (Some(_), false) => Some(format!("asks gate {} again, and never asked it", e.gate)),
        (None, _) => Some(format!("asks gate {} again, and is not blocked", e.gate)),
    });
}

/// Every decision states its arithmetic: members, evictions, threshold, landed.
fn decided(case: &mut Case<'_>, e: &DissolveDecision) {
    check(case, &e.batch, |batch| {
        let found = (batch.size(), batch.evicted(), batch.threshold(), batch.landed());
        let said = (e.members, e.evictions, e.threshold, e.landed);
        (batch.pinned.is_some() && found != said && !batch.dissolving).then(|| {
            format!(
                "states members, evictions, threshold and landed as {said:?}, and they are \
                 {found:?}"
            )
        })
    });
}

/// What a recovered move rests on: the resolution that was not followed by one.
fn recovered(case: &mut Case<'_>, e: &MemberAdvanceRecovered) {
    let Some(member) = case.history.member(&e.batch, &e.member) else { return };
    let unit = case.history.member_unit(&e.batch, &e.member);
    let landing = e.evicted_at.is_none() && e.reason.is_none();
    if member.outcome.is_none() && !landing {
        let message = format!("a move of {unit} is made up for, and it never left");
        case.found(13, &[], Some(unit), message);
    }
}
