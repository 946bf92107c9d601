//! `sched audit`.

use crate::environment::{Said, TestEnvironment, snapshot, snapshot_text};
use sched::domain::event::{
    By, Entry, EnvironmentRecorded, Event, JournalCreated, Place, SlotReleased, VERSION, Writer,
};
use sched::domain::ids::{JournalId, SlotId};
use sched::domain::time::Timestamp;
use sched::journal::line::{self, GENESIS};
use std::fs;
use std::path::Path;
use uuid::Uuid;

/// Lines of a journal, each with one event.
fn lines(events: Vec<Event>) -> Vec<Vec<u8>> {
    let mut prev = GENESIS.to_owned();
    let mut lines = Vec::new();
    for (event, seq) in events.into_iter().zip(1..) {
        let by = By {
            role: Writer::Operator,
            host: "host".into(),
            boot: "boot".into(),
            up: seq,
            pid: 1,
            start: 1,
            user: "user".into(),
            version: "0".into(),
            dispatch: None,
        };
        let at = Timestamp::from_millis(1_790_000_000_000);
        let id = Uuid::from_u128(u128::from(seq));
        let entry = Entry { v: VERSION, seq, at, wall: None, id, by, events: vec![event] };
        let (bytes, hash) = line::encode(&entry, &prev).unwrap();
        lines.push(bytes);
        prev = hash;
    }
    lines
}

/// A journal that gives back slots that nobody held.
fn broken() -> Vec<Vec<u8>> {
    let place = Place { machine: "m".into(), inode: 1, birth: 1 };
    let journal = JournalId(Uuid::nil());
    let created = JournalCreated { journal, place, draft: None };
    let (path, config) = ("/bin".into(), "/sched.toml".into());
    let environment = EnvironmentRecorded { path, repository: None, config };
    let released = |slot, unit: &str| {
        let unit = unit.parse().unwrap();
        SlotReleased { slot: SlotId(slot), unit }.into()
    };
    let slots = [released(1, "issue:7"), released(2, "batch:b1/8")];
    lines([created.into(), environment.into()].into_iter().chain(slots).collect())
}

fn audit(environment: &TestEnvironment, arguments: &[&str]) -> Said {
    environment.sched_in("", &[&["audit"], arguments].concat())
}

#[test]
fn a_journal_of_this_program_keeps_every_promise() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
    environment.sched(&["run", "--until-idle"]);
    let said = environment.sched(&["audit"]);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{}", said.text());
    assert!(said.stdout.starts_with("no findings in "), "{}", said.text());
    snapshot("audit_json", &environment.sched(&["audit", "--json"]));
}

#[test]
fn each_finding_names_its_rule_its_entries_and_its_unit_and_the_exit_code_is_1() {
    let environment = TestEnvironment::new();
    fs::write(environment.path("journal"), broken().concat()).unwrap();
    snapshot("audit_findings", &audit(&environment, &["journal"]));
    snapshot("audit_findings_json", &audit(&environment, &["journal", "--json"]));
}

#[test]
fn a_damaged_journal_is_audited_up_to_its_damage_and_then_said_to_be_damaged() {
    let environment = TestEnvironment::new();
    let mut lines = broken();
    let last = lines.len() - 1;
    lines[last][30] ^= 1;
    fs::write(environment.path("journal"), lines.concat()).unwrap();
    let said = audit(&environment, &["journal"]);
    assert_eq!(said.code, 5);
    snapshot("audit_damaged", &said);
    let json = audit(&environment, &["journal", "--json"]);
    assert_eq!(json.code, 5);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["findings"].as_array().unwrap().len(), 1);
}

#[test]
fn parts_of_a_journal_are_audited_as_one() {
    let environment = TestEnvironment::new();
    let lines = broken();
    for (name, part) in [("a", &lines[..2]), ("b", &lines[2..3]), ("c", &lines[3..])] {
        fs::write(environment.path(name), part.concat()).unwrap();
    }
    let whole = audit(&environment, &["a", "b", "c"]);
    assert_eq!(whole.code, 1);
    assert!(whole.stdout.ends_with("2 findings in 4 entries\n"), "{}", whole.text());
    let said: Vec<String> = [&["a", "c"][..], &["a", "none"], &["none"], &["b"]]
        .map(|files| audit(&environment, files).text())
        .to_vec();
    snapshot_text("audit_parts", &said.join("\n"));
}

#[test]
fn an_audit_needs_no_repository_and_no_configuration_and_writes_nothing() {
    let environment = TestEnvironment::initialized();
    let copy = environment.path("copy");
    fs::create_dir(&copy).unwrap();
    fs::copy(environment.state("journal.jsonl"), copy.join("journal.jsonl")).unwrap();
    let before = contents(&copy);
    for arguments in [&["--state-dir", "copy"][..], &["copy/journal.jsonl"]] {
        let said = audit(&environment, arguments);
        assert_eq!(said.code, 0, "{}", said.text());
    }
    assert_eq!(contents(&copy), before);
    let nothing = audit(&environment, &["--state-dir", "nothing"]);
    assert_eq!(nothing.code, 4, "{}", nothing.text());
}

fn contents(dir: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn bytes_of_a_write_that_never_finished_are_named() {
    let environment = TestEnvironment::new();
    let whole = broken()[..2].concat();
    for (rest, said) in [
        (&b"{\"v\":1,"[..], "no findings in 2 entries; 7 bytes behind them are of a write"),
        (b"", "no findings in 2 entries\n"),
    ] {
        let path = environment.path("torn.jsonl");
        fs::write(&path, [&whole, rest].concat()).unwrap();
        let found = audit(&environment, &[path.to_str().unwrap()]);
        assert_eq!(found.code, 0, "{}", found.text());
        assert!(found.stdout.starts_with(said), "{}", found.text());
    }
}
