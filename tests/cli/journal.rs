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

/// Appends an entry that hangs in the chain and says what an earlier one says, as version `v`.
fn append_like(environment: &TestEnvironment, earlier: usize, v: u64) {
    let path = environment.state("journal.jsonl");
    let mut text = fs::read_to_string(&path).unwrap();
    let (_, tail) = text.lines().last().unwrap().rsplit_once(",\"hash\":\"").unwrap();
    let (head, _) = text.lines().nth(earlier - 1).unwrap().rsplit_once("\"prev\":\"").unwrap();
    let seq = text.lines().count() + 1;
    let from = format!("{{\"v\":1,\"seq\":{earlier},");
    let head = head.replacen(&from, &format!("{{\"v\":{v},\"seq\":{seq},"), 1);
    let at = |line: &str| line.split("\"at\":\"").nth(1).unwrap()[..24].to_owned();
    let head = head.replacen(&at(&head), &at(text.lines().last().unwrap()), 1);
    let body = format!("{head}\"prev\":\"{}\"", &tail[..64]);
    let hash: String = Sha256::digest(&body).iter().map(|b| format!("{b:02x}")).collect();
    text += &format!("{body},\"hash\":\"{hash}\"}}\n");
    fs::write(&path, text).unwrap();
}

fn append_newer(environment: &TestEnvironment) {
    append_like(environment, 5, 2);
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

#[test]
fn a_newer_journal_is_never_called_damaged_by_verify() {
    let environment = with_entries();
    append_newer(&environment);
    let said = environment.sched(&["journal", "verify"]);
    snapshot("journal_verify_newer", &said);
    assert!(!said.text().to_lowercase().contains("damaged"));
    let document = environment.sched(&["journal", "verify", "--json"]);
    assert_eq!(document.code, 7);
    assert!(document.stdout.contains(r#""kind":"VERSION""#) && document.stdout.contains("false"));
    append_garbage(&environment);
    assert_eq!(environment.sched(&["journal", "verify"]).code, 5);
}

#[test]
fn what_is_no_file_is_an_error_of_verify_as_of_every_command() {
    let environment = with_entries();
    let path = environment.state("journal.jsonl");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let verify = environment.sched(&["journal", "verify"]);
    assert_eq!(verify.text(), environment.sched(&["status"]).text());
    assert!(verify.stderr.contains("is a directory: expected a regular file"));
    let none = environment.sched(&["journal", "verify", "--state-dir", "nowhere"]);
    assert_eq!((verify.code, none.code), (5, 4), "{}", none.text());
}

fn append_garbage(environment: &TestEnvironment) {
    let path = environment.state("journal.jsonl");
    fs::write(&path, fs::read_to_string(&path).unwrap() + "garbage\n").unwrap();
}

const READERS: &[&[&str]] = &[
    &["status"],
    &["show", "batch:b1"],
    &["show", "3"],
    &["why", "batch:b1"],
    &["log"],
    &["journal", "replay"],
    &["journal", "replay", "--at", "9"],
];

#[test]
fn what_stands_before_the_damage_is_shown_and_then_the_damage_is_said() {
    let environment = with_entries();
    environment.sched(&["status"]);
    let before = READERS.iter().map(|args| environment.sched(args).stdout).collect::<Vec<_>>();
    append_garbage(&environment);
    for (args, before) in READERS.iter().zip(before) {
        let said = environment.sched(args);
        // an entry behind the damage: the state before the damage
        let beyond = *args == READERS[6];
        let expected = if beyond { &environment.sched(READERS[5]).stdout } else { &before };
        assert_eq!((said.code, &said.stdout), (5, expected), "{args:?}");
        assert!(said.stderr.contains("damaged at byte"), "{args:?}: {}", said.stderr);
    }
    let said = environment.sched(&["status", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, &document["head"]["seq"]), (5, &5.into()));
    for args in
        [&["pause"][..], &["tick"], &["enqueue", "--issues", "9"], &["requeue", "--issue", "1"]]
    {
        assert_eq!(environment.sched(args).code, 5, "{args:?}");
    }
    snapshot("journal_damaged_status", &environment.sched(&["status"]));
    snapshot("journal_damaged_missing", &environment.sched(&["show", "issue:77"]));
}

/// Each kind of damage, with the exit code and the last entry that is shown.
#[test]
fn whatever_is_wrong_with_a_journal_its_beginning_is_shown() {
    let resumed = r#""type":"scheduler-resumed""#;
    type Damage<'a> = &'a dyn Fn(&TestEnvironment);
    let cases: &[(&str, i32, u64, Damage<'_>)] = &[
        ("newer", 7, 5, &append_newer),
        ("illegal", 5, 5, &|environment| append_like(environment, 3, 1)),
        ("edited", 5, 4, &|environment| {
            edit(environment, resumed, r#""type":"scheduler-Resumed""#)
        }),
        ("longer", 5, 4, &|environment| {
            edit(environment, resumed, r#" "type":"scheduler-resumed""#)
        }),
        ("cut", 5, 4, &|environment| {
            let text = fs::read_to_string(environment.state("journal.jsonl")).unwrap();
            let lines: Vec<&str> = text.lines().take(4).collect();
            fs::write(environment.state("journal.jsonl"), lines.join("\n") + "\n").unwrap();
        }),
    ];
    for (name, code, last, damage) in cases {
        let environment = with_entries();
        let _ = fs::remove_file(environment.state("projection.sqlite"));
        damage(&environment);
        for args in [&["status", "--json"][..], &["journal", "replay", "--json"]] {
            let said = environment.sched(args);
            let document: serde_json::Value = serde_json::from_str(&said.stdout)
                .unwrap_or_else(|error| panic!("{name}: {error}: {}", said.text()));
            assert_eq!((said.code, &document["head"]["seq"]), (*code, &(*last).into()), "{name}");
            assert_eq!(document["issues"].as_array().unwrap().len(), 2, "{name}");
        }
        assert_eq!(environment.sched(&["show", "batch:b1"]).code, *code, "{name}");
        assert_eq!(environment.sched(&["pause"]).code, *code, "{name}");
        assert!(!environment.state("projection.sqlite").exists(), "{name}");
    }
}

#[test]
fn the_past_before_the_damage_is_replayed_as_if_there_were_none() {
    let environment = with_entries();
    let at_4 = ["journal", "replay", "--at", "4", "--json"];
    let before = environment.sched(&at_4);
    append_garbage(&environment);
    let said = environment.sched(&at_4);
    assert_eq!((said.code, said.stdout), (0, before.stdout), "{}", said.stderr);
    let long_ago = ["journal", "replay", "--at", "2020-01-01T00:00:00.000Z"];
    assert_eq!(environment.sched(&long_ago).code, 0);
}

#[test]
fn an_entry_that_cannot_have_happened_is_damage_although_its_hash_is_right() {
    let environment = with_entries();
    append_like(&environment, 3, 1);
    let report = environment.json(&["journal", "verify", "--json"]);
    assert_eq!((&report["ok"], &report["damage"][0]["kind"]), (&false.into(), &"ILLEGAL".into()));
    assert_eq!(report["damage"][0]["seq"], 6);
    assert_eq!(environment.sched(&["journal", "verify"]).code, 5);
    assert_eq!(environment.sched(&["tick"]).code, 5);
}
