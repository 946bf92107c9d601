//! Rule 11: a threshold dissolve only above its threshold, never over landed members. What is
//! suppressed was due: above it, and over landed members.

use super::Case;
use super::history::Left;
use crate::domain::event::{DissolveDecision, Event};
use crate::domain::ids::Unit;

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    let (decision, suppressed) = match event {
        Event::BatchDissolving(e) => (&e.0, false),
        Event::BatchDissolved(e) => (&e.0, false),
        Event::DissolveSuppressed(e) => (&e.0, true),
        _ => return,
    };
    if decision.reason == "threshold" {
        check(case, decision, suppressed);
    }
}

fn check(case: &mut Case<'_>, decision: &DissolveDecision, suppressed: bool) {
    let id = &decision.batch;
    let Some(batch) = case.history.batch(id) else { return };
    let unit = || Some(Unit::Batch(id.clone()));
    if batch.dissolving {
        return; // its end repeats a decision that was checked
    }
    let (evicted, threshold) = (batch.evicted(), batch.threshold());
    let what = if suppressed { "suppressed" } else { "made" };
    if evicted <= threshold {
        let message = format!(
            "a threshold dissolve of batch {id} is {what} at {evicted} evictions, and the \
             threshold is {threshold}"
        );
        case.found(11, &batch.outcomes(Left::Evicted), unit(), message);
    }
    let landed = batch.landed();
    if !suppressed && landed > 0 {
        let message = format!("batch {id} dissolves by its threshold over {landed} landed members");
        case.found(11, &batch.outcomes(Left::Landed), unit(), message);
    } else if suppressed && landed == 0 {
        let message = format!("a dissolve of batch {id} is suppressed, and no member has landed");
        case.found(11, &[], unit(), message);
    }
}
