//! The machine's processes behind the engine's port, and the start of a supervisor.

use super::identity::{boot_id, host};
use super::leftovers::left;
use super::{liveness, signal};
use crate::domain::event::{DispatchStarted, Process};
use crate::domain::ids::{DispatchId, JournalId};
use crate::engine::ports::{Life, Processes};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The machine's processes.
#[derive(Debug, Clone)]
pub struct SystemProcesses {
    state_dir: PathBuf,
    program: PathBuf,
    search_path: String,
    journal: Option<JournalId>,
}

impl SystemProcesses {
    /// `program` is the installed path of this program.
    pub fn new(state_dir: &Path, program: &Path, search_path: &str) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            program: program.to_owned(),
            search_path: search_path.to_owned(),
            journal: None,
        }
    }

    /// Of this journal: a process that names another one, such as the journal that this one is
    /// a copy of, is somebody else's.
    #[must_use]
    pub fn of_journal(mut self, journal: Option<JournalId>) -> Self {
        self.journal = journal;
        self
    }
}

/// The path under which this program is installed: what it was called by, found as a shell
/// finds it. Not `/proc/self/exe`, which means a deleted file after an upgrade in place.
pub fn installed_program() -> PathBuf {
    let called = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    if called.components().count() > 1 {
        return here.join(called);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(&called)).find(|p| p.is_file());
    found.or_else(|| std::env::current_exe().ok()).unwrap_or(called)
}

impl Processes for SystemProcesses {
    fn command(&self, started: &DispatchStarted) -> Life {
        match liveness::leader(started, self.journal).0 {
            Life::Gone if !left(started, self.journal).is_empty() => Life::Alive,
            life => life,
        }
    }

    fn supervisor(&self, process: &Process) -> Life {
        liveness::supervisor(process)
    }

    fn rebooted_since(&self, process: &Process) -> bool {
        process.host == host() && process.boot_id != boot_id()
    }

    fn signal(&self, started: &DispatchStarted, kill: bool) {
        signal::send(started, self.journal, kill);
    }

    fn start_supervisor(&self, dispatch: DispatchId) -> Result<(), String> {
        let run = self.state_dir.join("runs").join(dispatch.to_string());
        let log = run.join("supervisor.log");
        let open = OpenOptions::new().create(true).append(true).mode(0o600).open(&log);
        let log = open.map_err(|error| format!("cannot open `{}`: {error}", log.display()))?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(&self.program);
        command.arg("supervise").arg(dispatch.to_string());
        command.arg("--state-dir").arg(&self.state_dir);
        // whatever a profile may inherit is passed on; what a command gets is decided there
        let passed = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            let test = name.starts_with("SCHED_TEST_") || name.starts_with("SCHED_CRASH_");
            let at = name == "SCHED_CRASH_AT";
            !name.starts_with("GIT_") && (!name.starts_with("SCHED_") || test) && !at
        });
        command.current_dir("/").env_clear().envs(passed).env("PATH", &self.search_path);
        if let Some(point) = std::env::var_os("SCHED_CRASH_SUPERVISOR") {
            command.env("SCHED_CRASH_AT", point);
        }
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        command.spawn().map(drop).map_err(|error| {
            format!("cannot start `{} supervise`: {error}", self.program.display())
        })
    }

    fn can_execute(&self, program: &str, path: &str) -> bool {
        use rustix::fs::{Access, access};
        if program.contains('/') {
            return access(program, Access::EXEC_OK).is_ok();
        }
        std::env::split_paths(path).any(|dir| {
            let full = dir.join(program);
            full.is_file() && access(&full, Access::EXEC_OK).is_ok()
        })
    }
}

/// Takes note of supervisors that we started and that have ended, so that none stays a zombie of
/// a process that lives long. Only for moments when no other child is waited for.
pub fn reap_supervisors() {
    while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
}
