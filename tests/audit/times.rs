//! Rule 13: times.

use crate::Case;
use crate::story::*;
use sched::domain::event::SchedulerPaused;
use sched::domain::time::Timestamp;

pub const CASES: &[Case] = &[
    Case {
        clause: "a time decreases",
        story: || Story::new().step_clock(-10_000).line([SchedulerPaused { reason: None }.into()]),
        finds: &[(
            &[1, 2],
            "",
            "its time 1970-01-01T00:16:32.000Z is before 1970-01-01T00:16:41.000Z",
        )],
    },
    Case {
        clause: "a clock that was behind, and a time that repeats nothing",
        story: || {
            Story::new()
                .line([SchedulerPaused { reason: None }.into()])
                .last(|e| e.wall = Some(Timestamp::from_millis(0)))
        },
        finds: &[(
            &[1, 2],
            "",
            "it says that the clock was behind at 1970-01-01T00:00:00.000Z, but its time \
             1970-01-01T00:16:42.000Z repeats no earlier one",
        )],
    },
];
