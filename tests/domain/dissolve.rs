//! The threshold, its arithmetic, and what becomes of the rest.

use crate::world::*;
use rstest::rstest;
use sched::domain::event::{DissolveSpec, Event, Strategy};
use sched::domain::rules::threshold;

#[rstest]
#[case(1, 1.0 / 3.0, 1, 0)]
#[case(2, 1.0 / 3.0, 1, 1)]
#[case(3, 1.0 / 3.0, 1, 1)]
#[case(4, 1.0 / 3.0, 1, 2)]
#[case(6, 1.0 / 3.0, 1, 2)]
#[case(7, 1.0 / 3.0, 1, 3)]
#[case(9, 1.0 / 3.0, 1, 3)]
#[case(10, 1.0 / 3.0, 1, 4)]
#[case(100, 0.07, 1, 7)]
#[case(10, 0.1, 0, 1)]
#[case(10, 0.0, 0, 0)]
#[case(10, 0.0, 3, 3)]
#[case(10, 1.0, 1, 9)]
#[case(4, 0.5, 9, 3)]
#[case(0, 0.5, 1, 0)]
fn t_is_the_smaller_of_share_or_minimum_and_n_minus_1(
    #[case] members: u32,
    #[case] fraction: f64,
    #[case] min_evictions: u32,
    #[case] expected: u32,
) {
    let spec = DissolveSpec { fraction, min_evictions, strategy: Strategy::Full };
    assert_eq!(threshold(members, &spec), expected);
}

#[test]
fn strictly_more_than_t_trips_and_the_decision_states_its_arithmetic() {
    let mut w = World::batch("", &["1", "2", "3", "4"]);
    for member in ["1", "2"] {
        assert!(w.run(&format!("batch:b1/{member}"), code(1)).contains("member-advanced"));
    }
    let line = w.run("batch:b1/3", code(1));
    assert!(line.contains("batch-dissolved:threshold member-requeued:4"), "{line}");
    let decision = w.last().iter().find_map(|e| match e {
        Event::BatchDissolved(e) => Some(e.0.clone()),
        _ => None,
    });
    let decision = decision.unwrap();
    assert_eq!((decision.members, decision.evictions, decision.threshold), (4, 3, 2));
    assert_eq!(w.issue_status("4"), "queued");
    assert_eq!(w.issue_status("3"), "evicted");
}

#[test]
fn landed_members_are_not_dissolved_over_and_only_evictions_say_so() {
    let mut w = World::batch("", &["1", "2", "3", "4"]);
    w.through("1", "c1");
    let line = w.run("batch:b1/2", code(1));
    assert!(!line.contains("suppressed"), "{line}");
    w.run("batch:b1/3", code(1));
    let mut five = World::batch("", &["1", "2", "3", "4", "5"]);
    five.through("1", "c1");
    five.run("batch:b1/2", code(1));
    five.run("batch:b1/3", code(1));
    let line = five.run("batch:b1/4", code(1));
    assert!(line.contains("dissolve-suppressed member-advanced:5"), "{line}");
    assert_eq!(five.through("5", "c2"), "member-landed batch-validated");
}

#[test]
fn the_last_eviction_past_t_is_suppressed_and_what_landed_is_validated() {
    let mut w = World::batch(SUITE, &["1", "2", "3"]);
    w.through("1", "c1");
    w.run("batch:b1/2", code(1));
    let line = w.run("batch:b1/3", code(1));
    let expected = "dissolve-suppressed batch-validating dispatch-planned:suite";
    assert!(line.ends_with(expected), "{line}");
}

#[test]
fn an_operator_dissolves_at_once_when_nothing_runs() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.given(abandon(batch("b1")));
    let expected = "operator-acted dispatch-superseded:dissolve slot-released \
         batch-dissolved:operator member-requeued:1 member-requeued:2";
    assert_eq!(line, expected);
    assert!(w.refused(abandon(batch("b1"))).contains("dissolved already"));
}

#[test]
fn what_landed_and_did_not_ship_goes_back_too() {
    let mut w = World::batch("", &["1", "2"]);
    w.through("1", "c1");
    w.given(abandon(batch("b1")));
    assert_eq!(w.issue_status("1"), "queued");
}

#[test]
fn a_batch_whose_profile_is_gone_dissolves_and_stops_its_agent_first() {
    let more = "[profile.other]\ncommand = [\"o\"]\n";
    let mut w = World::new(more);
    let mut work = enqueue(Some("b1"), &[("1", &[]), ("2", &[])]);
    if let sched::domain::command::Command::Enqueue(work) = &mut work {
        work.issues.iter_mut().for_each(|i| i.profile = Some("other".into()));
    }
    w.given(work);
    w.base("c0");
    w.made("b1");
    w.start("batch:b1/1");
    w.configure("");
    assert_eq!(w.tick(), "batch-dissolving stop-requested:dissolve member-stop-requested");
    assert!(w.end("batch:b1/1", killed()).contains("batch-dissolved:profile-missing:other"));
}

#[test]
fn after_a_landing_the_default_profile_finishes() {
    let mut w = World::new("[profile.other]\ncommand = [\"o\"]\n");
    let mut work = enqueue(Some("b1"), &[("1", &[]), ("2", &[])]);
    if let sched::domain::command::Command::Enqueue(work) = &mut work {
        work.issues.iter_mut().for_each(|i| i.profile = Some("other".into()));
    }
    w.given(work);
    w.base("c0");
    w.made("b1");
    w.run("batch:b1/1", done("t1"));
    w.configure("");
    w.land("1", sched::domain::fact::LandResult::Landed("c1".into()));
    assert_eq!(w.tick(), "");
    assert_eq!(w.dispatch("batch:b1/2").plan.profile.as_deref(), Some("agent"));
}
