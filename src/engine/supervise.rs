//! The supervisor of one dispatch: starts it, watches it, reaps it, commits its exit with its
//! consequences, and runs a tick.

use super::briefing::{Surroundings, job_plan};
use super::error::EngineError;
use super::look;
use super::ports::git::{Git, TreeRequest};
use super::ports::{Job, JobPlan, Woken};
use super::session::Session;
use crate::crash;
use crate::domain::event::{Exit, Ground, Reclaimed, Role, Tree};
use crate::domain::fact::{Fact, Input};
use crate::domain::ids::DispatchId;
use crate::domain::state::Dispatch;
use crate::journal::Category;
use std::time::{Duration, Instant};

/// How often the journal's length is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long an exit that cannot be committed is tried; the receipt is there for the next tick.
const COMMIT_FOR: Duration = Duration::from_secs(120);
/// How long that is when somebody told us to leave.
const COMMIT_FOR_TOLD: Duration = Duration::from_secs(5);
/// How long ground truth is asked for before it is left to a tick.
const GROUND_FOR: Duration = Duration::from_secs(5);

/// How a supervisor ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Nothing was started, and nothing said.
    Failed,
}

/// What a supervisor needs besides the session.
pub struct Station<'a> {
    /// The command.
    pub job: &'a mut dyn Job,
    /// Where things are.
    pub around: Surroundings<'a>,
    /// Takes `worktree.lock` and gives git that holds it; `None` where there is no repository.
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
    if station.job.spawn(&plan).is_err() {
        station.job.drop_unused();
        return Supervised::Failed;
    }
    crash::point("supervise-forked");
    let Some(started) = station.job.started() else { return Supervised::Failed };
    match session.transact(&Input::Fact(Fact::Starting(started))) {
        Ok(_) => {}
        Err(EngineError::Refused(_)) => {
            station.job.drop_unused();
            return Supervised::Superseded;
        }
        Err(_) => {
            station.job.drop_unused();
            return Supervised::Failed;
        }
    }
    crash::point("supervise-started");
    let rescued = match make_tree(session, &dispatch, station) {
        Ok(rescued) => rescued,
        Err(exit) => {
            station.job.drop_unused();
            return end(session, id, station, &plan, *exit, false);
        }
    };
    crash::point("supervise-tree");
    station.job.go();
    crash::point("supervise-go");
    let told = watch(session, &dispatch, station);
    crash::point("supervise-ended");
    let mut exit = station.job.finish();
    exit.supervisor = told;
    exit.reclaimed.extend(rescued);
    end(session, id, station, &plan, exit, told)
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

/// Watches until the command has ended. Whether we were told to leave and ended it for that.
fn watch(session: &mut Session<'_>, dispatch: &Dispatch, station: &mut Station<'_>) -> bool {
    let mut activity = Activity::new(dispatch);
    loop {
        let due = crate::domain::rules::next_due(&session.state, &session.clock().now());
        let time = due.unwrap_or(LOOK).clamp(Duration::from_millis(5), LOOK);
        match station.job.wait(time) {
            Woken::Ended => return false,
            Woken::Told => {
                station.job.end();
                return true;
            }
            Woken::Time => {}
        }
        if session.has_grown() {
            // what cannot be read now is read by the commit at the end
            let _ = session.refresh();
        }
        activity.look(session, dispatch, station);
        let now = session.clock().now();
        let own = session.state.dispatch(&dispatch.id).map(|d| own_due(d, &now));
        if own.flatten().is_some_and(|due| due.is_zero()) {
            (station.tick)();
            let _ = session.refresh();
        }
    }
}

/// How long until this dispatch's own next bound.
fn own_due(dispatch: &Dispatch, now: &crate::domain::time::Now) -> Option<Duration> {
    let started = dispatch.started_at.as_ref()?;
    match &dispatch.stop {
        None => Some(started.remaining(Duration::from_millis(dispatch.plan.timeout_ms), now)),
        Some(stop) if stop.ineffective => None,
        Some(stop) => {
            let since = stop.escalated.as_ref().unwrap_or(&stop.requested);
            Some(since.remaining(Duration::from_millis(stop.bound_ms), now))
        }
    }
}

