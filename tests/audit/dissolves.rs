//! Rule 11.

use crate::Case;
use crate::story::*;
use sched::domain::event::{BatchDissolving, Event};

pub const CASES: &[Case] = &[
    Case {
        clause: "a dissolve at its threshold",
        story: || {
            Story::batch(&["1", "2", "3"]).line(leaves(
                1,
                "1",
                &[dissolved("threshold", [3, 1, 1, 0]), requeued("2"), requeued("3")],
            ))
        },
        finds: &[(
            &[5],
            "batch:b1",
            "a threshold dissolve of batch b1 is made at 1 evictions, and the threshold is 1",
        )],
    },
    Case {
        clause: "a dissolve at its threshold that waits for processes",
        story: || {
            Story::batch(&["1", "2", "3"]).line(leaves(
                1,
                "1",
                &[BatchDissolving(decision("threshold", [3, 1, 1, 0])).into()],
            ))
        },
        finds: &[(
            &[5],
            "batch:b1",
            "a threshold dissolve of batch b1 is made at 1 evictions, and the threshold is 1",
        )],
    },
    Case {
        clause: "hand-backs count towards a dissolve",
        story: || {
            Story::batch(&["1", "2", "3"]).line([
                failed(1),
                released(1, "batch:b1/1"),
                evicted("1"),
                handed_back("2"),
                dissolved("threshold", [3, 1, 1, 0]),
                requeued("3"),
            ])
        },
        finds: &[(
            &[5],
            "batch:b1",
            "a threshold dissolve of batch b1 is made at 1 evictions, and the threshold is 1",
        )],
    },
    Case {
        clause: "a dissolve over landed members",
        story: || {
            one_landed()
                .line(leaves(2, "2", &[advanced("2", "3"), agent(3, "batch:b1/3", 1)]))
                .line([started(3)])
                .line(leaves(3, "3", &[dissolved("threshold", [3, 2, 1, 1]), requeued("1")]))
        },
        finds: &[(
            &[6, 10],
            "batch:b1",
            "batch b1 dissolves by its threshold over 1 landed members",
        )],
    },
    Case {
        clause: "a dissolve is suppressed below its threshold",
        story: || {
            one_landed().line(leaves(2, "2", &[suppressed([3, 1, 1, 1]), advanced("2", "3")]))
        },
        finds: &[(
            &[8],
            "batch:b1",
            "a threshold dissolve of batch b1 is suppressed at 1 evictions, and the threshold is 1",
        )],
    },
    Case {
        clause: "a dissolve is suppressed over nothing",
        story: || {
            Story::batch(&["1", "2", "3"])
                .line(leaves(1, "1", &[advanced("1", "2"), agent(2, "batch:b1/2", 1)]))
                .line([started(2)])
                .line(leaves(2, "2", &[suppressed([3, 2, 1, 0]), advanced("2", "3")]))
        },
        finds: &[(
            &[7],
            "batch:b1",
            "a dissolve of batch b1 is suppressed, and no member has landed",
        )],
    },
];

/// A member's agent fails, it is evicted, and more follows.
fn leaves(dispatch: u128, member: &str, more: &[Event]) -> Vec<Event> {
    let of = format!("batch:b1/{member}");
    [&[failed(dispatch), released(1, &of), evicted(member)], more].concat()
}

/// Entry 6: the first of three members has landed; entry 7 starts the second's agent.
fn one_landed() -> Story {
    let next = [landed("1"), advanced("1", "2"), agent(2, "batch:b1/2", 1)];
    Story::batch(&["1", "2", "3"]).line(done(1, "1")).line(next).line([started(2)])
}
