//! The production domain, engine and journal in a simulated world: processes, git, disk and clock,
//! all from one seed (10-proof-and-speed.md, "simulation").
//!
//! `SCHED_SIM_SEEDS=100000` runs so many seeds, from `SCHED_SIM_FIRST` on; `SCHED_SIM_SEED=17`
//! repeats one, and prints what happened in it.

mod agents;
mod disk;
mod disturb;
mod git;
mod job;
mod judge;
mod many;
mod ports;
mod process;
mod programs;
mod run;
mod scenario;
mod shrink;
mod tape;
mod weather;
mod witness;
mod world;

use many::{Tally, number};

/// How many seeds are run by default.
const SEEDS: u64 = 300;

/// What has to happen in any run of so many seeds, so that the run proves something.
const FAULTS: [&str; 29] = [
    "killed between two steps",
    "killed from outside",
    "told to leave",
    "stopped",
    "one more tick",
    "a supervisor killed while its command ran",
    "a command killed from outside",
    "a command that ignores TERM",
    "a process left behind",
    "a lost start",
    "a late supervisor",
    "no fork",
    "a torn write",
    "a short write",
    "a write without room",
    "a failed sync",
    "a receipt that cannot be synced",
    "a disk that fills or empties",
    "a boot",
    "a power cut",
    "a jump of the clock",
    "a slow machine",
    "a slow tree",
    "git does not answer",
    "git is locked",
    "git is killed",
    "git fails",
    "somebody else at the base branch",
    "an operator",
];

#[test]
fn whatever_happens_nothing_is_lost_repeated_or_forgotten() {
    many::quietly();
    if let Some(seed) = number("SCHED_SIM_SEED") {
        assert!(many::repeat(seed), "seed {seed} fails");
        return;
    }
    let seeds = number("SCHED_SIM_SEEDS").unwrap_or(SEEDS);
    let Tally { met, compared, failed } =
        many::run_all(number("SCHED_SIM_FIRST").unwrap_or(0), seeds);
    assert!(failed == 0, "{failed} of {seeds} seeds failed");
    if seeds >= SEEDS {
        let missed: Vec<_> = FAULTS.iter().filter(|fault| !met.contains_key(**fault)).collect();
        assert!(missed.is_empty(), "these faults never happened: {missed:?}");
        assert!(compared >= seeds / 20, "only {compared} outcomes were compared");
    }
}

#[test]
fn undisturbed_good_work_is_shipped() {
    let mut scenario = scenario::Scenario::drawn(&mut tape::Tape::recorded(Vec::new()));
    scenario.checked_out = true;
    let finished = many::checked(&scenario, tape::Tape::recorded(Vec::new()), true);
    assert_eq!(finished.failure, None, "{}", finished.trace.join("\n"));
    let issues: Vec<&str> = scenario.work.iter().map(|work| work.issue.as_str()).collect();
    assert!(issues.len() > 1);
    assert_eq!(finished.outcome.shipped, issues);
    assert!(finished.outcome.issues.values().all(|status| status == "done"));
}

/// What a tree takes is nobody's time: a command has all of its own.
#[test]
fn slow_trees_change_no_outcome() {
    let (mut slow_trees, mut compared) = (0, 0);
    for seed in 0..40 {
        let scenario = scenario::Scenario::drawn(&mut tape::Tape::random(seed));
        let weather = || weather::Weather { slow_tree: 3_000, ..weather::Weather::calm() };
        let slow = run::run_in(weather(), &scenario, tape::Tape::random(!seed));
        assert_eq!(slow.failure, None, "{}", slow.trace.join("\n"));
        slow_trees += slow.met.get("a slow tree").unwrap_or(&0);
        if scenario.is_comparable() {
            compared += 1;
            let quick = run::run(&scenario, tape::Tape::recorded(Vec::new()), true);
            assert_eq!(slow.outcome, quick.outcome, "seed {seed}\n{}", slow.trace.join("\n"));
        }
    }
    assert!(slow_trees > 20 && compared > 5, "{slow_trees} slow trees, {compared} compared");
}
