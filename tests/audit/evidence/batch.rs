//! Of what is decided about a whole batch, and of blocks.

use crate::Case;
use crate::story::*;
use sched::domain::event::{
    BatchBlocked, BatchMerged, BatchShipping, BatchStarted, BatchValidated, DispatchPlanned, Event,
    IssueUnblocked, MemberAdvanceRecovered, RecheckPlanned, RecoveredKind, Role, ShipMode,
    SuiteResult, Tree, Verdict,
};

pub const CASES: &[Case] = &[
    Case {
        clause: "a suite passed that never ran",
        story: || Story::batch(&["1"]).line([passed()]),
        finds: &[(&[5], "batch:b1", "batch b1 is validated, and no suite passed on landed")],
    },
    Case {
        clause: "a suite passed on another commit",
        story: || suite_ran(|plan| plan.tree = check("other"), Verdict::Passed, 0).line([passed()]),
        finds: &[(&[6], "batch:b1", "batch b1 is validated, and no suite passed on landed")],
    },
    Case {
        clause: "a suite failed and the batch is validated",
        story: || {
            suite_ran(|plan| plan.tree = check("landed"), Verdict::Failed, 1).line([passed()])
        },
        finds: &[(&[6], "batch:b1", "batch b1 is validated, and no suite passed on landed")],
    },
    Case {
        clause: "a batch is validated without its suite",
        story: || Story::batch_of(&["1"], suite_pinned).line([validated()]),
        finds: &[(&[4], "batch:b1", "batch b1 is validated without its suite")],
    },
    Case {
        clause: "a batch ships what was not validated",
        story: || Story::batch_of(&["1"], merges).line([validated()]).line([ships("other")]),
        finds: &[(&[5], "batch:b1", "batch b1 ships other, which was not validated")],
    },
    Case {
        clause: "a batch has shipped what was not to be shipped",
        story: || {
            Story::batch_of(&["1"], merges)
                .line([validated()])
                .line([ships("landed")])
                .line([merged_at("other")])
        },
        finds: &[(&[6], "batch:b1", "batch b1 has shipped other, which was not to be shipped")],
    },
    Case {
        clause: "a batch has shipped that never began to",
        story: || Story::batch_of(&["1"], merges).line([validated()]).line([merged()]),
        finds: &[(&[5], "batch:b1", "batch b1 has shipped landed, which was not to be shipped")],
    },
    Case {
        clause: "a batch that ships nowhere has shipped unvalidated",
        story: || Story::batch(&["1"]).line([merged()]),
        finds: &[(&[5], "batch:b1", "batch b1 has shipped landed, which was not to be shipped")],
    },
    Case {
        clause: "a batch is done that has not shipped",
        story: || {
            Story::batch(&["1"]).line(done(1, "1")).line([landed("1"), validated(), batch_done()])
        },
        finds: &[(&[6], "batch:b1", "batch b1 is done, and has not shipped")],
    },
    Case {
        clause: "a batch is blocked over a dispatch that never was",
        story: || Story::batch(&["1"]).line([blocked_over(9)]),
        finds: &[(&[5], "batch:b1", "batch b1 is blocked over dispatch d9, which is none of it")],
    },
    Case {
        clause: "a batch is blocked over another unit's dispatch",
        story: || {
            Story::batch(&["1"])
                .line([plan(2, "issue:7", Role::Reclaim).into()])
                .line([blocked_over(2)])
        },
        finds: &[(&[6], "batch:b1", "batch b1 is blocked over dispatch d2, which is none of it")],
    },
    Case {
        clause: "a batch resumes that is not blocked",
        story: || Story::batch(&["1"]).line([resumed("adopted")]),
        finds: &[(&[5], "batch:b1", "batch b1 resumes from `adopted`, and is not blocked")],
    },
    Case {
        clause: "a batch resumes from another block",
        story: || Story::batch(&["1"]).line([blocked("repaired")]).line([resumed("adopted")]),
        finds: &[(
            &[6],
            "batch:b1",
            "batch b1 resumes from `adopted`, and is blocked on `repaired`",
        )],
    },
    Case {
        clause: "an issue is unblocked that is not blocked",
        story: || Story::new().line([queued("1", &[])]).line([unblocked()]),
        finds: &[(&[3], "issue:1", "issue 1 is not blocked on `needs-human`")],
    },
    Case {
        clause: "a gate is asked again and the batch is not blocked",
        story: || judged().line([recheck("unit")]),
        finds: &[(&[6], "batch:b1", "batch b1 asks gate unit again, and is not blocked")],
    },
    Case {
        clause: "a gate is asked again that was never asked",
        story: || judged().line([blocked("gate-inconclusive:unit")]).line([recheck("lint")]),
        finds: &[(&[7], "batch:b1", "batch b1 asks gate lint again, and never asked it")],
    },
    Case {
        clause: "a decision states other figures",
        story: || {
            Story::batch(&["1"]).line([
                failed(1),
                released(1, "batch:b1/1"),
                evicted("1"),
                dissolved("nothing-landed", [2, 0, 0, 0]),
            ])
        },
        finds: &[(
            &[5],
            "batch:b1",
            "batch b1 states members, evictions, threshold and landed as (2, 0, 0, 0), and \
             they are (1, 1, 0, 0)",
        )],
    },
    Case {
        clause: "a move is made up for of a member that never left",
        story: || Story::batch(&["1"]).line([made_up_for()]),
        finds: &[(&[5], "batch:b1/1", "a move of batch:b1/1 is made up for, and it never left")],
    },
];

