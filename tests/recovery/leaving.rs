//! A supervisor between its start and its command: a stop, or a word to leave, that comes while
//! the tree is made never lets the command run.

use crate::bench::{Bench, GATE, WORKS, signal};
use std::process::{Child, Command};

const TERM: i32 = 15;

/// An issue whose supervisor waits for the tree lock, which another process holds.
fn waiting() -> (Bench, Child) {
    let bench = Bench::new(WORKS, GATE);
    let lock = bench.repository().join(".git/sched/worktree.lock");
    let holder = Command::new("flock").arg(&lock).args(["sleep", "600"]).spawn().unwrap();
    bench.until("the lock is held", || {
        !Command::new("flock").arg("-n").arg(&lock).arg("true").status().unwrap().success()
    });
    bench.ok(&["enqueue", "--issues", "good"]);
    bench.ok(&["tick"]);
    bench.until("the dispatch is started", || bench.status()["slots"][0]["state"] == "started");
    (bench, holder)
}

fn release(mut holder: Child) {
    // `flock` waits for its command, which holds the lock too
    let children = format!("/proc/{0}/task/{0}/children", holder.id());
    let children = std::fs::read_to_string(children).unwrap();
    let children: Vec<i32> = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    signal(9, &children);
    holder.wait().unwrap();
}

#[test]
fn who_is_told_to_leave_while_it_waits_for_a_tree_runs_nothing_and_loses_nothing() {
    let (bench, holder) = waiting();
    signal(TERM, &bench.processes(" supervise "));
    bench.until("it has left", || bench.processes(" supervise ").is_empty());
    assert!(bench.runs().is_empty());
    release(holder);
    bench.settle(&[]);
    bench.check("told to leave");
    assert_eq!(bench.outcome().agents, ["agent good"]);
    assert_eq!(bench.outcome().base, "good (#good)\nfirst\n");
}

#[test]
fn a_stop_that_comes_while_a_tree_is_made_never_lets_the_command_run() {
    let (bench, holder) = waiting();
    bench.ok(&["stop", "--issue", "good"]);
    release(holder);
    bench.settle(&[]);
    bench.check("stopped");
    assert!(bench.runs().is_empty());
    assert_eq!(bench.outcome().base, "first\n");
}

#[test]
fn a_stop_whose_command_was_killed_before_it_signalled_is_seen_before_the_command_runs() {
    let (bench, holder) = waiting();
    let stopped = bench.with(&[("SCHED_CRASH_AT", "pay-signal")], &["stop", "--issue", "good"]);
    assert!(!stopped.status.success(), "{stopped:?}");
    release(holder);
    bench.until("it is over", || bench.processes(" supervise ").is_empty());
    bench.settle(&[]);
    bench.check("stopped without a signal");
    assert!(bench.runs().is_empty());
    assert_eq!(bench.outcome().base, "first\n");
}
