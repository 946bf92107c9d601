//! Supervisors themselves: what they hold, what they do when told to leave, and what becomes of
//! a command whose supervisor died.

use crate::place::{Place, SCHED, lives, signal, stat, wait_for};
use rustix::process::Signal;
use std::fs;

const WAITS: &str = "echo run >> $PLACE/log; echo $$ > $PLACE/pid
    while ! test -e $PLACE/end; do sleep 0.02; done";

fn supervisor(place: &Place, n: usize) -> u32 {
    let started = place.event("dispatch-started", n);
    u32::try_from(started["supervisor"]["pid"].as_u64().unwrap()).unwrap()
}

#[test]
fn a_supervisor_is_in_a_session_of_its_own_and_holds_no_lock() {
    let place = Place::new(WAITS);
    place.tick();
    place.pid("pid");
    let supervisor = supervisor(&place, 1);
    assert_eq!(stat(supervisor).unwrap()[3], supervisor.to_string());
    let words = fs::read_to_string(format!("/proc/{supervisor}/cmdline")).unwrap();
    assert!(words.starts_with(&format!("{SCHED}\0supervise\0")), "{words}");
    let environment = fs::read_to_string(format!("/proc/{supervisor}/environ")).unwrap();
    assert!(!environment.contains("SCHED_DISPATCH"), "{environment}");
    for file in fs::read_dir(format!("/proc/{supervisor}/fd")).unwrap().flatten() {
        let target = fs::read_link(file.path()).unwrap_or_default().display().to_string();
        assert!(!target.ends_with("lock"), "it holds `{target}`");
    }
    let child = place.pid("pid");
    let inside = place.path("").canonicalize().unwrap();
    for file in fs::read_dir(format!("/proc/{child}/fd")).unwrap().flatten() {
        let target = fs::read_link(file.path()).unwrap_or_default();
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let known = ["prompt", "output.log", "agent", "pid", "log"].contains(&name.as_str());
        assert!(known || !target.starts_with(&inside), "the command holds `{}`", target.display());
    }
    fs::write(place.path("end"), "").unwrap();
    place.event("issue-done", 1);
}

#[test]
fn a_supervisor_that_is_told_to_leave_stops_its_command_and_starts_nothing() {
    for told in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = Place::new(WAITS);
        place.tick();
        let (supervisor, command) = (supervisor(&place, 1), place.pid("pid"));
        signal(supervisor, told);
        let exited = place.event("dispatch-exited", 1);
        assert_eq!(exited["verdict"], "killed-outside");
        assert_eq!(exited["exit"]["supervisor"], true);
        wait_for("it has left", || !lives(supervisor));
        assert!(!lives(command));
        assert_eq!(place.text("log"), "run");
        assert!(place.events("dispatch-started").len() == 1, "it ran a tick");
        // the work is not lost, and costs no attempt
        fs::write(place.path("end"), "").unwrap();
        place.tick();
        place.event("issue-done", 1);
        assert_eq!(place.event("dispatch-planned", 2)["attempt"], 1);
    }
}

#[test]
fn a_command_whose_supervisor_died_goes_on_and_is_watched_by_identity() {
    let place = Place::new(WAITS);
    place.tick();
    let (supervisor, command) = (supervisor(&place, 1), place.pid("pid"));
    signal(supervisor, Signal::KILL);
    wait_for("the supervisor is gone", || !lives(supervisor));
    place.tick();
    place.tick();
    assert!(lives(command));
    assert_eq!(place.events("supervision-lost").len(), 1);
    assert_eq!(place.events("dispatch-started").len(), 1);
    // a stop reaches it all the same
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    wait_for("the command is gone", || !lives(command));
    place.tick();
    assert_eq!(place.event("dispatch-lost", 1)["verdict"], "stopped");
}

#[test]
fn what_a_command_left_without_leader_and_supervisor_is_found_and_ended() {
    let place = Place::new(
        "sh -c 'trap \"\" TERM; echo $$ > $PLACE/child; exec sleep 600' &
         while ! test -s $PLACE/child; do sleep 0.01; done; echo $$ > $PLACE/pid; exec sleep 601",
    );
    place.tick();
    let (supervisor, leader) = (supervisor(&place, 1), place.pid("pid"));
    signal(supervisor, Signal::KILL);
    wait_for("the supervisor is gone", || !lives(supervisor));
    signal(leader, Signal::KILL);
    wait_for("the leader is gone", || !lives(leader));
    place.tick();
    assert_eq!(place.events("dispatch-lost").len(), 0, "something of it still lives");
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    signal(place.pid("child"), Signal::KILL);
    wait_for("the child is gone", || !lives(place.pid("child")));
    place.tick();
    place.event("dispatch-lost", 1);
}

#[test]
fn a_dispatch_of_another_host_is_not_judged_and_not_touched() {
    let place = Place::new(WAITS);
    place.tick();
    let command = place.pid("pid");
    signal(supervisor(&place, 1), Signal::KILL);
    let there = place.command(&["tick"]).env("SCHED_TEST_HOST", "elsewhere").status().unwrap();
    assert!(there.success());
    assert!(lives(command));
    assert_eq!(place.events("dispatch-lost").len() + place.events("dispatch-exited").len(), 0);
    fs::write(place.path("end"), "").unwrap();
}

#[test]
fn after_a_reboot_a_live_pid_is_somebody_else_and_the_work_is_planned_again() {
    let place = Place::new(WAITS);
    place.tick();
    let command = place.pid("pid");
    let supervisor = supervisor(&place, 1);
    signal(supervisor, Signal::KILL);
    wait_for("the supervisor is gone", || !lives(supervisor));
    let boot = "99999999-2279-4009-a9d7-a781fbf1c236";
    let tick = place.command(&["tick"]).env("SCHED_TEST_BOOT_ID", boot).status().unwrap();
    assert!(tick.success());
    assert_eq!(place.event("dispatch-lost", 1)["verdict"], "host-lost");
    assert_eq!(place.event("dispatch-planned", 2)["attempt"], 1);
    assert!(lives(command), "it was signalled");
    fs::write(place.path("end"), "").unwrap();
}
