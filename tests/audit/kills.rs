//! Rule 6.

use crate::Case;
use crate::story::*;
use sched::domain::event::{Event, KillEscalated, Verdict};

pub const CASES: &[Case] = &[
    Case {
        clause: "a stop is requested twice",
        story: || stopping().line([stop(1, 120_000)]),
        finds: &[(&[5, 6], "issue:1", "a stop of dispatch d1 is requested twice")],
    },
    Case {
        clause: "a bound shorter than by default",
        story: || Story::job().line([stop(1, 1_000)]),
        finds: &[(
            &[5],
            "issue:1",
            "dispatch d1 is to be killed after 1000 ms, and kill_escalation is 120000 ms",
        )],
    },
    Case {
        clause: "a bound shorter than configured",
        story: || {
            Story::job()
                .line([configured("[scheduler]\nkill_escalation = \"5s\"\n")])
                .line([stop(1, 4_999)])
        },
        finds: &[(
            &[6],
            "issue:1",
            "dispatch d1 is to be killed after 4999 ms, and kill_escalation is 5000 ms",
        )],
    },
    Case {
        clause: "a kill without a request",
        story: || Story::job().line([killed(1, 0)]),
        finds: &[(&[5], "issue:1", "dispatch d1 is killed, and no stop of it was requested")],
    },
    Case {
        clause: "a kill that another dispatch was asked for",
        story: || {
            stopping()
                .line([queued("2", &[])])
                .line([job(2, "2", 2)])
                .line([started(2)])
                .wait(120_000)
                .line([killed(2, 0)])
        },
        finds: &[(&[9], "issue:2", "dispatch d2 is killed, and no stop of it was requested")],
    },
    Case {
        clause: "a kill too early",
        story: || stopping().wait(118_999).line([killed(1, 0)]),
        finds: &[(
            &[5, 6],
            "issue:1",
            "dispatch d1 is killed 119999 ms after its stop, not 120000 ms",
        )],
    },
    Case {
        clause: "a kill too early, after a step of the wall clock",
        story: || stopping().step_clock(3_600_000).line([killed(1, 0)]),
        finds: &[(
            &[5, 6],
            "issue:1",
            "dispatch d1 is killed 1000 ms after its stop, not 120000 ms",
        )],
    },
    Case {
        clause: "a kill too early, by the wall clock of another boot",
        story: || stopping().reboot().line([killed(1, 0)]),
        finds: &[(
            &[5, 6],
            "issue:1",
            "dispatch d1 is killed 1000 ms after its stop, not 120000 ms",
        )],
    },
    Case {
        clause: "a kill that claims more time than passed",
        story: || stopping().wait(120_000).line([killed(1, 999_000)]),
        finds: &[(
            &[5, 6],
            "issue:1",
            "dispatch d1 is said to have lived 999000 ms after its stop, not 121000 ms",
        )],
    },
    Case {
        clause: "a kill of another process",
        story: || stopping().wait(120_000).line([killed_process(11)]),
        finds: &[(&[5, 6], "issue:1", "process 11 is killed for dispatch d1, which is 10")],
    },
    Case {
        clause: "a second kill",
        story: || killed_once().line([killed(1, 121_000)]),
        finds: &[(&[6, 7], "issue:1", "dispatch d1 is killed twice")],
    },
    Case {
        clause: "a kill of what ended",
        story: || {
            stopping()
                .line([exited(1, Verdict::Stopped, code(1))])
                .wait(120_000)
                .line([killed(1, 0)])
        },
        finds: &[(&[6, 7], "issue:1", "dispatch d1 is killed, and does not run")],
    },
    Case {
        clause: "a kill of what never was",
        story: || Story::new().line([killed(1, 0)]),
        finds: &[(&[2], "", "dispatch d1 is killed, and does not run")],
    },
    Case {
        clause: "given up without a kill",
        story: || stopping().line([ineffective(1)]),
        finds: &[(&[6], "issue:1", "dispatch d1 is said to survive a kill, and was not killed")],
    },
    Case {
        clause: "given up too early",
        story: || killed_once().line([ineffective(1)]),
        finds: &[(
            &[6, 7],
            "issue:1",
            "dispatch d1 is given up 1000 ms after its kill, not 120000 ms",
        )],
    },
    Case {
        clause: "given up twice",
        story: || killed_once().wait(120_000).line([ineffective(1)]).line([ineffective(1)]),
        finds: &[(&[7, 8], "issue:1", "dispatch d1 is said to survive its kill twice")],
    },
];

/// Entry 5 asks the agent to end.
fn stopping() -> Story {
    Story::job().line([stop(1, 120_000)])
}

/// Entry 6 kills it.
fn killed_once() -> Story {
    stopping().wait(120_000).line([killed(1, 121_000)])
}

fn killed_process(pid: u32) -> Event {
    let Event::KillEscalated(kill) = killed(1, 0) else { unreachable!() };
    KillEscalated { pid: Some(pid), ..kill }.into()
}
