//! Named points at which a test can kill the real program: with `SCHED_CRASH_AT=name` (or
//! `name:3` for the third time) in its environment the process kills itself there, as `kill -9`
//! would. The points of the journal also know `name@17`: at the entry with that number, whoever
//! commits it. Without it a point is one comparison.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Every point, in the order in which a dispatch passes them.
pub const POINTS: &[&str] = &[
    "journal-torn",
    "journal-unended",
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

/// Which of the times that a point is passed is meant.
enum When {
    Time(u32),
    Entry(u64),
}

static WANTED: OnceLock<Option<(String, When)>> = OnceLock::new();
static PASSED: AtomicU32 = AtomicU32::new(0);

fn wanted() -> Option<&'static (String, When)> {
    let read = || {
        let text = std::env::var("SCHED_CRASH_AT").ok()?;
        if let Some((name, seq)) = text.split_once('@') {
            return Some((name.to_owned(), When::Entry(seq.parse().ok()?)));
        }
        match text.split_once(':') {
            Some((name, count)) => Some((name.to_owned(), When::Time(count.parse().ok()?))),
            None => Some((text, When::Time(1))),
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
    if is_due(name, None) {
        die();
    }
}

/// Dies here, where the entry `seq` is committed, when a test asked for it.
pub fn point_at(name: &str, seq: u64) {
    if is_due(name, Some(seq)) {
        die();
    }
}

/// Dies within the write of the entry `seq`, when a test asked for it: `write` gets as much of
/// the line as reaches the file.
pub fn point_inside(line: &[u8], seq: u64, mut write: impl FnMut(&[u8])) {
    for (name, length) in [("journal-torn", line.len() / 2), ("journal-unended", line.len() - 1)] {
        if is_due(name, Some(seq)) {
            write(&line[..length]);
            die();
        }
    }
}

fn is_due(name: &str, seq: Option<u64>) -> bool {
    let Some((wanted, when)) = wanted() else { return false };
    if wanted != name {
        return false;
    }
    let due = match when {
        When::Time(count) => PASSED.fetch_add(1, Ordering::Relaxed) + 1 == *count,
        When::Entry(entry) => seq == Some(*entry),
    };
    due && once()
}

fn die() {
    let me = rustix::process::getpid();
    let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
}
