//! What the system can do to a program that writes: limits, full and failing disks, read-only
//! places, locks whose holder is stopped, many at once, environments with nothing in them.

mod calls;
mod full_disk;
mod limits;
mod many;
pub mod namespaces;
mod output;
mod read_only;
pub mod syscalls;

use crate::bench::Bench;
use std::fs;
use std::process::{Command, Output};

/// What an append that failed must leave as it was: the journal, its head, how many runs.
struct Written(Vec<u8>, Vec<u8>, usize);

impl Written {
    fn of(bench: &Bench) -> Self {
        let read = |name: &str| fs::read(bench.state(name)).unwrap();
        let runs = fs::read_dir(bench.state("runs")).map_or(0, Iterator::count);
        Self(read("journal.jsonl"), read("head"), runs)
    }

    fn assert_still(&self, bench: &Bench, what: &str) {
        let Self(journal, head, runs) = Self::of(bench);
        assert_eq!((journal.len(), runs), (self.0.len(), self.2), "{what}");
        assert!(journal == self.0 && head == self.1, "{what}: other bytes");
    }
}

/// What holds after every fault: all that holds after a recovery, and nothing is left running.
fn ended(bench: &Bench, what: &str) {
    bench.until("nothing runs", || bench.processes("").is_empty());
    bench.check(what);
}

fn length(bench: &Bench) -> u64 {
    fs::metadata(bench.state("journal.jsonl")).unwrap().len()
}

/// The program, put behind another one that changes what it meets.
fn behind(bench: &Bench, before: &[&str], arguments: &[&str]) -> Command {
    let plain = bench.command(arguments);
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).arg(plain.get_program()).args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(bench.repository()).stdin(std::process::Stdio::null());
    command
}

/// Asserts that a command said why the journal could not be written, and what became of it.
fn assert_not_appended(output: &Output, why: &str, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{what}: {output:?}");
    assert!(said.starts_with("error: cannot append to `"), "{what}: {said}");
    assert!(said.contains(&format!("journal.jsonl`: {why}")), "{what}: {said}");
    assert!(said.contains("it is as it was before\n  make room, then"), "{what}: {said}");
}

/// Runs a test where it may mount what it likes.
pub fn with_mounts(test: &str, body: impl FnOnce()) {
    let options = ["--mount", "--propagation", "private"];
    namespaces::in_namespaces(&options, "mount -t tmpfs none /tmp", test, body);
}

/// Mounts something; only in a mount namespace of one's own.
pub fn mount(arguments: &[&str]) {
    assert!(std::env::var_os(namespaces::INSIDE).is_some(), "not in the namespace of everybody");
    let output = Command::new("mount").args(arguments).output().unwrap();
    assert!(output.status.success(), "mount {arguments:?}: {output:?}");
}
