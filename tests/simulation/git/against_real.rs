//! The model against real git: the same random operations on both give the same answers, refs,
//! histories, trees and checkouts. A difference is a mistake of the model, or of the product.

use super::pair::Pair;

fn sequences(default: u64) -> u64 {
    let wanted = std::env::var("SCHED_SIM_GIT_SEEDS").ok();
    wanted.map_or(default, |text| text.parse().unwrap())
}

fn first() -> u64 {
    std::env::var("SCHED_SIM_GIT_SEED").map_or(1, |text| text.parse().unwrap())
}

#[test]
fn the_model_answers_as_real_git_does() {
    for seed in first()..first() + sequences(3) {
        let mut pair = Pair::new(seed);
        pair.begin();
        for _ in 0..40 {
            pair.operate();
            pair.compare();
        }
        pair.judge();
    }
}
