//! Operator verbs: pause, resume, stop, abandon, requeue, reprioritize.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};

fn transcript(environment: &TestEnvironment, cases: &[&[&str]]) -> String {
    let mut text = String::new();
    for case in cases {
        text += &format!("$ sched {}\n{}\n", case.join(" "), environment.sched(case).text());
    }
    text
}

#[test]
fn a_pause_is_lifted_once() {
    let environment = TestEnvironment::initialized();
    let cases: &[&[&str]] = &[
        &["pause", "--reason", "the disk is being replaced"],
        &["pause"],
        &["resume"],
        &["resume"],
        &["resume", "--batch", "b9"],
        &["resume", "--issue", "9"],
    ];
    snapshot_text("pause_resume", &transcript(&environment, cases));
}

#[test]
fn stop_ends_abandon_gives_back_and_both_only_once() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
    environment.sched(&["enqueue", "--issues", "3,4"]);
    let cases: &[&[&str]] = &[
        &["reprioritize", "--issue", "3", "--priority", "-5"],
        &["stop", "--batch", "b1"],
        &["stop", "--batch", "b1"],
        &["abandon", "--issue", "3", "--reason", "not needed"],
        &["abandon", "--issue", "3"],
        &["requeue", "--issue", "4"],
        &["stop", "--issue", "9"],
        &["stop", "--issue", "1", "--batch", "b1"],
        &["status"],
    ];
    snapshot_text("stop_abandon", &transcript(&environment, cases));
}

#[test]
fn an_abandoned_batch_gives_its_members_back() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
    let cases: &[&[&str]] = &[&["abandon", "--batch", "b1", "--reason", "wrong base"], &["status"]];
    snapshot_text("abandon_batch", &transcript(&environment, cases));
}

#[test]
fn nothing_of_this_is_done_inside_a_dispatch() {
    let environment = TestEnvironment::initialized();
    let cases: &[&[&str]] = &[
        &["init"],
        &["enqueue", "--issues", "1"],
        &["tick"],
        &["run"],
        &["pause"],
        &["resume"],
        &["resume", "--batch", "b1"],
        &["stop", "--issue", "1"],
        &["abandon", "--issue", "1"],
        &["requeue", "--issue", "1"],
        &["reprioritize", "--issue", "1", "--priority", "1"],
        &["journal", "repair", "--from-seq", "2", "--yes"],
    ];
    let id = "0193a7c2-0000-7000-8000-000000000000";
    for case in cases {
        let said = environment.sched_with("SCHED_DISPATCH", id, case);
        assert_eq!((said.code, said.stdout.as_str()), (3, ""), "{case:?}: {}", said.stderr);
        assert!(said.stderr.contains("is refused inside a dispatch"), "{}", said.stderr);
    }
    let said = environment.sched_with("SCHED_DISPATCH", id, &["tick"]);
    snapshot_text("inside_a_dispatch", &said.text());
    assert_eq!(environment.sched_with("SCHED_DISPATCH", id, &["status"]).code, 0);
}

#[test]
fn a_text_over_its_bound_is_a_usage_error_that_says_the_bound() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "7"]);
    let (long, longest) = ("a".repeat(2_001), "ä".repeat(2_000));
    let refused = environment.sched(&["stop", "--issue", "7", "--reason", &long]);
    snapshot("text_too_long", &refused);
    for args in [
        &["pause", "--reason", &long][..],
        &["enqueue", "--issues", "8", "--title", &long],
        &["post", "--phase", "p", "--status", "s", "--detail", &long],
        &["post", "--phase", "p", "--status", "s", "--key", &long],
    ] {
        let said = environment.sched(args);
        assert_eq!(said.code, 2, "{}", said.text());
        assert!(said.stderr.contains("at most 2000 are allowed"), "{}", said.stderr);
    }
    assert_eq!(environment.sched(&["stop", "--issue", "7", "--reason", &longest]).code, 0);
}
