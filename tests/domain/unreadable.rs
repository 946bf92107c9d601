//! Ground truth that nobody can read decides nothing, is said once, and never holds for ever.

use crate::world::*;
use sched::domain::fact::Fact;
use sched::domain::rules::back_off;
use std::time::Duration;

#[test]
fn an_agent_that_nobody_can_judge_is_said_once_and_nothing_is_concluded() {
    let mut w = World::batch("", &["1"]);
    let dispatch = w.open("batch:b1/1");
    w.start("batch:b1/1");
    assert_eq!(w.given(Fact::Unreadable { dispatch }), "condition-raised");
    assert_eq!(w.given(Fact::Unreadable { dispatch }), "");
    assert_eq!(w.state.slots.len(), 1);
    let line = w.end("batch:b1/1", done("t1"));
    assert!(line.starts_with("dispatch-exited:done condition-cleared"), "{line}");
}

#[test]
fn a_back_off_belongs_to_the_unit_whose_last_end_set_it() {
    let mut w = World::batch("", &["1"]);
    let unit = "batch:b1/1".parse().unwrap();
    assert_eq!(back_off(&w.state, &unit, &w.now), None);
    w.run("batch:b1/1", no_tree(false));
    assert_eq!(back_off(&w.state, &unit, &w.now), Some(Duration::from_secs(1)));
    let other = "issue:9".parse().unwrap();
    assert_eq!(back_off(&w.state, &other, &w.now), None);
    w.wait(1);
    assert_eq!(back_off(&w.state, &unit, &w.now), None);
}
