//! Commands that fork faster than one can count, and daemons, while they are stopped and killed.

use crate::place::{Place, lives, wait_for};

/// Starts children of its own group and daemons in sessions of their own until it is killed.
const STORM: &str = "trap '' TERM HUP; echo $$ > $PLACE/pid
    while test -e $PLACE/agent; do
        sleep 600 & setsid sleep 601 & (setsid sh -c 'trap \"\" TERM; sleep 602; :' &) ; sleep 0.01
    done";

/// Each of them lives only until it has started the next one, in a session of its own.
const HOP: &str = "trap '' TERM HUP; test -e $PLACE/agent || exit 0
    echo hop >> $PLACE/hops; setsid sh $PLACE/hop & exit 0";

/// Stops the issue, which ends as stopped by KILL, and of which nothing is left.
fn is_stopped_for_good(place: &Place) {
    assert!(place.sched(&["stop", "--issue", "1"]).status.success());
    let exited = place.event("dispatch-exited", 1);
    assert_eq!(exited["verdict"], "stopped", "{exited}");
    assert_eq!(place.left(), [""; 0], "{exited}");
    place.tick();
    assert_eq!(place.events("dispatch-planned").len(), 1);
    let verified = place.sched(&["journal", "verify"]);
    assert!(verified.status.success(), "{verified:?}");
}

#[test]
fn of_a_storm_of_forks_nothing_is_left_when_it_is_stopped() {
    let place = Place::with(STORM, "kill_escalation = \"1s\"", "");
    place.tick();
    place.pid("pid");
    wait_for("a storm", || place.left().len() > 60);
    is_stopped_for_good(&place);
    assert_eq!(place.event("dispatch-exited", 1)["exit"]["signal"], 9);
    assert_eq!(place.events("kill-escalated").len(), 1);
}

#[test]
fn what_forks_and_is_gone_before_one_can_look_is_ended_all_the_same() {
    let start = "for n in 1 2 3; do setsid sh $PLACE/hop & done
        trap 'exit 0' TERM; echo $$ > $PLACE/pid; while :; do sleep 0.05; done";
    let place = Place::new(start);
    std::fs::write(place.path("hop"), HOP).unwrap();
    place.tick();
    place.pid("pid");
    wait_for("many hops", || place.text("hops").lines().count() > 60);
    is_stopped_for_good(&place);
    assert!(place.event("dispatch-exited", 1)["exit"]["left_behind"].as_u64().unwrap() >= 3);
}

#[test]
fn a_daemon_that_a_stopped_command_had_made_by_a_double_fork_is_ended_with_it() {
    let place = Place::new(
        "cat > $PLACE/daemon.sh <<'END'
trap '' TERM HUP
echo $$ > $1
exec sleep 600
END
        sh -c 'env -i setsid sh $PLACE/daemon.sh $PLACE/daemon &'
        trap 'exit 0' TERM; echo $$ > $PLACE/pid; while :; do sleep 0.05; done",
    );
    place.tick();
    let (_, daemon) = (place.pid("pid"), place.pid("daemon"));
    assert!(lives(daemon));
    is_stopped_for_good(&place);
    assert!(!lives(daemon));
}
