//! A process number that somebody else has by now, in a process namespace where numbers can be
//! chosen.

use crate::namespaces::in_namespaces;
use crate::place::{Place, lives, signal, stat, wait_for};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use std::fs;
use std::process::{Child, Command};

/// One process alone, which ignores TERM: no other keeps the number of its group.
const COMMAND: &str = "trap '' TERM; echo $$ > $PLACE/pid; exec sleep 600";

fn alone(test: &str, body: impl FnOnce()) {
    let options = ["--pid", "--fork", "--mount", "--mount-proc", "--kill-child"];
    let trial = "echo 100 >/proc/sys/kernel/ns_last_pid";
    in_namespaces(&options, trial, &format!("numbers::{test}"), body);
}

/// Ends a process, which nobody but us is left to reap, so that its number is free.
fn end(pid: u32) {
    signal(pid, Signal::KILL);
    let number = Pid::from_raw(i32::try_from(pid).unwrap());
    wait_for("it is reaped", || waitpid(number, WaitOptions::NOHANG).is_ok_and(|s| s.is_some()));
}

/// A process of somebody else with just this number.
fn impostor(pid: u32) -> Child {
    fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
    // it would end at the gentlest signal
    let child = Command::new("sleep").arg("600").spawn().unwrap();
    assert_eq!(child.id(), pid, "somebody was faster");
    child
}

/// A running dispatch whose supervisor and command are ended, and whose command's number is
/// another process's; whether a stop was asked for before.
fn taken_over(stopped: bool) -> (Place, Child) {
    let place = Place::with(COMMAND, "kill_escalation = \"1s\"", "");
    place.tick();
    let pid = place.pid("pid");
    let started = place.event("dispatch-started", 1);
    let supervisor = u32::try_from(started["supervisor"]["pid"].as_u64().unwrap()).unwrap();
    assert_eq!(started["pid"], pid);
    end(supervisor);
    if stopped {
        assert!(place.sched(&["stop", "--issue", "1"]).status.success());
        assert!(lives(pid), "it ignores TERM");
    }
    end(pid);
    let impostor = impostor(pid);
    (place, impostor)
}

fn is_untouched(mut impostor: Child) {
    assert!(impostor.try_wait().unwrap().is_none(), "it was signalled");
    let status = fs::read_to_string(format!("/proc/{}/status", impostor.id())).unwrap();
    for line in status.lines().filter(|l| l.starts_with("SigPnd") || l.starts_with("ShdPnd")) {
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
    impostor.kill().unwrap();
    impostor.wait().unwrap();
}

#[test]
fn a_process_that_took_over_the_number_of_a_command_reads_as_gone() {
    alone("a_process_that_took_over_the_number_of_a_command_reads_as_gone", || {
        let (place, impostor) = taken_over(false);
        place.tick();
        place.event("dispatch-lost", 1);
        assert_eq!(place.events("supervision-lost").len(), 0);
        assert!(place.sched(&["stop", "--issue", "1"]).status.success());
        place.tick();
        is_untouched(impostor);
    });
}

#[test]
fn no_stop_and_no_kill_ever_meets_who_took_over_the_number() {
    alone("no_stop_and_no_kill_ever_meets_who_took_over_the_number", || {
        let (place, impostor) = taken_over(true);
        place.tick();
        assert_eq!(place.event("dispatch-lost", 1)["verdict"], "stopped");
        place.tick();
        is_untouched(impostor);
    });
}

#[test]
fn a_supervisor_whose_number_was_taken_over_is_gone_and_its_command_is_watched_all_the_same() {
    let test =
        "a_supervisor_whose_number_was_taken_over_is_gone_and_its_command_is_watched_all_the_same";
    alone(test, || {
        let place = Place::new(COMMAND);
        place.tick();
        let pid = place.pid("pid");
        let started = place.event("dispatch-started", 1);
        let supervisor = u32::try_from(started["supervisor"]["pid"].as_u64().unwrap()).unwrap();
        end(supervisor);
        let impostor = impostor(supervisor);
        place.tick();
        assert_eq!(place.events("supervision-lost").len(), 1);
        assert!(lives(pid));
        is_untouched(impostor);
        end(pid);
        place.tick();
        place.event("dispatch-lost", 1);
    });
}

#[test]
fn a_command_that_is_a_zombie_has_ended_although_it_answers_to_its_number() {
    let test = "a_command_that_is_a_zombie_has_ended_although_it_answers_to_its_number";
    alone(test, || {
        let place = Place::new(COMMAND);
        place.tick();
        let pid = place.pid("pid");
        let started = place.event("dispatch-started", 1);
        end(u32::try_from(started["supervisor"]["pid"].as_u64().unwrap()).unwrap());
        signal(pid, Signal::KILL); // nobody but us is left to reap it
        let is_zombie = || stat(pid).is_some_and(|fields| fields[0] == "Z");
        wait_for("it is a zombie", is_zombie);
        place.tick();
        assert_eq!(place.event("dispatch-lost", 1)["dispatch"], started["dispatch"]);
        assert!(is_zombie());
    });
}
