//! Every way a member can leave its batch.

use crate::world::*;
use sched::domain::event::{Event, EvictionKind};
use sched::domain::fact::LandResult;

fn eviction(w: &World) -> (EvictionKind, String) {
    let batch = w.b();
    let last = batch.evictions.last().unwrap();
    (last.kind, last.reason.clone())
}

#[test]
fn a_hand_back_never_counts_towards_a_dissolve() {
    let config = "[agent]\ncommand = [\"a\"]\nhanded_back_codes = [3]\n";
    let mut w = World::batch(config, &["1", "2", "3", "4"]);
    for member in ["1", "2", "3"] {
        let line = w.run(&format!("batch:b1/{member}"), code(3));
        assert!(
            line.starts_with("dispatch-exited:handed-back slot-released member-evicted"),
            "{line}"
        );
        assert!(line.ends_with("dispatch-planned:agent"), "{line}");
    }
    assert_eq!(eviction(&w), (EvictionKind::HandedBack, "exit-code-3".into()));
    assert_eq!(w.b().counted_evictions(), 0);
}

#[test]
fn blocked_and_partial_review_are_hand_backs_and_done_work_comes_first() {
    for (phase, status) in [("implement", "blocked"), ("review", "partial")] {
        let mut w = World::batch("", &["1", "2"]);
        w.start("batch:b1/1");
        w.post("batch:b1/1", phase, status);
        w.end("batch:b1/1", code(1));
        assert_eq!(eviction(&w), (EvictionKind::HandedBack, format!("{phase} {status}")));
    }
}

#[test]
fn a_member_that_asks_for_a_person_is_handed_back() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    w.post_key("batch:b1/1", "plan", "started", &[("needs", "human")]);
    w.end("batch:b1/1", code(1));
    assert_eq!(eviction(&w), (EvictionKind::HandedBack, "needs-human".into()));
}

#[test]
fn those_who_depend_on_one_that_left_leave_in_the_same_line() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &[]), ("2", &["1"]), ("3", &["2"]), ("4", &[])]));
    w.base("c0");
    w.made("b1");
    let line = w.run("batch:b1/1", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released \
         member-evicted:1:unverified-exit member-evicted:2:dep-left:1 member-evicted:3:dep-left:2 \
         member-advanced:4 dispatch-planned:agent";
    assert_eq!(line, expected);
    assert_eq!(w.b().counted_evictions(), 1);
}

#[test]
fn a_wrong_procedure_is_prompted_again_once_the_old_process_is_gone() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    let line = w.post("batch:b1/1", "triage", "started");
    assert_eq!(line, "milestone-posted stop-requested:wrong-procedure member-stop-requested");
    let line = w.end("batch:b1/1", killed());
    let expected = "dispatch-exited:stopped member-reprompted slot-released dispatch-planned:agent";
    assert_eq!(line, expected);
    w.start("batch:b1/1");
    w.post("batch:b1/1", "triage", "started");
    w.end("batch:b1/1", killed());
    assert_eq!(eviction(&w), (EvictionKind::Evicted, "wrong-procedure".into()));
}

#[test]
fn a_run_that_shipped_by_itself_is_evicted_at_once_with_its_pull_request() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    w.post_key("batch:b1/1", "ship", "done", &[("pr", "17")]);
    w.end("batch:b1/1", killed());
    assert_eq!(eviction(&w), (EvictionKind::Evicted, "wrong-procedure-shipped".into()));
    assert_eq!(w.issue("1").evidence.stray_pr.as_deref(), Some("17"));
}

#[test]
fn a_milestone_of_a_dispatch_that_is_stopping_or_over_is_refused() {
    let mut w = World::batch("", &["1", "2"]);
    let dispatch = w.open("batch:b1/1");
    assert!(w.refused(milestone(dispatch, "plan", "done", &[])).ends_with("has not started"));
    w.start("batch:b1/1");
    w.post("batch:b1/1", "triage", "started");
    assert!(w.refused(milestone(dispatch, "plan", "done", &[])).ends_with("is being stopped"));
    w.end("batch:b1/1", killed());
    assert!(w.refused(milestone(dispatch, "plan", "done", &[])).ends_with("is over"));
}

#[test]
fn a_conflict_evicts_and_keeps_the_branch() {
    let mut w = World::batch("", &["1", "2"]);
    w.run("batch:b1/1", done("t1"));
    let line = w.land("1", LandResult::Conflict(vec!["a".into()]));
    let expected = "member-evicted:1:landing-conflict member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
    assert_eq!(w.issue("1").branch.as_deref(), Some("sched/b1/1-1"));
    assert_eq!(w.issue("1").evidence.conflicts, ["a"]);
}

#[test]
fn a_tree_that_cannot_be_made_is_tried_three_times_more_and_then_evicts() {
    let mut w = World::batch("", &["1", "2"]);
    for seconds in [1, 10, 60] {
        let line = w.run("batch:b1/1", no_tree(false));
        assert_eq!(line, "dispatch-exited:worktree-failed slot-released");
        assert_eq!(w.tick(), "");
        w.wait(seconds);
        assert_eq!(w.tick(), "dispatch-planned:agent");
        assert_eq!(w.dispatch("batch:b1/1").plan.attempt, 1);
    }
    w.run("batch:b1/1", no_tree(false));
    assert_eq!(eviction(&w).1, "member-worktree-prep-failed:disk");
}

#[test]
fn a_cause_of_its_own_evicts_at_the_first_failure() {
    let mut w = World::batch("", &["1", "2"]);
    w.run("batch:b1/1", no_tree(true));
    assert_eq!(eviction(&w).1, "member-worktree-prep-failed:disk");
}

#[test]
fn a_second_resolution_changes_nothing_but_the_slot() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.start("batch:b1/1");
    let evicted = Event::from(sched::domain::event::MemberEvicted {
        batch: "b1".into(),
        member: "1".into(),
        reason: "timeout".into(),
        kind: EvictionKind::Evicted,
        branch: None,
        evidence: Default::default(),
    });
    w.journal(vec![evicted]); // an engine that wrote one transition as several lines
    let line = w.end("batch:b1/1", done("t1"));
    assert!(line.starts_with("dispatch-exited:done slot-released"), "{line}");
    assert_eq!(w.b().evictions.len(), 1);
    let line = w.tick();
    let expected = "member-advance-recovered member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn a_parked_member_comes_back_only_by_requeue() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.run("batch:b1/1", code(1));
    assert_eq!(w.issue_status("1"), "evicted");
    assert_eq!(w.given(requeue("1")), "operator-acted issue-requeued");
    assert!(w.issue("1").batch.is_none() && w.issue("1").branch.is_some());
    assert!(w.refused(requeue("2")).contains("not parked"));
}

#[test]
fn a_stand_alone_issue_that_needs_a_person_runs_again_after_resume() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.made("7@1");
    w.start("issue:7");
    w.post("issue:7", "plan", "blocked");
    let line = w.end("issue:7", code(1));
    assert!(line.contains("batch-dissolved:nothing-landed issue-blocked:7:needs-human"), "{line}");
    w.remove_trees("issue:7");
    w.given(resume(issue("7")));
    assert_eq!(w.base("c0"), "batch-started member-assigned dispatch-planned:agent");
    assert_eq!(w.issue("7").batch, Some("7@2".into()));
}
