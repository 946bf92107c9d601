//! The processes that run code of the program: ticks, supervisors, operators, the built-in
//! reclaim. What the command line does around the engine is done here in the same order.

use crate::git::{Between, SimGit};
use crate::job::SimJob;
use crate::ports::{SimClock, SimProcesses, SimRuns, home};
use crate::process::{Machine, Us};
use crate::world::{Waits, World};
use sched::domain::command::{Command, Post};
use sched::domain::event::{Event, Writer};
use sched::domain::fact::{Input, Seen, TickSeen};
use sched::domain::ids::DispatchId;
use sched::engine::ports::git::{Git, GitError};
use sched::engine::supervise::{Station, Supervised, supervise, wait_out};
use sched::engine::tick::{self, pay_signals, start_one, tick};
use sched::engine::{EngineError, Session, Surroundings, reclaim as reclaim_trees};
use sched::journal::line::sha256_hex;
use sched::journal::{Files, Held, JournalError, WORKTREE_LOCK};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The repository's git, as a process uses it.
fn git(us: &Us) -> SimGit<Us> {
    SimGit { repo: Arc::clone(&us.machine.repo), between: us.clone() }
}

/// What stands in the configuration and on the disk now.
fn seen(us: &Us, session: &Session<'_>) -> TickSeen {
    let world = us.world();
    let digest = sha256_hex(world.config.as_bytes());
    let applied = session.state.applied.as_ref().is_some_and(|a| a.digest == digest);
    let config = (!applied).then(|| (digest, Ok(world.config.clone())));
    let disk_low = world.disk_low.then_some(1_000);
    TickSeen { config, last_tick: world.ticked, disk_low, ..TickSeen::default() }
}

/// One tick under its lock.
fn locked_tick(us: &Us, session: &mut Session<'_>, wait: Duration) -> Result<(), EngineError> {
    let before = us.world().ticked;
    let Some(_lock) = session.home().tick_lock(wait)? else { return Ok(()) };
    let (processes, runs, git) = (SimProcesses(us.clone()), SimRuns(us.clone()), git(us));
    let world = tick::World {
        processes: &processes,
        runs: &runs,
        git: Some(&git),
        seen: &|session| TickSeen { last_tick: before, ..seen(us, session) },
        told_to_leave: &|| us.told(),
    };
    tick(session, &world).map(drop)
}

fn tick_here(us: &Us, wait: Duration) -> Result<(), EngineError> {
    let clock = SimClock(us.clone());
    let mut session = home(us, &clock).open(Writer::Tick)?;
    locked_tick(us, &mut session, wait)
}

/// `sched tick`, from cron.
pub fn cron(us: &Us) -> Result<(), EngineError> {
    let clock = SimClock(us.clone());
    let home = home(us, &clock);
    let still = |rest: &sched::projection::Rest| {
        let world = us.world();
        rest.digest == sha256_hex(world.config.as_bytes()) && !world.disk_low
    };
    if home.at_rest(still)?.is_some() {
        return Ok(());
    }
    let mut session = home.open(Writer::Tick)?;
    locked_tick(us, &mut session, Duration::from_millis(100))
}

/// Starts one tick.
pub fn start_tick(machine: &Arc<Machine>, world: &mut World) -> u32 {
    let name = format!("tick {}", world.turns);
    machine.spawn(world, name, None, |us| {
        let done = cron(us);
        complain(us, "tick", done.err());
    })
}

/// An error that no fault of the weather explains is a failure.
fn complain(us: &Us, who: &str, error: Option<EngineError>) {
    let Some(error) = error else { return };
    let mut world = us.world();
    world.say(|| format!("{who}: {error}"));
    let EngineError::Journal(error) = error else { return };
    let damage = matches!(
        error,
        JournalError::Corrupt { .. }
            | JournalError::Rewritten { .. }
            | JournalError::Truncated { .. }
            | JournalError::Illegal { .. }
            | JournalError::TooNew { .. }
            | JournalError::Missing { .. }
    );
    if damage {
        world.fail(format!("{who}: {error}"));
    }
}

/// A supervisor, which may come late.
pub fn start_supervisor(machine: &Arc<Machine>, world: &mut World, id: DispatchId, late: u64) {
    let name = format!("supervisor {}", id.to_string().split_at(18).1);
    let begins = world.up + late;
    let pid = machine.spawn(world, name, Some(id), move |us| supervisor(us, id));
    if late > 0
        && let Some(proc) = world.procs.get_mut(&pid)
    {
        proc.waits = Waits::Until(begins);
    }
}

/// Who holds the lock for trees while git works.
struct Holding {
    us: Us,
    _lock: Box<dyn Held>,
}

impl Between for Holding {
    fn between(&self, what: &'static str) -> Result<(), GitError> {
        self.us.between(what)
    }
}

fn locked_git(us: &Us) -> Option<SimGit<Holding>> {
    let files = crate::disk::SimFiles(us.clone());
    loop {
        match files.lock(WORKTREE_LOCK, Duration::from_secs(1), "supervise") {
            Ok(lock) => {
                let between = Holding { us: us.clone(), _lock: lock };
                return Some(SimGit { repo: Arc::clone(&us.machine.repo), between });
            }
            Err(JournalError::Locked { .. }) if !us.told() => {}
            Err(_) => return None,
        }
    }
}

/// A tree may take longer than any timeout.
fn slow_tree(us: &Us) {
    let mut world = us.world();
    let chance = world.weather.slow_tree;
    if world.tape.happens(chance) {
        world.meet("a slow tree", false);
        let until = world.up + 150_000;
        drop(world);
        us.wait(Waits::Until(until));
    }
}

