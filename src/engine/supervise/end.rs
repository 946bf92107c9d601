//! After the command: the receipt, the ground truth, and the line that says how it ended.

use super::{Station, Supervised};
use crate::crash;
use crate::domain::event::{Exit, Role, Tree};
use crate::domain::fact::{Fact, Input};
use crate::domain::ids::DispatchId;
use crate::domain::state::Dispatch;
use crate::engine::error::EngineError;
use crate::engine::look;
use crate::engine::ports::{JobPlan, since};
use crate::engine::session::Session;
use crate::journal::{Category, JournalError};
use std::time::Duration;

/// How long an exit that cannot be committed is tried; the receipt is there for the next tick.
const COMMIT_FOR: Duration = Duration::from_secs(120);
/// How long that is once somebody told us to leave; and how long one wait for the lock is.
const COMMIT_FOR_TOLD: Duration = Duration::from_secs(5);
/// How long ground truth is asked for before it is left to a tick.
const GROUND_FOR: Duration = Duration::from_secs(5);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Writes the receipt and commits the exit with its consequences. The receipt comes first, once
/// the work that it vouches for is on the disk: what follows may take its time, and what it finds
/// a tick finds too.
pub(super) fn end(
    session: &mut Session<'_>,
    id: DispatchId,
    station: &mut Station<'_>,
    plan: &JobPlan,
    mut exit: Exit,
) -> Supervised {
    if plan.report.is_some() && exit.ran {
        exit.report = station.job.report(plan);
    }
    if plan.plan.reclaim.is_some() {
        exit.reclaimed = (station.reclaimed)();
    }
    // Crash story: the receipt says that the command did its work, power fails, and the commits
    // that its own git had not synced are gone: half of the work would be taken for all of it.
    // And what is judged below is on the disk before anybody builds on it.
    let worked = session.state.dispatch(&id).is_some_and(|d| is_judged_by_ground(d, &exit));
    let synced = !worked || station.git.is_none_or(|git| git.sync().is_ok());
    let written = synced && station.job.write_receipt(&exit).is_ok();
    crash::point("supervise-receipt");
    let _ = session.refresh();
    let dispatch = session.state.dispatch(&id).cloned();
    if let Some(dispatch) = dispatch.filter(|d| is_judged_by_ground(d, &exit)) {
        exit.ground = synced.then(|| ground(session, &dispatch, station)).flatten();
        let judgeable = look::judgeable(&dispatch, exit.ran, exit.ground.is_some());
        if !judgeable && (written || !synced) {
            return Supervised::Left; // nobody can tell now; a tick will, from what is there
        }
    }
    let ended = commit(session, id, &exit, station);
    crash::point("supervise-committed");
    if station.job.told() { Supervised::Told } else { ended }
}

fn is_judged_by_ground(dispatch: &Dispatch, exit: &Exit) -> bool {
    dispatch.plan.role == Role::Agent && dispatch.plan.tree != Tree::None && exit.ran
}

fn ground(
    session: &Session<'_>,
    dispatch: &Dispatch,
    station: &mut Station<'_>,
) -> Option<crate::domain::event::Ground> {
    let clock = session.clock();
    let begun = clock.up();
    loop {
        let seen = look::ground(station.git?, &session.state, dispatch);
        if seen.is_some() || since(clock, begun) > GROUND_FOR {
            return seen;
        }
        clock.sleep(PAUSE);
    }
}

fn commit(
    session: &mut Session<'_>,
    id: DispatchId,
    exit: &Exit,
    station: &Station<'_>,
) -> Supervised {
    let clock = session.clock();
    let begun = clock.up();
    let mut told = station.job.told().then(|| clock.up());
    let mut pause = PAUSE;
    session.lock_wait = COMMIT_FOR_TOLD.min(session.lock_wait);
    loop {
        let fact = Fact::Ended { dispatch: id, exit: exit.clone() };
        match session.transact(&Input::Fact(fact)) {
            Ok(_) => return Supervised::Committed,
            Err(EngineError::Journal(error)) if error.category() == Category::TooOld => {
                return Supervised::TooOld;
            }
            // what the disk has is unknown to this process: another one reads it
            Err(EngineError::Journal(JournalError::Poisoned { .. })) => {
                return Supervised::Poisoned;
            }
            Err(EngineError::Refused(_)) => return Supervised::Left,
            Err(EngineError::Journal(_)) => {}
        }
        if station.job.told() {
            told.get_or_insert_with(|| clock.up());
        }
        let leaving = told.is_some_and(|at| since(clock, at) > COMMIT_FOR_TOLD);
        if leaving || since(clock, begun) > COMMIT_FOR {
            return Supervised::Left;
        }
        clock.sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(2));
    }
}
