//! Hidden: the supervisor of one dispatch, and the built-in that removes trees.

use super::tick::locked_tick;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::domain::event::{Reclaimed, Writer};
use crate::domain::ids::{DispatchId, Unit};
use crate::engine::Surroundings as Around;
use crate::engine::ports::git::Git;
use crate::engine::supervise::{Station, Supervised, supervise, wait_out};
use crate::engine::{self, Session};
use crate::journal::{FileLock, JournalError, WORKTREE_LOCK};
use crate::os::git::GitCommand;
use crate::os::{SystemJob, SystemRuns, installed_program};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Making and removing trees may take long; whoever comes later waits.
const TREE_WAIT: Duration = Duration::from_secs(3600);
/// How long one wait for the tree lock is.
const LOOK: Duration = Duration::from_secs(1);
/// How long a supervisor waits for another tick before it ticks itself.
const TICK_WAIT: Duration = Duration::from_secs(60);

/// Git that holds `worktree.lock` as long as it lives: its children hold it too. Who is told to
/// leave waits no longer.
fn locked_git(dir: &Path, repository: &str, told: &AtomicBool) -> Option<Box<dyn Git>> {
    let holder = format!("sched supervise (pid {})", std::process::id());
    let begun = Instant::now();
    let lock = loop {
        match FileLock::take(&dir.join(WORKTREE_LOCK), LOOK, &holder) {
            Ok(lock) => break lock,
            Err(JournalError::Locked { .. })
                if begun.elapsed() < TREE_WAIT && !told.load(Ordering::Relaxed) => {}
            Err(_) => return None,
        }
    };
    let lock = lock.as_fd().try_clone_to_owned().ok()?;
    Some(Box::new(GitCommand::new(repository).holding(lock)))
}

fn parse(dispatch: &str) -> Result<DispatchId, CliError> {
    dispatch.parse().map_err(|e: crate::domain::ids::InvalidId| CliError::usage(e.to_string()))
}

pub(super) fn run(context: &Context, dispatch: &str) -> Result<u8, CliError> {
    let id = parse(dispatch)?;
    let dir = absolute(&context.state_dir()?);
    let program = installed_program();
    // the child between us and the command is this very program, whatever was installed since
    let child = std::env::var_os("SCHED_TEST_CHILD").unwrap_or_else(|| "/proc/self/exe".into());
    let mut job = SystemJob::new(&dir, Path::new(&child), id)?;
    let mut session = Session::open(&dir, &context.clock, Writer::Supervisor)?;
    let repository = session.state.environment.as_ref().and_then(|e| e.repository.clone());
    let inherited = |name: &str| std::env::var(name).ok();
    let told = job.told_flag();
    let looking = repository.as_ref().map(GitCommand::new);
    let mut station = Station {
        job: &mut job,
        around: Around { state_dir: &dir, program: &program, inherited: &inherited },
        git: looking.as_ref().map(|git| git as &dyn Git),
        trees: &|| locked_git(&dir, repository.as_deref()?, &told),
        tick: &|| drop(tick_here(context, &dir, Duration::from_secs(5))),
        reclaimed: &|| read_reclaimed(&dir, id),
    };
    let unit = session.state.dispatch(&id).map(|d| d.unit.clone());
    let ended = supervise(&mut session, id, &mut station);
    if ended != Supervised::Poisoned {
        session.save();
    }
    match ended {
        Supervised::Superseded => Ok(3),
        Supervised::Failed(why) => {
            Err(CliError::failed(format!("dispatch {id} was not started: {why}")))
        }
        Supervised::Told => Ok(0),
        Supervised::TooOld | Supervised::Poisoned => exec_tick(&program, &dir),
        Supervised::Committed | Supervised::Left => {
            drop(session);
            tick_until_rested(context, &dir, unit.as_ref(), &told)
        }
    }
}

/// Whoever commits, pays; and waits out the back-off that its own last line set.
fn tick_until_rested(
    context: &Context,
    dir: &Path,
    unit: Option<&Unit>,
    told: &AtomicBool,
) -> Result<u8, CliError> {
    loop {
        tick_here(context, dir, TICK_WAIT)?;
        let session = Session::open(dir, &context.clock, Writer::Tick)?;
        if !wait_out(&session, unit, &|| told.load(Ordering::Relaxed)) {
            return Ok(0);
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

/// The program was upgraded under us, or this process must not trust what it knows of the disk:
/// the installed one, as a new program, reads what is there.
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
    let told = AtomicBool::new(false); // the command of a dispatch dies of a signal
    let Some(git) = repository.and_then(|repository| locked_git(dir, &repository, &told)) else {
        return Err(CliError::failed("there is no git repository here"));
    };
    let pinned = session.state.batch_of(&dispatch.unit).and_then(|b| b.pinned.as_ref());
    let root = pinned.map_or_else(String::new, |p| p.worktree_root.clone());
    let time = context_now(context).wall;
    let done = engine::reclaim(git.as_ref(), &reclaim, &dispatch.unit, &root, time);
    let text = serde_json::to_string(&done).map_err(|e| CliError::failed(e.to_string()))?;
    std::fs::write(reclaimed_file(dir, id), text)?;
    for failed in done.iter().filter(|r| !r.done) {
        let why = failed.error.as_deref().unwrap_or("unknown");
        crate::cli::output::error_line(&format!("{}: {why}", failed.path), &context.global);
    }
    Ok(u8::from(done.iter().any(|r| !r.done)))
}
