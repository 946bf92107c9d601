//! Stopping: timeouts, escalation, stronger reasons, operators.

use crate::world::*;
use sched::domain::fact::{Fact, LandResult, Remains, TickSeen};
use std::time::Duration;

fn working() -> World {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.start("batch:b1/1");
    w
}

#[test]
fn a_timeout_stops_kills_and_is_ineffective_each_once() {
    let mut w = working();
    let timeout = w.dispatch("batch:b1/1").plan.timeout_ms / 1000;
    assert_eq!(w.wait(timeout - 1).tick(), "");
    assert_eq!(w.wait(1).tick(), "stop-requested:timeout member-stop-requested");
    assert_eq!(w.wait(119).tick(), "");
    assert_eq!(w.wait(1).tick(), "kill-escalated");
    assert_eq!(w.wait(119).tick(), "");
    assert_eq!(w.wait(1).tick(), "kill-ineffective batch-blocked:agent-unkillable");
    assert_eq!(w.wait(500).tick(), "");
    assert!(w.state.slots.values().all(|held| held.drained));
    assert!(w.refused(resume(batch("b1"))).contains("still lives"));
    let line = w.end("batch:b1/1", killed());
    assert!(line.contains("slot-released member-evicted:1:timeout"), "{line}");
}

#[test]
fn a_timeout_of_what_still_waited_for_its_tree_is_nobodys_fault() {
    let timed_out = || {
        let mut w = working();
        w.wait(w.dispatch("batch:b1/1").plan.timeout_ms / 1000).tick();
        w
    };
    let again = "slot-released dispatch-planned:agent";
    let mut w = timed_out();
    assert_eq!(w.end("batch:b1/1", never_ran()), format!("dispatch-exited:never-ran {again}"));
    assert_eq!(w.dispatch("batch:b1/1").plan.attempt, 1);
    let mut w = timed_out();
    let never = Remains { claimed: true, ran: false, ..Remains::default() };
    assert_eq!(w.gone("batch:b1/1", never), format!("dispatch-lost:never-ran {again}"));
    let mut w = working();
    w.given(stop(issue("1")));
    let line = w.end("batch:b1/1", never_ran());
    assert!(line.starts_with("dispatch-exited:stopped"), "an operator's stop is one: {line}");
}

#[test]
fn a_bound_does_not_count_while_a_tree_is_made_unless_that_takes_an_hour_more() {
    let mut w = working();
    let waits = |w: &mut World| {
        let waited = [(w.open("batch:b1/1"), Duration::MAX)].into();
        w.given(Fact::Tick(TickSeen { waited, ..TickSeen::default() }))
    };
    w.wait(w.dispatch("batch:b1/1").plan.timeout_ms / 1000);
    assert_eq!(waits(&mut w), "");
    w.wait(3599);
    assert_eq!(waits(&mut w), "");
    w.wait(1);
    assert_eq!(waits(&mut w), "stop-requested:timeout member-stop-requested");
}

#[test]
fn a_command_has_all_of_its_time_however_long_its_tree_took() {
    let mut w = working();
    let late = |w: &mut World| {
        let waited = [(w.open("batch:b1/1"), Duration::from_secs(60))].into();
        w.given(Fact::Tick(TickSeen { waited, ..TickSeen::default() }))
    };
    w.wait(w.dispatch("batch:b1/1").plan.timeout_ms / 1000 + 59);
    assert_eq!(late(&mut w), "");
    w.wait(1);
    assert_eq!(late(&mut w), "stop-requested:timeout member-stop-requested");
}

#[test]
fn a_stopped_agent_leaves_for_the_reason_of_its_stop() {
    let mut w = working();
    let dispatch = w.open("batch:b1/1");
    w.given(Fact::Stalled { dispatch });
    let line = w.end("batch:b1/1", done("t1"));
    assert!(
        line.contains("dispatch-exited:stopped slot-released member-evicted:1:stall"),
        "{line}"
    );
}

#[test]
fn a_stronger_reason_is_raised_and_a_weaker_one_is_not() {
    let mut w = working();
    let dispatch = w.open("batch:b1/1");
    w.given(Fact::Flooded { dispatch });
    assert_eq!(w.given(Fact::Stalled { dispatch }), "");
    let line = w.given(stop(issue("1")));
    assert_eq!(line, "operator-acted unit-stopping stop-reason-raised:operator");
    assert!(w.refused(stop(issue("1"))).contains("already"));
}

#[test]
fn what_never_started_is_superseded() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.given(stop(issue("1")));
    let expected = "operator-acted unit-stopping dispatch-superseded:operator slot-released \
         member-evicted:1:stopped member-advanced:2 issue-stopped:1";
    assert_eq!(line, expected);
}

#[test]
fn a_working_member_is_stopped_once_its_process_is_gone() {
    let mut w = working();
    w.given(stop(issue("1")));
    let line = w.end("batch:b1/1", killed());
    let expected = "dispatch-exited:stopped slot-released member-evicted:1:stopped \
         member-advanced:2 issue-stopped:1 dispatch-planned:agent";
    assert_eq!(line, expected);
    assert_eq!(w.b().counted_evictions(), 0);
}

