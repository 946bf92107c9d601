//! Gates: pass, fail with evidence, or inconclusive.

use crate::world::*;
use rstest::rstest;
use sched::domain::command::Command;
use sched::domain::event::{Exit, Ground, Merge, Tree};
use sched::domain::fact::{LandResult, RebaseResult};

fn judged() -> World {
    let mut w = World::batch(GATE, &["1", "2", "3"]);
    w.run("batch:b1/1", done("t1"));
    w
}

fn gate(w: &mut World, exit: Exit) -> String {
    w.run("batch:b1/1", exit)
}

#[test]
fn a_failure_is_asked_again_then_the_integration_tip_then_blamed() {
    let mut w = judged();
    assert_eq!(gate(&mut w, failed()), "dispatch-exited:failed dispatch-planned:gate");
    assert!(!w.dispatch("batch:b1/1").plan.baseline);
    assert_eq!(gate(&mut w, failed()), "dispatch-exited:failed dispatch-planned:gate");
    assert!(w.dispatch("batch:b1/1").plan.baseline);
    let line = gate(&mut w, passed());
    let expected = "dispatch-exited:passed slot-released member-evicted:1:gate-failed:unit \
         member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn the_integration_tip_is_asked_once_for_a_gate() {
    let mut w = judged();
    for exit in [failed(), failed(), passed()] {
        gate(&mut w, exit);
    }
    w.run("batch:b1/2", done("t2"));
    w.run("batch:b1/2", failed());
    let line = w.run("batch:b1/2", failed());
    assert!(line.contains("member-evicted:2:gate-failed:unit"), "{line}");
}

#[test]
fn a_pass_on_the_second_try_counts_and_is_recorded_as_flaky() {
    let mut w = judged();
    gate(&mut w, failed());
    gate(&mut w, passed());
    let event = format!("{:?}", w.last());
    assert!(event.contains("flaky: [GateId(\"unit\")]"), "{event}");
}

#[test]
fn a_red_integration_tip_blocks_and_blames_nobody() {
    let mut w = judged();
    gate(&mut w, failed());
    gate(&mut w, failed());
    let line = gate(&mut w, failed());
    let expected = "dispatch-exited:failed slot-released batch-blocked:gate-baseline-red:unit";
    assert_eq!(line, expected);
    assert!(w.b().evictions.is_empty());
}

fn judged_at(w: &World) -> String {
    match w.dispatch("batch:b1/1").plan.tree {
        Tree::Member { commit, exact: true, .. } => commit.to_string(),
        other => panic!("{other:?}"),
    }
}

fn onto(tip: &str, work: Merge) -> RebaseResult {
    RebaseResult::Rebased { tip: tip.into(), landed: Vec::new(), judged: Some(work) }
}

/// A batch that is blocked because the integration tip itself fails the gate.
fn baseline_red() -> World {
    let mut w = judged();
    for _ in 0..3 {
        gate(&mut w, failed());
    }
    assert_eq!(w.status(), "blocked");
    w
}

fn resume_on(base: Option<&str>) -> Command {
    let base = base.map(Into::into);
    Command::ResumeUnit { target: batch("b1"), reason: None, base }
}

#[test]
fn resume_asks_the_gate_again_where_the_base_has_not_moved() {
    for base in [None, Some("c0")] {
        let mut w = baseline_red();
        assert_eq!(w.given(resume_on(base)), "operator-acted batch-resumed");
        assert_eq!(w.tick(), "dispatch-planned:gate");
        assert!(!w.dispatch("batch:b1/1").plan.baseline);
        let line = gate(&mut w, passed());
        assert_eq!(line, "dispatch-exited:passed member-verified landing-planned");
    }
}

