//! `sched tick` and `sched run`.

use crate::environment::{TestEnvironment, snapshot, wait_for};
use std::fs::File;

#[test]
fn an_idle_tick_is_silent_and_writes_nothing() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["tick"]);
    let before = std::fs::read(environment.state("journal.jsonl")).unwrap();
    let said = environment.sched(&["tick"]);
    assert_eq!((said.code, said.text().as_str()), (0, "exit 0\n"));
    assert_eq!(std::fs::read(environment.state("journal.jsonl")).unwrap(), before);
}

#[test]
fn a_second_tick_leaves_quietly() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["tick"]);
    let lock = File::options().write(true).open(environment.state("tick.lock")).unwrap();
    fs4::FileExt::lock(&lock).unwrap();
    assert_eq!(environment.sched(&["tick"]).text(), "exit 0\n");
    snapshot("tick_busy", &environment.sched(&["tick", "--json"]));
}

#[test]
fn a_signal_ends_the_ticking_and_says_that_the_work_goes_on() {
    let environment = TestEnvironment::initialized();
    for (signal, code) in [("TERM", 143), ("INT", 130)] {
        let errors = environment.path("errors");
        let mut command = environment.sched_command(&["run", "--interval", "1h"]);
        command.stderr(File::create(&errors).unwrap()).stdout(std::process::Stdio::null());
        let mut run = command.spawn().unwrap();
        let pid = run.id().to_string();
        let status = format!("/proc/{pid}/status");
        // both handlers are there: SIGINT is bit 1, SIGTERM bit 14
        wait_for("the handlers", || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
            caught.is_some_and(|mask| mask & 0x4002 == 0x4002)
        });
        let kill = ["-c", &format!("kill -{signal} {pid}")];
        assert!(std::process::Command::new("sh").args(kill).status().unwrap().success());
        assert_eq!(run.wait().unwrap().code(), Some(code));
        let text = std::fs::read_to_string(&errors).unwrap();
        assert_eq!(text, "ticking has ended; the work goes on (see: sched status)\n");
    }
}

#[test]
fn an_interval_must_be_a_duration() {
    let environment = TestEnvironment::initialized();
    snapshot("run_interval", &environment.sched(&["run", "--interval", "abc"]));
}

/// A scheduler at rest, noted by a tick; the note in its bytes.
fn at_rest() -> (TestEnvironment, Vec<u8>) {
    let environment = TestEnvironment::initialized();
    environment.sched(&["tick"]);
    let note = std::fs::read(environment.state("rest.json")).unwrap();
    (environment, note)
}

#[test]
fn a_tick_over_a_scheduler_at_rest_reads_no_state() {
    let (environment, _) = at_rest();
    std::fs::write(environment.state("projection.sqlite"), "not a database").unwrap();
    let said = environment.sched(&["tick", "--json"]);
    let said: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&said["busy"], &said["lines"]), (&false.into(), &serde_json::json!([])));
    let kept = std::fs::read(environment.state("projection.sqlite")).unwrap();
    assert_eq!(kept, b"not a database", "nothing looked for a checkpoint");
}

#[test]
fn a_note_of_rest_ends_with_the_next_entry() {
    let (environment, note) = at_rest();
    environment.sched(&["pause"]);
    let said = environment.sched(&["tick", "--json"]);
    assert!(said.stdout.contains("\"seq\":3"), "{}", said.text());
    assert_ne!(std::fs::read(environment.state("rest.json")).unwrap(), note);
}

#[test]
fn a_changed_configuration_is_applied_in_spite_of_a_note_of_rest() {
    let (environment, _) = at_rest();
    environment.configure("[scheduler]\nmax_slots = 3\n");
    let said = environment.sched(&["tick", "--json"]).text();
    assert!(said.contains("config-applied"), "{said}");
}

