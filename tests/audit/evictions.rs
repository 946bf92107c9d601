//! Rule 5.

use crate::Case;
use crate::members::duplicate;
use crate::story::*;
use sched::domain::event::{BatchStarted, DispatchPlanned, MemberEvicted, Mode, Role};
use sched::domain::ids::SlotId;

pub const CASES: &[Case] = &[
    Case {
        clause: "the slot is not released",
        story: || Story::batch(&["1", "2"]).line([failed(1), evicted("1"), advanced("1", "2")]),
        finds: &[(&[3, 5], "batch:b1/1", "batch:b1/1 left, and holds slot 1 still")],
    },
    Case {
        clause: "a duplicate leaves a slot held",
        story: || {
            Story::batch(&["1", "2"])
                .line([failed(1), released(1, "batch:b1/1"), evicted("1"), advanced("1", "2")])
                .line([fix(2, "batch:b1/1")])
                .line([started(2)])
                .line([failed(2), duplicate("1")])
        },
        finds: &[(&[6, 8], "batch:b1/1", "batch:b1/1 left, and holds slot 1 still")],
    },
    Case {
        clause: "the next move is missing",
        story: || {
            Story::batch(&["1", "2"]).line([failed(1), released(1, "batch:b1/1"), evicted("1")])
        },
        finds: &[(&[5], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "the next move stands in a later line",
        story: || {
            Story::batch(&["1", "2"])
                .line([failed(1), released(1, "batch:b1/1"), evicted("1")])
                .line([advanced("1", "2")])
        },
        finds: &[(&[5], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "the last member leaves and the batch goes on",
        story: || Story::batch(&["1"]).line([failed(1), released(1, "batch:b1/1"), evicted("1")]),
        finds: &[(&[5], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "the batch moves to a member that left",
        story: || {
            Story::batch(&["1", "2"]).line([
                failed(1),
                released(1, "batch:b1/1"),
                evicted("1"),
                handed_back("2"),
                advanced("1", "2"),
            ])
        },
        finds: &[(&[5], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "the last member leaves before the start",
        story: || Story::new().line(formed("b1", &["1"], &[])).line([handed_back("1")]),
        finds: &[(&[3], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "a parallel batch has nobody at work",
        story: || {
            Story::batch_of(&["1"], |b| b.mode = Mode::Parallel).line([started(1)]).line([
                failed(1),
                released(1, "batch:b1/1"),
                evicted("1"),
            ])
        },
        finds: &[(&[5], "batch:b1", "a member left batch b1, and its next move is missing")],
    },
    Case {
        clause: "a batch of one does not end with its member",
        story: || of_one().line([failed(1), released(1, "issue:1"), leaves("1@1", "1")]),
        finds: &[(&[5], "issue:1", "a member left batch 1@1, and its next move is missing")],
    },
    Case {
        clause: "a threshold is passed without a word",
        story: || {
            Story::batch(&["1", "2", "3"])
                .line([
                    failed(1),
                    released(1, "batch:b1/1"),
                    evicted("1"),
                    advanced("1", "2"),
                    agent(2, "batch:b1/2", 1),
                ])
                .line([started(2)])
                .line([failed(2), released(1, "batch:b1/2"), evicted("2"), advanced("2", "3")])
        },
        finds: &[(
            &[7],
            "batch:b1",
            "2 members of batch b1 were evicted, more than 1, and nothing is said about a dissolve",
        )],
    },
];

fn fix(dispatch: u128, of: &str) -> sched::domain::event::Event {
    DispatchPlanned { slot: Some(SlotId(1)), ..plan(dispatch, of, Role::Fix) }.into()
}

/// A stand-alone issue with a tree; entry 4 starts its agent.
pub fn of_one() -> Story {
    let begun = BatchStarted { issue: Some("1".into()), ..batch_started("1@1") };
    Story::new()
        .line([queued("1", &[])])
        .line([begun.into(), assigned("1@1", "1"), agent(1, "issue:1", 1)])
        .line([started(1)])
}

pub fn leaves(batch: &str, member: &str) -> sched::domain::event::Event {
    let event = evicted(member);
    let sched::domain::event::Event::MemberEvicted(event) = event else { unreachable!() };
    MemberEvicted { batch: batch.into(), ..event }.into()
}
