//! Stopping: TERM, a bound, KILL, each once and each in the journal, while the supervisor is the
//! clock and no tick comes from cron.

use crate::place::{Place, lives, signal, wait_for};
use rustix::process::Signal;

const DEAF: &str = "trap '' TERM; echo $$ > $PLACE/pid; while :; do sleep 0.1; done";

#[test]
fn a_command_over_its_bound_that_ignores_term_is_killed() {
    let place = Place::with(DEAF, "kill_escalation = \"1s\"", "");
    let text = std::fs::read_to_string(place.path("sched.toml")).unwrap();
    std::fs::write(place.path("sched.toml"), text.replace("\"50s\"", "\"1s\"")).unwrap();
    place.tick();
    let exited = place.event("dispatch-exited", 1);
    assert_eq!((&exited["exit"]["signal"], &exited["verdict"]), (&9.into(), &"stopped".into()));
    assert_eq!(place.event("stop-requested", 1)["reason"], "timeout");
    assert_eq!(place.events("kill-escalated").len(), 1);
    assert!(place.event("kill-escalated", 1)["alive_ms"].as_u64().unwrap() >= 1000);
}

#[test]
fn an_operators_stop_is_escalated_without_cron() {
    let place = Place::with(DEAF, "kill_escalation = \"1s\"", "");
    place.tick();
    let pid = place.pid("pid");
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    place.event("kill-escalated", 1);
    assert_eq!(place.event("dispatch-exited", 1)["exit"]["signal"], 9);
    assert!(!lives(pid));
}

#[test]
fn a_stopped_command_hears_the_stop() {
    let place = Place::new("echo $$ > $PLACE/pid; kill -STOP $$; sleep 600");
    place.tick();
    let pid = place.pid("pid");
    wait_for("it is stopped", || crate::place::stat(pid).is_some_and(|f| f[0] == "T"));
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    assert_eq!(place.event("dispatch-exited", 1)["exit"]["signal"], 15);
    assert_eq!(place.events("kill-escalated").len(), 0);
}

#[test]
fn a_child_that_outlives_its_leader_at_a_stop_is_killed() {
    let place = Place::new(
        "sh -c 'trap \"\" TERM; echo $$ > $PLACE/pid; while :; do sleep 0.1; done' &
         while ! test -s $PLACE/pid; do sleep 0.01; done
         trap 'exit 0' TERM; while :; do sleep 0.1; done",
    );
    place.tick();
    let pid = place.pid("pid");
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    let exited = place.event("dispatch-exited", 1);
    assert_eq!(exited["verdict"], "stopped");
    assert!(!lives(pid));
}

#[test]
fn silence_is_a_stall_and_output_is_a_sign_of_life() {
    let talks = "i=0; while test $i -lt 12; do echo $i; sleep 0.25; i=$((i+1)); done; sleep 600";
    let place = Place::with(talks, "", "stall_timeout = \"2s\"");
    place.tick();
    assert_eq!(place.event("stop-requested", 1)["reason"], "stall");
    let exited = place.event("dispatch-exited", 1);
    assert!(exited["exit"]["duration_ms"].as_u64().unwrap() >= 4500, "{exited}");
    assert_eq!(place.events("stop-requested").len(), 1);
}

#[test]
fn the_cause_of_an_end_is_our_own_line_and_not_the_exit_code() {
    let asked =
        Place::new("trap 'exit 143' TERM; echo $$ > $PLACE/pid; while :; do sleep 0.1; done");
    asked.tick();
    asked.pid("pid");
    assert!(asked.sched(&["stop", "--issue", "1"]).status.success());
    let exited = asked.event("dispatch-exited", 1);
    assert_eq!((&exited["verdict"], &exited["exit"]["code"]), (&"stopped".into(), &143.into()));

    let unasked = Place::new("exit 143");
    let exited = unasked.exit();
    assert_ne!(exited["verdict"], "stopped");

    let outside = Place::new("echo $$ > $PLACE/pid; exec sleep 600");
    outside.tick();
    signal(outside.pid("pid"), Signal::TERM);
    assert_eq!(outside.event("dispatch-exited", 1)["verdict"], "killed-outside");
}
