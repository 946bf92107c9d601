//! What a command leaves behind is ended with it, and nothing else is.

use crate::place::{Place, lives, signal};
use rustix::process::Signal;

/// The exit of a script that leaves something behind, whose pid it writes to `pid`.
fn left(script: &str) -> (Place, serde_json::Value, u32) {
    let wait = "while ! test -s $PLACE/pid; do sleep 0.01; done";
    let place = Place::new(&format!("{script}\n{wait}"));
    let exited = place.exit();
    assert_eq!(exited["verdict"], "done", "{exited}");
    let pid = place.pid("pid");
    (place, exited, pid)
}

#[test]
fn a_child_that_ignores_term_is_killed_after_a_short_grace() {
    let (_place, exited, pid) =
        left("sh -c 'trap \"\" TERM; echo $$ > $PLACE/pid; while :; do sleep 1; done' &");
    assert!(!lives(pid));
    assert!(exited["exit"]["left_behind"].as_u64().unwrap() >= 1);
    let took = exited["exit"]["duration_ms"].as_u64().unwrap();
    assert!(took < 1900, "the grace is not the command's time: {took} ms");
}

#[test]
fn a_daemon_in_a_session_of_its_own_that_holds_the_output_is_ended() {
    let (_place, exited, pid) =
        left("(setsid sh -c 'trap \"\" HUP; echo $$ > $PLACE/pid; exec sleep 600' &)");
    assert!(!lives(pid));
    assert_eq!(exited["exit"]["left_behind"], 1);
}

#[test]
fn a_daemon_without_our_environment_is_inherited_and_ended() {
    let (_place, exited, pid) =
        left("(env -i setsid sh -c \"echo \\$\\$ > $PLACE/pid; exec sleep 600\" &)");
    assert!(!lives(pid));
    assert_eq!(exited["exit"]["left_behind"], 1);
}

#[test]
fn a_stopped_child_is_ended() {
    let (_place, _, pid) = left("sh -c 'echo $$ > $PLACE/pid; kill -STOP $$; sleep 600' &");
    assert!(!lives(pid));
}

#[test]
fn a_child_that_forks_while_it_is_ended_leaves_nothing() {
    let script = "sh -c 'trap \"sleep 601 & sleep 602 & exit\" TERM; echo $$ > $PLACE/pid
        while :; do sleep 0.05; done' &";
    let (place, _, _) = left(script);
    assert_eq!(place.left(), [""; 0]);
}

#[test]
fn a_process_of_another_dispatch_and_what_descends_from_it_are_spared() {
    let other = "01a22b53-c031-73c0-8280-2121dcec4391";
    let script = format!(
        "SCHED_DISPATCH={other} setsid sh -c 'env -u SCHED_DISPATCH sleep 600 &
         echo $! > $PLACE/grandchild; echo $$ > $PLACE/pid; wait' &"
    );
    let (place, exited, pid) = left(&script);
    let grandchild = place.pid("grandchild");
    assert!(lives(pid) && lives(grandchild));
    assert_eq!(exited["exit"]["left_behind"], serde_json::Value::Null);
    signal(grandchild, Signal::KILL);
    signal(pid, Signal::KILL);
}

#[test]
fn what_all_its_processes_used_is_counted() {
    let busy = "i=0; while test $i -lt 200000; do i=$((i+1)); done";
    let place = Place::new(&format!("sh -c '{busy}' & wait; {busy}"));
    let exited = place.exit();
    let used = |name: &str| exited["exit"][name].as_u64().unwrap();
    assert!(used("cpu_ms") >= 20 && used("cpu_ms") <= 2 * used("duration_ms") + 100, "{exited}");
    assert!(used("max_rss_kib") > 0, "{exited}");
}
