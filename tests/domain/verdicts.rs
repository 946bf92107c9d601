//! Whose fault is it.

use crate::world::*;
use sched::domain::command::Command;
use sched::domain::event::{Exit, Ground};

fn agent(config: &str, exit: Exit) -> String {
    World::batch(config, &["1", "2", "3"]).run("batch:b1/1", exit)
}

#[test]
fn an_exit_is_never_proof() {
    let nothing = Ground { commits: 0, ..ground("c0") };
    let line = agent("", Exit { ground: Some(nothing), ..code(0) });
    assert!(line.starts_with("dispatch-exited:unverified-exit"), "{line}");
    assert!(agent("", code(0)).starts_with("dispatch-exited:unverified-exit"));
    let lost = Ground { tree: false, ..ground("t1") };
    let line = agent("", Exit { ground: Some(lost), ..code(0) });
    assert!(line.contains("member-evicted:1:worktree-lost"), "{line}");
}

#[test]
fn a_declared_no_op_lands_without_a_landing() {
    let config = "[agent]\ncommand = [\"a\"]\nallow_empty = true\n";
    let nothing = Ground { commits: 0, ..ground("c0") };
    let line = agent(config, Exit { ground: Some(nothing), ..code(0) });
    let expected = "dispatch-exited:done gates-planned member-verified slot-released \
         member-landed member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
}

#[test]
fn completion_by_milestone_needs_the_terminal_one_of_this_dispatch() {
    let config = "[agent]\ncommand = [\"a\"]\ncompletion = \"milestone\"\n";
    assert!(agent(config, done("t1")).starts_with("dispatch-exited:unverified-exit"));
    let mut w = World::batch(config, &["1", "2"]);
    w.start("batch:b1/1");
    w.post("batch:b1/1", "review", "done");
    assert!(w.end("batch:b1/1", done("t1")).starts_with("dispatch-exited:done"));
}

#[test]
fn a_foreign_signal_runs_again_twice() {
    let mut w = World::batch("", &["1", "2"]);
    for _ in 0..2 {
        let line = w.run("batch:b1/1", killed());
        assert_eq!(line, "dispatch-exited:killed-outside slot-released dispatch-planned:agent");
    }
    let line = w.run("batch:b1/1", killed());
    assert!(line.contains("member-evicted:1:killed-outside"), "{line}");
}

#[test]
fn a_built_in_is_never_inconclusive() {
    for (exit, verdict) in [(code(1), "unverified-exit"), (no_program(), "host-fault")] {
        let mut w = World::batch("", &["1"]);
        w.run("batch:b1/1", code(1));
        let line = w.run("batch:b1", exit);
        assert!(line.starts_with(&format!("dispatch-exited:{verdict}")), "{line}");
    }
    let mut w = World::batch("", &["1"]);
    w.run("batch:b1/1", code(1));
    w.start("batch:b1");
    w.wait(24 * 3600).tick();
    let line = w.end("batch:b1", killed());
    assert!(line.starts_with("dispatch-exited:stopped"), "{line}");
}

#[test]
fn a_supervisor_that_was_told_to_leave_is_not_counted() {
    let mut w = World::batch("", &["1", "2"]);
    for _ in 0..5 {
        let line = w.run("batch:b1/1", Exit { supervisor: true, ..killed() });
        assert_eq!(line, "dispatch-exited:killed-outside slot-released dispatch-planned:agent");
    }
}

#[test]
fn an_empty_end_is_tried_once_more() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.run("batch:b1/1", silent(1));
    assert_eq!(line, "dispatch-exited:empty slot-released dispatch-planned:agent");
    let line = w.run("batch:b1/1", silent(1));
    assert!(line.contains("member-evicted:1:empty"), "{line}");
}

#[test]
fn a_missing_program_suspends_the_profile_and_costs_nobody_an_attempt() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.run("batch:b1/1", no_program());
    assert_eq!(line, "dispatch-exited:host-fault profile-suspended slot-released");
    assert_eq!(w.tick(), "");
    let found = sched::domain::fact::Fact::Program { profile: "agent".into(), found: true };
    assert_eq!(w.given(found), "profile-restored dispatch-planned:agent");
    assert_eq!(w.dispatch("batch:b1/1").plan.attempt, 1);
}

#[test]
fn a_program_that_is_found_and_cannot_be_executed_is_tried_again_at_doubling_intervals() {
    let found = || sched::domain::fact::Fact::Program { profile: "agent".into(), found: true };
    let mut w = World::batch("", &["1", "2"]);
    w.run("batch:b1/1", no_program());
    for seconds in [0, 5, 10, 20, 40, 80, 160, 300, 300] {
        if seconds > 0 {
            assert_eq!(w.wait(seconds - 1).given(found()), "", "{seconds}");
            w.wait(1);
        }
        assert_eq!(w.given(found()), "profile-restored dispatch-planned:agent", "{seconds}");
        w.run("batch:b1/1", no_program());
    }
    w.given(Command::Resume { reason: None });
    assert_eq!(w.tick(), "dispatch-planned:agent");
    w.run("batch:b1/1", silent(1));
    w.run("batch:b1/1", no_program());
    assert!(w.given(found()).starts_with("profile-restored"), "another end began it anew");
}

#[test]
fn a_profile_that_names_another_program_is_tried_again_at_once() {
    for (config, restored) in [
        ("[agent]\ncommand = [\"other\"]\n", true),
        ("[agent]\ncommand = [\"missing\"]\ntimeout = \"5m\"\n", false),
        ("[agent]\ncommand = [\"x\"]\n[agent.tier.strong]\ncommand = [\"missing\"]\n", false),
    ] {
        let mut w = World::batch("[agent]\ncommand = [\"missing\"]\n", &["1", "2"]);
        w.run("batch:b1/1", no_program());
        let expected = if restored { "config-applied profile-restored" } else { "config-applied" };
        assert_eq!(w.configure(config), expected);
    }
}

#[test]
fn an_end_after_our_stop_is_stopped_whatever_it_looks_like() {
    for exit in [done("t1"), no_program(), no_tree(true), never_ran(), killed()] {
        let mut w = World::batch("", &["1", "2"]);
        w.start("batch:b1/1");
        w.given(stop(issue("1")));
        assert!(w.end("batch:b1/1", exit).starts_with("dispatch-exited:stopped"));
    }
}

#[test]
fn an_issue_that_needs_a_person_is_blocked_and_goes_on_by_resume() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("7", &[]), ("8", &["7"])]));
    w.tick();
    w.start("issue:7");
    w.post_key("issue:7", "plan", "started", &[("needs", "human")]);
    let line = w.end("issue:7", code(1));
    assert_eq!(line, "dispatch-exited:needs-human slot-released issue-blocked:7:needs-human");
    assert_eq!(w.given(resume(issue("7"))), "operator-acted issue-unblocked:7");
    assert_eq!(w.tick(), "dispatch-planned:agent");
}

#[test]
fn a_suite_that_is_red_or_cannot_be_read_blames_nobody() {
    for (exit, reason) in [(failed(), "suite-unattributed"), (code(75), "suite-unreadable")] {
        let mut w = World::batch(SUITE, &["1"]);
        w.through("1", "c1");
        let line = w.run("batch:b1", exit);
        assert!(line.ends_with(&format!("batch-blocked:{reason}")), "{line}");
    }
}

#[test]
fn the_attempts_of_an_issue_are_told_when_it_has_ended_too() {
    let mut w = World::new(JOB);
    w.given(enqueue(None, &[("1", &[])]));
    w.tick();
    w.run("issue:1", done("t1"));
    assert_eq!(w.issue("1").tally.attempts, 1);
}