/// Signs of life of a command.
struct Activity {
    bytes: u64,
    milestones: u32,
    tip: Option<crate::domain::ids::CommitId>,
    last: Instant,
    bound: Option<Duration>,
    said: bool,
}

impl Activity {
    fn new(dispatch: &Dispatch) -> Self {
        Self {
            bytes: 0,
            milestones: 0,
            tip: None,
            last: Instant::now(),
            bound: dispatch.plan.stall_timeout_ms.map(Duration::from_millis),
            said: false,
        }
    }

    fn look(&mut self, session: &mut Session<'_>, dispatch: &Dispatch, station: &Station<'_>) {
        let bytes = station.job.output_bytes();
        let milestones = session.state.dispatch(&dispatch.id).map_or(0, |d| d.milestones);
        if bytes != self.bytes || milestones != self.milestones {
            (self.bytes, self.milestones, self.last) = (bytes, milestones, Instant::now());
        }
        if self.said {
            return;
        }
        let id = dispatch.id;
        if bytes > session.state.config().output_limit() {
            self.said = self.say(session, station, Fact::Flooded { dispatch: id });
        } else if self.bound.is_some_and(|bound| self.last.elapsed() >= bound) {
            let tip = ground(session, dispatch, station).and_then(|ground| ground.tip);
            if tip == self.tip {
                self.said = self.say(session, station, Fact::Stalled { dispatch: id });
            }
            (self.tip, self.last) = (tip, Instant::now());
        }
    }

    fn say(&self, session: &mut Session<'_>, station: &Station<'_>, fact: Fact) -> bool {
        let said = session.transact(&Input::Fact(fact)).is_ok();
        (station.tick)();
        let _ = session.refresh();
        said
    }
}

fn ground(session: &Session<'_>, dispatch: &Dispatch, station: &Station<'_>) -> Option<Ground> {
    look::ground((station.trees)()?.as_ref(), &session.state, dispatch)
}

/// Writes the receipt and commits the exit with its consequences.
fn end(
    session: &mut Session<'_>,
    id: DispatchId,
    station: &mut Station<'_>,
    plan: &JobPlan,
    mut exit: Exit,
    told: bool,
) -> Supervised {
    let _ = session.refresh();
    let dispatch = session.state.dispatch(&id).cloned();
    if let Some(dispatch) = dispatch.filter(|d| d.plan.role == Role::Agent && exit.ran) {
        let begun = Instant::now();
        while dispatch.plan.tree != Tree::None && exit.ground.is_none() {
            exit.ground = ground(session, &dispatch, station);
            if begun.elapsed() > GROUND_FOR {
                break;
            }
        }
    }
    if plan.report.is_some() && exit.ran {
        exit.report = station.job.report(plan);
    }
    if plan.plan.reclaim.is_some() {
        exit.reclaimed = (station.reclaimed)();
    }
    let written = station.job.write_receipt(&exit).is_ok();
    crash::point("supervise-receipt");
    let in_tree = plan.plan.role == Role::Agent && plan.plan.tree != Tree::None;
    if in_tree && exit.ran && exit.ground.is_none() && written {
        return Supervised::Left; // nobody can tell now; a tick will, from the receipt
    }
    let ended = commit_end(session, id, &exit, if told { COMMIT_FOR_TOLD } else { COMMIT_FOR });
    crash::point("supervise-committed");
    match ended {
        Supervised::Committed if told => Supervised::Told,
        other => other,
    }
}

fn commit_end(
    session: &mut Session<'_>,
    id: DispatchId,
    exit: &Exit,
    patience: Duration,
) -> Supervised {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(50);
    session.lock_wait = patience.min(session.lock_wait);
    loop {
        let fact = Fact::Ended { dispatch: id, exit: exit.clone() };
        match session.transact(&Input::Fact(fact)) {
            Ok(_) => return Supervised::Committed,
            Err(EngineError::Journal(error)) if error.category() == Category::TooOld => {
                return Supervised::TooOld;
            }
            Err(EngineError::Refused(_)) => return Supervised::Left,
            Err(EngineError::Journal(_)) => {}
        }
        if begun.elapsed() > patience {
            return Supervised::Left;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}
