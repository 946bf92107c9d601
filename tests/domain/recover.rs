//! `member-advance-recovered` in all its forms.

use crate::world::*;
use sched::domain::event::{
    Event, EvictionKind, Landed, MemberAdvanceRecovered, MemberEvicted, MemberLanded, RecoveredKind,
};
use sched::domain::fact::{Fact, FoundLanding};

fn evict(w: &mut World, member: &str, kind: EvictionKind) {
    w.given(pause());
    let event = MemberEvicted {
        batch: "b1".into(),
        member: member.into(),
        reason: "timeout".into(),
        kind,
        branch: None,
        evidence: Default::default(),
    };
    w.journal(vec![event.into()]);
}

fn recovered(w: &World) -> MemberAdvanceRecovered {
    let found = w.last().iter().find_map(|e| match e {
        Event::MemberAdvanceRecovered(e) => Some(e.clone()),
        _ => None,
    });
    found.unwrap()
}

#[test]
fn an_evicted_member_that_was_never_passed_is_passed_now_and_not_run_again() {
    let mut w = World::batch("", &["1", "2", "3"]);
    evict(&mut w, "1", EvictionKind::Evicted);
    assert_eq!(w.tick(), "member-advance-recovered member-advanced:2");
    let event = recovered(&w);
    assert_eq!((event.kind, event.reason.as_deref()), (RecoveredKind::Evicted, Some("timeout")));
    assert!(event.evicted_at.is_some());
    assert_eq!((event.members, event.evictions, event.threshold), (3, 1, 1));
    assert_eq!(w.tick(), "");
}

#[test]
fn a_hand_back_is_recovered_as_one() {
    let mut w = World::batch("", &["1", "2", "3"]);
    evict(&mut w, "1", EvictionKind::HandedBack);
    w.tick();
    assert_eq!((recovered(&w).kind, recovered(&w).evictions), (RecoveredKind::HandedBack, 0));
}

#[test]
fn the_threshold_is_computed_anew_and_dissolves() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.run("batch:b1/1", code(1));
    evict(&mut w, "2", EvictionKind::Evicted);
    let line = w.tick();
    let expected = "member-advance-recovered batch-dissolved:threshold member-requeued:3";
    assert!(line.starts_with(expected), "{line}");
    assert_eq!((recovered(&w).evictions, recovered(&w).threshold), (2, 1));
}

#[test]
fn past_a_landing_the_dissolve_is_suppressed() {
    let mut w = World::batch("", &["1", "2", "3", "4"]);
    w.through("1", "c1");
    w.run("batch:b1/2", code(1));
    w.run("batch:b1/3", code(1));
    evict(&mut w, "4", EvictionKind::Evicted);
    let line = w.tick();
    let expected = "member-advance-recovered dissolve-suppressed batch-validated";
    assert!(line.starts_with(expected), "{line}");
}

#[test]
fn the_last_one_without_a_landing_dissolves() {
    let mut w = World::batch("", &["1"]);
    evict(&mut w, "1", EvictionKind::Evicted);
    let line = w.tick();
    assert!(line.starts_with("member-advance-recovered batch-dissolved:nothing-landed"), "{line}");
}

#[test]
fn a_landing_that_was_recorded_without_its_move() {
    let mut w = World::batch("", &["1", "2"]);
    w.given(pause());
    let (batch, member) = ("b1".into(), "1".into());
    w.journal(vec![
        MemberLanded { batch, member, commit: "c1".into(), outcome: Landed::Landed }.into(),
    ]);
    assert_eq!(w.tick(), "member-advance-recovered member-advanced:2");
    let event = recovered(&w);
    assert_eq!((event.kind, event.reason, event.evicted_at), (RecoveredKind::Landed, None, None));
}

fn seen(landings: &[(&str, &str)]) -> Fact {
    let landing = |(member, commit): &(&str, &str)| FoundLanding {
        member: (*member).into(),
        commit: (*commit).into(),
    };
    Fact::IntegrationSeen { batch: "b1".into(), landings: landings.iter().map(landing).collect() }
}

#[test]
fn a_landing_found_in_git_is_recorded_and_the_batch_moves_on() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.given(seen(&[("1", "c1")]));
    let expected = "dispatch-superseded:landed slot-released member-advance-recovered \
         member-landed member-advanced:2 dispatch-planned:agent";
    assert_eq!(line, expected);
    assert_eq!(recovered(&w).kind, RecoveredKind::Landed);
    assert_eq!(w.b().integration, Some("c1".into()));
}

#[test]
fn several_landings_are_found_in_order() {
    let mut w = World::batch("", &["1", "2"]);
    let line = w.given(seen(&[("1", "c1"), ("2", "c2")]));
    assert!(line.ends_with("member-advance-recovered member-landed batch-validated"), "{line}");
}

#[test]
fn a_planned_landing_or_a_running_agent_tells_by_itself() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    assert_eq!(w.given(seen(&[("1", "c1")])), "");
    w.end("batch:b1/1", done("t1"));
    assert_eq!(w.given(seen(&[("1", "c1"), ("9", "c9")])), "");
}

#[test]
fn a_later_landing_does_not_move_past_the_member_at_work() {
    let mut w = World::batch("", &["1", "2"]);
    w.start("batch:b1/1");
    assert_eq!(w.given(seen(&[("2", "c2")])), "member-advance-recovered member-landed");
    assert_eq!(w.b().current, Some("1".into()));
}

#[test]
fn a_landing_behind_a_planned_one_is_recorded_after_it_and_the_branch_never_goes_back() {
    let mut w = World::batch("", &["1", "2", "3"]);
    w.start("batch:b1/1");
    w.end("batch:b1/1", done("t1"));
    let line = w.given(seen(&[("1", "c1"), ("2", "c2")]));
    let expected = "member-landed member-advanced:2 member-advance-recovered member-landed \
         member-advanced:3 dispatch-planned:agent";
    assert_eq!(line, expected);
    assert_eq!(w.b().integration, Some("c2".into()));
}
