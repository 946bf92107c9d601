//! A configuration that changes, for the better and for the worse, while work is queued.

use crate::environment::{TestEnvironment, snapshot_text};
use std::fs;

fn entries(environment: &TestEnvironment) -> usize {
    fs::read_to_string(environment.state("journal.jsonl")).unwrap().lines().count()
}

#[test]
fn an_invalid_configuration_changes_nothing_and_is_said_once() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["tick"]);
    environment.configure("[scheduler]\nmax_slot = 9\n");
    let first = environment.sched(&["tick"]).text();
    let after = entries(&environment);
    let second = environment.sched(&["tick"]).text();
    assert_eq!(entries(&environment), after, "a lasting condition is not repeated");
    let status = environment.sched(&["status"]).stdout;
    let attention = status.split("\nentry ").next().unwrap();
    environment.configure("");
    let mended = environment.sched(&["tick"]).text();
    snapshot_text("config_invalid", &[&first, &second, attention, &mended].join("\n===\n"));
}

#[test]
fn a_changed_configuration_is_journaled_with_its_text() {
    let environment = TestEnvironment::initialized();
    environment.configure("[scheduler]\nmax_slots = 9\n");
    environment.sched(&["tick"]);
    let log = environment.sched(&["log", "--type", "config-applied", "--json"]).stdout;
    assert!(log.lines().last().unwrap().contains("max_slots = 9"), "{log}");
    let lines = entries(&environment);
    environment.sched(&["tick"]);
    assert_eq!(entries(&environment), lines);
}

#[test]
fn a_tick_takes_git_from_the_recorded_path() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "101"]);
    let state = environment.state("");
    // one tick, since a run without git waits for git to come back
    let args = ["--state-dir", state.to_str().unwrap(), "tick"];
    let said = environment.sched_with("PATH", "/nonexistent", &args);
    assert_eq!(said.code, 0, "{}", said.text());
    assert!(said.stdout.contains("issue:101: agent, attempt 1 planned"), "{}", said.text());
}

#[test]
fn a_named_configuration_that_cannot_be_used_is_refused_and_nothing_is_done() {
    let environment = TestEnvironment::initialized();
    let write = |name: &str, text: &str| fs::write(environment.path(name), text).unwrap();
    write("invalid.toml", "schema = 1\n[scheduler]\nmax_slot = 9\n");
    write("inside.toml", "schema = 1\n[scheduler]\nworktree_root = \"trees\"\n");
    let lines = entries(&environment);
    let mut text = String::new();
    for config in ["nope.toml", "/dev/zero", "../invalid.toml", "../inside.toml"] {
        text += &environment.sched(&["--config", config, "tick"]).text();
        let commands: &[&[&str]] =
            &[&["run", "--until-idle"], &["enqueue", "--issues", "1"], &["pause"]];
        for command in commands {
            let said = environment.sched(&[&["--config", config], *command].concat());
            assert_eq!(said.code, 2, "{config} {command:?}: {}", said.text());
        }
    }
    assert_eq!(environment.sched(&["--config", "nope.toml", "status"]).code, 2);
    assert_eq!(entries(&environment), lines);
    snapshot_text("config_named", &text);
    assert_eq!(environment.sched(&["--config", "sched.toml", "tick"]).code, 0);
}
