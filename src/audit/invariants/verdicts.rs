//! Rule 13, the verdict over a dispatch: what was seen of its end bears it out.

use super::Case;
use super::history::Dispatch;
use crate::domain::event::{DispatchExited, DispatchLost, Event, Exit, Role, Verdict};

pub(super) fn event(case: &mut Case<'_>, event: &Event) {
    match event {
        Event::DispatchExited(e) => exited(case, e),
        Event::DispatchLost(e) => lost(case, e),
        _ => {}
    }
}

fn exited(case: &mut Case<'_>, e: &DispatchExited) {
    let Some(dispatch) = case.history.dispatch(&e.dispatch).here() else { return };
    if let Some(lacks) = lacking(dispatch, e.verdict, &e.exit) {
        let (id, verdict) = (e.dispatch, e.verdict.name());
        let message = format!("dispatch {id} is judged {verdict}, and {lacks}");
        case.found(13, &[], Some(dispatch.unit.clone()), message);
    }
}

/// What a verdict lacks to be borne out by an exit.
fn lacking(dispatch: &Dispatch, verdict: Verdict, exit: &Exit) -> Option<&'static str> {
    let tests_failed = exit.report.as_ref().is_some_and(|report| !report.failures.is_empty());
    let (holds, lacks) = match verdict {
        Verdict::Stopped => (dispatch.stop.is_some(), "no stop of it was requested"),
        Verdict::Done => (exit.ran && exit.code == Some(0), "it did not exit with 0"),
        Verdict::Passed if is_check(dispatch) => {
            (exit.ran && exit.code == Some(0), "it did not exit with 0")
        }
        Verdict::Failed if is_check(dispatch) => (
            exit.ran && (exit.code.is_some_and(|code| code != 0) || tests_failed),
            "nothing of it failed",
        ),
        Verdict::Passed | Verdict::Failed => (false, "it is neither gate nor suite"),
        Verdict::KilledOutside => (exit.signal.is_some() || exit.supervisor, "no signal ended it"),
        Verdict::NeverRan => (!exit.ran, "its command ran"),
        Verdict::WorktreeFailed => (exit.worktree_failed.is_some(), "its tree was made"),
        Verdict::HostFault => (exit.exec_failed.is_some(), "its command could be executed"),
        Verdict::Lost | Verdict::HostLost => (false, "its exit was seen"),
        Verdict::Inconclusive => (is_check(dispatch), "it is neither gate nor suite"),
        Verdict::HandedBack | Verdict::NeedsHuman | Verdict::Empty | Verdict::UnverifiedExit => {
            (exit.ran, "its command never ran")
        }
    };
    (!holds).then_some(lacks)
}

fn is_check(dispatch: &Dispatch) -> bool {
    matches!(dispatch.role, Role::Gate | Role::Suite | Role::Bisect)
}

fn lost(case: &mut Case<'_>, e: &DispatchLost) {
    let Some(dispatch) = case.history.dispatch(&e.dispatch).here() else { return };
    let ground = e.ground.as_ref();
    let works = ground.is_some_and(|g| g.tree && !g.dirty && g.commits > 0);
    let boot = dispatch.started.as_ref().map(|started| &started.boot);
    let foreign = e.judged.as_deref() == Some("foreign");
    let adopted = case.earlier().any(|event| matches!(event, Event::JournalAdopted(_)));
    let (holds, lacks) = match e.verdict {
        Verdict::Done => (works, "no clean tree with commits of its own is shown"),
        Verdict::Stopped => (dispatch.stop.is_some(), "no stop of it was requested"),
        Verdict::NeverRan => (!e.ran, "its command ran"),
        Verdict::HostLost if foreign => (adopted, "its journal was not adopted"),
        Verdict::HostLost => (boot != Some(&case.entry.by.boot), "its machine still runs"),
        Verdict::Lost => (true, ""),
        _ => (false, "nothing of its end was seen"),
    };
    if !holds {
        let (id, verdict) = (e.dispatch, e.verdict.name());
        let message = format!("dispatch {id} is lost and judged {verdict}, and {lacks}");
        case.found(13, &[], Some(dispatch.unit.clone()), message);
    }
}
