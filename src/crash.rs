//! Named points at which a test can kill the real program: with `SCHED_CRASH_AT=name` (or
//! `name:3` for the third time) in its environment the process kills itself there, as `kill -9`
//! would. Without it a point is one comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Every point, in the order in which a dispatch passes them.
pub const POINTS: &[&str] = &[
    "journal-written",
    "journal-synced",
    "journal-acknowledged",
    "tick-locked",
    "tick-looked",
    "tick-decided",
    "tick-quiet",
    "pay-integration",
    "paid-integration",
    "pay-start",
    "paid-start",
    "pay-land",
    "land-made",
    "paid-land",
    "pay-rebase",
    "paid-rebase",
    "pay-ship",
    "ship-files",
    "paid-ship",
    "pay-signal",
    "supervise-begun",
    "supervise-claimed",
    "supervise-forked",
    "supervise-started",
    "supervise-tree",
    "supervise-go",
    "supervise-ended",
    "supervise-receipt",
    "supervise-committed",
    "child-begun",
    "child-going",
    "child-ran",
    "repair-kept",
    "repair-written",
    "repair-cut",
];

static WANTED: OnceLock<Option<(String, u32)>> = OnceLock::new();
static PASSED: AtomicU32 = AtomicU32::new(0);

fn wanted() -> Option<&'static (String, u32)> {
    let read = || {
        let text = std::env::var("SCHED_CRASH_AT").ok()?;
        match text.split_once(':') {
            Some((name, count)) => Some((name.to_owned(), count.parse().ok()?)),
            None => Some((text, 1)),
        }
    };
    WANTED.get_or_init(read).as_ref()
}

/// With `SCHED_CRASH_ONCE=file` only the first of several processes dies: who makes the file.
fn once() -> bool {
    let Some(path) = std::env::var_os("SCHED_CRASH_ONCE") else { return true };
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).is_ok()
}

const VARIABLES: [&str; 2] = ["SCHED_CRASH_AT", "SCHED_CRASH_ONCE"];

/// What a supervisor passes on to its child, whose points would never be met otherwise.
pub fn environment() -> impl Iterator<Item = (&'static str, std::ffi::OsString)> {
    VARIABLES.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

/// Keeps that from the command itself: what an agent runs of this program must not die.
pub fn without(command: &mut std::process::Command) -> &mut std::process::Command {
    VARIABLES.iter().fold(command, |command, name| command.env_remove(name))
}

/// Dies here when a test asked for it.
pub fn point(name: &str) {
    let Some((wanted, count)) = wanted() else { return };
    if wanted == name && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *count {
        if !once() {
            return;
        }
        let me = rustix::process::getpid();
        let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
    }
}
