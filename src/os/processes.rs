//! Processes that others started: whether they live, and signals to them, never to anybody else.

use super::identity::{all, boot_id, environment, host, stat};
use crate::domain::event::{DispatchStarted, Process};
use crate::domain::ids::DispatchId;
use crate::engine::ports::{Life, Processes};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};
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
}

impl SystemProcesses {
    /// `program` is the installed path of this program.
    pub fn new(state_dir: &Path, program: &Path, search_path: &str) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            program: program.to_owned(),
            search_path: search_path.to_owned(),
        }
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

/// Whether the process with that number is the one that is meant. Zombies are gone.
pub(super) fn is_alive(process: &Process) -> Life {
    if process.host != host() {
        return Life::Unknown;
    }
    if process.boot_id != boot_id() {
        return Life::Gone;
    }
    match stat(process.pid) {
        Some(stat) if stat.state == 'Z' || stat.state == 'X' => Life::Gone,
        Some(stat) if stat.start_time == process.start_time => Life::Alive,
        _ => Life::Gone,
    }
}

/// Whether what is known of a dispatch's leader fits: the environment confirms or refutes; where
/// it says nothing, process group and session must match.
fn is_command(started: &DispatchStarted) -> Life {
    match is_alive(&started.process) {
        Life::Alive => {}
        other => return other,
    }
    let pid = started.process.pid;
    match environment(pid, "SCHED_DISPATCH") {
        Some(named) if named == started.dispatch.to_string() => Life::Alive,
        Some(_) => Life::Gone,
        None => {
            let fits = stat(pid).is_some_and(|stat| {
                stat.group == started.process_group && stat.session == started.process_group
            });
            if fits { Life::Alive } else { Life::Gone }
        }
    }
}

/// What is left of a dispatch whose leader is gone: recognised by environment together with
/// session or group, never by number or name alone.
fn left(started: &DispatchStarted) -> Vec<u32> {
    if started.process.host != host() || started.process.boot_id != boot_id() {
        return Vec::new();
    }
    let ours = started.dispatch.to_string();
    all()
        .into_iter()
        .filter(|pid| {
            stat(*pid).is_some_and(|stat| {
                let here =
                    stat.group == started.process_group || stat.session == started.process_group;
                here && !matches!(stat.state, 'Z' | 'X')
                    && *pid != started.supervisor.pid
                    && environment(*pid, "SCHED_DISPATCH").as_deref() == Some(ours.as_str())
            })
        })
        .collect()
}

fn send(pid: u32, signal: Signal) {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    match pidfd_open(pid, PidfdFlags::empty()) {
        // a process that ended meanwhile needs no signal
        Ok(fd) => drop(pidfd_send_signal(fd, signal)),
        Err(rustix::io::Errno::NOSYS) => drop(kill_process(pid, signal)),
        Err(_) => {}
    }
}

impl Processes for SystemProcesses {
    fn command(&self, started: &DispatchStarted) -> Life {
        match is_command(started) {
            Life::Gone if !left(started).is_empty() => Life::Alive,
            life => life,
        }
    }

    fn supervisor(&self, process: &Process) -> Life {
        is_alive(process)
    }

    fn rebooted_since(&self, process: &Process) -> bool {
        process.host == host() && process.boot_id != boot_id()
    }

    fn signal(&self, started: &DispatchStarted, kill: bool) {
        let signals: &[Signal] = if kill { &[Signal::KILL] } else { &[Signal::TERM, Signal::CONT] };
        let group = i32::try_from(started.process_group).ok().and_then(Pid::from_raw);
        let leader = is_command(started) == Life::Alive;
        for signal in signals {
            match group {
                // the leader is confirmed, and while it lives the group's number is its own
                Some(group) if leader => drop(kill_process_group(group, *signal)),
                _ => left(started).into_iter().for_each(|pid| send(pid, *signal)),
            }
        }
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
