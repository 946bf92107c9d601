//! `sched show`, `why`, `logs`: what is asked for must exist and be unambiguous.

use crate::environment::{TestEnvironment, snapshot_text};

#[test]
fn what_does_not_exist_is_said_with_exit_code_4_and_nonsense_with_2() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1"]);
    let cases: &[&[&str]] = &[
        &["show", "issue:9"],
        &["show", "batch:b9"],
        &["show", "9999"],
        &["show", "0193a7c2"],
        &["show", "what?"],
        &["why", "issue:9"],
        &["why", "nine"],
        &["logs", "0193a7c2"],
        &["logs", "abc"],
        &["logs", "0193a7c2-0000-7000-8000-000000000000"],
    ];
    let mut text = String::new();
    for case in cases {
        text += &format!("$ sched {}\n{}\n", case.join(" "), environment.sched(case).text());
    }
    snapshot_text("show_missing", &text);
}

#[test]
fn an_issue_is_shown_with_its_chain() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1", "--title", "a title"]);
    let document = environment.json(&["show", "issue:1", "--json"]);
    assert_eq!(document["schema"], "sched.show/v1");
    assert_eq!(document["issue"]["title"], "a title");
    let chain = environment.json(&["why", "issue:1", "--json"]);
    assert_eq!(chain["entries"].as_array().unwrap().len(), 1);
    assert_eq!(environment.json(&["show", "1", "--json"])["entry"]["seq"], 1);
}
