//! The process between a supervisor and its command: a tiny re-exec of this program that waits
//! for one byte, leaves `ran`, and becomes the command.
//!
//! End-of-file instead of the byte means that the journal did not take the start: it ends
//! without having run one instruction of the command.

use crate::journal::disk::sync_dir;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What is to be executed. Its environment is the process's own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Executed {
    pub(super) command: Vec<String>,
    pub(super) directory: String,
    pub(super) input: bool,
}

/// Waits for the go byte on standard input and becomes the command. Returns the exit code of
/// this process when it does not.
pub fn run(run_dir: &Path) -> u8 {
    // a session of its own: whatever the command starts is found by it
    let _ = rustix::process::setsid();
    crate::crash::point("child-begun");
    let mut go = [0];
    if !matches!(std::io::stdin().read(&mut go), Ok(1)) {
        return 0;
    }
    crate::crash::point("child-going");
    let ran = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(run_dir.join("ran"))
        .and_then(|_| sync_dir(run_dir));
    if ran.is_err() {
        return 0; // it ran already, or that cannot be made sure of
    }
    crate::crash::point("child-ran");
    let error = become_command(run_dir);
    // the supervisor tells this from the command's own end by the file
    let _ = std::fs::write(run_dir.join("exec-error"), error);
    127
}

fn become_command(run_dir: &Path) -> String {
    let text = match std::fs::read_to_string(run_dir.join("command.json")) {
        Ok(text) => text,
        Err(error) => return format!("cannot read what to execute: {error}"),
    };
    let executed: Executed = match serde_json::from_str(&text) {
        Ok(executed) => executed,
        Err(error) => return format!("cannot read what to execute: {error}"),
    };
    let input = if executed.input { run_dir.join("prompt") } else { "/dev/null".into() };
    let input = match File::open(&input) {
        Ok(input) => input,
        Err(error) => return format!("cannot open `{}`: {error}", input.display()),
    };
    if let Err(error) = std::env::set_current_dir(&executed.directory) {
        return format!("cannot enter `{}`: {error}", executed.directory);
    }
    let Some((program, arguments)) = executed.command.split_first() else {
        return "there is nothing to execute".into();
    };
    let error = crate::crash::without(Command::new(program).args(arguments)).stdin(input).exec();
    let path = std::env::var("PATH").unwrap_or_default();
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("`{program}`: not found in PATH={path}"),
        _ => format!("`{program}`: {error}"),
    }
}
