//! Pauses, by hand and by itself, and suspended starts.

use crate::world::*;
use sched::domain::command::Command;
use sched::domain::fact::{Fact, Seen, TickSeen};
use sched::domain::rules::{is_held, needs, next_due, waiting_for};
use std::time::Duration;

#[test]
fn a_pause_supersedes_what_has_not_started_and_tasks_go_on() {
    let mut w = World::batch(GATE, &["1", "2"]);
    let line = w.given(pause());
    assert_eq!(line, "scheduler-paused dispatch-superseded:pause slot-released");
    assert_eq!(w.tick(), "");
    assert!(w.refused(pause()).contains("paused already"));
    w.given(Command::Resume { reason: None });
    assert_eq!(w.tick(), "dispatch-planned:agent");
    w.start("batch:b1/1");
    assert_eq!(w.given(pause()), "scheduler-paused");
    let line = w.end("batch:b1/1", done("t1"));
    assert_eq!(line, "dispatch-exited:done gates-planned dispatch-planned:gate");
    assert!(w.run("batch:b1/1", passed()).ends_with("slot-released landing-planned"));
}

#[test]
fn only_resume_lifts_a_pause() {
    let mut w = World::new(JOB);
    assert!(w.refused(Command::Resume { reason: None }).contains("not paused"));
    w.given(pause());
    w.given(enqueue(None, &[("7", &[])]));
    assert_eq!(w.wait(100_000).tick(), "");
    assert_eq!(w.given(Command::Resume { reason: None }), "scheduler-resumed");
    assert_eq!(w.tick(), "dispatch-planned:agent");
}

fn jobs() -> World {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("1", &[]), ("2", &[]), ("3", &[]), ("4", &[])]));
    w.tick();
    w
}

#[test]
fn two_empty_ends_of_different_units_pause_by_themselves() {
    let mut w = jobs();
    let line = w.run("issue:1", silent(1));
    assert!(line.starts_with("dispatch-exited:empty slot-released"), "{line}");
    let line = w.run("issue:2", silent(1));
    assert!(line.contains("dispatch-unhealthy dispatch-superseded:dispatch-unhealthy"), "{line}");
    assert!(w.state.health.pause.as_ref().unwrap().automatic);
}

#[test]
fn the_same_unit_twice_or_another_end_between_does_not() {
    let mut w = jobs();
    w.run("issue:1", silent(1));
    let again = w.run("issue:1", silent(1));
    assert!(!again.contains("unhealthy"), "{again}");
    let mut w = jobs();
    w.run("issue:1", silent(1));
    w.run("issue:3", code(1));
    assert!(!w.run("issue:2", silent(1)).contains("unhealthy"));
}

#[test]
fn a_suspended_profile_supersedes_what_it_has_planned() {
    let mut w = jobs();
    let line = w.run("issue:1", no_program());
    let expected = "dispatch-exited:host-fault profile-suspended \
         dispatch-superseded:profile-suspended slot-released \
         dispatch-superseded:profile-suspended slot-released slot-released";
    assert_eq!(line, expected);
    assert_eq!(w.tick(), "");
    w.given(Command::Resume { reason: None });
    assert!(w.tick().starts_with("dispatch-planned:agent"));
}

#[test]
fn a_batch_does_not_start_on_a_suspended_profile() {
    let mut w = World::new("");
    w.given(enqueue(None, &[("7", &[])]));
    w.base("c0");
    w.run("issue:7", no_program());
    w.given(enqueue(Some("b1"), &[("1", &[])]));
    assert_eq!(w.base("c0"), "");
}

fn expire(w: &mut World, unit: &str, tried: bool) -> String {
    let dispatch = w.open(unit);
    w.given(Fact::NotStarted { dispatch, tried })
}

