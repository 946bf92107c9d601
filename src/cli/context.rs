//! Where a command runs: its state directory, its configuration, the world around it.

use super::args::Global;
use super::errors::CliError;
use super::home::{away, common_dir};
use super::named;
use super::reading::Reading;
use crate::domain::config::Config;
use crate::domain::event::Writer;
use crate::domain::fact::TickSeen;
use crate::domain::ids::DispatchId;
use crate::engine::Session;
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, Repository};
use crate::engine::tick::World;
use crate::journal::line::sha256_hex;
use crate::journal::{TICK_LOCK, place};
use crate::os::git::GitCommand;
use crate::os::{SystemClock, SystemProcesses, SystemRuns, installed_program};
use crate::projection::Rest;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What commands share.
pub struct Context {
    /// Options of every command.
    pub global: Global,
    /// The clock.
    pub clock: SystemClock,
    /// The dispatch that we run inside of, if we do.
    pub dispatch: Option<DispatchId>,
    /// The current directory.
    pub current: PathBuf,
}

impl Context {
    /// Of these options.
    ///
    /// # Errors
    /// When there is no current directory.
    pub fn new(global: Global) -> Result<Self, CliError> {
        let dispatch = std::env::var("SCHED_DISPATCH").ok().and_then(|text| text.parse().ok());
        let current = std::env::current_dir()
            .map_err(|e| CliError::failed(format!("there is no current directory: {e}")))?;
        Ok(Self { global, clock: SystemClock::inside(dispatch), dispatch, current })
    }

    /// Refuses what an agent must not do to its own scheduler by accident.
    ///
    /// # Errors
    /// Exit code 3 inside a dispatch, unless a state directory is named.
    pub fn refuse_inside(&self, verb: &str) -> Result<(), CliError> {
        if std::env::var_os("SCHED_DISPATCH").is_none() || self.global.state_dir.is_some() {
            return Ok(());
        }
        Err(CliError::new(3, format!("`sched {verb}` is refused inside a dispatch"))
            .detail("an agent does not drive the scheduler that runs it")
            .remedy("for another scheduler name its directory:  --state-dir DIR"))
    }

    /// Refuses a configuration that was named on the command line and cannot be used.
    ///
    /// # Errors
    /// Exit code 2.
    pub fn check_config(&self, repository: Option<&str>) -> Result<(), CliError> {
        let Some(path) = &self.global.config else { return Ok(()) };
        let text = named::read(path).map_err(CliError::usage)?;
        let checked = checked_config(&text, repository);
        checked.map(drop).map_err(|why| CliError::usage(format!("`{}`: {why}", path.display())))
    }

    /// The state directory, whether it exists or not.
    ///
    /// # Errors
    /// Exit code 4 when nothing says where it is.
    pub fn state_dir(&self) -> Result<PathBuf, CliError> {
        let variable = std::env::var_os("SCHED_STATE_DIR").filter(|v| !v.is_empty());
        let variable = variable.map(PathBuf::from);
        let flag = self.global.state_dir.as_deref();
        let named = flag.is_some() || variable.is_some();
        let common = if named { None } else { common_dir(&self.current) };
        place::resolve(flag, variable.as_deref(), common.as_deref(), &self.current).ok_or_else(
            || {
                let here = self.current.display();
                CliError::no_such(format!("there is no state directory for `{here}`"))
                    .detail("this is not a git repository, and no directory above has a `.sched`")
                    .remedy("make one:  sched init --state-dir DIR")
            },
        )
    }

    /// The state directory, without links and relative parts.
    ///
    /// # Errors
    /// As [`Context::state_dir`].
    pub fn absolute_dir(&self) -> Result<PathBuf, CliError> {
        let dir = self.state_dir()?;
        Ok(dir.canonicalize().unwrap_or(dir))
    }

    /// Opens the journal and its state.
    ///
    /// # Errors
    /// [`CliError`] when there is none, or it is damaged.
    pub fn session(&self, role: Writer) -> Result<Session<'_>, CliError> {
        let mut session = Session::open(&self.absolute_dir()?, &self.clock, role)?;
        let environment = session.state.environment.as_ref();
        self.check_config(environment.and_then(|e| e.repository.as_deref()))?;
        if role != Writer::Agent {
            check_home(&session)?;
        }
        let wait = std::env::var("SCHED_TEST_LOCK_WAIT_MS").ok().and_then(|ms| ms.parse().ok());
        session.lock_wait = wait.map_or(session.lock_wait, std::time::Duration::from_millis);
        Ok(session)
    }

    /// Opens the journal and its state for a command that only shows something.
    ///
    /// # Errors
    /// [`CliError`] when there is nothing to show.
    pub fn reading(&self) -> Result<Reading<'_>, CliError> {
        let (session, damage) = Session::open_to_show(&self.absolute_dir()?, &self.clock)?;
        Ok(Reading::new(session, damage))
    }
}

/// Refuses a scheduler whose repository is another one now: a copy must not work in the
/// original, and one that was renamed would work nowhere.
fn check_home(session: &Session<'_>) -> Result<(), CliError> {
    let away = session.state.environment.as_ref().and_then(|e| away(e, &session.dir()));
    let Some(away) = away else { return Ok(()) };
    let remedy = match session.elsewhere()?.is_some() {
        true => "to go on with this copy:  sched init --adopt && sched init",
        false => "record where it is now:  sched init",
    };
    Err(CliError::new(5, away).remedy(remedy))
}

