//! The shortest schedule that still fails.

use crate::tape::Tape;
use crate::{checked, of_seed};
use std::time::{Duration, Instant};

/// How long is searched.
const PATIENCE: Duration = Duration::from_secs(60);

/// What happens in the shortest failing schedule of a seed that fails.
pub fn shortest(seed: u64) -> String {
    let (scenario, tape, gentle) = of_seed(seed);
    let Err(mut worst) = checked(&scenario, tape, gentle) else {
        return format!("seed {seed} does not fail again");
    };
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
                let disturbed = |choices: &[u32]| choices.iter().filter(|c| **c != 0).count();
                if let Err(again) = checked(&scenario, Tape::recorded(choices), gentle)
                    && disturbed(&again.choices) < disturbed(&worst.choices)
                {
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
    let disturbed = worst.choices.iter().filter(|choice| **choice != 0).count();
    format!(
        "the shortest schedule of seed {seed} that fails ({disturbed} choices):\n{scenario:#?}\n{}\n",
        worst.trace.join("\n")
    )
}