#[test]
fn starts_that_fail_are_suspended_and_tried_at_doubling_intervals() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 1\n{JOB}"));
    w.given(enqueue(None, &[("1", &[])]));
    w.tick();
    assert_eq!(
        expire(&mut w, "issue:1", false),
        "dispatch-expired slot-released dispatch-planned:agent"
    );
    for _ in 0..2 {
        let line = expire(&mut w, "issue:1", true);
        assert_eq!(line, "dispatch-expired slot-released dispatch-planned:agent");
    }
    let mut seconds = 5;
    assert_eq!(expire(&mut w, "issue:1", true), "dispatch-expired slot-released spawn-failing");
    for _ in 0..8 {
        assert_eq!(w.wait(seconds - 1).tick(), "");
        assert_eq!(w.wait(1).tick(), "dispatch-planned:agent");
        assert_eq!(expire(&mut w, "issue:1", true), "dispatch-expired slot-released spawn-failing");
        seconds = (seconds * 2).min(300);
    }
    w.wait(300).tick();
    assert_eq!(w.start("issue:1"), "dispatch-started spawn-recovered");
}

#[test]
fn a_trial_start_is_due_only_while_there_is_something_to_start() {
    let mut w = World::new(&format!("[scheduler]\nmax_slots = 1\n{JOB}"));
    w.given(enqueue(None, &[("1", &[])]));
    w.tick();
    while !expire(&mut w, "issue:1", true).ends_with("spawn-failing") {}
    assert_eq!(next_due(&w.state, &w.now), Some(Duration::from_secs(5)));
    w.given(stop(issue("1")));
    w.wait(5).tick();
    assert_eq!(next_due(&w.state, &w.now), None);
}

#[test]
fn a_full_disk_holds_slots_back_and_is_said_once() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("7", &[])]));
    let low = || Fact::Tick(TickSeen { disk_low: Some(1 << 20), ..TickSeen::default() });
    assert_eq!(w.given(low()), "condition-raised");
    assert_eq!(w.given(low()), "");
    w.wait(1200);
    assert_eq!(w.given(low()), "condition-raised");
    assert_eq!(w.tick(), "condition-cleared dispatch-planned:agent");
}

#[test]
fn a_long_silence_is_said_when_there_was_something_to_do() {
    let mut w = World::new(JOB);
    let late = |w: &World| {
        let last_tick = Some(w.now.wall);
        TickSeen { last_tick, ..TickSeen::default() }
    };
    let seen = late(&w);
    w.wait(400);
    assert_eq!(w.given(Fact::Tick(seen)), "");
    w.given(enqueue(None, &[("7", &[])]));
    let seen = late(&w);
    w.wait(400);
    assert_eq!(w.given(Fact::Tick(seen)), "tick-gap dispatch-planned:agent");
}

#[test]
fn what_waits_for_a_profile_says_which() {
    let named = |w: &World, id: &str| waiting_for(&w.state, &w.issue(id));
    let mut w = World::batch("", &["1", "2"]);
    w.run("batch:b1/1", no_program());
    assert_eq!(named(&w, "1").as_deref(), Some("profile:agent"));
    assert_eq!(named(&w, "2").as_deref(), Some("batch:b1"));

    let mut w = World::new("[agent]\ncommand = [\"x\"]\n[profile.x]\ncommand = [\"x\"]\n");
    let mut command = enqueue(None, &[("7", &[])]);
    if let Command::Enqueue(work) = &mut command {
        work.issues[0].profile = Some("x".into());
    }
    w.given(command);
    w.configure("[agent]\ncommand = [\"x\"]\n");
    assert_eq!(named(&w, "7").as_deref(), Some("profile:x"));
}

#[test]
fn a_need_that_only_a_person_can_have_filled_is_held() {
    let held = |w: &World| needs(&w.state, &w.now).iter().all(|need| is_held(&w.state, need));
    let mut w = jobs();
    w.given(enqueue(None, &[("9", &[])]));
    assert!(!held(&w), "a slot will be free");
    w.given(pause());
    assert!(held(&w));
}

#[test]
fn a_branch_that_cannot_be_read_is_forgotten_when_nothing_waits_for_it() {
    let mut w = World::new("[agent]\ncommand = [\"x\"]\n");
    w.given(enqueue(None, &[("7", &[])]));
    let seen = Seen::Unreachable("no git".into());
    assert_eq!(w.given(Fact::Base { branch: "main".into(), seen }), "condition-raised");
    assert_eq!(w.tick(), "");
    w.configure(JOB);
    assert!(w.tick().starts_with("condition-cleared"));
}