#[test]
fn a_note_that_cannot_be_read_or_is_of_another_journal_is_not_believed() {
    let (environment, note) = at_rest();
    let end = note.len() - 1;
    for wrong in [&b""[..], b"{}", &note[..end], b"\xff"] {
        std::fs::write(environment.state("rest.json"), wrong).unwrap();
        assert_eq!(environment.sched(&["tick"]).text(), "exit 0\n");
        assert_eq!(std::fs::read(environment.state("rest.json")).unwrap(), note, "made anew");
    }
    let (other, _) = at_rest();
    std::fs::write(other.state("rest.json"), &note).unwrap();
    assert_eq!(other.sched(&["tick"]).text(), "exit 0\n");
    assert_ne!(std::fs::read(other.state("rest.json")).unwrap(), note);
}

#[test]
fn a_copy_of_a_scheduler_at_rest_is_noticed_in_spite_of_its_note() {
    let (environment, _) = at_rest();
    let (from, to) = (environment.state(""), environment.path("copy"));
    let copy = std::process::Command::new("cp").arg("-a").arg(&from).arg(&to).status().unwrap();
    assert!(copy.success());
    let dir = to.to_str().unwrap();
    environment.sched(&["--state-dir", dir, "tick"]);
    let journal = std::fs::read_to_string(to.join("journal.jsonl")).unwrap();
    assert!(journal.contains("journal-adopted"), "{journal}");
}

#[test]
fn damage_is_refused_in_spite_of_a_note_of_rest() {
    let (environment, _) = at_rest();
    let path = environment.state("journal.jsonl");
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 10] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(environment.sched(&["tick"]).code, 5);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(environment.sched(&["tick"]).code, 5);
}

#[test]
fn files_of_the_state_directory_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (environment, _) = at_rest();
    for entry in std::fs::read_dir(environment.state("")).unwrap().map(Result::unwrap) {
        let meta = entry.metadata().unwrap();
        let expected = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.permissions().mode() & 0o777, expected, "{:?}", entry.file_name());
    }
}

/// What `run --until-idle` says, and what `status` says a person has to do.
fn left_to_a_person(environment: &TestEnvironment) -> Vec<(String, String)> {
    let said = environment.sched(&["run", "--until-idle", "--interval", "100ms"]);
    assert_eq!(said.code, 1, "{}", said.text());
    let status = environment.json(&["status", "--json"]);
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = status["attention"].as_array().unwrap().iter();
    rows.map(|row| (text(row, "code"), text(row, "remedy"))).collect()
}

#[test]
fn run_ends_with_1_when_the_agents_program_is_missing() {
    let environment = TestEnvironment::initialized();
    std::fs::remove_file(environment.path("bin/agent")).unwrap();
    environment.sched(&["enqueue", "--issues", "1"]);
    let expected = [("host-fault".to_owned(), "sched resume".to_owned())];
    assert_eq!(left_to_a_person(&environment), expected);
    let waiting = &environment.json(&["status", "--json"])["waiting"][0];
    assert_eq!((&waiting["unit"], &waiting["for"]), (&"issue:1".into(), &"profile:agent".into()));
    environment.agent("agent", "echo 1 >one; git add one; git commit -qm one");
    assert_eq!(environment.sched(&["run", "--until-idle"]).code, 0, "the program is found again");
}

#[test]
fn run_ends_with_1_when_paused_work_is_queued() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["pause"]);
    environment.sched(&["enqueue", "--issues", "1"]);
    let expected = [("paused".to_owned(), "sched resume".to_owned())];
    assert_eq!(left_to_a_person(&environment), expected);
}

#[test]
fn run_ends_with_1_when_a_queued_issues_profile_is_not_configured_any_more() {
    let environment = TestEnvironment::initialized();
    environment.configure("[profile.x]\ncommand = [\"true\"]\n");
    environment.sched(&["enqueue", "--issues", "1", "--profile", "x"]);
    environment.configure("");
    let expected = [("profile-missing:x".to_owned(), "sched abandon --issue 1".to_owned())];
    assert_eq!(left_to_a_person(&environment), expected);
}

