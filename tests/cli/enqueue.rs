//! `sched enqueue`.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};

#[test]
fn ranges_become_members_of_a_sealed_batch() {
    let environment = TestEnvironment::initialized();
    let args = ["enqueue", "--issues", "101,105..107", "--batch", "b1", "--tier", "mid"];
    snapshot("enqueue_batch", &environment.sched(&args));
}

#[test]
fn a_batch_takes_more_until_it_is_sealed() {
    let environment = TestEnvironment::initialized();
    let said: Vec<String> = [
        &["enqueue", "--issues", "1", "--batch", "b2", "--more"][..],
        &["enqueue", "--issues", "2", "--batch", "b2"],
        &["enqueue", "--issues", "3", "--batch", "b2"],
    ]
    .iter()
    .map(|args| environment.sched(args).text())
    .collect();
    snapshot_text("enqueue_more", &said.join("\n"));
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1", "--title", "first"]);
    std::fs::write(environment.path("long"), "a".repeat(49_153)).unwrap();
    std::fs::write(environment.path("quotes"), "\"".repeat(48_000)).unwrap();
    let before = environment.json(&["status", "--json"]);
    let cases: &[&[&str]] = &[
        &["--issues", "1"],
        &["--issues", "5", "--deps", "99"],
        &["--issues", "5", "--deps", "5"],
        &["--issues", "7,7"],
        &["--issues", "9..3"],
        &["--issues", "1,,2"],
        &["--issues", "a.lock"],
        &["--issues", "8", "--batch", "-x"],
        &["--issues", "8", "--batch", "b..c"],
        &["--issues", "8", "--more"],
        &["--issues", "8", "--tier", "hard"],
        &["--issues", "11,12", "--title", "two"],
        &["--issues", "13", "--profile", "nope"],
        &["--issues", "007..009"],
        &["--issues", "14", "--prompt-file", "nope"],
        &["--issues", "14", "--prompt-file", "/dev/zero"],
        &["--issues", "14", "--prompt-file", "../long"],
        &["--issues", "14", "--prompt-file", "../quotes"],
        &["--issues", "15", "--batch", "z", "--mode", "parallel"],
        &[],
    ];
    let mut text = String::new();
    for case in cases {
        let said = environment.sched(&[&["enqueue"], *case].concat());
        text += &format!("$ sched enqueue {}\n{}\n", case.join(" "), said.text());
    }
    snapshot_text("enqueue_refused", &text);
    assert_eq!(environment.json(&["status", "--json"]), before);
}

#[test]
fn the_document_names_the_entry() {
    let environment = TestEnvironment::initialized();
    let document = environment.json(&["enqueue", "--issues", "1,2", "--json"]);
    assert_eq!(document["schema"], "sched.enqueue/v1");
    assert_eq!(document["seq"], environment.json(&["status", "--json"])["head"]["seq"]);
    assert_eq!(document["events"].as_array().unwrap().len(), 2);
}

#[test]
fn a_prompt_may_come_from_a_pipe() {
    let environment = TestEnvironment::initialized();
    let mut command = environment.sched_command(&["enqueue", "--issues", "1"]);
    command.args(["--prompt-file", "/dev/stdin"]).stdin(std::process::Stdio::piped());
    let mut enqueue = command.spawn().unwrap();
    std::io::Write::write_all(&mut enqueue.stdin.take().unwrap(), b"do it").unwrap();
    assert!(enqueue.wait().unwrap().success());
    let journal = std::fs::read_to_string(environment.state("journal.jsonl")).unwrap();
    assert!(journal.contains(r#""prompt":"do it""#), "{journal}");
}
