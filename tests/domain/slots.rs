//! Slots and task permits, and the order in which they are given.

use crate::world::*;
use sched::domain::command::Command;
use sched::domain::effect::Probe;
use sched::domain::wants;

#[test]
fn planned_is_never_a_queue() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 2\n{JOB}"));
    w.given(enqueue(None, &[("1", &[]), ("2", &[]), ("3", &[])]));
    assert_eq!(w.tick(), "dispatch-planned:agent dispatch-planned:agent");
    assert_eq!(w.tick(), "");
    assert_eq!(w.state.slots.len(), 2);
}

#[test]
fn order_is_priority_then_age_then_id() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 1\n{JOB}"));
    w.given(enqueue(None, &[("b", &[]), ("a", &[])]));
    w.wait(1);
    w.given(enqueue(None, &[("0", &[]), ("z", &[])]));
    let command = Command::Reprioritize { target: issue("z"), priority: 1, reason: None };
    w.given(command);
    w.tick();
    for unit in ["issue:z", "issue:a", "issue:b"] {
        assert!(w.run(unit, code(0)).ends_with("dispatch-planned:agent"));
    }
    assert!(!w.idle("issue:0"));
}

#[test]
fn gates_take_task_permits_and_never_more_than_there_are() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 3\nmax_tasks = 1\n{GATE}"));
    w.given(enqueue(None, &[("1", &[]), ("2", &[])]));
    w.base("c0");
    w.made("1@1");
    w.made("2@1");
    assert!(w.run("issue:1", done("t1")).ends_with("gates-planned dispatch-planned:gate"));
    assert_eq!(w.run("issue:2", done("t2")), "dispatch-exited:done gates-planned");
    let line = w.run("issue:1", passed());
    let expected = "dispatch-exited:passed member-verified slot-released landing-planned \
         dispatch-planned:gate";
    assert_eq!(line, expected);
}

#[test]
fn a_member_that_waits_for_its_gate_keeps_its_slot() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 1\nmax_tasks = 1\n{GATE}"));
    w.given(enqueue(None, &[("1", &[]), ("2", &[])]));
    w.base("c0");
    w.made("1@1");
    w.run("issue:1", done("t1"));
    assert_eq!(w.base("c0"), "");
    assert!(w.idle("issue:2"));
}

#[test]
fn a_start_that_does_not_know_its_base_is_not_overtaken() {
    let mut w = World::new("[profile.job]\ncommand = [\"j\"]\nworkdir = \"none\"\n");
    w.given(enqueue(None, &[("1", &[])]));
    w.wait(1);
    let mut work = enqueue(None, &[("2", &[])]);
    if let Command::Enqueue(work) = &mut work {
        work.issues[0].profile = Some("job".into());
    }
    w.given(work);
    assert_eq!(w.tick(), "");
    let line = w.base("c0");
    assert_eq!(line, "batch-started member-assigned dispatch-planned:agent dispatch-planned:agent");
}

#[test]
fn a_start_is_a_compare_and_append() {
    let mut w = World::batch("", &["1"]);
    let dispatch = w.open("batch:b1/1");
    w.start("batch:b1/1");
    let again = sched::domain::fact::Fact::Starting(started(dispatch));
    assert!(w.refused(again.clone()).contains("is started already"));
    w.end("batch:b1/1", code(1));
    assert!(w.refused(again).contains("is over"));
}

#[test]
fn the_priority_of_a_stand_alone_issue_is_that_of_its_batch() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("1", &[])]));
    w.base("c0");
    w.given(Command::Reprioritize { target: issue("1"), priority: 7, reason: None });
    assert_eq!(w.state.batch(&"1@1".into()).unwrap().priority, 7);
    w.given(stop(issue("1")));
    let late = Command::Reprioritize { target: issue("1"), priority: 7, reason: None };
    assert!(w.refused(late).contains("stopped already"));
}

#[test]
fn a_gate_that_nobody_started_is_planned_again_and_its_member_keeps_the_slot() {
    let mut w = World::batch(GATE, &["1"]);
    w.run("batch:b1/1", done("t1"));
    let dispatch = w.open("batch:b1/1");
    let late = sched::domain::fact::Fact::NotStarted { dispatch, tried: false };
    assert_eq!(w.given(late), "dispatch-expired dispatch-planned:gate");
    assert_eq!(w.state.slots.len(), 1);
}

#[test]
fn a_start_that_is_late_for_its_grace_is_looked_for() {
    let mut w = World::batch("", &["1"]);
    let late = Probe::Late(w.open("batch:b1/1"));
    let looked_for = |w: &World| wants(&w.state, &w.now).contains(&late);
    let grace = w.state.config().spawn_grace().as_secs();
    w.wait(grace - 1);
    assert!(!looked_for(&w));
    w.wait(1);
    assert!(looked_for(&w));
    w.start("batch:b1/1");
    assert!(!looked_for(&w));
}
