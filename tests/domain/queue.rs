//! What can be queued, and what waits for what.

use crate::world::*;
use sched::domain::command::{Command, Enqueue};

#[test]
fn a_cycle_is_refused_and_named() {
    let mut w = World::new("");
    let message = w.refused(enqueue(None, &[("1", &["2"]), ("2", &["3"]), ("3", &["1"])]));
    assert_eq!(message, "the dependencies form a cycle: 1 → 2 → 3 → 1");
    let message = w.refused(enqueue(None, &[("1", &["1"])]));
    assert_eq!(message, "the dependencies form a cycle: 1 → 1");
}

#[test]
fn an_unknown_dependency_a_duplicate_or_nothing_is_refused() {
    let mut w = World::new("");
    let message = w.refused(enqueue(None, &[("1", &["9"])]));
    assert_eq!(message, "issue 1 depends on 9, which does not exist");
    assert_eq!(w.refused(enqueue(None, &[("1", &[]), ("1", &[])])), "issue 1 is named twice");
    assert_eq!(w.refused(Command::Enqueue(Enqueue::default())), "there is nothing to queue");
    w.given(enqueue(None, &[("1", &[])]));
    assert_eq!(w.refused(enqueue(None, &[("1", &[])])), "issue 1 is queued already");
    assert_eq!(w.refused(enqueue(Some("b1"), &[])), "batch b1 would have no members");
}

#[test]
fn a_batch_that_is_not_there_or_takes_no_more_is_refused() {
    let mut w = World::batch("", &["1"]);
    assert_eq!(
        w.refused(enqueue(Some("b1"), &[("2", &[])])),
        "batch b1 is executing and takes no more"
    );
    let stray = |id: &str| {
        let mut work = enqueue(Some(id), &[("2", &[])]);
        if let Command::Enqueue(work) = &mut work {
            work.batches.clear();
        }
        work
    };
    assert_eq!(w.refused(stray("b2")), "there is no batch b2");
    assert_eq!(w.refused(stray("b1")), "batch b1 is executing and takes no more");
    let mut twice = enqueue(Some("b2"), &[("2", &[])]);
    if let Command::Enqueue(work) = &mut twice {
        work.batches.push(work.batches[0].clone());
    }
    assert_eq!(w.refused(twice), "batch b2 is named twice");
}

#[test]
fn a_terminal_issue_queued_anew_is_the_next_generation() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[])]));
    w.given(stop(issue("1")));
    w.given(enqueue(None, &[("1", &[])]));
    assert_eq!((w.issue("1").generation, w.issue_status("1")), (2, "queued"));
}

#[test]
fn a_failure_blocks_transitively_in_its_line_and_lifts_by_itself() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("1", &[]), ("2", &["1"]), ("3", &["2"])]));
    w.tick();
    let line = w.run("issue:1", code(1));
    let expected = "dispatch-exited:unverified-exit slot-released issue-failed:1:unverified-exit \
         issue-blocked:2:dep-failed:1 issue-blocked:3:dep-failed:1";
    assert_eq!(line, expected);
    assert!(w.refused(resume(issue("2"))).contains("which has failed"));
    let line = w.given(enqueue(None, &[("1", &[])]));
    assert_eq!(line, "issue-enqueued issue-unblocked:2 issue-unblocked:3");
}

#[test]
fn what_has_another_failed_dependency_stays_blocked_on_that() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[]), ("2", &[]), ("3", &["1", "2"]), ("4", &["3"])]));
    w.given(stop(issue("1")));
    w.given(stop(issue("2")));
    let line = w.given(enqueue(None, &[("1", &[])]));
    let expected = "issue-enqueued issue-unblocked:3 issue-unblocked:4 \
         issue-blocked:3:dep-failed:2 issue-blocked:4:dep-failed:2";
    assert_eq!(line, expected);
    w.given(enqueue(None, &[("2", &[])]));
    assert_eq!(w.issue_status("4"), "queued");
}

#[test]
fn what_depends_on_a_failed_one_is_blocked_as_it_is_queued_in_any_order() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[])]));
    w.given(stop(issue("1")));
    let line = w.given(enqueue(None, &[("3", &["2"]), ("2", &["1"])]));
    let expected =
        "issue-enqueued issue-enqueued issue-blocked:2:dep-failed:1 issue-blocked:3:dep-failed:1";
    assert_eq!(line, expected);
}

#[test]
fn a_batch_waits_for_the_outside_dependencies_of_all_its_members() {
    let mut w = World::new("[profile.job]\ncommand = [\"j\"]\nworkdir = \"none\"\n");
    let mut work = enqueue(None, &[("0", &[])]);
    if let Command::Enqueue(work) = &mut work {
        work.issues[0].profile = Some("job".into());
    }
    w.given(work);
    w.given(enqueue(Some("b1"), &[("1", &[]), ("2", &["0"])]));
    assert_eq!(w.base("c0"), "dispatch-planned:agent");
    w.run("issue:0", code(0));
    assert_eq!(w.base("c0"), "batch-started member-assigned dispatch-planned:agent");
}

#[test]
fn a_requeued_member_whose_dependency_has_failed_is_blocked() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &[]), ("2", &["1"]), ("3", &[])]));
    w.base("c0");
    w.given(stop(issue("1")));
    assert_eq!(w.issue_status("2"), "handed-back");
    let line = w.given(requeue("2"));
    assert_eq!(line, "operator-acted issue-requeued issue-blocked:2:dep-failed:1");
}

#[test]
fn an_open_batch_is_sealed_without_another_member() {
    let mut w = World::new("");
    let mut open = enqueue(Some("b1"), &[("1", &[])]);
    if let Command::Enqueue(work) = &mut open {
        work.batches[0].more = true;
    }
    w.given(open);
    assert_eq!(w.given(enqueue(Some("b1"), &[])), "batch-sealed");
    w.refused(enqueue(Some("b2"), &[]));
}