fn supervisor(us: &Us, id: DispatchId) {
    let clock = SimClock(us.clone());
    let opened = home(us, &clock).open(Writer::Supervisor);
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return complain(us, "supervise", Some(error)),
    };
    let mut job = SimJob::new(us, id);
    let git = git(us);
    let inherited = |_: &str| None;
    let mut station = Station {
        job: &mut job,
        around: Surroundings {
            state_dir: Path::new(crate::disk::STATE),
            program: Path::new("/bin/sched"),
            inherited: &inherited,
        },
        git: Some(&git),
        trees: &|| {
            let git = locked_git(us)?;
            slow_tree(us);
            Some(Box::new(git) as Box<dyn Git>)
        },
        tick: &|| drop(tick_here(us, Duration::from_secs(5))),
        reclaimed: &|| {
            us.world().runs.get(&id).map(|run| run.reclaimed.clone()).unwrap_or_default()
        },
    };
    let unit = session.state.dispatch(&id).map(|d| d.unit.clone());
    let ended = supervise(&mut session, id, &mut station);
    us.world().say(|| format!("supervisor of {id}: {ended:?}"));
    if ended != Supervised::Poisoned {
        session.save();
    }
    drop(session);
    match ended {
        Supervised::Superseded | Supervised::Failed(_) | Supervised::Told => {}
        Supervised::TooOld | Supervised::Poisoned => {
            // it becomes a tick: as a supervisor it is gone
            us.world().procs.get_mut(&us.pid).expect("it is us").supervises = None;
            complain(us, "tick", cron(us).err());
        }
        Supervised::Committed | Supervised::Left => loop {
            if let Err(error) = tick_here(us, Duration::from_secs(60)) {
                return complain(us, "tick", Some(error));
            }
            let clock = SimClock(us.clone());
            let Ok(session) = home(us, &clock).open(Writer::Tick) else { return };
            if !wait_out(&session, unit.as_ref(), &|| us.told()) {
                return;
            }
        },
    }
}

/// The built-in behind role `reclaim`, as the command of its dispatch.
pub fn reclaim(machine: &Arc<Machine>, world: &mut World, pid: u32, id: DispatchId) {
    machine.spawn_as(world, pid, format!("reclaim {pid}"), None, move |us| {
        let clock = SimClock(us.clone());
        let Ok(session) = home(us, &clock).open(Writer::Supervisor) else { return };
        let found = session.state.dispatch(&id);
        let Some((reclaim, dispatch)) = found.and_then(|d| Some((d.plan.reclaim.clone()?, d)))
        else {
            return;
        };
        let Some(git) = locked_git(us) else { return };
        let pinned = session.state.batch_of(&dispatch.unit).and_then(|b| b.pinned.as_ref());
        let root = pinned.map_or_else(String::new, |p| p.worktree_root.clone());
        let time = us.world().wall();
        let done = reclaim_trees(&git, &reclaim, &dispatch.unit, &root, time);
        us.step("write what was reclaimed");
        let mut world = us.world();
        let failed = done.iter().any(|one| !one.done);
        world.runs.entry(id).or_default().reclaimed = done;
        world.procs.get_mut(&us.pid).expect("it is us").code = i32::from(failed);
    });
}

/// `sched post`, inside a dispatch.
pub fn post(
    machine: &Arc<Machine>,
    world: &mut World,
    dispatch: DispatchId,
    phase: &'static str,
    status: &'static str,
) {
    machine.spawn(world, format!("post {phase}"), None, move |us| {
        let clock = SimClock(us.clone());
        let Ok(mut session) = home(us, &clock).open(Writer::Agent) else { return };
        let post = Post {
            dispatch,
            phase: phase.into(),
            status: status.into(),
            keys: Default::default(),
            usage: Default::default(),
            detail: None,
        };
        let _ = session.transact(&Input::Command(Command::Post(post)));
    });
}

/// One command of an operator.
pub fn operator(machine: &Arc<Machine>, world: &mut World, command: Command) -> u32 {
    let name = format!("operator {}", world.turns);
    machine.spawn(world, name, None, move |us| {
        let done = operate(us, command);
        complain(us, "operator", done.err());
    })
}

fn operate(us: &Us, command: Command) -> Result<(), EngineError> {
    let clock = SimClock(us.clone());
    let mut session = home(us, &clock).open(Writer::Operator)?;
    let command = match command {
        Command::ResumeUnit { target, reason, .. } => {
            let base = match git(us).reference("main") {
                Seen::Value(commit) => Some(commit),
                _ => None,
            };
            Command::ResumeUnit { target, reason, base }
        }
        other => other,
    };
    us.world().say(|| format!("an operator asks: {command:?}"));
    let events = session.transact(&Input::Command(command))?;
    let processes = SimProcesses(us.clone());
    pay_signals(&session, &processes);
    session.save();
    let planned = events.iter().find_map(|event| match event {
        Event::DispatchPlanned(e) if e.recheck => Some(e.dispatch),
        _ => None,
    });
    if let Some(dispatch) = planned {
        let _ = start_one(&SimRuns(us.clone()), &processes, dispatch);
    }
    Ok(())
}

/// `sched init`.
pub fn init(machine: &Arc<Machine>, world: &mut World) -> u32 {
    use sched::domain::event::{EnvironmentRecorded, JournalCreated};
    use sched::domain::ids::JournalId;
    machine.spawn(world, "init".into(), None, |us| {
        let clock = SimClock(us.clone());
        let created = JournalCreated {
            journal: JournalId(uuid::Uuid::from_u128(1)),
            place: crate::disk::place(),
            draft: None,
        };
        let environment = EnvironmentRecorded {
            path: "/bin".into(),
            repository: Some("/repository".into()),
            config: "/sched.toml".into(),
        };
        let made = home(us, &clock).create(&Command::Create(created, environment));
        complain(us, "init", made.err());
    })
}
