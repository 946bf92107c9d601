//! `sched journal verify | replay | repair`, and every command on a journal that is not well.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};
use sha2::{Digest, Sha256};
use std::fs;

fn with_entries() -> TestEnvironment {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
    environment.sched(&["pause"]);
    environment.sched(&["resume"]);
    environment
}

/// Changes the journal's text, and forgets what was remembered of it.
fn edit(environment: &TestEnvironment, from: &str, to: &str) {
    let path = environment.state("journal.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    fs::write(&path, text.replacen(from, to, 1)).unwrap();
    let _ = fs::remove_file(environment.state("projection.sqlite"));
}

#[test]
fn an_intact_journal_verifies() {
    let environment = with_entries();
    snapshot("journal_verify", &environment.sched(&["journal", "verify"]));
    snapshot("journal_verify_json", &environment.sched(&["journal", "verify", "--json"]));
}

#[test]
fn the_past_is_replayed_up_to_an_entry_or_a_time() {
    let environment = with_entries();
    snapshot("journal_replay", &environment.sched(&["journal", "replay", "--at", "4"]));
    let now = environment.json(&["status", "--json"]);
    let replayed = environment.json(&["journal", "replay", "--json"]);
    assert_eq!(replayed["head"], now["head"]);
    assert_eq!(replayed["issues"], now["issues"]);
    let said = [["--at", "what"], ["--at", "9999"], ["--at", "2000-01-01T00:00:00.000Z"]]
        .map(|at| environment.sched(&[&["journal", "replay"], &at[..]].concat()).text());
    snapshot_text("journal_replay_at", &said.join("\n"));
}

#[test]
fn a_damaged_journal_is_not_written_to_until_it_is_repaired() {
    let environment = with_entries();
    edit(&environment, r#""type":"scheduler-paused""#, r#""type":"scheduler-Paused""#);
    let cases: &[&[&str]] = &[
        &["journal", "verify"],
        &["pause"],
        &["tick"],
        &["enqueue", "--issues", "9"],
        &["doctor"],
        &["journal", "repair", "--from-seq", "4"],
        &["journal", "repair", "--from-seq", "1", "--yes"],
        &["journal", "repair", "--from-seq", "5", "--yes"],
        &["journal", "repair", "--from-seq", "4", "--yes"],
        &["journal", "verify"],
        &["pause"],
    ];
    let mut text = String::new();
    for case in cases {
        text += &format!("$ sched {}\n{}\n", case.join(" "), environment.sched(case).text());
    }
    snapshot_text("journal_damaged", &text);
    assert_eq!(fs::read_dir(environment.state("quarantine")).unwrap().count(), 1);
}

#[test]
fn a_repair_that_is_killed_anywhere_is_done_again_and_blocks_what_it_gave_up() {
    for point in ["repair-kept", "repair-written", "repair-cut"] {
        let environment = TestEnvironment::initialized();
        environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
        environment.sched(&["reprioritize", "--batch", "b1", "--priority", "7"]);
        edit(&environment, r#""priority":7"#, r#""priority":9"#);
        let from = |seq: u64| seq.to_string();
        let ends = |environment: &TestEnvironment| {
            let report = environment.json(&["journal", "verify", "--json"]);
            (report["ok"] == true, from(report["head"]["seq"].as_u64().unwrap() + 1))
        };
        let (_, seq) = ends(&environment);
        let repair = ["journal", "repair", "--from-seq", &seq, "--yes"];
        let killed = environment.sched_with("SCHED_CRASH_AT", point, &repair);
        assert_eq!(killed.code, -1, "{point}: {}", killed.text());
        let (ok, seq) = ends(&environment);
        assert!(!ok, "{point}: half a repair looks whole");
        let again = environment.sched(&["journal", "repair", "--from-seq", &seq, "--yes"]);
        assert_eq!(again.code, 0, "{point}: {}", again.text());
        assert!(ends(&environment).0, "{point}");
        let status = environment.json(&["status", "--json"]);
        assert_eq!(status["batches"][0]["blocked_reason"], "repaired", "{point}");
    }
}

#[test]
fn an_intact_journal_has_nothing_behind_its_end_to_repair() {
    let environment = with_entries();
    let repair = ["journal", "repair", "--from-seq", "99", "--yes"];
    snapshot("journal_repair_nothing", &environment.sched(&repair));
}

#[test]
fn a_copy_can_be_repaired_and_then_adopted() {
    let environment = with_entries();
    let copy = environment.path("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["journal.jsonl", "head"] {
        fs::copy(environment.state(name), copy.join(name)).unwrap();
    }
    let dir = copy.to_str().unwrap();
    let run = |args: &[&str]| environment.sched(&[args, &["--state-dir", dir]].concat()).code;
    assert_eq!(run(&["tick"]), 5, "unfinished work is refused in a copy");
    assert_eq!(run(&["journal", "repair", "--from-seq", "5", "--yes"]), 0);
    assert_eq!(run(&["tick"]), 5, "a repair is no adoption");
    assert_eq!(run(&["init", "--adopt"]), 0);
    assert_eq!(run(&["journal", "verify"]), 0);
}

/// Appends an entry like the last one, of a version that does not exist yet.
fn append_newer(environment: &TestEnvironment) {
    let path = environment.state("journal.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    let (body, tail) = last.rsplit_once(",\"hash\":\"").unwrap();
    let (before, _) = body.rsplit_once("\"prev\":\"").unwrap();
    let before = before.replacen("{\"v\":1,\"seq\":5,", "{\"v\":2,\"seq\":6,", 1);
    let body = format!("{before}\"prev\":\"{}\"", &tail[..64]);
    let hash: String = Sha256::digest(&body).iter().map(|b| format!("{b:02x}")).collect();
    text += &format!("{body},\"hash\":\"{hash}\"}}\n");
    fs::write(&path, text).unwrap();
}

#[test]
fn a_newer_journal_is_refused_with_exit_code_7() {
    let environment = with_entries();
    append_newer(&environment);
    let before = fs::read(environment.state("journal.jsonl")).unwrap();
    snapshot("journal_newer", &environment.sched(&["pause"]));
    assert_eq!(environment.sched(&["tick"]).code, 7);
    assert_eq!(fs::read(environment.state("journal.jsonl")).unwrap(), before);
}
