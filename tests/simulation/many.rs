//! Many seeds, several at a time, and what is said of them.

use crate::run::{Finished, run};
use crate::scenario::Scenario;
use crate::shrink;
use crate::tape::Tape;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// How many failures are listed.
const LISTED: usize = 20;

/// What many runs amount to.
#[derive(Default)]
pub struct Tally {
    /// How often each fault happened.
    pub met: BTreeMap<&'static str, u64>,
    /// How many outcomes were compared with those of an undisturbed run.
    pub compared: u64,
    /// How many seeds failed.
    pub failed: u64,
}

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// A panic within a simulated process is a finding of its run, and said there.
pub fn quietly() {
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().name() != Some(crate::process::THREAD) {
            said(info);
        }
    }));
}

/// What a seed makes; each third has gentle weather, which must not change any outcome.
pub fn of_seed(seed: u64) -> (Scenario, Tape, bool) {
    let scenario = Scenario::drawn(&mut Tape::random(seed));
    (scenario, Tape::random(!seed), seed.is_multiple_of(3))
}

/// A run; where nothing happened that may change what comes of a unit, its outcome is compared
/// with the undisturbed one.
pub fn checked(scenario: &Scenario, tape: Tape, gentle: bool) -> Finished {
    let mut finished = run(scenario, tape, gentle);
    if finished.failure.is_none() && gentle && !finished.rough && scenario.is_comparable() {
        let calm = run(scenario, Tape::recorded(Vec::new()), gentle);
        finished.compared = true;
        if calm.outcome != finished.outcome {
            finished.failure = Some(format!(
                "another outcome than undisturbed:\n{:?}\ninstead of\n{:?}",
                finished.outcome, calm.outcome
            ));
        }
    }
    finished
}

/// Repeats one seed, and says what happens. Whether all was well.
pub fn repeat(seed: u64) -> bool {
    let (scenario, tape, gentle) = of_seed(seed);
    let finished = checked(&scenario, tape, gentle);
    println!("{scenario:#?}\n{}\n{:?}", finished.trace.join("\n"), finished.outcome);
    println!("{}", finished.failure.as_deref().unwrap_or("all is well"));
    finished.failure.is_none()
}

/// Runs seeds; what fails is listed, and the first of it made short.
pub fn run_all(first: u64, seeds: u64) -> Tally {
    let begun = Instant::now();
    let next = AtomicU64::new(first);
    let all = Mutex::new((Tally::default(), BTreeMap::new(), 0, 0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return;
            }
            let (scenario, tape, gentle) = of_seed(seed);
            let finished = checked(&scenario, tape, gentle);
            let (tally, failures, turns, entries) = &mut *all.lock().unwrap();
            for (fault, times) in &finished.met {
                *tally.met.entry(fault).or_insert(0) += times;
            }
            tally.compared += u64::from(finished.compared);
            (*turns, *entries) = (*turns + finished.turns, *entries + finished.entries);
            if let Some(failure) = finished.failure {
                tally.failed += 1;
                failures.insert(seed, failure);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let (tally, failures, turns, entries) = all.into_inner().unwrap();
    let seconds = begun.elapsed().as_secs();
    println!("{seeds} seeds in {seconds} s: {turns} turns, {entries} entries");
    println!("compared with an undisturbed run: {}", tally.compared);
    for (fault, times) in &tally.met {
        println!("{times:>9} {fault}");
    }
    for (seed, failure) in failures.iter().take(LISTED) {
        println!("seed {seed}: {failure}");
    }
    if let Some(seed) = failures.keys().next() {
        println!("{}", shrink::shortest(*seed));
        println!(
            "{} of {seeds} seeds failed; repeat one with:\n  \
             SCHED_SIM_SEED={seed} cargo test --test simulation whatever -- --nocapture",
            failures.len()
        );
    }
    tally
}