#[test]
fn a_tip_that_is_still_red_after_a_resume_blocks_again() {
    let mut w = baseline_red();
    w.given(resume_on(None));
    w.tick();
    gate(&mut w, failed());
    assert_eq!(gate(&mut w, failed()), "dispatch-exited:failed dispatch-planned:gate");
    assert!(w.dispatch("batch:b1/1").plan.baseline, "what was red is asked anew");
    assert_eq!(
        gate(&mut w, failed()),
        "dispatch-exited:failed batch-blocked:gate-baseline-red:unit"
    );
}

#[test]
fn resume_on_a_moved_base_judges_the_member_on_that() {
    let mut w = baseline_red();
    assert_eq!(w.given(resume_on(Some("x1"))), "operator-acted batch-resumed batch-rebasing");
    assert!(w.idle("batch:b1/1"));
    let line = w.rebase(onto("x1", Merge::Commit("m1".into())));
    assert_eq!(line, "batch-rebased gates-planned dispatch-planned:gate");
    assert_eq!(judged_at(&w), "m1");
    let line = gate(&mut w, passed());
    assert_eq!(line, "dispatch-exited:passed member-verified landing-planned");
    let line = w.land("1", LandResult::Landed("c1".into()));
    assert_eq!(line, "member-landed member-advanced:2 dispatch-planned:agent");
    assert!(!w.b().lane, "only a batch that ships holds the lane of its base");
}

#[test]
fn what_a_gate_said_of_an_earlier_integration_tip_counts_for_that_alone() {
    let mut w = World::batch(TWO_GATES, &["1", "2", "3"]);
    w.run("batch:b1/1", done("t1"));
    for exit in [failed(), failed(), passed()] {
        w.run("batch:b1/1", exit); // the tip passes the first gate
    }
    w.run("batch:b1/2", done("t2"));
    for exit in [passed(), failed(), failed(), failed()] {
        w.run("batch:b1/2", exit); // and not the second one
    }
    assert_eq!(w.status(), "blocked");
    w.given(resume_on(Some("x1")));
    w.rebase(onto("x1", Merge::Commit("m2".into())));
    w.run("batch:b1/2", failed());
    w.run("batch:b1/2", failed());
    assert!(w.dispatch("batch:b1/2").plan.baseline, "nobody knows what it says of the new tip");
}

#[test]
fn a_member_that_conflicts_with_the_moved_base_leaves() {
    let mut w = baseline_red();
    w.given(resume_on(Some("x1")));
    let line = w.rebase(onto("x1", Merge::Conflict(vec!["a".into()])));
    let expected = "batch-rebased member-evicted:1:landing-conflict member-advanced:2 \
         dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn a_member_that_is_stopped_while_its_batch_is_rebased_leaves_and_the_rebase_makes_the_move() {
    let mut w = baseline_red();
    w.given(resume_on(Some("x1")));
    let line = w.given(stop(issue("1")));
    assert!(line.ends_with("member-evicted:1:stopped issue-stopped:1"), "{line}");
    let line = w.rebase(onto("x1", Merge::Commit("m1".into())));
    assert_eq!(line, "batch-rebased member-advanced:2 dispatch-planned:agent");
}