#[test]
fn a_waiting_member_leaves_without_a_move() {
    let mut w = working();
    let line = w.given(stop(issue("3")));
    assert_eq!(line, "operator-acted unit-stopping member-evicted:3:stopped issue-stopped:3");
}

#[test]
fn an_abandoned_member_fails() {
    let mut w = working();
    let line = w.given(abandon(issue("2")));
    let expected =
        "operator-acted unit-stopping member-evicted:2:abandoned issue-failed:2:abandoned";
    assert_eq!(line, expected);
}

#[test]
fn a_queued_issue_is_stopped_or_abandoned_at_once() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[]), ("8", &["7"]), ("9", &[])]));
    let line = w.given(stop(issue("7")));
    let expected = "operator-acted unit-stopping issue-stopped:7 issue-blocked:8:dep-failed:7";
    assert_eq!(line, expected);
    let line = w.given(abandon(issue("9")));
    assert_eq!(line, "operator-acted unit-stopping issue-failed:9:abandoned");
    assert!(w.refused(stop(issue("9"))).contains("failed already"));
    assert!(w.refused(stop(issue("x"))).contains("there is no issue x"));
}

#[test]
fn a_stand_alone_issue_ends_stopped_and_never_blocked() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.made("7@1");
    w.start("issue:7");
    w.given(stop(issue("7")));
    let line = w.end("issue:7", killed());
    let expected = "dispatch-exited:stopped slot-released member-evicted:7:stopped \
         batch-dissolved:nothing-landed issue-stopped:7 dispatch-planned:reclaim";
    assert_eq!(line, expected);
}

#[test]
fn a_stopped_batch_ends_with_its_processes_and_nothing_is_queued_again() {
    let mut w = working();
    let line = w.given(stop(batch("b1")));
    assert_eq!(line, "operator-acted unit-stopping stop-requested:operator member-stop-requested");
    let line = w.end("batch:b1/1", killed());
    let expected = "dispatch-exited:stopped slot-released batch-stopped issue-stopped:1 \
         issue-stopped:2 issue-stopped:3 dispatch-planned:reclaim";
    assert_eq!(line, expected);
    assert!(w.refused(stop(batch("b1"))).contains("stopped already"));
}

#[test]
fn a_stop_of_a_dissolving_batch_wins() {
    let mut w = working();
    w.given(abandon(batch("b1")));
    w.given(stop(batch("b1")));
    let line = w.end("batch:b1/1", killed());
    assert!(line.contains("batch-stopped") && !line.contains("requeued"), "{line}");
}

#[test]
fn a_member_that_is_being_stopped_is_not_queued_again_by_a_dissolve() {
    let mut w = working();
    w.given(stop(issue("1")));
    w.given(abandon(batch("b1")));
    w.end("batch:b1/1", killed());
    assert_eq!(w.issue_status("1"), "stopped");
    assert_eq!(w.issue_status("2"), "queued");
}

#[test]
fn a_stop_while_work_is_rescued_takes_effect_however_the_rescue_ends() {
    for lost in [true, false] {
        let mut w = World::batch(GATE, &["1", "2"]);
        let mut exit = done("t1");
        exit.ground.as_mut().unwrap().dirty = true;
        w.run("batch:b1/1", exit);
        w.start("batch:b1/1");
        w.given(stop(issue("1")));
        let line = match lost {
            true => w.gone("batch:b1/1", remains()),
            false => w.end("batch:b1/1", killed()),
        };
        assert!(line.contains("slot-released member-evicted:1:stopped"), "{line}");
    }
}

#[test]
fn a_parked_member_can_be_stopped_after_its_batch_has_left_the_state() {
    let mut w = World::batch("", &["1"]);
    w.run("batch:b1/1", code(1));
    w.remove_trees("batch:b1");
    for n in 0..300 {
        let id = format!("x{n}");
        w.given(enqueue(None, &[(&id, &[])]));
        w.given(stop(issue(&id)));
    }
    assert!(w.state.batch(&"b1".into()).is_none());
    w.given(stop(issue("1")));
}

#[test]
fn an_unkillable_agent_without_a_tree_blocks_its_issue() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("7", &[])]));
    w.tick();
    w.start("issue:7");
    let timeout = w.dispatch("issue:7").plan.timeout_ms / 1000;
    w.wait(timeout).tick();
    w.wait(120).tick();
    assert_eq!(w.wait(120).tick(), "kill-ineffective issue-blocked:7:agent-unkillable");
    assert!(w.refused(resume(issue("7"))).contains("still lives"));
    assert!(w.end("issue:7", killed()).contains("slot-released issue-failed:7:timeout"));
}

#[test]
fn a_batch_starts_without_the_member_that_was_stopped_before() {
    let mut w = World::new("");
    w.given(enqueue(Some("b1"), &[("1", &[]), ("2", &[])]));
    w.given(stop(issue("1")));
    assert_eq!(w.base("c0"), "batch-started member-assigned dispatch-planned:agent");
    assert!(!w.idle("batch:b1/2"));
}

