//! The production domain, engine and journal in a simulated world: processes, git, disk and clock,
//! all from one seed (10-proof-and-speed.md, "simulation").
//!
//! `SCHED_SIM_SEEDS=100000` runs so many seeds; `SCHED_SIM_SEED=17` repeats one, and prints what
//! happened in it.

mod agents;
mod disk;
mod disturb;
mod git;
mod job;
mod judge;
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

use run::{Finished, run};
use scenario::Scenario;
use std::sync::atomic::{AtomicU64, Ordering};
use tape::Tape;

/// How many seeds are run by default.
const SEEDS: u64 = 300;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What a seed makes: even ones have gentle weather, which must not change any outcome.
fn of_seed(seed: u64) -> (Scenario, Tape, bool) {
    let scenario = Scenario::drawn(&mut Tape::random(seed));
    (scenario, Tape::random(!seed), seed % 3 == 0)
}

/// Runs one seed. What went wrong, if anything did.
fn seed(seed: u64) -> Result<Finished, Finished> {
    let (scenario, tape, gentle) = of_seed(seed);
    checked(&scenario, tape, gentle)
}

/// A run; in gentle weather its outcome is compared with the undisturbed one's.
fn checked(scenario: &Scenario, tape: Tape, gentle: bool) -> Result<Finished, Finished> {
    let mut finished = run(scenario, tape, gentle);
    if finished.failure.is_none() && gentle && !finished.rough {
        let calm = run(scenario, Tape::recorded(Vec::new()), gentle);
        if calm.outcome != finished.outcome {
            finished.failure = Some(format!(
                "another outcome than undisturbed:\n{:?}\ninstead of\n{:?}",
                finished.outcome, calm.outcome
            ));
        }
    }
    if finished.failure.is_some() { Err(finished) } else { Ok(finished) }
}

#[test]
fn whatever_happens_nothing_is_lost_repeated_or_forgotten() {
    std::panic::set_hook(Box::new(|_| {})); // a panic in a process is a finding of the run
    if let Some(one) = number("SCHED_SIM_SEED") {
        let finished = seed(one).unwrap_or_else(|failed| failed);
        println!("{}", finished.trace.join("\n"));
        println!("{:?}\n{:?}", finished.failure, finished.outcome);
        std::process::exit(i32::from(finished.failure.is_some()));
    }
    let seeds = number("SCHED_SIM_SEEDS").unwrap_or(SEEDS);
    let first = number("SCHED_SIM_FIRST").unwrap_or(0);
    let next = AtomicU64::new(first);
    let (entries, turns) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let one = next.fetch_add(1, Ordering::Relaxed);
                    if one >= first + seeds {
                        return;
                    }
                    match seed(one) {
                        Ok(finished) => {
                            entries.fetch_add(finished.entries, Ordering::Relaxed);
                            turns.fetch_add(finished.turns, Ordering::Relaxed);
                        }
                        Err(finished) => failed.lock().unwrap().push((one, finished)),
                    }
                }
            });
        }
    });
    println!("{seeds} seeds, {turns:?} turns, {entries:?} entries");
    let failed = failed.into_inner().unwrap();
    for (one, finished) in failed.iter().take(20) {
        println!("seed {one}: {}", finished.failure.as_deref().unwrap_or_default());
    }
    if let Some((one, _)) = failed.first() {
        println!("{}", shrink::shortest(*one));
        println!("{} of {seeds} seeds failed; repeat one with: SCHED_SIM_SEED={one} \
                  cargo test --test simulation -- --nocapture", failed.len());
        std::process::exit(1);
    }
}
