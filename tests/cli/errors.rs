//! Where there is nothing, where a lock is held, and what doctor says.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};
use std::fs::File;
use std::os::unix::fs::PermissionsExt;

#[test]
fn without_a_journal_every_command_ends_with_exit_code_4() {
    let environment = TestEnvironment::new();
    let cases: &[&[&str]] = &[
        &["status"],
        &["tick"],
        &["enqueue", "--issues", "1"],
        &["log"],
        &["pause"],
        &["journal", "replay"],
        &["show", "1"],
    ];
    for case in cases {
        let said = environment.sched(case);
        assert_eq!((said.code, said.stdout.as_str()), (4, ""), "{case:?}: {}", said.text());
    }
    let home = environment.sched_in("home", &["status"]);
    snapshot_text("no_journal", &[environment.sched(&["status"]).text(), home.text()].join("\n"));
}

#[test]
fn a_lock_that_is_held_is_an_error_that_names_its_holder() {
    let environment = TestEnvironment::initialized();
    let lock = File::options().write(true).open(environment.state("lock")).unwrap();
    fs4::FileExt::lock(&lock).unwrap();
    let said = environment.sched_with("SCHED_TEST_LOCK_WAIT_MS", "50", &["pause"]);
    assert_eq!(said.code, 6);
    let holder = format!("(pid {})", std::process::id());
    assert!(said.stderr.contains("is held by "), "{}", said.stderr);
    assert!(said.stderr.contains(&holder), "{}", said.stderr);
    assert_eq!(environment.sched(&["status"]).code, 0, "reading takes no lock");
}

#[test]
fn doctor_names_each_finding_and_its_cure() {
    let environment = TestEnvironment::initialized();
    snapshot("doctor", &environment.sched(&["doctor"]));
    std::fs::remove_file(environment.path("bin/agent")).unwrap();
    snapshot("doctor_program", &environment.sched(&["doctor"]));
    let document = environment.json(&["doctor", "--json"]);
    assert_eq!(document["schema"], "sched.doctor/v1");
}

#[test]
fn doctor_fails_where_a_tick_could_not_write() {
    let environment = TestEnvironment::initialized();
    let lock = environment.state("lock");
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let said = environment.sched(&["doctor"]);
    assert_eq!((said.code, environment.sched(&["tick"]).code), (1, 5), "{}", said.text());
    let finding = said.stdout.lines().skip_while(|line| !line.contains("writable"));
    snapshot_text("doctor_unwritable", &finding.take(2).collect::<Vec<_>>().join("\n"));
    std::fs::remove_dir(&lock).unwrap();
    for (mode, issue) in [(0o500, "1"), (0o700, "2")] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(environment.state(""), permissions).unwrap();
        // who may write everywhere is not kept from it by a mode
        let writable = environment.sched(&["enqueue", "--issues", issue]).code == 0;
        assert_eq!(environment.sched(&["doctor"]).code == 0, writable, "{mode:o}");
    }
}

#[test]
fn doctor_reads_every_byte_of_the_journal_and_knows_a_copy() {
    let environment = TestEnvironment::initialized();
    environment.sched(&["enqueue", "--issues", "1"]);
    let copy = environment.path("copy");
    let from = environment.state("");
    assert!(
        std::process::Command::new("cp").arg("-a").arg(from).arg(&copy).status().unwrap().success()
    );
    let said = environment.sched(&["doctor", "--state-dir", copy.to_str().unwrap()]);
    assert!(said.code == 1 && said.stdout.contains("is a copy of another"), "{}", said.text());
    let path = environment.state("journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("journal-created", "journal-Created", 1)).unwrap();
    let said = environment.sched(&["doctor"]);
    assert!(said.code == 1 && said.stdout.contains("EDIT at entry 1"), "{}", said.text());
}