#[test]
fn a_rescue_that_was_stopped_has_rescued_nothing() {
    let mut w = World::batch("", &["1", "2"]);
    let mut exit = done("t1");
    exit.ground.as_mut().unwrap().dirty = true;
    w.run("batch:b1/1", exit);
    w.start("batch:b1/1");
    w.wait(600).tick();
    let line = w.end("batch:b1/1", code(0)); // it ended well, but only after the stop
    assert!(line.ends_with("dispatch-planned:reclaim"), "{line}");
}

#[test]
fn a_stopped_batch_leaves_those_alone_who_left_it_and_were_queued_again() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.run("batch:b1/1", code(1));
    w.given(requeue("1"));
    w.given(stop(batch("b1")));
    assert_eq!((w.issue_status("1"), w.issue_status("2")), ("queued", "stopped"));
}

/// The removal of an earlier run's trees has the name of the issue, as its agent has.
#[test]
fn a_stop_of_an_issue_that_was_queued_again_waits_for_its_agent() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.run("issue:7", code(1));
    let removal = w.open("issue:7");
    w.given(Fact::Starting(started(removal)));
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    let agents = w.state.dispatches.values().filter(|d| d.plan.slot.is_some());
    let agent = agents.map(|d| d.id).next().unwrap();
    w.given(Fact::Starting(started(agent)));
    let line = w.given(stop(issue("7")));
    assert_eq!(line, "operator-acted unit-stopping stop-requested:operator member-stop-requested");

    let line = w.given(Fact::Ended { dispatch: removal, exit: code(0) });
    assert_eq!(line, "dispatch-exited:done dispatch-planned:reclaim", "its tree is still there");
    let line = w.given(Fact::Ended { dispatch: agent, exit: killed() });
    let end = "dispatch-exited:stopped slot-released member-evicted:7:stopped";
    assert!(line.starts_with(end), "{line}");
    assert_eq!(w.issue_status("7"), "stopped");
}

/// A stand-alone issue that has landed and whose suite is red, or runs.
fn landed_alone(suite: Option<sched::domain::event::Exit>) -> World {
    let mut w = World::new(SUITE);
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.made("7@1");
    w.run("issue:7", done("t1"));
    w.land_in("7@1", "7", LandResult::Landed("c1".into()));
    assert_eq!(w.issue_status("7"), "landed");
    match suite {
        Some(exit) => w.run("issue:7", exit),
        None => w.start("issue:7"),
    };
    w
}

#[test]
fn a_stand_alone_issue_ends_by_the_operators_word_although_it_has_landed() {
    let mut w = landed_alone(Some(failed()));
    let line = w.given(stop(issue("7")));
    let expected = "operator-acted unit-stopping batch-dissolved:operator member-requeued:7 \
         issue-stopped:7";
    assert_eq!(line, expected);
    let mut w = landed_alone(Some(failed()));
    let line = w.given(abandon(issue("7")));
    assert!(line.ends_with("issue-failed:7:abandoned"), "{line}");
}

#[test]
fn a_stand_alone_issue_whose_suite_runs_ends_when_that_is_gone() {
    let mut w = landed_alone(None);
    let line = w.given(stop(issue("7")));
    assert_eq!(line, "operator-acted unit-stopping stop-requested:operator");
    let line = w.end("issue:7", killed());
    assert!(line.starts_with("dispatch-exited:stopped batch-dissolved:operator"), "{line}");
    assert_eq!(w.issue_status("7"), "stopped");
}

#[test]
fn nothing_is_ended_while_its_base_is_being_moved() {
    let mut w = World::batch("", &["1"]);
    w.through("1", "c1");
    w.base("c0");
    for command in [stop(batch("b1")), abandon(batch("b1"))] {
        assert!(w.refused(command).contains("being moved onto its base"));
    }
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.made("7@1");
    w.run("issue:7", done("t1"));
    w.land_in("7@1", "7", LandResult::Landed("c1".into()));
    w.base("c0");
    for command in [stop(issue("7")), abandon(issue("7"))] {
        assert!(w.refused(command).contains("being moved onto its base"));
    }
}

#[test]
fn a_second_stop_of_a_batch_is_told_that_it_is_being_stopped() {
    let mut w = working();
    w.given(stop(batch("b1")));
    assert!(w.refused(stop(batch("b1"))).contains("being stopped already"));
    assert!(w.refused(abandon(batch("b1"))).contains("being stopped already"));
}

#[test]
fn an_attempt_that_broke_its_bound_counts_and_one_that_was_stopped_does_not() {
    let mut w = working();
    w.wait(7200).tick();
    w.end("batch:b1/1", killed());
    assert_eq!(w.b().members[0].tally.attempts, 1);
    let mut w = working();
    w.given(stop(issue("1")));
    w.end("batch:b1/1", killed());
    assert_eq!(w.b().members[0].tally.attempts, 0);
}
