//! A file that may not grow (`RLIMIT_FSIZE`): the kernel itself makes the short write, at any
//! byte of a line, and sends a signal that would end a program which does not expect it.

use super::{Written, assert_not_appended, behind, ended, length};
use crate::bench::{Bench, GATE, WORKS, signal};
use std::fs;
use std::process::{Command, Output};

const WHY: &str = "File too large (os error 27)";
const KILL: i32 = 9;

/// Runs the program while no file may become larger than the journal and `more` bytes.
fn limited(bench: &Bench, more: u64, arguments: &[&str]) -> Output {
    let limit = format!("--fsize={}:unlimited", length(bench) + more);
    behind(bench, &["prlimit", &limit], arguments).output().unwrap()
}

/// Runs a command under ever larger limits until it fits; each time before it has left nothing.
/// How many bytes it then wrote, and how many times it had failed.
fn grow(bench: &Bench, about: u64, arguments: &[&str]) -> (u64, usize) {
    let before = Written::of(bench);
    let first = [0, 1, about / 2].into_iter().chain(about.saturating_sub(8)..);
    for (failed, more) in first.enumerate() {
        let output = limited(bench, more, arguments);
        if output.status.success() {
            let written = length(bench) - before.0.len() as u64;
            assert!(written > about / 2 && written <= more, "{written} bytes of {more}");
            return (written, failed);
        }
        let what = format!("{arguments:?} with {more} bytes");
        assert_not_appended(&output, WHY, &what);
        before.assert_still(bench, &what);
        bench.ok(&["journal", "verify"]);
    }
    unreachable!("there is always a larger limit")
}

#[test]
fn a_short_write_at_any_byte_of_a_line_leaves_nothing_of_it() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--issues", "99"]); // the first one also applies the configuration
    let before = length(&bench);
    bench.ok(&["enqueue", "--issues", "100"]);
    let line = length(&bench) - before;
    let (written, failed) = grow(&bench, line, &["enqueue", "--issues", "101"]);
    assert!(written.abs_diff(line) < 8, "{written} bytes, and {line} without a limit");
    assert!(failed >= 4, "up to the last byte but one: {failed} limits were too low");
    assert_eq!(bench.events("issue-enqueued").len(), 3);
}

#[test]
fn a_tick_that_cannot_append_starts_nothing_and_the_next_one_goes_on() {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    let before = Written::of(&bench);
    for more in [0, 1, 200] {
        let output = limited(&bench, more, &["tick"]);
        assert_not_appended(&output, WHY, "tick");
        before.assert_still(&bench, "tick");
        assert_eq!(bench.git(&["branch", "--list", "sched/*"]), "", "an effect was started");
    }
    bench.settle(&[]);
    ended(&bench, "after limits");
    assert_eq!(bench.outcome().agents, ["agent good", "agent bad"]);
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

/// An issue whose agent has ended and whose supervisor, which may write no more, keeps trying.
fn held_up(more: u64) -> (Bench, Vec<i32>) {
    let wait = "while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done";
    let bench = Bench::new(&format!("{wait}; {WORKS}"), GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    bench.ok(&["tick"]);
    bench.until("the agent runs", || !bench.runs().is_empty());
    bench.ok(&["enqueue", "--issues", "2", "--deps", "1"]); // signs the lock after the supervisor
    let supervisors = bench.processes(" supervise ");
    assert_eq!(supervisors.len(), 1);
    limit(supervisors[0], &(length(&bench) + more).to_string());
    let before = Written::of(&bench);
    assert!(before.0.len() > 4096, "a receipt must fit in");
    fs::write(bench.beside("go"), "").unwrap();
    let holder = || fs::read_to_string(bench.state("lock")).unwrap();
    bench.until("its supervisor tried", || holder().starts_with("sched supervise "));
    bench.until("it has failed", || fs::read(bench.state("journal.jsonl")).unwrap() == before.0);
    assert_eq!(bench.processes(" supervise "), supervisors, "it does not give up");
    let dispatch = &bench.events("dispatch-planned")[0]["dispatch"];
    let receipt = bench.state("runs").join(dispatch.as_str().unwrap()).join("receipt.json");
    assert!(fs::read_to_string(receipt).unwrap().starts_with("{\"ran\":true,\"code\":0"));
    bench.ok(&["journal", "verify"]);
    (bench, supervisors)
}

fn limit(process: i32, bytes: &str) {
    let limit = format!("--fsize={bytes}:unlimited");
    let done = Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status();
    assert!(done.unwrap().success());
}

fn went_on(bench: &Bench, what: &str) {
    ended(bench, what);
    assert_eq!(bench.outcome().agents, ["agent 1", "agent 2"], "{what}");
    assert_eq!(bench.outcome().base, "2 (#2)\n1 (#1)\nfirst\n", "{what}");
}

#[test]
fn a_supervisor_that_cannot_commit_tries_again_until_it_can() {
    let (bench, supervisors) = held_up(300);
    limit(supervisors[0], "unlimited");
    // nobody ticks: its own commit, and the ticks that follow from it, do it all
    bench.until("both have shipped", || bench.is_quiet());
    went_on(&bench, "no longer limited");
}

#[test]
fn a_receipt_that_could_not_be_committed_is_there_for_the_next_tick() {
    let (bench, supervisors) = held_up(1);
    signal(KILL, &supervisors);
    bench.settle(&[]);
    went_on(&bench, "from the receipt");
    assert_eq!(bench.events("dispatch-lost").len(), 0);
}
