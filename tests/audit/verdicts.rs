//! Rule 13: the verdict over a dispatch.

use crate::Case;
use crate::story::*;
use sched::domain::event::{DispatchLost, Event, Exit, Verdict};

pub const CASES: &[Case] = &[
    Case {
        clause: "stopped without a request",
        story: || Story::job().line([exited(1, Verdict::Stopped, code(1))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is judged stopped, and no stop of it was requested",
        )],
    },
    Case {
        clause: "done with an exit code",
        story: || Story::job().line([exited(1, Verdict::Done, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged done, and it did not exit with 0")],
    },
    Case {
        clause: "done without an exit code",
        story: || {
            Story::job().line([exited(1, Verdict::Done, Exit { ran: true, ..Exit::default() })])
        },
        finds: &[(&[5], "issue:1", "dispatch d1 is judged done, and it did not exit with 0")],
    },
    Case {
        clause: "done and never ran",
        story: || Story::job().line([exited(1, Verdict::Done, Exit { ran: false, ..code(0) })]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged done, and it did not exit with 0")],
    },
    Case {
        clause: "an agent that passed",
        story: || Story::job().line([exited(1, Verdict::Passed, code(0))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is judged passed, and it is neither gate nor suite",
        )],
    },
    Case {
        clause: "an agent that failed as a gate does",
        story: || Story::job().line([exited(1, Verdict::Failed, code(1))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is judged failed, and it is neither gate nor suite",
        )],
    },
    Case {
        clause: "an agent that could not tell",
        story: || Story::job().line([exited(1, Verdict::Inconclusive, code(75))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is judged inconclusive, and it is neither gate nor suite",
        )],
    },
    Case {
        clause: "killed from outside without a signal",
        story: || Story::job().line([exited(1, Verdict::KilledOutside, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged killed-outside, and no signal ended it")],
    },
    Case {
        clause: "never ran, and ran",
        story: || Story::job().line([exited(1, Verdict::NeverRan, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged never-ran, and its command ran")],
    },
    Case {
        clause: "a tree that was made",
        story: || Story::job().line([exited(1, Verdict::WorktreeFailed, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged worktree-failed, and its tree was made")],
    },
    Case {
        clause: "a command that could be executed",
        story: || Story::job().line([exited(1, Verdict::HostFault, code(127))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is judged host-fault, and its command could be executed",
        )],
    },
    Case {
        clause: "an exit that is lost",
        story: || Story::job().line([exited(1, Verdict::Lost, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged lost, and its exit was seen")],
    },
    Case {
        clause: "an exit that is lost with its machine",
        story: || Story::job().line([exited(1, Verdict::HostLost, code(1))]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged host-lost, and its exit was seen")],
    },
    Case {
        clause: "handed back by what never ran",
        story: || Story::job().line([exited(1, Verdict::HandedBack, Exit::default())]),
        finds: &[(&[5], "issue:1", "dispatch d1 is judged handed-back, and its command never ran")],
    },
    Case {
        clause: "a gate that passed with an exit code",
        story: || gated().line([exited(2, Verdict::Passed, code(1))]),
        finds: &[(&[7], "batch:b1/1", "dispatch d2 is judged passed, and it did not exit with 0")],
    },
    Case {
        clause: "a gate that failed with 0",
        story: || gated().line([exited(2, Verdict::Failed, code(0))]),
        finds: &[(&[7], "batch:b1/1", "dispatch d2 is judged failed, and nothing of it failed")],
    },
    Case {
        clause: "lost and done without work",
        story: || Story::job().line([lost(1, Verdict::Done)]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged done, and no clean tree with commits of its own \
             is shown",
        )],
    },
    Case {
        clause: "lost and stopped without a request",
        story: || Story::job().line([lost(1, Verdict::Stopped)]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged stopped, and no stop of it was requested",
        )],
    },
    Case {
        clause: "lost, never ran, and ran",
        story: || Story::job().line([lost_as(|e| (e.verdict, e.ran) = (Verdict::NeverRan, true))]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged never-ran, and its command ran",
        )],
    },
    Case {
        clause: "lost with a machine that runs",
        story: || Story::job().line([lost(1, Verdict::HostLost)]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged host-lost, and its machine still runs",
        )],
    },
    Case {
        clause: "lost to another place without an adoption",
        story: || {
            Story::job().line([lost_as(|e| {
                e.verdict = Verdict::HostLost;
                e.judged = Some("foreign".into())
            })])
        },
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged host-lost, and its journal was not adopted",
        )],
    },
    Case {
        clause: "lost, and judged by an exit",
        story: || Story::job().line([lost(1, Verdict::Passed)]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is lost and judged passed, and nothing of its end was seen",
        )],
    },
];

/// Entry 6 starts a gate.
fn gated() -> Story {
    let line = [exited(1, Verdict::Done, worked("tip")), gates("1", &["unit"])];
    Story::batch(&["1"]).line([&line[..], &[gate(2, "batch:b1/1")]].concat()).line([started(2)])
}

fn lost_as(change: impl FnOnce(&mut DispatchLost)) -> Event {
    let Event::DispatchLost(mut event) = lost(1, Verdict::Lost) else { unreachable!() };
    change(&mut event);
    event.into()
}
