//! The supervisor of one dispatch: starts it, watches it, reaps it, commits its exit with its
//! consequences, and runs a tick.
//!
//! [`supervise`] is the five steps of 3-engine.md in their order; `watch` is the time while the
//! command runs, `end` what comes after it. The world is behind [`Station`].

mod end;
mod rest;
mod watch;

use super::briefing::{Surroundings, job_plan};
use super::error::EngineError;
use super::ports::Job;
use super::ports::git::{Git, TreeRequest};
use super::session::Session;
use crate::crash;
use crate::domain::event::{Exit, Reclaimed, Tree};
use crate::domain::fact::{Fact, Input};
use crate::domain::ids::DispatchId;
use crate::domain::state::Dispatch;
use crate::journal::JournalError;
use end::end;
use watch::{Watched, watch};

pub use rest::wait_out;

/// How a supervisor ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supervised {
    /// The exit is committed; a tick is due.
    Committed,
    /// The dispatch was not to be run: superseded, expired, or another supervisor has it.
    Superseded,
    /// Told to leave: no tick.
    Told,
    /// The exit could not be committed; its receipt is there.
    Left,
    /// The journal is newer than this program; the receipt is there.
    TooOld,
    /// A sync failed: this process must not go on; what there is of evidence is there.
    Poisoned,
    /// Nothing was started, and nothing written: why.
    Failed(String),
}

/// What a supervisor needs besides the session.
pub struct Station<'a> {
    /// The command.
    pub job: &'a mut dyn Job,
    /// Where things are.
    pub around: Surroundings<'a>,
    /// Git that only looks, and holds nothing; `None` where there is no repository.
    pub git: Option<&'a dyn Git>,
    /// Takes `worktree.lock` and gives git that holds it; `None` where there is no repository,
    /// and when we are told to leave while we wait.
    pub trees: &'a dyn Fn() -> Option<Box<dyn Git>>,
    /// Runs a tick; used when a bound has come.
    pub tick: &'a dyn Fn(),
    /// What a built-in reclaim wrote down.
    pub reclaimed: &'a dyn Fn() -> Vec<Reclaimed>,
}

/// Supervises one dispatch to its end.
pub fn supervise(
    session: &mut Session<'_>,
    id: DispatchId,
    station: &mut Station<'_>,
) -> Supervised {
    crash::point("supervise-begun");
    let Some(dispatch) = session.state.dispatch(&id).filter(|d| !d.is_started()).cloned() else {
        return Supervised::Superseded;
    };
    let plan = job_plan(&session.state, &dispatch, &station.around);
    if let Err(why) = station.job.spawn(&plan) {
        station.job.drop_unused();
        return Supervised::Failed(why);
    }
    crash::point("supervise-forked");
    let Some(started) = station.job.started() else {
        return Supervised::Failed("the command's process is not there".into());
    };
    if station.job.told() {
        station.job.drop_unused();
        return Supervised::Told; // still planned, and expires
    }
    match session.transact(&Input::Fact(Fact::Starting(started))) {
        Ok(_) => {}
        Err(EngineError::Refused(_)) => {
            station.job.drop_unused();
            return Supervised::Superseded;
        }
        Err(error) => {
            station.job.drop_unused();
            let poisoned = matches!(error, EngineError::Journal(JournalError::Poisoned { .. }));
            return if poisoned {
                Supervised::Poisoned
            } else {
                Supervised::Failed(error.to_string())
            };
        }
    }
    crash::point("supervise-started");
    let rescued = match make_tree(session, &dispatch, station) {
        Ok(rescued) => rescued,
        Err(mut exit) => {
            station.job.drop_unused();
            if station.job.told() {
                *exit = Exit { supervisor: true, ..Exit::default() }; // it was not waited for
            }
            return end(session, id, station, &plan, *exit);
        }
    };
    crash::point("supervise-tree");
    if let Some(mut exit) = unwanted(session, id, station) {
        station.job.drop_unused();
        exit.reclaimed.extend(rescued);
        return end(session, id, station, &plan, exit);
    }
    station.job.go();
    crash::point("supervise-go");
    let told = match watch(session, &dispatch, station) {
        Watched::Ended => false,
        Watched::Told => true,
        Watched::Unkillable => return Supervised::Told,
    };
    crash::point("supervise-ended");
    let mut exit = station.job.finish();
    exit.supervisor = told;
    exit.reclaimed.extend(rescued);
    end(session, id, station, &plan, exit)
}

/// Making a tree may take long. Who was told to leave meanwhile, or finds that a stop was asked
/// for, does not let the command run any more.
fn unwanted(session: &mut Session<'_>, id: DispatchId, station: &Station<'_>) -> Option<Exit> {
    let told = station.job.told();
    if session.has_grown() {
        // what cannot be read now is read by the commit at the end
        let _ = session.refresh();
    }
    let wanted = session.state.dispatch(&id).is_some_and(|dispatch| dispatch.stop.is_none());
    (told || !wanted).then(|| Exit { supervisor: told, ..Exit::default() })
}

/// Makes the working tree where the role needs one. What was rescued on the way, or the exit
/// when it cannot be made.
fn make_tree(
    session: &Session<'_>,
    dispatch: &Dispatch,
    station: &Station<'_>,
) -> Result<Option<Reclaimed>, Box<Exit>> {
    let path = match &dispatch.plan.tree {
        Tree::None => return Ok(None),
        Tree::Member { path, .. } | Tree::Check { path, .. } => path.clone(),
    };
    let failed = |own, reason: String| {
        let reason = reason.chars().take(500).collect();
        Box::new(Exit { worktree_failed: Some(reason), worktree_own: own, ..Exit::default() })
    };
    let pinned = session.state.batch_of(&dispatch.unit).and_then(|b| b.pinned.as_ref());
    let root = pinned.map_or_else(String::new, |p| p.worktree_root.clone());
    let Some(git) = (station.trees)() else {
        return Err(failed(false, "there is no git repository here".into()));
    };
    let request = TreeRequest {
        tree: dispatch.plan.tree.clone(),
        root,
        unit: dispatch.unit.clone(),
        time: session.clock().now().wall,
    };
    let made = git.make_tree(&request).map_err(|error| failed(error.own, error.reason))?;
    let unit = dispatch.unit.clone();
    let rescued = |rescue| Reclaimed { unit, path, rescue: Some(rescue), done: true, error: None };
    Ok(made.rescue.map(rescued))
}
