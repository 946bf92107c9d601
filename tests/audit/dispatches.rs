//! Rules 1 and 3.

use crate::Case;
use crate::story::*;
use sched::domain::event::{Role, Verdict};

pub const STARTS: &[Case] = &[
    Case {
        clause: "a dispatch is planned twice",
        story: || {
            Story::new().line([plan(1, "issue:1", Role::Reclaim).into()]).line([plan(
                1,
                "issue:1",
                Role::Reclaim,
            )
            .into()])
        },
        finds: &[(&[2, 3], "issue:1", "dispatch d1 is planned twice")],
    },
    Case {
        clause: "a dispatch is planned whose unit is over",
        story: || ended().line([plan(1, "issue:1", Role::Reclaim).into()]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 is planned twice")],
    },
    Case {
        clause: "a unit has two live agents",
        story: || Story::job().line([job(2, "1", 1)]),
        finds: &[(&[3, 5], "issue:1", "issue:1 has two live agent dispatches")],
    },
    Case {
        clause: "a unit has an agent planned and another one",
        story: || planned().line([job(2, "1", 1)]),
        finds: &[(&[3, 4], "issue:1", "issue:1 has two live agent dispatches")],
    },
    Case {
        clause: "a dispatch is started that nobody planned",
        story: || Story::new().line([started(1)]),
        finds: &[(&[2], "", "dispatch d1 is started and never planned")],
    },
    Case {
        clause: "a dispatch is started twice",
        story: || Story::job().line([started(1)]),
        finds: &[(&[4, 5], "issue:1", "dispatch d1 is started twice")],
    },
    Case {
        clause: "a dispatch is started after it exited",
        story: || Story::job().line([failed(1)]).line([started(1)]),
        finds: &[(&[4, 6], "issue:1", "dispatch d1 is started twice")],
    },
    Case {
        clause: "a dispatch is started after its unit was over",
        story: || ended().line([started(1)]),
        finds: &[(&[5, 6], "", "dispatch d1 is started and was over before")],
    },
    Case {
        clause: "a dispatch is started after it expired",
        story: || planned().line([expired(1), released(1, "issue:1")]).line([started(1)]),
        finds: &[(&[4, 5], "issue:1", "dispatch d1 is started and was over before")],
    },
    Case {
        clause: "a dispatch is started after it was superseded",
        story: || planned().line([superseded(1), released(1, "issue:1")]).line([started(1)]),
        finds: &[(&[4, 5], "issue:1", "dispatch d1 is started and was over before")],
    },
];

pub const ENDS: &[Case] = &[
    Case {
        clause: "a dispatch ends that nobody planned",
        story: || Story::new().line([failed(1)]),
        finds: &[(&[2], "", "dispatch d1 exited and was never planned")],
    },
    Case {
        clause: "a dispatch ends after its unit was over",
        story: || ended().line([failed(1)]),
        finds: &[(&[5, 6], "", "dispatch d1 exited and was over before")],
    },
    Case {
        clause: "a dispatch exits and is lost",
        story: || Story::job().line([failed(1)]).line([lost(1, Verdict::Lost)]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 ended twice: exited, then lost")],
    },
    Case {
        clause: "a dispatch is lost and exits",
        story: || Story::job().line([lost(1, Verdict::Lost)]).line([failed(1)]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 ended twice: lost, then exited")],
    },
    Case {
        clause: "a dispatch exits and is superseded",
        story: || Story::job().line([failed(1)]).line([superseded(1)]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 ended twice: exited, then superseded")],
    },
    Case {
        clause: "a dispatch is superseded and expires",
        story: || planned().line([superseded(1), released(1, "issue:1")]).line([expired(1)]),
        finds: &[(&[4, 5], "issue:1", "dispatch d1 ended twice: superseded, then expired")],
    },
    Case {
        clause: "a dispatch exits without a start",
        story: || planned().line([failed(1)]),
        finds: &[(&[3, 4], "issue:1", "dispatch d1 exited and was never started")],
    },
    Case {
        clause: "a dispatch is lost without a start",
        story: || planned().line([lost(1, Verdict::Lost)]),
        finds: &[(&[3, 4], "issue:1", "dispatch d1 lost and was never started")],
    },
    Case {
        clause: "a dispatch expires that was started",
        story: || Story::job().line([expired(1)]),
        finds: &[(&[4, 5], "issue:1", "dispatch d1 expired and was started")],
    },
    Case {
        clause: "a gate has no end when its batch is over",
        story: || {
            let batch = Story::batch(&["1"]).line(done(1, "1")).line([gate(2, "batch:b1/1")]);
            batch.line([started(2)]).line([evicted("1"), dissolved("nothing-landed", [1, 1, 0, 0])])
        },
        finds: &[(&[7, 8], "batch:b1/1", "batch:b1/1 is over, and its gate has no end")],
    },
];

fn planned() -> Story {
    Story::new().line([queued("1", &[])]).line([job(1, "1", 1)])
}

/// Entry 5 ends the dispatch and its issue.
fn ended() -> Story {
    let end = [exited(1, Verdict::Done, code(0)), released(1, "issue:1"), issue_done("1", Some(1))];
    Story::job().line(end)
}
