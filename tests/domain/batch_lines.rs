//! The rows of "One line each".

use crate::world::*;
use sched::domain::fact::{Fact, LandResult};

#[test]
fn a_batch_starts_with_its_first_agent_in_one_line() {
    let mut w = World::new(GATE);
    w.given(enqueue(Some("b1"), &[("1", &[]), ("2", &[])]));
    assert_eq!(w.tick(), "");
    assert_eq!(w.base("c0"), "batch-started member-assigned dispatch-planned:agent");
    assert_eq!(w.made("b1"), "integration-created");
}

#[test]
fn an_agent_that_looks_done_goes_to_its_first_gate_and_keeps_its_slot() {
    let mut w = World::batch(GATE, &["1", "2"]);
    let line = w.run("batch:b1/1", done("t1"));
    assert_eq!(line, "dispatch-exited:done gates-planned dispatch-planned:gate");
    assert_eq!(w.state.slots.len(), 1);
}

#[test]
fn the_last_gate_verifies_releases_the_slot_and_plans_the_landing() {
    let mut w = World::batch(TWO_GATES, &["1", "2"]);
    w.run("batch:b1/1", done("t1"));
    assert_eq!(w.run("batch:b1/1", passed()), "dispatch-exited:passed dispatch-planned:gate");
    let line = w.run("batch:b1/1", passed());
    assert_eq!(line, "dispatch-exited:passed member-verified slot-released landing-planned");
}

#[test]
fn without_a_gate_all_of_that_stands_in_the_line_of_the_exit() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.run("batch:b1/1", done("t1"));
    let expected =
        "dispatch-exited:done gates-planned member-verified slot-released landing-planned";
    assert_eq!(line, expected);
}

#[test]
fn a_landing_advances_and_plans_the_next_agent() {
    let mut w = World::batch(GATE, &["1", "2"]);
    assert_eq!(w.through("1", "c1"), "member-landed member-advanced:2 dispatch-planned:agent");
}

#[test]
fn the_last_landing_plans_the_suite_or_stands_for_it() {
    let mut w = World::batch(SUITE, &["1"]);
    assert_eq!(w.through("1", "c1"), "member-landed batch-validating dispatch-planned:suite");
    assert_eq!(w.run("batch:b1", passed()), "dispatch-exited:passed batch-validated");
    let mut w = World::batch("", &["1"]);
    assert_eq!(w.through("1", "c1"), "member-landed batch-validated");
}

#[test]
fn a_failed_member_leaves_with_its_slot_and_the_batch_moves_on() {
    let mut w = World::batch(GATE, &["1", "2", "3"]);
    let line = w.run("batch:b1/1", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released member-evicted:1:unverified-exit \
         member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn the_eviction_that_trips_the_threshold_dissolves_in_its_line() {
    let mut w = World::batch(ONE_SLOT, &["1", "2", "3"]);
    w.run("batch:b1/1", code(1));
    let line = w.run("batch:b1/2", code(1));
    assert!(
        line.starts_with(
            "dispatch-exited:unverified-exit slot-released member-evicted:2:unverified-exit \
             batch-dissolved:threshold member-requeued:3"
        ),
        "{line}"
    );
}

#[test]
fn the_last_member_resolved_without_a_landing_dissolves() {
    let mut w = World::batch("", &["1"]);
    let line = w.run("batch:b1/1", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released member-evicted:1:unverified-exit \
         batch-dissolved:nothing-landed dispatch-planned:reclaim";
    assert_eq!(line, expected);
}

#[test]
fn a_dissolve_waits_for_what_runs_and_ends_with_it() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    let line = w.given(abandon(batch("b1")));
    assert!(
        line.contains("batch-dissolving stop-requested:dissolve member-stop-requested"),
        "{line}"
    );
    assert!(!line.contains("batch-dissolved"), "{line}");
    let line = w.end("batch:b1/1", killed());
    let expected = "dispatch-exited:stopped slot-released batch-dissolved:operator \
         member-requeued:1 member-requeued:2 dispatch-planned:reclaim";
    assert_eq!(line, expected);
}

#[test]
fn an_inconclusive_gate_releases_the_slot_and_blocks() {
    let mut w = World::batch(GATE, &["1", "2"]);
    w.run("batch:b1/1", done("t1"));
    let line = w.run("batch:b1/1", code(75));
    let expected =
        "dispatch-exited:inconclusive slot-released batch-blocked:gate-inconclusive:unit";
    assert_eq!(line, expected);
}

#[test]
fn a_stand_alone_issue_ends_with_its_batch_of_one() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[]), ("8", &["7"])]));
    assert_eq!(w.base("c0"), "batch-started member-assigned dispatch-planned:agent");
    w.made("7@1");
    let line = w.run("issue:7", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released member-evicted:7:unverified-exit \
         batch-dissolved:nothing-landed issue-failed:7:unverified-exit \
         issue-blocked:8:dep-failed:7 dispatch-planned:reclaim";
    assert_eq!(line, expected);
}

