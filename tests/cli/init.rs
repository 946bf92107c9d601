//! `sched init`.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};
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

#[test]
fn a_renamed_repository_is_recorded_anew_by_init() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1"]);
    fs::rename(environment.path("repo"), environment.path("renamed")).unwrap();
    let sched = |args: &[&str]| environment.sched_in("renamed", args);
    let refused = sched(&["enqueue", "--issues", "2"]);
    let doctor = sched(&["doctor"]);
    assert_eq!(doctor.code, 1);
    let repository = doctor.stdout.lines().skip_while(|line| !line.contains("repository"));
    let doctor = repository.take(2).collect::<Vec<_>>().join("\n");
    let said = [refused.text(), doctor, sched(&["tick"]).text(), sched(&["init"]).text()];
    snapshot_text("init_renamed", &said.join("\n===\n"));
    assert_eq!(sched(&["doctor"]).code, 0);
    assert_eq!(sched(&["init"]).code, 1, "it is at home now");
    let run = sched(&["run", "--until-idle", "--interval", "100ms"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stdout.contains("issue 1 done"), "{}", run.text());
    assert!(environment.path("renamed/file-1").exists());
}

#[test]
fn a_repository_that_stands_where_this_one_was_is_left_alone() {
    let environment = TestEnvironment::initialized();
    let path = |name: &str| environment.path(name);
    fs::rename(path("repo"), path("renamed")).unwrap();
    fs::create_dir(path("repo")).unwrap();
    environment.git(&["init", "--quiet"]);
    let there = path("renamed/.git/sched");
    let from_other = environment.sched(&["init", "--state-dir", there.to_str().unwrap()]);
    assert_eq!(from_other.code, 1, "not from another repository: {}", from_other.text());
    let said = environment.sched_in("renamed", &["init", "--json"]);
    assert_eq!(said.code, 0, "{}", said.text());
    assert!(said.stdout.contains(r#""config":"[place]/renamed/sched.toml""#), "{}", said.stdout);
}

#[test]
fn a_copy_of_a_repository_is_not_recorded_before_it_is_adopted() {
    let environment = TestEnvironment::initialized();
    let copy = std::process::Command::new("cp")
        .args(["-r", "repo", "copy"])
        .current_dir(environment.path(""))
        .status();
    assert!(copy.unwrap().success());
    let sched = |args: &[&str]| environment.sched_in("copy", args).code;
    assert_eq!((sched(&["init"]), sched(&["init", "--adopt"])), (1, 0));
    assert_eq!((sched(&["doctor"]), sched(&["init"]), sched(&["doctor"])), (1, 0, 0));
}

#[test]
fn a_renamed_directory_without_a_repository_is_recorded_anew_too() {
    let environment = TestEnvironment::new();
    let path = |name: &str| environment.path(name);
    fs::create_dir_all(path("queue/below")).unwrap();
    assert_eq!(environment.sched_in("queue", &["init"]).code, 0);
    fs::rename(path("queue"), path("renamed")).unwrap();
    let said = environment.sched_in("renamed/below", &["init", "--json"]);
    assert!(said.stdout.contains(r#""config":"[place]/renamed/sched.toml""#), "{}", said.text());
    assert_eq!(environment.sched_in("renamed", &["init"]).code, 1);
}

#[test]
fn the_branch_that_is_checked_out_is_the_base_and_a_plain_directory_is_a_job_queue() {
    let environment = TestEnvironment::new();
    environment.git(&["branch", "--quiet", "--move", "trunk"]);
    environment.sched(&["init"]);
    let text = fs::read_to_string(environment.path("repo/sched.toml")).unwrap();
    assert!(text.contains("\nbase_branch = \"trunk\" "), "{text}");
    fs::create_dir(environment.path("plain")).unwrap();
    assert_eq!(environment.sched_in("plain", &["init"]).code, 0);
    let text = fs::read_to_string(environment.path("plain/sched.toml")).unwrap();
    assert!(text.contains("\nworkdir = \"none\" "), "{text}");
}

#[test]
fn a_copied_repository_never_works_in_the_original() {
    let environment = TestEnvironment::initialized();
    let copy = std::process::Command::new("cp")
        .args(["-a", "repo", "copy"])
        .current_dir(environment.path(""))
        .status();
    assert!(copy.unwrap().success());
    for command in [&["tick"][..], &["enqueue", "--issues", "1"], &["run", "--until-idle"]] {
        let said = environment.sched_in("copy", command);
        assert_eq!(said.code, 5, "{}", said.text());
        assert!(said.stderr.contains("sched init --adopt && sched init"), "{}", said.text());
    }
    assert_eq!(environment.sched_in("copy", &["init", "--adopt"]).code, 0);
    assert_eq!(environment.sched_in("copy", &["init"]).code, 0);
    environment.sched_in("copy", &["enqueue", "--issues", "1"]);
    let said = environment.sched_in("copy", &["run", "--until-idle", "--interval", "100ms"]);
    assert_eq!(said.code, 0, "{}", said.text());
    assert!(environment.path("copy/file-1").exists() && !environment.path("repo/file-1").exists());
}
