//! `kill -9` at each named point of ticks and supervisors.

use crate::bench::{Bench, GATE, Outcome, WORKS, each};

/// Points that a batch with one good and one bad member passes in a tick of cron.
const IN_TICKS: &[&str] = &[
    "journal-written",
    "journal-written:2",
    "journal-synced",
    "journal-synced:2",
    "journal-acknowledged",
    "tick-locked",
    "tick-looked",
    "tick-looked:2",
    "tick-decided",
    "tick-quiet",
    "pay-integration",
    "paid-integration",
    "pay-start",
    "paid-start",
];

/// Points that it passes in supervisors, in the ticks which they run, and in their children.
const IN_SUPERVISORS: &[&str] = &[
    "journal-written",
    "journal-written:2",
    "journal-synced:2",
    "journal-acknowledged:2",
    "tick-looked",
    "tick-decided",
    "pay-start",
    "paid-start",
    "pay-land",
    "land-made",
    "paid-land",
    "pay-ship",
    "ship-files",
    "paid-ship",
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
];

fn batch() -> Bench {
    let bench = Bench::new(WORKS, GATE);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "good,bad"]);
    bench
}

/// Our own ticks compete with those of supervisors: when one of ours was first to pay what a
/// supervisor was to die of, nothing died, and it is tried once more.
const TRIES: usize = 5;

fn killed_at(variable: &str, point: &str, undisturbed: &Outcome) {
    let what = format!("{variable}={point}");
    let died = (0..TRIES).any(|_| {
        let bench = batch();
        let once = bench.beside("once");
        let variables = [(variable, point), ("SCHED_CRASH_ONCE", once.to_str().unwrap())];
        bench.settle(&variables);
        bench.check(&what);
        assert_eq!(&bench.outcome(), undisturbed, "{what}");
        once.exists()
    });
    assert!(died, "{what}: nothing died there");
}

#[test]
fn a_crash_at_any_point_changes_no_outcome_and_repeats_no_run() {
    let calm = batch();
    calm.settle(&[]);
    calm.check("undisturbed");
    let undisturbed = calm.outcome();
    let ticks = IN_TICKS.iter().map(|point| format!("SCHED_CRASH_AT={point}"));
    let supervisors = IN_SUPERVISORS.iter().map(|point| format!("SCHED_CRASH_SUPERVISOR={point}"));
    each(ticks.chain(supervisors).collect(), 4, |case| {
        let (variable, point) = case.split_once('=').unwrap();
        killed_at(variable, point, &undisturbed);
    });
}
