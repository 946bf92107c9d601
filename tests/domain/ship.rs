//! Shipping: the lane, a base that moves, a dirty checkout.

use crate::world::*;
use sched::domain::command::Command;
use sched::domain::fact::{Fact, RebaseResult, Seen, ShipResult};

fn validated(config: &str) -> World {
    let mut w = World::batch(config, &["1"]);
    w.through("1", "c1");
    if !config.is_empty() {
        w.run("batch:b1", passed());
    }
    w
}

fn rebased(tip: &str) -> RebaseResult {
    RebaseResult::Rebased { tip: tip.into(), landed: vec![("1".into(), tip.into())], judged: None }
}

#[test]
fn a_batch_ships_when_its_base_has_not_moved_and_is_done_without_its_trees() {
    let mut w = validated("");
    assert_eq!(w.base("c0"), "batch-shipping");
    assert_eq!(w.base("c0"), "");
    assert_eq!(w.ship(ShipResult::Shipped), "batch-merged dispatch-planned:reclaim");
    assert_eq!(w.issue_status("1"), "shipped");
    let line = w.remove_trees("batch:b1");
    assert_eq!(line, "dispatch-exited:done tree-removed batch-done issue-done:1");
    assert!(w.state.is_at_rest());
}

#[test]
fn a_tip_that_is_the_base_already_ships() {
    let mut w = validated("");
    assert_eq!(w.base("c1"), "batch-shipping");
}

#[test]
fn mode_none_has_shipped_with_its_validation() {
    let mut w = World::batch(ONE_SLOT, &["1"]);
    let line = w.through("1", "c1");
    assert_eq!(line, "member-landed batch-validated batch-merged dispatch-planned:reclaim");
}

#[test]
fn a_base_that_moved_means_rebase_and_suite_again() {
    let mut w = validated(SUITE);
    assert_eq!(w.base("x1"), "batch-rebasing");
    assert_eq!(w.rebase(rebased("r1")), "batch-rebased batch-validating dispatch-planned:suite");
    assert_eq!(w.run("batch:b1", passed()), "dispatch-exited:passed batch-validated");
    assert_eq!(w.base("x1"), "batch-shipping");
}

#[test]
fn the_fourth_time_blocks_and_resume_counts_anew() {
    let mut w = validated("");
    for n in 1..=3 {
        assert_eq!(w.base(&format!("x{n}")), "batch-rebasing");
        assert_eq!(w.rebase(rebased(&format!("r{n}"))), "batch-rebased batch-validated");
    }
    assert_eq!(w.base("x4"), "batch-blocked:base-moving");
    w.given(resume(batch("b1")));
    assert_eq!(w.base("x4"), "batch-rebasing");
}

#[test]
fn a_swap_that_was_lost_rebases() {
    let mut w = validated("");
    w.base("c0");
    assert_eq!(w.ship(ShipResult::BaseMoved("x1".into())), "batch-rebasing");
}

#[test]
fn a_dirty_checkout_blocks_and_resume_tries_again() {
    let mut w = validated("");
    w.base("c0");
    let line = w.ship(ShipResult::Dirty("a.txt".into()));
    assert_eq!(line, "batch-blocked:base-checkout-dirty:a.txt");
    assert_eq!(w.base("c0"), "");
    assert_eq!(w.given(resume(batch("b1"))), "operator-acted batch-resumed");
    assert_eq!(w.base("c0"), "batch-shipping");
}

#[test]
fn a_rebase_conflict_or_a_foreign_tip_blocks() {
    let mut w = validated("");
    w.base("x1");
    let line = w.rebase(RebaseResult::Conflict("1".into(), vec!["a".into()]));
    assert_eq!(line, "batch-blocked:rebase-conflict");
    let mut w = validated("");
    w.base("x1");
    assert_eq!(w.rebase(RebaseResult::Moved("z".into())), "batch-blocked:reconcile-error");
}

#[test]
fn an_unattributed_suite_is_resumed_on_the_base_that_moved() {
    let mut w = World::batch(SUITE, &["1"]);
    w.through("1", "c1");
    w.run("batch:b1", failed());
    let target = batch("b1");
    let command = Command::ResumeUnit { target, reason: None, base: Some("x1".into()) };
    assert_eq!(w.given(command), "operator-acted batch-resumed batch-rebasing");
    assert_eq!(w.rebase(rebased("r1")), "batch-rebased batch-validating dispatch-planned:suite");
}

#[test]
fn batches_of_one_base_ship_one_at_a_time_by_priority_then_age() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[]), ("2", &[])]));
    w.given(Command::Reprioritize { target: issue("2"), priority: 5, reason: None });
    w.base("c0");
    for n in ["1", "2"] {
        let batch = format!("{n}@1");
        w.made(&batch);
        w.run(&format!("issue:{n}"), done("t"));
        w.land_in(
            &batch,
            n,
            sched::domain::fact::LandResult::Landed(format!("l{n}").as_str().into()),
        );
    }
    assert_eq!(w.base("c0"), "batch-shipping");
    assert!(w.state.batch(&"2@1".into()).unwrap().lane);
    assert_eq!(w.base("c0"), "");
    let shipped = Fact::Ship { batch: "2@1".into(), result: ShipResult::Shipped };
    assert!(w.given(shipped).starts_with("batch-merged"));
    assert_eq!(w.base("l2"), "batch-rebasing");
}

#[test]
fn unreachable_decides_nothing_and_absent_blocks_what_would_start() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[])]));
    let seen = |seen| Fact::Base { branch: "main".into(), seen };
    assert_eq!(w.given(seen(Seen::Unreachable("io".into()))), "condition-raised");
    assert_eq!(w.given(seen(Seen::Unreachable("io".into()))), "");
    let other = Fact::Base { branch: "other".into(), seen: Seen::Absent };
    assert_eq!(w.given(other), "");
    assert_eq!(w.given(seen(Seen::Absent)), "issue-blocked:1:base-missing:main");
}

#[test]
fn trees_that_cannot_be_removed_never_fail_a_shipped_batch() {
    let mut w = validated("");
    w.base("c0");
    w.ship(ShipResult::Shipped);
    for seconds in [1, 10] {
        assert_eq!(w.run("batch:b1", code(1)), "dispatch-exited:unverified-exit");
        assert_eq!(w.wait(seconds - 1).tick(), "");
        assert_eq!(w.wait(1).tick(), "dispatch-planned:reclaim");
    }
    let line = w.run("batch:b1", code(1));
    assert_eq!(line, "dispatch-exited:unverified-exit tree-kept batch-done issue-done:1");
}

#[test]
fn trees_of_an_earlier_run_are_given_up_too() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.made("7@1");
    w.run("issue:7", code(1));
    w.given(enqueue(None, &[("7", &[])]));
    for seconds in [1, 10] {
        w.run("issue:7", code(1));
        w.wait(seconds).tick();
    }
    assert!(w.run("issue:7", code(1)).contains("tree-kept"));
}

#[test]
fn a_removal_that_cannot_be_killed_blocks_nothing_and_what_shipped_is_not_taken_back() {
    let mut w = validated("");
    w.base("c0");
    w.ship(ShipResult::Shipped);
    w.start("batch:b1");
    w.wait(600).tick();
    w.wait(120).tick();
    assert_eq!(w.wait(120).tick(), "kill-ineffective");
    assert!(w.refused(abandon(batch("b1"))).contains("merged already"));
    assert!(w.refused(stop(batch("b1"))).contains("merged already"));
}
