//! The supervisor and the process before the command, killed at every point of the hand-shake
//! and of the way out: the work is done all the same, never by two at a time, and a command that
//! was seen to end is not run again.

use crate::place::{Place, wait_for};

/// Says so when it finds itself running twice at a time.
const AGENT: &str = "mkdir $PLACE/running || echo double >> $PLACE/log
echo run >> $PLACE/log; sleep 0.1; rmdir $PLACE/running";

/// Every point of a supervisor and its child, with how often the command then runs in all.
const POINTS: &[(&str, usize)] = &[
    ("supervise-begun", 1),
    ("supervise-claimed", 1),
    ("supervise-forked", 1),
    ("supervise-started", 1),
    ("supervise-tree", 1),
    ("supervise-go", 2), // ran to its end, but nobody saw how: without a tree it is run again
    ("supervise-ended", 2),
    ("supervise-receipt", 1),
    ("supervise-committed", 1),
    ("child-begun", 1),
    ("child-going", 1),
    ("child-ran", 1),
];

#[test]
fn every_point_of_the_hand_shake_is_listed() {
    let listed: Vec<_> = POINTS.iter().map(|(point, _)| *point).collect();
    let all = sched::crash::POINTS.iter().copied();
    let ours = all.filter(|p| p.starts_with("supervise-") || p.starts_with("child-"));
    assert_eq!(ours.collect::<Vec<_>>(), listed);
}

#[test]
fn a_crash_at_any_point_of_the_hand_shake_loses_and_repeats_nothing() {
    for (point, runs) in POINTS {
        let place = Place::new(AGENT);
        let once = place.path("crashed");
        let mut tick = place.command(&["tick"]);
        tick.env("SCHED_CRASH_SUPERVISOR", point).env("SCHED_CRASH_ONCE", &once);
        assert!(tick.status().unwrap().success(), "{point}");
        wait_for(point, || once.exists());
        wait_for(point, || {
            place.tick();
            place.events("issue-done").len() == 1
        });
        let log = place.text("log");
        assert!(!log.contains("double"), "{point}: {log}");
        assert_eq!(log.lines().count(), *runs, "{point}");
        assert_eq!(place.events("issue-failed").len(), 0, "{point}");
        let verified = place.sched(&["journal", "verify"]);
        assert!(verified.status.success(), "{point}: {verified:?}");
    }
}