fn merges(begun: &mut BatchStarted) {
    begun.ship = ShipMode::Merge;
}

fn passed() -> Event {
    let commit = "landed".into();
    BatchValidated { batch: "b1".into(), commit, suite: SuiteResult::Passed }.into()
}

fn check(commit: &str) -> Tree {
    Tree::Check { path: "/trees/check".into(), commit: commit.into() }
}

/// Entry 5 ends a suite.
fn suite_ran(change: impl FnOnce(&mut DispatchPlanned), verdict: Verdict, exit: i32) -> Story {
    let mut suite = plan(2, "batch:b1", Role::Suite);
    change(&mut suite);
    let end = exited(2, verdict, code(exit));
    Story::batch_of(&["1"], suite_pinned).line([suite.into(), started(2)]).line([end])
}

fn ships(new: &str) -> Event {
    let (old, new) = ("c0".into(), new.into());
    BatchShipping { batch: "b1".into(), base: "main".into(), old, new }.into()
}

fn merged_at(commit: &str) -> Event {
    BatchMerged { batch: "b1".into(), commit: commit.into() }.into()
}

fn blocked_over(dispatch: u128) -> Event {
    let Event::BatchBlocked(event) = blocked("gate-inconclusive:unit") else { unreachable!() };
    BatchBlocked { dispatch: Some(id(dispatch)), ..event }.into()
}

fn unblocked() -> Event {
    IssueUnblocked { issue: "1".into(), reason: "needs-human".into() }.into()
}

/// Entry 5 sends the only member to its gate.
fn judged() -> Story {
    Story::batch(&["1"]).line([exited(1, Verdict::Done, worked("tip")), gates("1", &["unit"])])
}

fn recheck(gate: &str) -> Event {
    let (batch, member, gate) = ("b1".into(), "1".into(), gate.into());
    RecheckPlanned { batch, member, gate, tip: "tip".into() }.into()
}

fn made_up_for() -> Event {
    let event = MemberAdvanceRecovered {
        batch: "b1".into(),
        member: "1".into(),
        reason: Some("timeout".into()),
        kind: RecoveredKind::Evicted,
        evicted_at: Some(Default::default()),
        members: 1,
        evictions: 1,
        threshold: 0,
    };
    event.into()
}
