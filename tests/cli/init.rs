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
