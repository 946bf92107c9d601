//! Rule 12.

use crate::Case;
use crate::story::*;
use sched::domain::event::{BatchStarted, Event, IssueFailed, Verdict};

pub const CASES: &[Case] = &[
    Case {
        clause: "an issue starts before its dependency is done",
        story: || {
            Story::new().line([queued("1", &[])]).line([queued("2", &["1"])]).line([job(1, "2", 1)])
        },
        finds: &[(
            &[2, 3, 4],
            "issue:2",
            "issue:2 starts, and 1, which it depends on, is not done",
        )],
    },
    Case {
        clause: "an issue starts whose dependency does not exist",
        story: || Story::new().line([queued("2", &["9"])]).line([job(1, "2", 1)]),
        finds: &[(&[2, 3], "issue:2", "issue:2 starts, and 9, which it depends on, is not done")],
    },
    Case {
        clause: "an issue starts whose dependency failed",
        story: || {
            Story::new()
                .line([queued("1", &[])])
                .line([queued("2", &["1"])])
                .line([IssueFailed { issue: "1".into(), reason: "x".into() }.into()])
                .line([job(1, "2", 1)])
        },
        finds: &[(
            &[2, 3, 5],
            "issue:2",
            "issue:2 starts, and 1, which it depends on, is not done",
        )],
    },
    Case {
        clause: "an issue starts whose dependency was queued anew",
        story: || {
            Story::job()
                .line([
                    exited(1, Verdict::Done, code(0)),
                    released(1, "issue:1"),
                    issue_done("1", Some(1)),
                ])
                .line([queued("1", &[])])
                .line([queued("2", &["1"])])
                .line([job(2, "2", 1)])
        },
        finds: &[(
            &[6, 7, 8],
            "issue:2",
            "issue:2 starts, and 1, which it depends on, is not done",
        )],
    },
    Case {
        clause: "a batch starts before a dependency outside is done",
        story: || {
            Story::new()
                .line([queued("9", &[])])
                .line(formed("b1", &["1", "2"], &[("2", &["9"])]))
                .line(begins("1"))
        },
        finds: &[(
            &[2, 3, 4],
            "batch:b1/2",
            "batch:b1/2 starts, and 9, which it depends on, is not done",
        )],
    },
    Case {
        clause: "a batch of one starts before its dependency is done",
        story: || {
            Story::new().line([queued("9", &[])]).line([queued("1", &["9"])]).line([
                BatchStarted { issue: Some("1".into()), ..batch_started("1@1") }.into(),
                assigned("1@1", "1"),
                agent(1, "issue:1", 1),
            ])
        },
        finds: &[(
            &[2, 3, 4],
            "issue:1",
            "issue:1 starts, and 9, which it depends on, is not done",
        )],
    },
    Case {
        clause: "a member starts before the one it depends on has landed",
        story: || Story::new().line(formed("b1", &["1", "2"], &[("2", &["1"])])).line(begins("2")),
        finds: &[(
            &[2, 3],
            "batch:b1/2",
            "batch:b1/2 starts, and 1, which it depends on, has not landed",
        )],
    },
    Case {
        clause: "a member starts though the one it depends on left",
        story: || {
            Story::new()
                .line(formed("b1", &["1", "2"], &[("2", &["1"])]))
                .line(begins("1"))
                .line([started(1)])
                .line([failed(1), released(1, "batch:b1/1"), evicted("1"), advanced("1", "2")])
                .line([agent(2, "batch:b1/2", 1)])
        },
        finds: &[(
            &[2, 5, 6],
            "batch:b1/2",
            "batch:b1/2 starts, and 1, which it depends on, has not landed",
        )],
    },
];

fn begins(member: &str) -> [Event; 3] {
    let of = format!("batch:b1/{member}");
    [batch_started("b1").into(), assigned("b1", member), agent(1, &of, 1)]
}
