//! Histories that keep every promise: what the program writes, whatever happened to it.

use crate::evictions::{leaves, of_one};
use crate::story::*;
use sched::audit::invariants::Audit;
use sched::audit::read;
use sched::domain::event::{
    BatchDissolving, BatchStopped, IssueFailed, IssueStopped, StopReason, UnitStopping, Verb,
    Verdict,
};
use std::path::Path;

fn keeps_every_promise(what: &str, story: &Story) {
    assert_eq!(story.findings(), [], "{what}");
}

#[test]
fn the_journals_of_released_versions_keep_every_promise() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/v1");
    let mut read = 0;
    for dir in std::fs::read_dir(root).unwrap() {
        let path = dir.unwrap().path().join("journal.jsonl");
        let audited = read::files(std::slice::from_ref(&path)).unwrap();
        assert!(audited.damage.is_none() && audited.entries > 0, "{}", path.display());
        assert_eq!(audited.findings, [], "{}", path.display());
        read += 1;
    }
    assert!(read > 0);
}

#[test]
fn a_batch_that_lands_one_member_and_evicts_another_keeps_every_promise() {
    let story = Story::batch(&["1", "2"])
        .line(done(1, "1"))
        .line([landed("1"), advanced("1", "2"), agent(2, "batch:b1/2", 1)])
        .line([started(2)])
        .line([failed(2), released(1, "batch:b1/2"), evicted("2"), validated(), merged()])
        .line([batch_done(), issue_done("1", Some(1))]);
    keeps_every_promise("landed and evicted", &story);
}

#[test]
fn the_whole_batch_queued_again_by_a_dissolve_keeps_every_promise() {
    let story = Story::batch(&["1", "2", "3"])
        .line([failed(1), released(1, "batch:b1/1"), evicted("1"), advanced("1", "2")])
        .line([agent(2, "batch:b1/2", 1)])
        .line([started(2)])
        .line([
            failed(2),
            released(1, "batch:b1/2"),
            evicted("2"),
            dissolved("threshold", [3, 2, 1, 0]),
            requeued("3"),
        ]);
    keeps_every_promise("dissolved", &story);
}

#[test]
fn a_kill_after_its_bound_keeps_every_promise_whatever_the_wall_clock_says() {
    let ended = [lost(1, Verdict::Stopped), released(1, "issue:1")];
    let failed = IssueFailed { issue: "1".into(), reason: "timeout".into() };
    let story = Story::job()
        .line([stop(1, 120_000)])
        .wait(119_000)
        .line([killed(1, 120_000)])
        .wait(119_000)
        .line([ineffective(1)])
        .line([&ended[..], &[failed.into()]].concat());
    keeps_every_promise("killed", &story);
    let behind = Story::job().line([stop(1, 120_000)]).wait(119_000).step_clock(-119_000);
    keeps_every_promise("killed behind the clock", &behind.line([killed(1, 120_000)]));
}

#[test]
fn a_move_is_not_due_where_the_batch_waits_for_something_else() {
    let left = [failed(1), released(1, "batch:b1/1"), evicted("1")];
    let batch = || Story::batch(&["1", "2"]);
    let blocked = batch().line([blocked("adopted")]).line(left.clone());
    keeps_every_promise("blocked", &blocked);
    let dissolving = BatchDissolving(decision("operator", [2, 0, 1, 0]));
    let dissolving = batch().line([dissolving.into(), stop_for(1, StopReason::Operator, 120_000)]);
    keeps_every_promise("dissolving", &dissolving.line(left.clone()));
    let stopping = UnitStopping {
        unit: "batch:b1".parse().unwrap(),
        verb: Verb::Stop,
        reason: "stopped".into(),
    };
    let end = |issue: &str| IssueStopped { issue: issue.into(), reason: "stopped".into() }.into();
    let over = BatchStopped { batch: "b1".into(), reason: "stopped".into() };
    let stopped = batch()
        .line([stopping.into(), stop_for(1, StopReason::Operator, 120_000)])
        .line(left)
        .line([over.into(), end("1"), end("2")]);
    keeps_every_promise("stopping", &stopped);
    let other = Story::batch(&["1", "2", "3"]).line([handed_back("3")]);
    keeps_every_promise("another member is at work", &other);
}

#[test]
fn a_batch_of_one_ends_with_its_issue_and_its_issue_runs_again() {
    let ends = dissolved_as("1@1");
    let failed_for = IssueFailed { issue: "1".into(), reason: "unverified-exit".into() };
    let line = [failed(1), released(1, "issue:1"), leaves("1@1", "1"), ends, failed_for.into()];
    let story = of_one().line(line);
    keeps_every_promise("a batch of one", &story);
    keeps_every_promise("queued again", &story.line([queued("1", &[])]).line([job(2, "1", 1)]));
}

fn dissolved_as(batch: &str) -> sched::domain::event::Event {
    let mut decision = decision("nothing-landed", [1, 1, 0, 0]);
    decision.batch = batch.into();
    sched::domain::event::BatchDissolved(decision).into()
}

#[test]
fn a_dependency_inside_the_batch_is_satisfied_by_landing_and_one_outside_by_being_done() {
    let done_first = [exited(1, Verdict::Done, code(0)), released(1, "issue:1")];
    let story = Story::job()
        .line([&done_first[..], &[issue_done("1", Some(1))]].concat())
        .line([queued("2", &["1"])])
        .line([job(2, "2", 1)]);
    keeps_every_promise("outside", &story);
    let story = Story::new()
        .line(formed("b1", &["1", "2"], &[("2", &["1"])]))
        .line([batch_started("b1").into(), assigned("b1", "1"), agent(1, "batch:b1/1", 1)])
        .line([started(1)])
        .line(done(1, "1"))
        .line([landed("1"), advanced("1", "2"), agent(2, "batch:b1/2", 1)]);
    keeps_every_promise("inside", &story);
}

#[test]
fn what_is_certain_is_found_as_soon_as_its_entry_is_there() {
    let text = String::from_utf8(Story::job().line([started(1)]).text()).unwrap();
    let mut audit = Audit::new();
    let mut found = Vec::new();
    for line in text.lines() {
        audit.entry(&serde_json::from_str(line).unwrap());
        found.push(audit.findings().len());
    }
    assert_eq!(found, [0, 0, 0, 0, 1]);
    assert_eq!(audit.clone().finish(), audit.findings());
}