#[test]
fn a_program_that_the_working_tree_does_not_have_is_looked_for_where_the_tree_comes_from() {
    let environment = TestEnvironment::initialized();
    let agent = "#!/bin/sh\necho 1 >one; git add one; git commit -qm one\n";
    let text = "schema = 1\n[agent]\ncommand = [\"./agent.sh\"]\n";
    std::fs::write(environment.path("repo/sched.toml"), text).unwrap();
    std::fs::write(environment.path("repo/agent.sh"), agent).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(environment.path("repo/agent.sh"), executable).unwrap();
    assert!(environment.sched(&["doctor"]).text().contains("not an executable file of `main`"));
    environment.sched(&["enqueue", "--issues", "1"]);
    assert_eq!(left_to_a_person(&environment).len(), 1);
    let runs = || std::fs::read_dir(environment.state("runs")).unwrap().count();
    assert_eq!(runs(), 1);
    environment.sched(&["tick"]);
    assert_eq!(runs(), 1, "it is not tried again before it can be there");
    environment.git(&["add", "agent.sh", "sched.toml"]);
    environment.git(&["commit", "--quiet", "--message", "agent"]);
    assert!(!environment.sched(&["doctor"]).text().contains("not an executable"));
}

#[test]
fn a_long_run_keeps_no_zombies() {
    let environment = TestEnvironment::initialized();
    environment.configure("workdir = \"none\"\n");
    environment.sched(&["enqueue", "--issues", "1,2"]);
    let mut command = environment.sched_command(&["run", "--interval", "1h"]);
    let mut run = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let pid = run.id();
    let children = format!("/proc/{pid}/task/{pid}/children");
    wait_for("the jobs", || environment.sched(&["status"]).stdout.matches("failed").count() == 2);
    wait_for("no child is left", || std::fs::read_to_string(&children).unwrap().is_empty());
    assert!(std::process::Command::new("kill").arg(pid.to_string()).status().unwrap().success());
    run.wait().unwrap();
}

#[test]
fn who_waits_for_an_issue_that_left_its_batch_is_shown_to_a_person() {
    let environment = TestEnvironment::initialized();
    environment.agent("agent", "exit 1");
    environment.sched(&["enqueue", "--issues", "1", "--batch", "b1"]);
    environment.sched(&["enqueue", "--issues", "2", "--deps", "1"]);
    let expected = [("dep-parked:1".to_owned(), "sched requeue --issue 1".to_owned())];
    assert_eq!(left_to_a_person(&environment), expected);
}

#[test]
fn cron_is_told_once_that_something_began_to_be_wrong() {
    let environment = TestEnvironment::initialized();
    std::fs::write(environment.path("repo/sched.toml"), "schema = ").unwrap();
    assert_eq!(environment.sched(&["tick"]).code, 1);
    assert_eq!(environment.sched(&["tick"]).code, 0);
}

#[test]
fn the_disk_is_measured_by_the_configuration_that_is_there_now() {
    let environment = TestEnvironment::initialized();
    environment.configure("workdir = \"none\"\n[scheduler]\nmin_free = \"900000GiB\"\n");
    environment.sched(&["enqueue", "--issues", "1"]);
    assert_eq!(left_to_a_person(&environment)[0].0, "disk-low");
    environment.configure("workdir = \"none\"\n");
    assert_eq!(environment.sched(&["tick"]).code, 0);
    let status = environment.json(&["status", "--json"]);
    assert_eq!(status["attention"], serde_json::json!([]));
}

#[test]
fn an_open_batch_is_shown_to_a_person_with_what_seals_it() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1", "--batch", "b1", "--more"]);
    let expected = [("batch-open".to_owned(), "sched enqueue --batch b1".to_owned())];
    assert_eq!(left_to_a_person(&environment), expected);
    assert_eq!(environment.sched(&["enqueue", "--batch", "b1"]).code, 0);
    assert_eq!(environment.sched(&["run", "--until-idle", "--interval", "100ms"]).code, 0);
}
