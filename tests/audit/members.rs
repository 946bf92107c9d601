//! Rule 4.

use crate::Case;
use crate::story::*;
use sched::domain::event::{EvictionDuplicate, EvictionKind};

pub const CASES: &[Case] = &[
    Case {
        clause: "an evicted member is dispatched again",
        story: || one_left().line([agent(2, "batch:b1/1", 1)]),
        finds: &[(&[5, 6], "batch:b1/1", "batch:b1/1 is evicted, and is dispatched again")],
    },
    Case {
        clause: "a landed member is dispatched again",
        story: || one_landed().line([agent(2, "batch:b1/1", 1)]),
        finds: &[(&[6, 7], "batch:b1/1", "batch:b1/1 is landed, and is dispatched again")],
    },
    Case {
        clause: "a member is dispatched after its batch was over",
        story: || over().line([agent(2, "batch:b1/1", 1)]),
        finds: &[(&[5, 6], "batch:b1/1", "batch b1 is over, and its member 1 is dispatched again")],
    },
    Case {
        clause: "a member is evicted twice",
        story: || one_left().line([evicted("1")]),
        finds: &[(&[5, 6], "batch:b1/1", "batch:b1/1 has two outcomes: evicted, then evicted")],
    },
    Case {
        clause: "a member lands twice",
        story: || one_landed().line([landed("1")]),
        finds: &[(&[6, 7], "batch:b1/1", "batch:b1/1 has two outcomes: landed, then landed")],
    },
    Case {
        clause: "a member is evicted and lands",
        story: || {
            Story::batch(&["1", "2"])
                .line(done(1, "1"))
                .line([evicted("1"), advanced("1", "2")])
                .line([landed("1")])
        },
        finds: &[(&[6, 7], "batch:b1/1", "batch:b1/1 has two outcomes: evicted, then landed")],
    },
    Case {
        clause: "a member left and is queued again by a dissolve",
        story: || {
            one_left().line([dissolved("operator", [2, 1, 1, 0]), requeued("1"), requeued("2")])
        },
        finds: &[(
            &[5, 6],
            "batch:b1/1",
            "batch:b1/1 has two outcomes: evicted, then queued again",
        )],
    },
    Case {
        clause: "what is no member leaves",
        story: || Story::batch(&["1"]).line([evicted("9")]),
        finds: &[(&[5], "batch:b1/9", "batch:b1/9 is evicted, and no entry made it a member")],
    },
    Case {
        clause: "a member leaves after its batch was over",
        story: || over().line([evicted("1")]),
        finds: &[(&[5, 6], "batch:b1/1", "batch:b1/1 is evicted after its batch was over")],
    },
    Case {
        clause: "a duplicate of no eviction",
        story: || Story::batch(&["1", "2"]).line([duplicate("2")]),
        finds: &[(&[5], "batch:b1/2", "batch:b1/2 is said to have left twice, and never left")],
    },
    Case {
        clause: "a batch is over and a member has no outcome",
        story: || {
            Story::batch(&["1", "2"]).line([
                failed(1),
                released(1, "batch:b1/1"),
                evicted("1"),
                dissolved("nothing-landed", [2, 1, 1, 0]),
            ])
        },
        finds: &[(&[5], "batch:b1/2", "batch b1 is over, and batch:b1/2 has no outcome")],
    },
];

/// Entry 5: the first of two members is evicted.
fn one_left() -> Story {
    let line = [failed(1), released(1, "batch:b1/1"), evicted("1"), advanced("1", "2")];
    Story::batch(&["1", "2"]).line(line)
}

/// Entry 6: the first of two members has landed.
fn one_landed() -> Story {
    let landed = [landed("1"), advanced("1", "2")];
    Story::batch(&["1", "2"]).line(done(1, "1")).line(landed)
}

/// Entry 5: the only member is evicted, and its batch is over.
fn over() -> Story {
    let end = dissolved("nothing-landed", [1, 1, 0, 0]);
    Story::batch(&["1"]).line([failed(1), released(1, "batch:b1/1"), evicted("1"), end])
}

pub fn duplicate(member: &str) -> sched::domain::event::Event {
    let (batch, member, reason) = ("b1".into(), member.into(), "timeout".into());
    EvictionDuplicate { batch, member, reason, kind: EvictionKind::Evicted }.into()
}
