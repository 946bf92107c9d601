//! `sched status`.

use crate::environment::{TestEnvironment, snapshot};
use serde_json::{Value, json};

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn an_empty_queue_says_so() {
    snapshot("status_empty", &TestEnvironment::initialized().sched(&["status"]));
}

#[test]
fn the_table_shows_batches_and_issues_and_what_they_wait_for() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "101,102", "--batch", "b1"]);
    environment.sched(&["enqueue", "--issues", "103", "--deps", "101"]);
    environment.sched(&["pause", "--reason", "the disk is being replaced"]);
    snapshot("status_table", &environment.sched(&["status"]));
}

#[test]
fn the_document_has_exactly_the_shape_that_programs_read() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "101,102", "--batch", "b1"]);
    environment.sched(&["pause"]);
    let document = environment.json(&["status", "--json"]);
    let expected = [
        "attention",
        "batches",
        "builds",
        "head",
        "issues",
        "last_tick",
        "leases",
        "owed",
        "paused",
        "schema",
        "slots",
        "waiting",
    ];
    assert_eq!(keys(&document), expected);
    assert_eq!(document["schema"], "sched.status/v1");
    assert_eq!(keys(&document["head"]), ["at", "hash", "seq"]);
    assert_eq!(document["paused"], true);
    let issue = json!({"id": "101", "status": "queued", "batch": "b1", "deps": [],
        "requested_tier": "mid", "attempts": 0, "reason": null, "branch": null});
    assert_eq!(document["issues"][0], issue);
    let batch = json!({"id": "b1", "status": "ready", "mode": "serial",
        "members": ["101", "102"], "current": null, "landed": [], "evictions": [],
        "blocked_reason": null, "integration": null, "threshold": null});
    assert_eq!(document["batches"][0], batch);
    assert_eq!(keys(&document["waiting"][0]), ["for", "since", "unit"]);
    let attention = json!({"unit": "scheduler", "code": "paused", "message": "paused",
        "remedy": "sched resume"});
    assert_eq!(document["attention"], json!([attention]));
}
