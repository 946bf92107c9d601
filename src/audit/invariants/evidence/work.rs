//! Of what happens to a dispatch while it runs.

use crate::audit::invariants::Case;
use crate::audit::invariants::history::{Dispatch, Known};
use crate::domain::event::{
    DispatchPlanned, Event, MemberStopRequested, MilestonePosted, StopReasonRaised, StopRequested,
};
use crate::domain::ids::DispatchId;

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::DispatchPlanned(e) => replaces(case, e),
        Event::MilestonePosted(e) => posted(case, e),
        Event::SupervisionLost(e) => {
            running(case, &e.dispatch, "lost its supervisor");
        }
        Event::StopRequested(e) => asked(case, e),
        Event::MemberStopRequested(e) => asked_of_member(case, e),
        Event::StopReasonRaised(e) => raised(case, e),
        _ => {}
    }
}

fn replaces(case: &mut Case<'_>, e: &DispatchPlanned) {
    let Some(replaced) = e.replaces else { return };
    let (seq, what) = match case.history.dispatch(&replaced) {
        Known::Here(dispatch) if dispatch.unit != e.unit => (dispatch.planned, "is another unit's"),
        Known::Here(dispatch) if dispatch.is_open() => (dispatch.last_entry(), "is not over"),
        Known::Here(_) | Known::Past(_) => return,
        Known::Never => (0, "was never planned"),
    };
    let message = format!("dispatch {} replaces {replaced}, which {what}", e.dispatch);
    case.found(13, &[seq], Some(e.unit.clone()), message);
}

fn posted(case: &mut Case<'_>, e: &MilestonePosted) {
    let Some(dispatch) = running(case, &e.dispatch, "posts a milestone") else { return };
    let id = e.dispatch;
    if dispatch.unit != e.unit {
        let message =
            format!("dispatch {id} posts for {}, and works for {}", e.unit, dispatch.unit);
        case.found(13, &[dispatch.planned], Some(e.unit.clone()), message);
    } else if let Some(stop) = &dispatch.stop {
        let message = format!("dispatch {id} posts a milestone, and is being stopped");
        case.found(13, &[stop.requested.seq], Some(e.unit.clone()), message);
    } else if let Some(seq) = dispatch.superseded {
        let message = format!("dispatch {id} posts a milestone, and is superseded");
        case.found(13, &[seq], Some(e.unit.clone()), message);
    }
}

fn asked(case: &mut Case<'_>, e: &StopRequested) {
    let Some(dispatch) = running(case, &e.dispatch, "is to be stopped") else { return };
    let pid = dispatch.started.as_ref().map(|started| started.pid);
    if e.pid.is_some() && e.pid != pid {
        let message = format!("a stop of dispatch {} names another process", e.dispatch);
        case.found(13, &[dispatch.last_entry()], Some(dispatch.unit.clone()), message);
    }
}

fn asked_of_member(case: &mut Case<'_>, e: &MemberStopRequested) {
    let same = |event: &Event| match event {
        Event::StopRequested(stop) => stop.dispatch == e.dispatch && stop.reason == e.reason,
        _ => false,
    };
    if !case.earlier().any(same) {
        let message = format!("{} is to be stopped, and no stop is in the line", e.member);
        case.found(13, &[], Some(e.member.clone()), message);
    }
}

fn raised(case: &mut Case<'_>, e: &StopReasonRaised) {
    let Some(dispatch) = running(case, &e.dispatch, "is to be stopped") else { return };
    let (id, unit) = (e.dispatch, Some(dispatch.unit.clone()));
    match &dispatch.stop {
        None => {
            let message = format!("dispatch {id} has a stronger reason to stop, and had none");
            case.found(13, &[], unit, message);
        }
        Some(stop) if e.reason <= stop.reason => {
            let (new, old) = (e.reason.name(), stop.reason.name());
            let message = format!("dispatch {id} is stopped for {new}, no stronger than {old}");
            case.found(13, &[stop.requested.seq], unit, message);
        }
        Some(_) => {}
    }
}

/// The dispatch, if a process of it may live; a finding if not.
fn running<'a>(case: &mut Case<'a>, id: &DispatchId, what: &str) -> Option<&'a Dispatch> {
    let (seq, unit) = match case.history.dispatch(id) {
        Known::Here(dispatch) if dispatch.is_live() => return Some(dispatch),
        Known::Here(dispatch) => (dispatch.last_entry(), Some(dispatch.unit.clone())),
        Known::Past(seq) => (seq, None),
        Known::Never => (0, None),
    };
    case.found(13, &[seq], unit, format!("dispatch {id} {what}, and does not run"));
    None
}
