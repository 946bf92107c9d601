//! Every choice of a run, drawn from one seed and written down, so that a run can be repeated,
//! and shortened: a choice of 0 is always the undisturbed one.

/// A sequence of choices.
#[derive(Debug, Clone)]
pub struct Tape {
    taken: Vec<u32>,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Random(u64),
    Recorded(Vec<u32>),
}

impl Tape {
    /// Drawn from a seed.
    pub fn random(seed: u64) -> Self {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
        Self { taken: Vec::new(), source: Source::Random(mixed | 1) }
    }

    /// As it was recorded; behind the end nothing disturbs.
    pub fn recorded(choices: Vec<u32>) -> Self {
        Self { taken: Vec::new(), source: Source::Recorded(choices) }
    }

    /// What was chosen so far, without the undisturbed end.
    pub fn choices(&self) -> Vec<u32> {
        let length = self.taken.iter().rposition(|choice| *choice != 0).map_or(0, |at| at + 1);
        self.taken[..length].to_vec()
    }

    /// 0 mostly; with a chance in 10,000 one of `1..=others`.
    pub fn rare(&mut self, chance: u32, others: u32) -> u32 {
        if others == 0 || chance == 0 {
            return 0;
        }
        let choice = match &mut self.source {
            Source::Random(state) => {
                let drawn = next(state);
                let meant = (drawn % 10_000) < u64::from(chance);
                let other = 1 + (drawn >> 32) % u64::from(others);
                if meant { u32::try_from(other).unwrap() } else { 0 }
            }
            Source::Recorded(choices) => {
                choices.get(self.taken.len()).copied().unwrap_or(0) % (others + 1)
            }
        };
        self.taken.push(choice);
        choice
    }

    /// Whether something rare happens.
    pub fn happens(&mut self, chance: u32) -> bool {
        self.rare(chance, 1) == 1
    }

    /// One of `n`, all alike.
    pub fn pick(&mut self, n: u32) -> u32 {
        self.rare(10_000, n).saturating_sub(1)
    }
}

/// One step of xorshift64*.
fn next(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}