#[test]
fn an_issue_without_a_tree_is_done_in_the_line_of_its_exit() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 1\n{JOB}"));
    w.given(enqueue(None, &[("7", &[]), ("8", &[])]));
    assert_eq!(w.tick(), "dispatch-planned:agent");
    let line = w.run("issue:7", silent(0));
    assert_eq!(line, "dispatch-exited:done slot-released issue-done:7 dispatch-planned:agent");
}

#[test]
fn members_land_in_the_order_of_their_dependencies() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &["2"]), ("2", &[]), ("3", &["1"])]));
    w.base("c0");
    w.made("b1");
    assert_eq!(w.through("2", "c1"), "member-landed member-advanced:1 dispatch-planned:agent");
    assert_eq!(w.through("1", "c2"), "member-landed member-advanced:3 dispatch-planned:agent");
}

#[test]
fn a_landing_that_lost_its_swap_is_planned_again_and_an_old_one_changes_nothing() {
    let mut w = World::batch("", &["1"]);
    w.run("batch:b1/1", done("t1"));
    assert_eq!(w.land("1", LandResult::Moved("c0".into())), "");
    assert_eq!(w.land("1", LandResult::Moved("cx".into())), "landing-planned");
    assert_eq!(w.land("1", LandResult::AlreadyLanded), "member-landed batch-validated");
    assert_eq!(w.land("1", LandResult::Landed("c1".into())), "");
}

#[test]
fn unsaved_work_is_rescued_before_the_gates() {
    let mut w = World::batch(GATE, &["1"]);
    let mut exit = done("t1");
    exit.ground.as_mut().unwrap().dirty = true;
    let line = w.run("batch:b1/1", exit);
    assert_eq!(line, "dispatch-exited:done gates-planned dispatch-planned:reclaim");
    assert_eq!(w.run("batch:b1/1", passed()), "dispatch-exited:done dispatch-planned:gate");
}

#[test]
fn work_that_cannot_be_rescued_blocks_after_three_tries() {
    let mut w = World::batch(GATE, &["1"]);
    let mut exit = done("t1");
    exit.ground.as_mut().unwrap().dirty = true;
    w.run("batch:b1/1", exit);
    for _ in 0..2 {
        let line = w.run("batch:b1/1", code(1));
        assert_eq!(line, "dispatch-exited:unverified-exit dispatch-planned:reclaim");
    }
    let line = w.run("batch:b1/1", code(1));
    assert!(line.ends_with("slot-released batch-blocked:reconcile-error"), "{line}");
}

#[test]
fn an_agent_waits_for_its_integration_branch() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &[])]));
    w.base("c0");
    let starts = |w: &World| {
        let owed = sched::domain::owed(&w.state, &w.now);
        owed.iter().filter(|e| e.kind() == "start").count()
    };
    assert_eq!(starts(&w), 0);
    w.made("b1");
    assert_eq!(starts(&w), 1);
}

#[test]
fn what_fails_again_and_again_blocks_its_batch_and_holds_back_what_has_not_started() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &[])]));
    w.base("c0");
    let line = w.given(Fact::Failed { batch: "b1".into(), message: "x".into() });
    let expected =
        "dispatch-superseded:reconcile-error slot-released batch-blocked:reconcile-error";
    assert_eq!(line, expected);
    assert_eq!(w.given(resume(batch("b1"))), "operator-acted batch-resumed");
    assert_eq!(w.made("b1"), "integration-created dispatch-planned:agent");
}

#[test]
fn an_agent_that_fails_while_its_batch_is_blocked_leaves_and_the_move_waits_for_resume() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.start("batch:b1/1");
    w.given(Fact::Failed { batch: "b1".into(), message: "x".into() });
    let line = w.end("batch:b1/1", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released member-evicted:1:unverified-exit";
    assert_eq!(line, expected);
    assert_eq!(w.status(), "blocked");
    assert_eq!(w.given(resume(batch("b1"))), "operator-acted batch-resumed member-advanced:2");
    assert_eq!(w.tick(), "dispatch-planned:agent");
}
