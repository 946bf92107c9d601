//! Of what becomes of a member.

use crate::Case;
use crate::story::*;
use sched::domain::event::{
    DispatchPlanned, Event, EvictionKind, Evidence, Landed, MemberEvicted, MemberLanded, Role,
    Tree, Verdict,
};

pub const CASES: &[Case] = &[
    Case {
        clause: "a member is judged without an agent that is done",
        story: || Story::batch(&["1"]).line([gates("1", &["unit"])]),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 goes to its gates, and no agent of it is done")],
    },
    Case {
        clause: "a member is judged at another commit",
        story: || {
            Story::batch(&["1"])
                .line([exited(1, Verdict::Done, worked("other")), gates("1", &["unit"])])
        },
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 is judged at tip, and its work is other")],
    },
    Case {
        clause: "a member is verified that was not judged",
        story: || {
            Story::batch(&["1"]).line([exited(1, Verdict::Done, worked("tip")), verified("1")])
        },
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 is verified at tip, which was not judged")],
    },
    Case {
        clause: "a member is verified before its gate answers",
        story: || {
            Story::batch(&["1"]).line([
                exited(1, Verdict::Done, worked("tip")),
                gates("1", &["unit"]),
                verified("1"),
            ])
        },
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 is verified, and gate unit did not pass on tip")],
    },
    Case {
        clause: "a member is verified by a gate that failed",
        story: || gated(|_| {}).line([exited(2, Verdict::Failed, code(1)), verified("1")]),
        finds: &[(&[7], "batch:b1/1", "batch:b1/1 is verified, and gate unit did not pass on tip")],
    },
    Case {
        clause: "a member is verified by its base",
        story: || {
            gated(|gate| gate.baseline = true)
                .line([exited(2, Verdict::Passed, code(0)), verified("1")])
        },
        finds: &[(&[7], "batch:b1/1", "batch:b1/1 is verified, and gate unit did not pass on tip")],
    },
    Case {
        clause: "a member is verified by another gate",
        story: || {
            gated(|gate| gate.gate = Some("lint".into()))
                .line([exited(2, Verdict::Passed, code(0)), verified("1")])
        },
        finds: &[(&[7], "batch:b1/1", "batch:b1/1 is verified, and gate unit did not pass on tip")],
    },
    Case {
        clause: "a member is verified on another commit",
        story: || {
            gated(on_another_commit).line([exited(2, Verdict::Passed, code(0)), verified("1")])
        },
        finds: &[(&[7], "batch:b1/1", "batch:b1/1 is verified, and gate unit did not pass on tip")],
    },
    Case {
        clause: "a landing of what was not verified",
        story: || {
            Story::batch(&["1"]).line([
                exited(1, Verdict::Done, worked("tip")),
                gates("1", &[]),
                landing("1", 1),
            ])
        },
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 is to land tip, which was not verified")],
    },
    Case {
        clause: "a landing of a dispatch that never was",
        story: || {
            Story::batch(&["1"]).line([
                exited(1, Verdict::Done, worked("tip")),
                gates("1", &[]),
                verified("1"),
                landing("1", 9),
            ])
        },
        finds: &[(
            &[5],
            "batch:b1/1",
            "batch:b1/1 is to land the work of dispatch d9, which it had not",
        )],
    },
    Case {
        clause: "a member lands without a plan",
        story: || {
            Story::batch(&["1"]).line([
                exited(1, Verdict::Done, worked("tip")),
                gates("1", &[]),
                verified("1"),
                landed("1"),
            ])
        },
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 has landed, and no landing was planned")],
    },
    Case {
        clause: "a member has nothing to land and was not verified",
        story: || Story::batch(&["1"]).line([failed(1), no_op()]),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 has landed, and nothing of it was verified")],
    },
    Case {
        clause: "a member leaves over a dispatch that never was",
        story: || leaves("unverified-exit", |e| e.evidence = by(9)),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left over dispatch d9, which it had not")],
    },
    Case {
        clause: "a member leaves for a gate that did not fail",
        story: || leaves("gate-failed:unit", |_| {}),
        finds: &[(
            &[5],
            "batch:b1/1",
            "batch:b1/1 left for `gate-failed:unit`, which no entry shows",
        )],
    },
    Case {
        clause: "a member leaves for a member that did not leave",
        story: || leaves("dep-left:2", |_| {}),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left for `dep-left:2`, which no entry shows")],
    },
    Case {
        clause: "a member leaves by an operator who said nothing",
        story: || leaves("stopped", |_| {}),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left for `stopped`, which no entry shows")],
    },
    Case {
        clause: "a member leaves for a timeout without a stop",
        story: || leaves("timeout", |_| {}),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left for `timeout`, which no entry shows")],
    },
    Case {
        clause: "a member leaves for a stall without a stop",
        story: || leaves("stall", |_| {}),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left for `stall`, which no entry shows")],
    },
    Case {
        clause: "a member leaves for its output without a stop",
        story: || leaves("output-limit", |_| {}),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 left for `output-limit`, which no entry shows")],
    },
    Case {
        clause: "an issue is done by an agent that is not",
        story: || Story::job().line([failed(1), released(1, "issue:1"), issue_done("1", Some(1))]),
        finds: &[(&[5], "issue:1", "issue:1 is done, and nothing of it is done or has shipped")],
    },
    Case {
        clause: "an issue is done by nothing",
        story: || Story::new().line([queued("1", &[])]).line([issue_done("1", None)]),
        finds: &[(&[3], "issue:1", "issue:1 is done, and nothing of it is done or has shipped")],
    },
    Case {
        clause: "a landed member is done before its batch has shipped",
        story: || {
            Story::batch(&["1"]).line(done(1, "1")).line([landed("1"), issue_done("1", Some(1))])
        },
        finds: &[(&[6], "issue:1", "issue:1 is done, and nothing of it is done or has shipped")],
    },
];

/// Entry 6 starts a gate over the first member.
fn gated(change: impl FnOnce(&mut DispatchPlanned)) -> Story {
    let mut asked = plan(2, "batch:b1/1", Role::Gate);
    change(&mut asked);
    let line = [exited(1, Verdict::Done, worked("tip")), gates("1", &["unit"]), asked.into()];
    Story::batch(&["1"]).line(line).line([started(2)])
}

fn on_another_commit(gate: &mut DispatchPlanned) {
    let (path, branch) = ("/trees/1".into(), "b".into());
    gate.tree = Tree::Member { path, branch, commit: "other".into(), exact: true };
}

fn no_op() -> Event {
    let Event::MemberLanded(landed) = landed("1") else { unreachable!() };
    MemberLanded { outcome: Landed::NoOp, ..landed }.into()
}

fn by(dispatch: u128) -> Evidence {
    Evidence { dispatch: Some(id(dispatch)), ..Evidence::default() }
}

/// Entry 5: the first of two members leaves.
fn leaves(reason: &str, change: impl FnOnce(&mut MemberEvicted)) -> Story {
    let event = evicted_for("1", reason, EvictionKind::HandedBack);
    let Event::MemberEvicted(mut event) = event else { unreachable!() };
    change(&mut event);
    let line = [failed(1), released(1, "batch:b1/1"), event.into(), advanced("1", "2")];
    Story::batch(&["1", "2"]).line(line)
}
