//! `sched resume --batch B` of a batch whose gate could not tell: every outcome of the recheck.

use crate::environment::{Said, TestEnvironment};
use std::fs;

/// A batch of one member, blocked on a gate that exits with what stands in a file.
fn blocked() -> TestEnvironment {
    let environment = TestEnvironment::initialized();
    answer(&environment, 75);
    let file = environment.path("answer");
    environment.configure(&format!(
        "[[gate]]\nid = \"unit\"\ncommand = [\"sh\", \"-c\", \"echo asked; exit $(cat {})\"]\n",
        file.display()
    ));
    environment.sched(&["enqueue", "--issues", "101,102", "--batch", "b1"]);
    let run = environment.sched(&["run", "--until-idle", "--interval", "200ms"]);
    assert_eq!(run.code, 1, "a blocked batch needs a person: {}", run.text());
    assert_eq!(reason(&environment), "gate-inconclusive:unit");
    environment
}

fn answer(environment: &TestEnvironment, code: i32) {
    fs::write(environment.path("answer"), code.to_string()).unwrap();
}

fn reason(environment: &TestEnvironment) -> String {
    let status = environment.json(&["status", "--json"]);
    status["batches"][0]["blocked_reason"].as_str().unwrap_or_default().to_owned()
}

fn resume(environment: &TestEnvironment) -> Said {
    environment.sched(&["resume", "--batch", "b1"])
}

fn count(environment: &TestEnvironment, event: &str) -> usize {
    environment.sched(&["log", "--type", event]).stdout.lines().count()
}

#[test]
fn a_recheck_that_cannot_tell_leaves_the_batch_blocked() {
    let environment = blocked();
    let said = resume(&environment);
    assert_ne!(said.code, 0, "{}", said.text());
    assert_eq!(reason(&environment), "gate-inconclusive:unit");
    assert_eq!(count(&environment, "batch-resumed"), 0);
    assert_eq!(count(&environment, "member-evicted"), 0, "nobody is blamed");
}

#[test]
fn a_recheck_that_passes_completes_the_member_without_another_agent() {
    let environment = blocked();
    answer(&environment, 0);
    let said = resume(&environment);
    assert_eq!(said.code, 0, "{}", said.text());
    let run = environment.sched(&["run", "--until-idle", "--interval", "200ms"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert_eq!(count(&environment, "member-landed"), 2);
    let started = environment.sched(&["log", "--type", "dispatch-planned"]).stdout;
    let agents = started.lines().filter(|line| line.contains("batch:b1/101: agent")).count();
    assert_eq!(agents, 1, "{started}");
}

#[test]
fn a_recheck_that_fails_evicts_the_member_and_the_batch_goes_on() {
    let environment = blocked();
    answer(&environment, 1);
    resume(&environment);
    assert_eq!(count(&environment, "batch-resumed"), 1);
    let evicted = environment.sched(&["log", "--type", "member-evicted"]).stdout;
    assert!(evicted.contains("gate-failed:unit"), "{evicted}");
    answer(&environment, 0);
    environment.sched(&["run", "--until-idle", "--interval", "200ms"]);
    let status = environment.json(&["status", "--json"]);
    assert_eq!(status["owed"].as_array().map(Vec::len), Some(0), "{status}");
    assert_eq!(environment.sched(&["journal", "verify"]).code, 0);
}
