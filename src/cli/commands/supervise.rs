//! Hidden: the supervisor of one dispatch, and the built-in that removes trees.

use super::tick::locked_tick;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::domain::event::{Ground, Reclaim, Reclaimed, Tree, Writer};
use crate::domain::ids::{DispatchId, Unit};
use crate::domain::rules::next_due;
use crate::engine::Session;
use crate::engine::Surroundings as Around;
use crate::engine::ports::{TreeFailure, Trees};
use crate::engine::supervise::{Station, Supervised, supervise};
use crate::journal::{FileLock, WORKTREE_LOCK};
use crate::os::{SystemJob, SystemRuns, git, installed_program};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Making and removing trees may take long; whoever comes later waits.
const TREE_WAIT: Duration = Duration::from_secs(3600);
/// How long a supervisor waits for another tick before it ticks itself.
const TICK_WAIT: Duration = Duration::from_secs(60);
/// A back-off longer than this is left to the next tick.
const LONGEST_BACK_OFF: Duration = Duration::from_secs(90);

/// Trees that hold `worktree.lock` as long as they live.
struct LockedTrees {
    git: git::SystemGit,
    _lock: FileLock,
}

impl Trees for LockedTrees {
    fn make(&self, tree: &Tree) -> Result<(), TreeFailure> {
        self.git.make(tree)
    }

    fn ground(&self, tree: &Tree, integration: &str) -> Option<Ground> {
        self.git.ground(tree, integration)
    }

    fn reclaim(&self, reclaim: &Reclaim, unit: &Unit) -> Vec<Reclaimed> {
        self.git.reclaim(reclaim, unit)
    }
}

fn locked_trees(dir: &Path, repository: &str) -> Option<Box<dyn Trees>> {
    let holder = format!("sched supervise (pid {})", std::process::id());
    let lock = FileLock::take(&dir.join(WORKTREE_LOCK), TREE_WAIT, &holder).ok()?;
    let git = git::SystemGit::new(Path::new(repository), Some(&lock)).unbounded();
    Some(Box::new(LockedTrees { git, _lock: lock }))
}

fn parse(dispatch: &str) -> Result<DispatchId, CliError> {
    dispatch.parse().map_err(|e: crate::domain::ids::InvalidId| CliError::usage(e.to_string()))
}

pub(super) fn run(context: &Context, dispatch: &str) -> Result<u8, CliError> {
    let id = parse(dispatch)?;
    let dir = absolute(&context.state_dir()?);
    let program = installed_program();
    let mut job = SystemJob::new(&dir, &program, id)?;
    let mut session = Session::open(&dir, &context.clock, Writer::Supervisor)?;
    let repository = session.state.environment.as_ref().and_then(|e| e.repository.clone());
    let inherited = |name: &str| std::env::var(name).ok();
    let ticking = RefCell::new(());
    let mut station = Station {
        job: &mut job,
        around: Around { state_dir: &dir, program: &program, inherited: &inherited },
        trees: &|| locked_trees(&dir, repository.as_deref()?),
        tick: &|| {
            let _one = ticking.try_borrow_mut();
            let _ = tick_here(context, &dir, Duration::from_secs(5));
        },
        reclaimed: &|| read_reclaimed(&dir, id),
    };
    let ended = supervise(&mut session, id, &mut station);
    session.save();
    match ended {
        Supervised::Superseded => Ok(3),
        Supervised::Failed => Ok(1),
        Supervised::Told => Ok(0),
        Supervised::TooOld => exec_tick(&program, &dir),
        Supervised::Committed | Supervised::Left => {
            drop(session);
            tick_until_rested(context, &dir)
        }
    }
}

/// Whoever commits, pays; and waits out a back-off that nobody else will end.
fn tick_until_rested(context: &Context, dir: &Path) -> Result<u8, CliError> {
    loop {
        tick_here(context, dir, TICK_WAIT)?;
        let session = Session::open(dir, &context.clock, Writer::Tick)?;
        let others = !session.state.dispatches.is_empty();
        let due = next_due(&session.state, &context_now(context));
        match due.filter(|due| !others && *due <= LONGEST_BACK_OFF && !due.is_zero()) {
            Some(due) => std::thread::sleep(due),
            None => return Ok(0),
        }
    }
}

fn context_now(context: &Context) -> crate::domain::time::Now {
    use crate::engine::ports::Clock;
    context.clock.now()
}

fn tick_here(context: &Context, dir: &Path, wait: Duration) -> Result<(), CliError> {
    let mut session = Session::open(dir, &context.clock, Writer::Tick)?;
    locked_tick(context, &mut session, wait).map(drop)
}

/// The program was upgraded under us: the installed one reads our receipt.
fn exec_tick(program: &Path, dir: &Path) -> Result<u8, CliError> {
    use std::os::unix::process::CommandExt;
    let error = std::process::Command::new(program).arg("tick").arg("--state-dir").arg(dir).exec();
    Err(CliError::failed(format!("cannot run `{} tick`: {error}", program.display())))
}

fn absolute(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn reclaimed_file(dir: &Path, id: DispatchId) -> PathBuf {
    SystemRuns::new(dir).dir(id).join("reclaimed.json")
}

fn read_reclaimed(dir: &Path, id: DispatchId) -> Vec<Reclaimed> {
    let text = std::fs::read_to_string(reclaimed_file(dir, id)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The built-in behind role `reclaim`: it runs as the command of its dispatch.
pub(super) fn reclaim(context: &Context, dispatch: &str, dir: &Path) -> Result<u8, CliError> {
    let id = parse(dispatch)?;
    let session = Session::open(dir, &context.clock, Writer::Supervisor)?;
    let found = session.state.dispatch(&id).and_then(|d| Some((d.plan.reclaim.clone()?, d)));
    let Some((reclaim, dispatch)) = found else {
        return Err(CliError::new(3, format!("dispatch {id} is over")));
    };
    let repository = session.state.environment.as_ref().and_then(|e| e.repository.clone());
    let trees = repository.and_then(|repository| locked_trees(dir, &repository));
    let Some(trees) = trees else {
        return Err(CliError::failed("there is no git repository here"));
    };
    let done = trees.reclaim(&reclaim, &dispatch.unit);
    let text = serde_json::to_string(&done).map_err(|e| CliError::failed(e.to_string()))?;
    std::fs::write(reclaimed_file(dir, id), text)?;
    for failed in done.iter().filter(|r| !r.done) {
        let why = failed.error.as_deref().unwrap_or("unknown");
        crate::cli::output::error_line(&format!("{}: {why}", failed.path), &context.global);
    }
    Ok(u8::from(done.iter().any(|r| !r.done)))
}
