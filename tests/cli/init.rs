//! `sched init`.

use crate::environment::{TestEnvironment, snapshot};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn init_makes_a_private_state_directory_and_a_configuration() {
    let environment = TestEnvironment::new();
    snapshot("init", &environment.sched(&["init"]));
    let mode = |name| fs::metadata(environment.state(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("journal.jsonl")), (0o700, 0o600));
    assert!(environment.path("repo/sched.toml").exists());
}

#[test]
fn a_second_init_is_refused() {
    let environment = TestEnvironment::initialized();
    snapshot("init_twice", &environment.sched(&["init"]));
}

#[test]
fn an_existing_configuration_is_kept() {
    let environment = TestEnvironment::new();
    environment.configure("");
    let before = fs::read(environment.path("repo/sched.toml")).unwrap();
    snapshot("init_keeps", &environment.sched(&["init"]));
    assert_eq!(fs::read(environment.path("repo/sched.toml")).unwrap(), before);
}

#[test]
fn an_invalid_configuration_is_refused_and_nothing_is_made() {
    let environment = TestEnvironment::new();
    environment.configure("tiemout = \"2h\"\n");
    snapshot("init_invalid", &environment.sched(&["init"]));
    assert!(!environment.state("").exists());
}

#[test]
fn a_state_directory_in_its_own_place_is_not_adopted() {
    let environment = TestEnvironment::initialized();
    snapshot("init_adopt_own", &environment.sched(&["init", "--adopt"]));
}

#[test]
fn an_init_that_was_killed_within_its_first_entry_is_done_again_and_nothing_goes_before_it() {
    let environment = TestEnvironment::new();
    let killed = environment.sched_with("SCHED_CRASH_AT", "journal-torn", &["init"]);
    assert_eq!(killed.code, -1, "{}", killed.text());
    let half = fs::read(environment.state("journal.jsonl")).unwrap();
    for command in ["tick", "status"] {
        let said = environment.sched(&[command]);
        assert_eq!(said.code, 4, "{}", said.text());
        assert!(said.stderr.contains("there is no journal"), "{}", said.text());
    }
    assert_eq!(fs::read(environment.state("journal.jsonl")).unwrap(), half);
    assert_eq!(environment.sched(&["init"]).code, 0);
    let text = fs::read_to_string(environment.state("journal.jsonl")).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let types = first["events"].as_array().unwrap().iter().map(|event| event["type"].clone());
    let types: Vec<_> = types.collect();
    assert_eq!(types, ["journal-created", "environment-recorded", "tail-quarantined"]);
    assert_eq!(environment.sched(&["tick"]).code, 0);
    assert_eq!(environment.sched(&["journal", "verify"]).code, 0);
}
