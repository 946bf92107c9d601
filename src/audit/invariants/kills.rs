//! Rule 6: a process is asked once and killed once, no sooner than `kill_escalation` after it was
//! asked.

use super::Case;
use super::history::{Dispatch, Known};
use crate::domain::event::{Event, KillEscalated, StopRequested};
use crate::domain::ids::DispatchId;

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::StopRequested(e) => requested(case, e),
        Event::KillEscalated(e) => killed(case, e),
        Event::KillIneffective(e) => ineffective(case, &e.dispatch),
        _ => {}
    }
}

fn requested(case: &mut Case<'_>, e: &StopRequested) {
    let Some(dispatch) = case.history.dispatch(&e.dispatch).here() else { return };
    let unit = Some(dispatch.unit.clone());
    if let Some(stop) = &dispatch.stop {
        let message = format!("a stop of dispatch {} is requested twice", e.dispatch);
        case.found(6, &[stop.requested.seq], unit.clone(), message);
    }
    let configured = case.history.settings.kill_escalation.map(|bound| bound.as_millis());
    if let Some(configured) = configured.filter(|ms| u128::from(e.bound_ms) < *ms) {
        let (bound, id) = (e.bound_ms, e.dispatch);
        let message = format!(
            "dispatch {id} is to be killed after {bound} ms, and kill_escalation is {configured} ms"
        );
        case.found(6, &[], unit, message);
    }
}

fn killed(case: &mut Case<'_>, e: &KillEscalated) {
    let id = e.dispatch;
    let Some(dispatch) = alive(case, &id, "killed") else { return };
    let unit = || Some(dispatch.unit.clone());
    let Some(stop) = &dispatch.stop else {
        let message = format!("dispatch {id} is killed, and no stop of it was requested");
        return case.found(6, &[], unit(), message);
    };
    let asked = stop.requested.seq;
    if let Some(before) = &stop.killed {
        return case.found(6, &[before.seq], unit(), format!("dispatch {id} is killed twice"));
    }
    let passed = stop.requested.until(case.entry);
    if passed < i128::from(stop.bound_ms) {
        let bound = stop.bound_ms;
        let message = format!("dispatch {id} is killed {passed} ms after its stop, not {bound} ms");
        case.found(6, &[asked], unit(), message);
    } else if i128::from(e.alive_ms) > passed {
        let alive = e.alive_ms;
        let message = format!(
            "dispatch {id} is said to have lived {alive} ms after its stop, not {passed} ms"
        );
        case.found(6, &[asked], unit(), message);
    }
    let pid = dispatch.started.as_ref().map(|started| started.pid);
    if e.pid.is_some() && e.pid != pid {
        let (found, expected) = (shown(e.pid), shown(pid));
        let message = format!("process {found} is killed for dispatch {id}, which is {expected}");
        case.found(6, &[asked], unit(), message);
    }
}

fn ineffective(case: &mut Case<'_>, id: &DispatchId) {
    let Some(dispatch) = alive(case, id, "said to survive a kill") else { return };
    let unit = || Some(dispatch.unit.clone());
    let killed = dispatch.stop.as_ref().and_then(|stop| Some((stop, stop.killed.as_ref()?)));
    let Some((stop, killed)) = killed else {
        let message = format!("dispatch {id} is said to survive a kill, and was not killed");
        return case.found(6, &[], unit(), message);
    };
    if let Some(seq) = stop.ineffective {
        let message = format!("dispatch {id} is said to survive its kill twice");
        return case.found(6, &[seq], unit(), message);
    }
    let (passed, bound) = (killed.until(case.entry), stop.bound_ms);
    if passed < i128::from(bound) {
        let message =
            format!("dispatch {id} is given up {passed} ms after its kill, not {bound} ms");
        case.found(6, &[killed.seq], unit(), message);
    }
}

/// The dispatch, if a process of it may live; a finding if not.
fn alive<'a>(case: &mut Case<'a>, id: &DispatchId, what: &str) -> Option<&'a Dispatch> {
    let (seq, unit) = match case.history.dispatch(id) {
        Known::Here(dispatch) if dispatch.is_live() => return Some(dispatch),
        Known::Here(dispatch) => (Some(dispatch.last_entry()), Some(dispatch.unit.clone())),
        Known::Past(seq) => (Some(seq), None),
        Known::Never => (None, None),
    };
    let before: Vec<u64> = seq.into_iter().collect();
    case.found(6, &before, unit, format!("dispatch {id} is {what}, and does not run"));
    None
}

fn shown(pid: Option<u32>) -> String {
    pid.map_or_else(|| "none".into(), |pid| pid.to_string())
}
