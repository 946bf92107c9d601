//! From plan to command: exactly once, or not at all.

use crate::place::{Place, SCHED, stat, wait_for};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[test]
fn the_command_runs_in_a_session_of_its_own_with_its_prompt_and_its_environment() {
    let place = Place::new("cat > $PLACE/prompt; cat /proc/$$/stat; env; pwd");
    let exited = place.exit();
    assert_eq!((&exited["verdict"], &exited["exit"]["code"]), (&"done".into(), &0.into()));
    let run = place.run(1);
    let said = fs::read_to_string(run.join("output.log")).unwrap();
    let fields: Vec<&str> = said.lines().next().unwrap().split(' ').collect();
    let started = place.event("dispatch-started", 1);
    for field in [0, 4, 5] {
        assert_eq!(fields[field], started["pid"].to_string(), "pid, group and session");
    }
    assert_ne!(started["pid"], started["supervisor"]["pid"]);
    let id = started["dispatch"].as_str().unwrap();
    assert!(said.contains(&format!("SCHED_DISPATCH={id}\n")), "{said}");
    assert!(said.contains("SCHED_UNIT=issue:1\n") && said.ends_with("/work\n"), "{said}");
    assert!(place.text("prompt").contains("issue 1"), "{}", place.text("prompt"));
    assert_eq!(exited["exit"]["output"]["bytes"], said.len());
    assert!(run.join("claim").exists() && run.join("ran").exists());
    assert_eq!(fs::metadata(run.join("receipt.json")).unwrap().len(), 4096);
}

#[test]
fn no_signal_is_ignored_by_the_command_because_the_scheduler_ignores_it() {
    let place = Place::new("grep -E 'Sig(Ign|Blk)' /proc/self/status");
    let script = "trap '' HUP INT QUIT USR1 CHLD; exec \"$@\"";
    let mut tick = Command::new("sh");
    tick.args(["-c", script, "sh", SCHED, "tick", "--state-dir"]).arg(place.path("state"));
    assert!(tick.current_dir(place.path("")).status().unwrap().success());
    place.event("dispatch-exited", 1);
    let said = fs::read_to_string(place.run(1).join("output.log")).unwrap();
    let masks = said.split_ascii_whitespace().skip(1).step_by(2);
    let masks: Vec<u64> = masks.map(|mask| u64::from_str_radix(mask, 16).unwrap()).collect();
    // 32 and 33 belong to the C library, which ignores them in what it spawns
    let nothing = masks.iter().all(|mask| mask & 0x7fff_ffff == 0);
    assert!(nothing && masks.len() == 2, "{said}");
}

#[test]
fn a_command_that_cannot_be_executed_is_the_hosts_fault_and_says_why() {
    let place = Place::new("");
    let file = place.path("no-program");
    fs::write(&file, "").unwrap();
    for (n, (program, why)) in
        [("no-such-program", "not found in PATH="), (file.to_str().unwrap(), "ermission denied")]
            .into_iter()
            .enumerate()
    {
        let place = Place::new("");
        place.configure(&[program], "", "");
        let exited = place.exit();
        assert_eq!(exited["verdict"], "host-fault", "{n}");
        let said = exited["exit"]["exec_failed"].as_str().unwrap();
        assert!(said.contains(program) && said.contains(why), "{said}");
        assert_eq!((&exited["exit"]["ran"], exited["exit"]["code"].as_i64()), (&true.into(), None));
    }
}

/// The process between supervisor and command, on its own.
fn between(run: &Path, command: &[&str]) -> Child {
    let text = serde_json::json!({"command": command, "directory": run, "input": false});
    fs::write(run.join("command.json"), text.to_string()).unwrap();
    let log = fs::File::create(run.join("output.log")).unwrap();
    let mut child = Command::new(SCHED);
    child.arg("exec-child").arg(run).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    let mut child = child.spawn().unwrap();
    let mut ready = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert_eq!(&ready, b"r");
    assert_eq!(stat(child.id()).unwrap()[3], child.id().to_string(), "its own session");
    child
}

