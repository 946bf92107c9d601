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
