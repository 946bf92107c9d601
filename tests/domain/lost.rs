//! The table "lost, and it ran".

use crate::world::*;
use sched::domain::fact::{Fact, Remains};

#[test]
fn an_agent_with_clean_commits_is_judged_by_its_work() {
    let mut w = World::batch(GATE, &["1", "2"]);
    w.start("batch:b1/1");
    let line = w.gone("batch:b1/1", Remains { ground: Some(ground("t1")), ..remains() });
    assert_eq!(line, "dispatch-lost:done gates-planned dispatch-planned:gate");
}

#[test]
fn without_gates_or_tip_or_a_clean_tree_it_runs_again_twice() {
    let dirty = sched::domain::event::Ground { dirty: true, ..ground("t1") };
    let no_tip = sched::domain::event::Ground { tip: None, ..ground("t1") };
    for (config, found) in [("", ground("t1")), (GATE, dirty), (GATE, no_tip)] {
        let mut w = World::batch(config, &["1", "2"]);
        for _ in 0..2 {
            w.start("batch:b1/1");
            let line = w.gone("batch:b1/1", Remains { ground: Some(found.clone()), ..remains() });
            assert_eq!(line, "dispatch-lost:lost slot-released dispatch-planned:agent");
            assert_eq!(w.dispatch("batch:b1/1").plan.attempt, 1);
        }
        w.start("batch:b1/1");
        let line = w.gone("batch:b1/1", remains());
        assert!(line.contains("slot-released member-evicted:1:unverified-exit"), "{line}");
    }
}

#[test]
fn a_gate_runs_again_and_the_third_loss_is_inconclusive() {
    let mut w = World::batch(GATE, &["1", "2"]);
    w.run("batch:b1/1", done("t1"));
    for _ in 0..2 {
        w.start("batch:b1/1");
        assert_eq!(w.gone("batch:b1/1", remains()), "dispatch-lost:lost dispatch-planned:gate");
    }
    w.start("batch:b1/1");
    let line = w.gone("batch:b1/1", remains());
    assert_eq!(line, "dispatch-lost:lost slot-released batch-blocked:gate-inconclusive:unit");
}

#[test]
fn a_suite_runs_again_and_the_third_loss_is_unreadable() {
    let mut w = World::batch(SUITE, &["1"]);
    w.through("1", "c1");
    for _ in 0..2 {
        w.start("batch:b1");
        assert_eq!(w.gone("batch:b1", remains()), "dispatch-lost:lost dispatch-planned:suite");
    }
    w.start("batch:b1");
    assert_eq!(w.gone("batch:b1", remains()), "dispatch-lost:lost batch-blocked:suite-unreadable");
    w.given(resume(batch("b1")));
    assert_eq!(w.tick(), "dispatch-planned:suite");
}

#[test]
fn a_reclaim_runs_again() {
    let mut w = World::batch("", &["1"]);
    w.run("batch:b1/1", code(1));
    w.start("batch:b1");
    assert_eq!(w.gone("batch:b1", remains()), "dispatch-lost:lost dispatch-planned:reclaim");
}

#[test]
fn what_never_ran_costs_nothing_and_three_in_a_row_suspend_starting() {
    let mut w = World::batch("", &["1", "2"]);
    for _ in 0..2 {
        w.start("batch:b1/1");
        let line = w.gone("batch:b1/1", Remains { ran: false, ..remains() });
        assert_eq!(line, "dispatch-lost:never-ran slot-released dispatch-planned:agent");
        assert_eq!(w.dispatch("batch:b1/1").plan.attempt, 1);
    }
    w.start("batch:b1/1");
    let line = w.gone("batch:b1/1", Remains { ran: false, ..remains() });
    assert_eq!(line, "dispatch-lost:never-ran spawn-failing slot-released");
}

#[test]
fn a_missing_claim_is_judged_as_if_it_ran() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    let line = w.gone("batch:b1/1", Remains::default());
    assert!(line.starts_with("dispatch-lost:lost"), "{line}");
}

#[test]
fn a_reboot_costs_no_attempt_however_often() {
    let mut w = World::batch("", &["1", "2"]);
    for _ in 0..5 {
        w.start("batch:b1/1");
        w.reboot();
        let line = w.gone("batch:b1/1", Remains { rebooted: true, ..remains() });
        assert_eq!(line, "dispatch-lost:host-lost slot-released dispatch-planned:agent");
    }
}

#[test]
fn a_lost_dispatch_that_was_stopped_is_stopped() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    w.given(stop(issue("1")));
    let line = w.gone("batch:b1/1", remains());
    assert!(
        line.contains("dispatch-lost:stopped slot-released member-evicted:1:stopped"),
        "{line}"
    );
}

#[test]
fn a_dead_supervisor_is_said_once_and_the_receipt_counts_once() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    let dispatch = w.open("batch:b1/1");
    assert_eq!(w.given(Fact::Unsupervised { dispatch }), "supervision-lost");
    assert_eq!(w.given(Fact::Unsupervised { dispatch }), "");
    w.end("batch:b1/1", done("t1"));
    assert_eq!(w.given(Fact::Ended { dispatch, exit: done("t1") }), "");
    assert_eq!(w.given(Fact::Gone { dispatch, remains: remains() }), "");
}

#[test]
fn an_issue_without_a_tree_runs_again_twice() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("7", &[])]));
    w.tick();
    for _ in 0..2 {
        w.start("issue:7");
        let line = w.gone("issue:7", remains());
        assert_eq!(line, "dispatch-lost:lost slot-released dispatch-planned:agent");
    }
    w.start("issue:7");
    assert!(w.gone("issue:7", remains()).ends_with("slot-released issue-failed:7:unverified-exit"));
}
