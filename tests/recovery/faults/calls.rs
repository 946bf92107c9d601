//! Every call by which a tick or a supervisor writes, syncs, renames or locks: failed once, at
//! each place, and interrupted at every other try. The outcome is that of a run without faults.

use super::syscalls::can_inject;
use super::{behind, ended};
use crate::bench::{Bench, GATE, WORKS, each};
use std::fs;
use std::process::Output;

/// As `strace` names them; there are several calls that rename.
const CALLS: [&str; 6] = ["write", "pwrite64", "fsync", "fdatasync", "/^rename", "flock"];
/// How many places of each call are taken, where `SCHED_TEST_LARGE` is not set.
const PLACES: usize = 5;

/// What a traced process did, and how it ended.
struct Traced {
    output: Output,
    calls: String,
}

impl Traced {
    fn count(&self, call: &str) -> usize {
        let name = call.trim_start_matches("/^");
        self.calls.lines().filter(|line| line.starts_with(name)).count()
    }

    fn injected(&self) -> bool {
        self.calls.contains("(INJECTED)")
    }
}

/// One issue, and the process that is to do the next step: a tick that plans and starts, or the
/// supervisor of what was planned and not started.
fn ready(who: &str) -> (Bench, Vec<String>) {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--issues", "1"]);
    if who == "tick" {
        return (bench, vec!["tick".to_owned()]);
    }
    let died = bench.with(&[("SCHED_CRASH_AT", "pay-start")], &["tick"]);
    assert_eq!(died.status.code(), None, "{died:?}");
    let dispatch = bench.events("dispatch-planned")[0]["dispatch"].as_str().unwrap().to_owned();
    (bench, vec!["supervise".to_owned(), dispatch])
}

/// Runs it to its end; only its own calls are traced, not those of what it starts.
fn traced(bench: &Bench, fault: &str, arguments: &[String]) -> Traced {
    let calls = bench.beside("calls");
    let trace = format!("trace={}", CALLS.join(","));
    let inject = format!("inject={fault}");
    let mut before = vec!["strace", "-o", calls.to_str().unwrap(), "-e", &trace];
    before.extend(["-e", &inject].iter().filter(|_| !fault.is_empty()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = behind(bench, &before, &arguments).output().unwrap();
    Traced { output, calls: fs::read_to_string(calls).unwrap() }
}

fn is_done(bench: &Bench, case: &str) {
    bench.settle(&[]);
    ended(bench, case);
    let outcome = bench.outcome();
    assert_eq!(outcome.agents, ["agent 1"], "{case}");
    assert_eq!(outcome.base, "1 (#1)\nfirst\n", "{case}");
    assert_eq!(outcome.issues[0].1, "done", "{case}");
}

/// Each place of each call of an undisturbed run.
fn places(who: &str) -> Vec<String> {
    let (bench, arguments) = ready(who);
    let run = traced(&bench, "", &arguments);
    assert!(run.output.status.success(), "{who}: {:?}", run.output);
    let most = if std::env::var_os("SCHED_TEST_LARGE").is_some() { usize::MAX } else { PLACES };
    let of = |call: &str| {
        let last = run.count(call).min(most);
        let fault = |when| format!("{who} {call}:error=EIO:when={when}");
        (1..=last).map(fault).collect::<Vec<_>>()
    };
    CALLS.into_iter().flat_map(of).collect()
}

fn whatever_fails_once(who: &str) {
    if !can_inject() {
        return;
    }
    let cases = places(who);
    assert!(cases.len() > 8, "{cases:?}");
    each(cases, 4, |case| {
        let (bench, arguments) = ready(who);
        let run = traced(&bench, case.split_once(' ').unwrap().1, &arguments);
        // from run to run the later calls are not always as many
        assert!(run.injected() || !case.ends_with("when=1"), "{case}: nothing failed");
        let said = String::from_utf8_lossy(&run.output.stderr);
        let code = run.output.status.code();
        assert!([0, 1, 3, 5].map(Some).contains(&code), "{case}: {code:?}: {said}");
        assert!(!said.contains("panicked"), "{case}: {said}");
        is_done(&bench, case);
    });
}

#[test]
fn whatever_call_of_a_tick_fails_the_outcome_is_the_same() {
    whatever_fails_once("tick");
}

#[test]
fn whatever_call_of_a_supervisor_fails_the_outcome_is_the_same() {
    whatever_fails_once("supervise");
}

#[test]
fn whatever_call_a_signal_interrupts_nothing_is_different() {
    if !can_inject() {
        return;
    }
    let ticks = ["pwrite64", "fdatasync", "flock"].map(|call| format!("tick {call}"));
    let supervisors = CALLS.map(|call| format!("supervise {call}"));
    each(ticks.into_iter().chain(supervisors).collect(), 4, |case: &String| {
        let (who, call) = case.split_once(' ').unwrap();
        let (bench, arguments) = ready(who);
        let run = traced(&bench, &format!("{call}:error=EINTR:when=1+2"), &arguments);
        assert!(run.injected(), "{case}: nothing was interrupted:\n{}", run.calls);
        assert!(run.output.status.success(), "{case}: {:?}", run.output);
        is_done(&bench, case);
    });
}