#[test]
fn work_that_does_not_stand_on_the_integration_tip_is_judged_merged_with_it() {
    let behind = |merged| Exit {
        ground: Some(Ground { merged: Some(merged), ..ground("t1") }),
        ..done("t1")
    };
    let mut w = World::batch(GATE, &["1", "2", "3"]);
    let line = w.run("batch:b1/1", behind(Merge::Commit("m1".into())));
    assert_eq!(line, "dispatch-exited:done gates-planned dispatch-planned:gate");
    assert_eq!(judged_at(&w), "m1");

    let mut w = World::batch(GATE, &["1", "2", "3"]);
    let line = w.run("batch:b1/1", behind(Merge::Conflict(vec!["a".into()])));
    let expected = "dispatch-exited:done slot-released member-evicted:1:landing-conflict \
         member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[rstest]
#[case::listed_75(code(75))]
#[case::missing_126(code(126))]
#[case::missing_127(code(127))]
#[case::silent_failure(silent(1))]
#[case::not_executable(no_program())]
fn the_machinery_failed_and_not_the_member(#[case] exit: Exit) {
    let mut w = judged();
    let line = gate(&mut w, exit);
    assert!(line.ends_with("slot-released batch-blocked:gate-inconclusive:unit"), "{line}");
    assert_eq!(w.issue_status("1"), "working");
}

#[test]
fn a_gate_over_its_timeout_is_inconclusive() {
    let mut w = judged();
    w.start("batch:b1/1");
    assert_eq!(w.wait(600).tick(), "stop-requested:timeout");
    let line = gate(&mut w, killed());
    assert!(line.starts_with("dispatch-exited:inconclusive slot-released batch-blocked"), "{line}");
}

#[rstest]
#[case::by_a_signal(killed())]
#[case::never_ran(never_ran())]
fn the_third_loss_in_a_row_is_inconclusive(#[case] exit: Exit) {
    let mut w = judged();
    for _ in 0..2 {
        assert!(gate(&mut w, exit.clone()).ends_with("dispatch-planned:gate"));
    }
    assert!(gate(&mut w, exit).contains("batch-blocked:gate-inconclusive:unit"));
}

#[test]
fn a_supervisor_that_was_told_to_leave_counts_for_nothing() {
    let mut w = judged();
    for _ in 0..5 {
        let exit = Exit { supervisor: true, ..killed() };
        assert_eq!(gate(&mut w, exit), "dispatch-exited:killed-outside dispatch-planned:gate");
    }
}

#[test]
fn a_gate_whose_tree_cannot_be_made_waits_and_evicts_in_the_end() {
    let mut w = judged();
    for seconds in [1, 10, 60] {
        assert_eq!(gate(&mut w, no_tree(false)), "dispatch-exited:worktree-failed");
        assert_eq!(w.tick(), "");
        assert_eq!(w.wait(seconds).tick(), "dispatch-planned:gate");
    }
    let line = gate(&mut w, no_tree(false));
    assert!(line.contains("slot-released member-evicted:1:member-worktree-prep-failed"), "{line}");
}

fn blocked() -> World {
    let mut w = judged();
    gate(&mut w, code(75));
    let line = w.given(resume(batch("b1")));
    assert_eq!(line, "operator-acted recheck-planned dispatch-planned:gate");
    assert!(w.refused(resume(batch("b1"))).contains("under way"));
    w
}

#[test]
fn a_recheck_that_passes_completes() {
    let mut w = blocked();
    let line = gate(&mut w, passed());
    assert_eq!(line, "dispatch-exited:passed batch-resumed member-verified landing-planned");
    let line = w.land("1", LandResult::Landed("c1".into()));
    assert_eq!(line, "member-landed member-advanced:2 dispatch-planned:agent");
}

#[test]
fn a_recheck_that_fails_with_evidence_evicts() {
    let mut w = blocked();
    let line = gate(&mut w, failed());
    let expected = "dispatch-exited:failed batch-resumed member-evicted:1:gate-failed:unit \
         member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn a_recheck_that_is_still_inconclusive_leaves_the_batch_blocked() {
    let mut w = blocked();
    assert_eq!(gate(&mut w, code(75)), "dispatch-exited:inconclusive");
    assert_eq!(w.status(), "blocked");
    w.given(resume(batch("b1"))); // and may be asked again
}

#[test]
fn a_recheck_that_is_lost_runs_again_and_the_third_loss_is_still_blocked() {
    let mut w = blocked();
    for _ in 0..2 {
        let line = gate(&mut w, killed());
        assert_eq!(line, "dispatch-exited:killed-outside dispatch-planned:gate");
        assert!(w.dispatch("batch:b1/1").plan.recheck);
    }
    assert_eq!(gate(&mut w, killed()), "dispatch-exited:killed-outside");
    assert_eq!(w.status(), "blocked");
    w.given(resume(batch("b1")));
}
