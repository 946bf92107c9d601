//! The shortest schedule that still fails.

use crate::many::{checked, of_seed};
use crate::tape::Tape;
use std::time::{Duration, Instant};

/// How long is searched.
const PATIENCE: Duration = Duration::from_secs(45);

/// What happens in the shortest failing schedule of a seed that fails.
pub fn shortest(seed: u64) -> String {
    let (scenario, tape, gentle) = of_seed(seed);
    let mut worst = checked(&scenario, tape, gentle);
    if worst.failure.is_none() {
        return format!("seed {seed} does not fail again");
    }
    let begun = Instant::now();
    let mut width = worst.choices.len().max(1);
    while width > 0 && begun.elapsed() < PATIENCE {
        let mut from = 0;
        let mut shorter = false;
        while from < worst.choices.len() && begun.elapsed() < PATIENCE {
            let mut choices = worst.choices.clone();
            let to = (from + width).min(choices.len());
            if choices[from..to].iter().any(|choice| *choice != 0) {
                choices[from..to].fill(0);
                let again = checked(&scenario, Tape::recorded(choices), gentle);
                let fewer = disturbed(&again.choices) < disturbed(&worst.choices);
                if again.failure.is_some() && fewer {
                    worst = again;
                    shorter = true;
                }
            }
            from += width;
        }
        if !shorter {
            width /= 2;
        }
    }
    format!(
        "the shortest schedule of seed {seed} that fails ({} choices):\n{scenario:#?}\n{}\n{}\n",
        disturbed(&worst.choices),
        worst.trace.join("\n"),
        worst.failure.unwrap_or_default()
    )
}

/// How many choices were not the undisturbed one.
fn disturbed(choices: &[u32]) -> usize {
    choices.iter().filter(|choice| **choice != 0).count()
}
