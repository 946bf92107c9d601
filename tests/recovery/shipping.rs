//! Shipping onto a base that is checked out, changed, or moved by somebody.

use crate::bench::{Bench, GATE, WORKS};

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

/// A batch that was blocked because its gate is red on the base, resumed on the mended base.
fn mended() -> Bench {
    let bench = Bench::new(WORKS, "test ! -e broken || { echo broken; exit 1; }");
    std::fs::write(bench.repository().join("broken"), "").unwrap();
    bench.git(&["add", "broken"]);
    bench.git(&["commit", "--quiet", "--message", "break"]);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "101,102"]);
    bench.settle(&[]);
    assert_eq!(bench.status()["batches"][0]["blocked_reason"], "gate-baseline-red:unit");
    bench.git(&["rm", "--quiet", "broken"]);
    bench.git(&["commit", "--quiet", "--message", "mend"]);
    bench.ok(&["resume", "--batch", "b1"]);
    bench
}

fn goes_on(bench: &Bench, what: &str) {
    bench.settle(&[]);
    bench.check(what);
    assert_eq!(bench.outcome().base, "102 (#102)\n101 (#101)\nmend\nbreak\nfirst\n");
    assert_eq!(bench.outcome().agents, ["agent 101", "agent 102"]);
}

#[test]
fn a_gate_that_is_red_on_the_base_is_asked_again_on_the_mended_base() {
    goes_on(&mended(), "mended");
}

#[test]
fn a_rebase_that_is_killed_before_or_after_it_moved_the_branch_is_gone_on_with() {
    for point in ["pay-rebase", "paid-rebase"] {
        let bench = mended();
        let died = bench.with(&[("SCHED_CRASH_AT", point)], &["tick"]);
        assert_eq!(died.status.code(), None, "{point}: nothing died there");
        goes_on(&bench, point);
    }
}

#[test]
fn what_was_gated_is_what_lands_although_the_agent_went_back_behind_its_base() {
    let agent = format!("git reset --quiet --hard HEAD~1; {WORKS}");
    let bench = Bench::new(&agent, "test -e needed || { echo missing; exit 1; }");
    std::fs::write(bench.repository().join("needed"), "").unwrap();
    bench.git(&["add", "needed"]);
    bench.git(&["commit", "--quiet", "--message", "needed"]);
    bench.ok(&["enqueue", "--batch", "b1", "--issues", "101"]);
    bench.settle(&[]);
    bench.check("merged");
    assert_eq!(bench.outcome().base, "101 (#101)\nneeded\nfirst\n");
}