fn report(child: &mut Child) -> String {
    let mut said = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut said).unwrap();
    child.wait().unwrap();
    said
}

#[test]
fn end_of_file_instead_of_the_go_byte_never_runs_the_command() {
    let run = tempfile::tempdir().unwrap();
    let mut child = between(run.path(), &["touch", "it-ran"]);
    drop(child.stdin.take());
    assert_eq!(report(&mut child), "");
    assert!(!run.path().join("ran").exists() && !run.path().join("it-ran").exists());
}

#[test]
fn the_go_byte_runs_the_command_after_ran_is_there() {
    let run = tempfile::tempdir().unwrap();
    let mut child = between(run.path(), &["ls", "ran"]);
    child.stdin.take().unwrap().write_all(b"g").unwrap();
    assert_eq!(report(&mut child), "");
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(run.path().join("output.log")).unwrap(), "ran\n");
}

#[test]
fn a_command_that_ran_before_is_not_executed_again() {
    let run = tempfile::tempdir().unwrap();
    fs::write(run.path().join("ran"), "").unwrap();
    let mut child = between(run.path(), &["touch", "it-ran"]);
    child.stdin.take().unwrap().write_all(b"g").unwrap();
    let said = report(&mut child);
    assert!(said.starts_with("not-run cannot make `ran`"), "{said}");
    assert!(!child.wait().unwrap().success() && !run.path().join("it-ran").exists());
}

#[test]
fn an_exit_of_a_command_that_ran_before_proves_nothing() {
    let place = Place::new("echo twice >> $PLACE/log");
    assert!(
        !place.command(&["tick"]).env("SCHED_CRASH_AT", "pay-start").status().unwrap().success()
    );
    fs::create_dir_all(place.run(1)).unwrap();
    fs::write(place.run(1).join("ran"), "").unwrap();
    let exited = place.exit();
    assert_ne!(exited["verdict"], "done");
    assert_eq!(exited["exit"]["code"], serde_json::Value::Null);
    let first = place.event("dispatch-planned", 1)["dispatch"].clone();
    assert_eq!(exited["dispatch"], first);
}

#[test]
fn without_a_receipt_nothing_starts_and_the_supervisor_says_why() {
    let place = Place::new("echo ran >> $PLACE/log");
    assert!(
        !place.command(&["tick"]).env("SCHED_CRASH_AT", "pay-start").status().unwrap().success()
    );
    fs::create_dir_all(place.run(1).join("receipt.json")).unwrap();
    let planned = place.event("dispatch-planned", 1);
    let id = planned["dispatch"].as_str().unwrap();
    let said = place.sched(&["supervise", id]);
    assert_eq!(said.status.code(), Some(1), "{said:?}");
    let why = "was not started: cannot claim the dispatch: Is a directory (os error 21)\n";
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(text, format!("error: dispatch {id} {why}"));
    assert_eq!(place.events("dispatch-started").len(), 0);
    assert_eq!(place.text("log"), "");
}

#[test]
fn of_several_supervisors_of_one_dispatch_one_gets_through() {
    let place = Place::new("echo once >> $PLACE/log");
    assert!(
        !place.command(&["tick"]).env("SCHED_CRASH_AT", "pay-start").status().unwrap().success()
    );
    let planned = place.event("dispatch-planned", 1);
    let id = planned["dispatch"].as_str().unwrap();
    let start = || place.command(&["supervise", id]).stderr(Stdio::null()).spawn().unwrap();
    let mut all: Vec<Child> = (0..4).map(|_| start()).collect();
    let mut codes: Vec<_> = all.iter_mut().map(|one| one.wait().unwrap().code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(3), Some(3), Some(3)]);
    wait_for("the end", || place.events("issue-done").len() == 1);
    assert_eq!(place.text("log"), "once");
    assert_eq!(place.events("dispatch-started").len(), 1);
}
