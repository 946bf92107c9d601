//! Rule 2.

use crate::Case;
use crate::story::*;
use sched::domain::event::{DispatchPlanned, Role};
use sched::domain::ids::SlotId;

pub const CASES: &[Case] = &[
    Case {
        clause: "a slot is given to a second unit",
        story: || Story::job().line([queued("2", &[])]).line([job(2, "2", 1)]),
        finds: &[(&[3, 6], "issue:2", "slot 1 is held by issue:1 and given to issue:2")],
    },
    Case {
        clause: "a unit is given a second slot",
        story: || Story::job().line([failed(1)]).line([job(2, "1", 2)]),
        finds: &[(&[3, 6], "issue:1", "issue:1 holds slot 1 and is given slot 2")],
    },
    Case {
        clause: "more slots than configured",
        story: || {
            configured_slots("[scheduler]\nmax_slots = 1\n")
                .line([job(1, "1", 1)])
                .line([job(2, "2", 2)])
        },
        finds: &[(&[4, 5], "issue:2", "2 slots are held, and max_slots is 1")],
    },
    Case {
        clause: "more slots than by default",
        story: || {
            configured_slots("")
                .line([job(1, "1", 1), job(2, "2", 2), job(3, "3", 3)])
                .line([job(4, "4", 4)])
        },
        finds: &[(&[4, 5], "issue:4", "4 slots are held, and max_slots is 3")],
    },
    Case {
        clause: "a slot above one that was lowered",
        story: || {
            configured_slots("[scheduler]\nmax_slots = 2\n")
                .line([job(1, "1", 1)])
                .line([configured("[scheduler]\nmax_slots = 1\n")])
                .line([job(2, "2", 2)])
        },
        finds: &[(&[4, 6], "issue:2", "2 slots are held, and max_slots is 1")],
    },
    Case {
        clause: "a slot for a role that takes none",
        story: || {
            Story::new().line([DispatchPlanned {
                slot: Some(SlotId(1)),
                ..plan(1, "issue:1", Role::Reclaim)
            }
            .into()])
        },
        finds: &[(&[2], "issue:1", "role reclaim takes no slot, and has slot 1")],
    },
    Case {
        clause: "no slot for a role that takes one",
        story: || Story::new().line([plan(1, "issue:1", Role::Review).into()]),
        finds: &[(&[2], "issue:1", "role review takes a slot, and has none")],
    },
    Case {
        clause: "a slot is released by another unit",
        story: || Story::job().line([released(1, "issue:2")]),
        finds: &[(&[3, 5], "issue:2", "slot 1 is held by issue:1, not by issue:2")],
    },
    Case {
        clause: "a slot is released that is free",
        story: || Story::new().line([released(1, "issue:1")]),
        finds: &[(&[2], "issue:1", "slot 1 is released by issue:1 and held by nobody")],
    },
    Case {
        clause: "a slot is released while its agent runs",
        story: || Story::job().line([released(1, "issue:1")]),
        finds: &[(&[4, 5], "issue:1", "slot 1 is released while its dispatch is open")],
    },
];

/// Entry 3 queues four issues.
fn configured_slots(text: &str) -> Story {
    let issues = ["1", "2", "3", "4"].map(|issue| queued(issue, &[]));
    Story::new().line([configured(text)]).line(issues)
}
