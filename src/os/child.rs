//! The process between a supervisor and its command: a tiny re-exec of this program that waits
//! for one byte, leaves `ran`, and becomes the command.
//!
//! 1. It takes a session of its own and says `READY`: from here on its group is its own.
//! 2. It waits for the go byte on standard input. End-of-file instead means that the journal did
//!    not take the start, or that the supervisor died: it ends and has not run one instruction
//!    of the command.
//! 3. It makes `ran` (only if there is none) and syncs the directory: whoever finds the
//!    dispatch without a receipt can tell whether the command ran.
//! 4. It becomes the command. If it cannot, it says why on the way it said `READY`; that way
//!    closes by itself when it can.
//!
//! No signal that was ignored when the scheduler was started (by `nohup`, say) is ignored by
//! the command, and none is blocked.

use super::clock::SystemClock;
use crate::crash;
use crate::engine::ports::Clock;
use crate::journal::disk::sync_dir;
use rustix::io::{fcntl_dupfd_cloexec, write};
use rustix::stdio::{dup2_stdout, stderr, stdout};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What is to be executed. Its environment is the process's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Executed {
    pub(super) command: Vec<String>,
    pub(super) directory: String,
    pub(super) input: bool,
}

/// "I have a session of my own and wait."
pub(super) const READY: u8 = b'r';
/// Before the reason why the command was not even tried.
pub(super) const NOT_RUN: &str = "not-run ";
/// Before the reason why the command could not be executed.
pub(super) const NOT_EXECUTED: &str = "not-executed ";
/// Exit code of this process when it does not become the command; nobody judges by it.
const NOT_THE_COMMAND: u8 = 125;

/// Waits for the go byte on standard input and becomes the command. Returns the exit code of
/// this process when it does not.
pub fn run(run_dir: &Path) -> u8 {
    if rustix::process::setsid().is_err() || !say(stdout(), &[READY]) {
        return NOT_THE_COMMAND;
    }
    crash::point("child-begun");
    let mut go = [0];
    if !matches!(std::io::stdin().read(&mut go), Ok(1)) {
        return NOT_THE_COMMAND;
    }
    crash::point("child-going");
    // from here on standard output is the command's
    let report = fcntl_dupfd_cloexec(stdout(), 3);
    let report = report.and_then(|report| dup2_stdout(stderr()).map(|()| report));
    let Ok(report) = report else { return NOT_THE_COMMAND };
    if let Err(error) = mark_ran(run_dir) {
        say(&report, format!("{NOT_RUN}cannot make `ran`: {error}").as_bytes());
        return NOT_THE_COMMAND; // it ran already, or that cannot be made sure of
    }
    crash::point("child-ran");
    let error = become_command(run_dir);
    say(&report, format!("{NOT_EXECUTED}{error}").as_bytes());
    NOT_THE_COMMAND
}

/// One write, short enough to be whole. A supervisor that is gone hears nothing.
fn say(to: impl AsFd, bytes: &[u8]) -> bool {
    write(to, bytes).is_ok()
}

/// Says that it ran, and when, in milliseconds of uptime.
fn mark_ran(run_dir: &Path) -> std::io::Result<()> {
    let path = run_dir.join("ran");
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let up = SystemClock::default().up().as_millis();
    let _ = file.write_all(up.to_string().as_bytes()); // that it is there is what counts
    sync_dir(run_dir)
}

/// Executes; the reason when it could not.
fn become_command(run_dir: &Path) -> String {
    let executed = std::fs::read(run_dir.join("command.json"))
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    let executed: Executed = match executed {
        Ok(executed) => executed,
        Err(error) => return format!("cannot read what to execute: {error}"),
    };
    let input = if executed.input { run_dir.join("prompt") } else { "/dev/null".into() };
    let input = match File::open(&input) {
        Ok(file) => OwnedFd::from(file),
        Err(error) => return format!("cannot open `{}`: {error}", input.display()),
    };
    if let Err(error) = std::env::set_current_dir(&executed.directory) {
        return format!("cannot enter `{}`: {error}", executed.directory);
    }
    let Some((program, arguments)) = executed.command.split_first() else {
        return "there is nothing to execute".into();
    };
    stop_ignoring();
    let error = crash::without(Command::new(program).args(arguments)).stdin(input).exec();
    let path = std::env::var("PATH").unwrap_or_default();
    match error.kind() {
        std::io::ErrorKind::NotFound if program.contains('/') => format!("`{program}`: {error}"),
        std::io::ErrorKind::NotFound => format!("`{program}`: not found in PATH={path}"),
        _ => format!("`{program}`: {error}"),
    }
}

/// What is ignored stays ignored in the command; what is handled does not. So each ignored
/// signal gets a handler that does nothing, for the moment until there is the command. (The
/// broken pipe and the mask are set back by the standard library.)
fn stop_ignoring() {
    let ignored = ignored_signals().unwrap_or_default();
    for signal in (1..=31).filter(|signal| ignored & (1 << (signal - 1)) != 0) {
        // one that must not be touched stays as it is
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// The `SigIgn` mask of this process (proc(5)), without the broken pipe.
fn ignored_signals() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask & !(1 << (signal_hook::consts::SIGPIPE - 1)))
}
