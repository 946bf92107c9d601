//! Shipping onto a base that is checked out, changed, or moved by somebody.

use crate::bench::{Bench, GATE};

const CHANGES: &str = "echo more >>text; git commit -qam work";

fn bench() -> Bench {
    let bench = Bench::new(CHANGES, GATE);
    std::fs::write(bench.repository().join("text"), "one\n").unwrap();
    bench.git(&["add", "text"]);
    bench.git(&["commit", "--quiet", "--message", "text"]);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "101"]);
    bench
}

#[test]
fn a_changed_file_reaches_the_checkout_of_the_base() {
    let bench = bench();
    bench.settle(&[]);
    bench.check("shipped");
    assert_eq!(bench.outcome().base, "101 (#101)\ntext\nfirst\n");
    let text = std::fs::read_to_string(bench.repository().join("text")).unwrap();
    assert_eq!(text, "one\nmore\n");
}

#[test]
fn a_dirty_checkout_blocks_and_a_clean_one_is_resumed() {
    let bench = bench();
    let text = bench.repository().join("text");
    std::fs::write(&text, "mine\n").unwrap();
    bench.settle(&[]);
    assert_eq!(bench.status()["batches"][0]["blocked_reason"], "base-checkout-dirty:text");
    assert_eq!(std::fs::read_to_string(&text).unwrap(), "mine\n");
    bench.git(&["checkout", "--quiet", "text"]);
    bench.ok(&["resume", "--batch", "b1"]);
    bench.settle(&[]);
    bench.check("resumed");
    assert_eq!(bench.outcome().base, "101 (#101)\ntext\nfirst\n");
}

#[test]
fn a_base_that_somebody_moved_is_rebased_on() {
    let bench = bench();
    bench.ok(&["tick"]);
    std::fs::write(bench.repository().join("other"), "other\n").unwrap();
    bench.git(&["add", "other"]);
    bench.git(&["commit", "--quiet", "--message", "outside"]);
    bench.settle(&[]);
    bench.check("rebased");
    assert_eq!(bench.outcome().base, "101 (#101)\noutside\ntext\nfirst\n");
}