/// The real world around a session.
pub struct Surroundings {
    /// Processes.
    pub processes: SystemProcesses,
    /// Evidence.
    pub runs: SystemRuns,
    /// The repository.
    pub git: Option<GitCommand>,
    config: Option<PathBuf>,
    last_tick: Option<crate::domain::time::Timestamp>,
    /// Set when somebody tells us to leave.
    pub told: Arc<AtomicBool>,
}

impl Surroundings {
    /// Of a session; `lock` is held by every git child.
    pub fn of(session: &Session<'_>, global: &Global, lock: Option<BorrowedFd<'_>>) -> Self {
        let dir = session.dir();
        let recorded = session.state.environment.clone();
        let path = recorded.as_ref().map_or_else(default_path, |e| e.path.clone());
        let repository = recorded.as_ref().and_then(|e| e.repository.clone());
        let config = global.config.clone();
        let config = config.or_else(|| recorded.map(|e| PathBuf::from(e.config)));
        Self {
            processes: SystemProcesses::new(&dir, &installed_program(), &path)
                .of_journal(session.state.journal.as_ref().map(|j| j.journal)),
            runs: SystemRuns::new(&dir),
            git: repository.map(|repository| git(&repository, &path, lock)),
            config,
            last_tick: None,
            told: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Remembers when the last tick ran.
    #[must_use]
    pub fn after(mut self, last_tick: Option<crate::domain::time::Timestamp>) -> Self {
        self.last_tick = last_tick;
        self
    }

    /// What stands in the configuration file and on the disk now.
    pub fn seen(&self, session: &Session<'_>) -> TickSeen {
        let config = self.config.as_deref().and_then(|path| read_config(path, session));
        let new = config.as_ref().and_then(|(_, read)| Config::parse(read.as_deref().ok()?).ok());
        let least = new.map_or(session.state.config().min_free(), |config| config.min_free());
        let disk_low = too_little(&session.dir(), least);
        TickSeen { config, last_tick: self.last_tick, disk_low, ..TickSeen::default() }
    }

    /// Runs something with this world.
    pub fn with<T>(&self, act: impl FnOnce(&World<'_>) -> T) -> T {
        let told = Arc::clone(&self.told);
        act(&World {
            processes: &self.processes,
            runs: &self.runs,
            git: self.git.as_ref().map(|git| git as &dyn Git),
            seen: &|session| self.seen(session),
            told_to_leave: &move || told.load(Ordering::Relaxed),
        })
    }
}

/// What is free on the disk, where that is less than it should be.
fn too_little(dir: &Path, least: u64) -> Option<u64> {
    fs4::available_space(dir).ok().filter(|free| *free < least)
}

/// Whether what a note says of the place, the configuration and the disk still holds.
pub fn still_rests(rest: &Rest, dir: &Path) -> bool {
    let config = || named::read(&rest.config).ok();
    config().is_some_and(|text| sha256_hex(text.as_bytes()) == rest.digest)
        && too_little(dir, rest.min_free).is_none()
}

/// Git for a repository, found in the recorded `PATH`; every child holds the lock.
fn git(repository: &str, path: &str, lock: Option<BorrowedFd<'_>>) -> GitCommand {
    let git = GitCommand::new(repository).with_variable("PATH", path);
    match lock.and_then(|lock| lock.try_clone_to_owned().ok()) {
        Some(lock) => git.holding(lock),
        None => git,
    }
}

/// The repository that a directory is in.
pub fn repository(dir: &Path) -> Option<Repository> {
    match GitCommand::new(dir).repository() {
        Seen::Value(found) => Some(found),
        Seen::Absent | Seen::Unreachable(_) => None,
    }
}

fn default_path() -> String {
    std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into())
}

type ReadConfig = (String, Result<String, String>);

/// The file's digest and text, when it is not what is in force.
fn read_config(path: &Path, session: &Session<'_>) -> Option<ReadConfig> {
    let text = match named::read(path) {
        Ok(text) => text,
        Err(unread) => {
            let recorded = session.state.environment.as_ref();
            let stale = recorded.filter(|recorded| Path::new(&recorded.config) == path);
            let why = match stale.and_then(|recorded| away(recorded, &session.dir())) {
                Some(away) => format!("{away}: run `sched init` where it is now"),
                None => unread,
            };
            return Some((String::new(), Err(why)));
        }
    };
    let digest = sha256_hex(text.as_bytes());
    let applied = session.state.applied.as_ref();
    if applied.is_some_and(|applied| applied.digest == digest) {
        return None;
    }
    let repository = session.state.environment.as_ref().and_then(|e| e.repository.as_deref());
    let read = match checked_config(&text, repository) {
        Ok(_) => Ok(text),
        Err(error) => Err(format!("`{}`: {error}", path.display())),
    };
    Some((digest, read))
}

/// Reads a configuration as it is meant for a repository: trees never lie inside it.
pub fn checked_config(text: &str, repository: Option<&str>) -> Result<Config, String> {
    let config = Config::parse(text).map_err(|error| error.to_string())?;
    let root = repository.map(|repository| (repository, config.worktree_root(repository)));
    match root.filter(|(repository, root)| Path::new(root).starts_with(repository)) {
        Some((_, root)) => Err(format!(
            "`scheduler.worktree_root` is `{root}`, inside the repository: expected a directory \
             outside it, as in `../{{repo}}.worktrees`"
        )),
        None => Ok(config),
    }
}

/// When the last tick ran: the time of its lock file.
pub fn last_tick(dir: &Path) -> Option<crate::domain::time::Timestamp> {
    let modified = std::fs::metadata(dir.join(TICK_LOCK)).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let millis = i64::try_from(since.as_millis()).ok()?;
    Some(crate::domain::time::Timestamp::from_millis(millis))
}
