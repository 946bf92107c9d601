//! Rules 1 and 3: what a dispatch may go through.

use super::Case;
use super::history::{Dispatch, Known};
use super::members::batch_over;
use crate::domain::event::{Event, Role};
use crate::domain::ids::{BatchId, DispatchId, Unit};

/// Rule 1: a dispatch is planned once and started once, and a unit has one agent at a time.
pub(super) fn starts(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::DispatchPlanned(e) => {
            let before = match case.history.dispatch(&e.dispatch) {
                Known::Never => None,
                Known::Past(seq) => Some(seq),
                Known::Here(dispatch) => Some(dispatch.planned),
            };
            if let Some(seq) = before {
                let message = format!("dispatch {} is planned twice", e.dispatch);
                case.found(1, &[seq], Some(e.unit.clone()), message);
            }
            if e.role == Role::Agent {
                let history = case.history;
                let open = |d: &&Dispatch| d.role == Role::Agent && d.is_open();
                if let Some(other) = history.dispatches_of(&e.unit).find(open) {
                    let message = format!("{} has two live agent dispatches", e.unit);
                    case.found(1, &[other.planned], Some(e.unit.clone()), message);
                }
            }
        }
        Event::DispatchStarted(e) => started(case, &e.dispatch),
        _ => {}
    }
}

fn started(case: &mut Case<'_>, id: &DispatchId) {
    let dispatch = match case.history.dispatch(id) {
        Known::Never => {
            return case.found(1, &[], None, format!("dispatch {id} is started and never planned"));
        }
        Known::Past(seq) => {
            let message = format!("dispatch {id} is started and was over before");
            return case.found(1, &[seq], None, message);
        }
        Known::Here(dispatch) => dispatch,
    };
    let unit = Some(dispatch.unit.clone());
    if let Some(started) = &dispatch.started {
        case.found(1, &[started.seq], unit, format!("dispatch {id} is started twice"));
    } else if !dispatch.is_open() {
        let message = format!("dispatch {id} is started and was over before");
        case.found(1, &[dispatch.last_entry()], unit, message);
    }
}

/// Rule 3: a dispatch ends once, in the way that fits what it had come to.
pub(super) fn ends(case: &mut Case<'_>, event: &Event) {
    let (id, how) = match event {
        Event::DispatchExited(e) => (&e.dispatch, "exited"),
        Event::DispatchLost(e) => (&e.dispatch, "lost"),
        Event::DispatchExpired(e) => (&e.dispatch, "expired"),
        Event::DispatchSuperseded(e) => (&e.dispatch, "superseded"),
        _ => return,
    };
    let dispatch = match case.history.dispatch(id) {
        Known::Never => {
            return case.found(3, &[], None, format!("dispatch {id} {how} and was never planned"));
        }
        Known::Past(seq) => {
            let message = format!("dispatch {id} {how} and was over before");
            return case.found(3, &[seq], None, message);
        }
        Known::Here(dispatch) => dispatch,
    };
    let unit = Some(dispatch.unit.clone());
    let ran = dispatch.started.is_some();
    if let Some(end) = &dispatch.end {
        let message = format!("dispatch {id} ended twice: {}, then {how}", end.how);
        case.found(3, &[end.seq], unit, message);
    } else if let Some(seq) = dispatch.superseded.filter(|_| how == "superseded" || !ran) {
        let message = format!("dispatch {id} ended twice: superseded, then {how}");
        case.found(3, &[seq], unit, message);
    } else if matches!(how, "exited" | "lost") && !ran {
        let message = format!("dispatch {id} {how} and was never started");
        case.found(3, &[dispatch.planned], unit, message);
    } else if how == "expired" && ran {
        let message = format!("dispatch {id} expired and was started");
        case.found(3, &[dispatch.last_entry()], unit, message);
    }
}

/// Rule 3: what works for a batch has ended when that is over; only its trees are removed later.
pub(super) fn line(case: &mut Case<'_>) {
    for batch in case.entry.events.iter().filter_map(batch_over) {
        for unit in units_of(case, batch) {
            let works = |d: &&Dispatch| d.is_live() && d.role != Role::Reclaim;
            let works = case.history.dispatches_of(&unit).find(works);
            let works = works.map(|d| (d.last_entry(), d.role.name()));
            if let Some((seq, role)) = works {
                let message = format!("{unit} is over, and its {role} has no end");
                case.found(3, &[seq], Some(unit), message);
            }
        }
    }
}

/// A batch and its members.
fn units_of(case: &Case<'_>, id: &BatchId) -> Vec<Unit> {
    let members = case.history.batch(id).into_iter().flat_map(|batch| batch.members.keys());
    let units = members.map(|issue| case.history.member_unit(id, issue));
    std::iter::once(Unit::Batch(id.clone())).chain(units).collect()
}
