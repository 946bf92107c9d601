//! `sched log`.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};

#[test]
fn filters_choose_by_unit_type_and_time() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1,2", "--batch", "b1"]);
    environment.sched(&["enqueue", "--issues", "3"]);
    snapshot("log", &environment.sched(&["log"]));
    snapshot("log_unit", &environment.sched(&["log", "--unit", "batch:b1"]));
    snapshot("log_type", &environment.sched(&["log", "--type", "batch-sealed"]));
    let future = ["log", "--since", "2999-01-01T00:00:00.000Z"];
    assert_eq!(environment.sched(&future).text(), "exit 0\n");
}

#[test]
fn as_json_the_lines_are_the_journal() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1"]);
    let journal = std::fs::read_to_string(environment.state("journal.jsonl")).unwrap();
    assert_eq!(
        environment.sched(&["log", "--json"]).stdout,
        journal.replace(&*environment.path("").to_string_lossy(), "[place]/",)
    );
}

#[test]
fn an_unknown_type_unit_or_time_is_refused() {
    let environment = TestEnvironment::initialized();
    let cases: &[&[&str]] = &[
        &["log", "--type", "member-evictd"],
        &["log", "--type", "zzz"],
        &["log", "--unit", "foo"],
        &["log", "--since", "yesterday"],
    ];
    let said: Vec<String> = cases.iter().map(|args| environment.sched(args).text()).collect();
    snapshot_text("log_refused", &said.join("\n"));
}

#[test]
fn a_units_events_are_those_of_its_dispatches_too() {
    let environment = TestEnvironment::initialized();
    environment.configure("workdir = \"none\"\n");
    environment.sched(&["enqueue", "--issues", "1,2"]);
    environment.sched(&["run", "--until-idle", "--interval", "100ms"]);
    let said = environment.sched(&["log", "--unit", "issue:1"]).stdout;
    let lines = |what: &str| said.lines().filter(|line| line.contains(what)).count();
    assert_eq!((lines(" started"), lines("unverified-exit")), (1, 2), "{said}");
}
