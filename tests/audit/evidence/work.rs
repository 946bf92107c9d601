//! Of what happens to a dispatch while it runs.

use crate::Case;
use crate::story::*;
use sched::domain::event::{
    DispatchPlanned, Event, MemberStopRequested, Role, StopReason, StopReasonRaised, StopRequested,
    SupervisionLost,
};

pub const CASES: &[Case] = &[
    Case {
        clause: "a dispatch replaces another unit's",
        story: || Story::job().line([replaces(1, "issue:2")]),
        finds: &[(&[3, 5], "issue:2", "dispatch d2 replaces d1, which is another unit's")],
    },
    Case {
        clause: "a dispatch replaces an open one",
        story: || Story::job().line([replaces(1, "issue:1")]),
        finds: &[(&[4, 5], "issue:1", "dispatch d2 replaces d1, which is not over")],
    },
    Case {
        clause: "a dispatch replaces what never was",
        story: || Story::job().line([replaces(9, "issue:1")]),
        finds: &[(&[5], "issue:1", "dispatch d2 replaces d9, which was never planned")],
    },
    Case {
        clause: "a milestone before the start",
        story: || planned().line([milestone(1, "issue:1")]),
        finds: &[(&[3, 4], "issue:1", "dispatch d1 posts a milestone, and does not run")],
    },
    Case {
        clause: "a milestone after the end",
        story: || Story::job().line([failed(1)]).line([milestone(1, "issue:1")]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 posts a milestone, and does not run")],
    },
    Case {
        clause: "a milestone of another unit",
        story: || Story::job().line([milestone(1, "issue:2")]),
        finds: &[(&[3, 5], "issue:2", "dispatch d1 posts for issue:2, and works for issue:1")],
    },
    Case {
        clause: "a milestone of what is being stopped",
        story: || Story::job().line([stop(1, 120_000)]).line([milestone(1, "issue:1")]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 posts a milestone, and is being stopped")],
    },
    Case {
        clause: "a milestone of what is superseded",
        story: || Story::job().line([superseded(1)]).line([milestone(1, "issue:1")]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 posts a milestone, and is superseded")],
    },
    Case {
        clause: "a supervisor is lost of what ended",
        story: || Story::job().line([failed(1)]).line([SupervisionLost { dispatch: id(1) }.into()]),
        finds: &[(&[5, 6], "issue:1", "dispatch d1 lost its supervisor, and does not run")],
    },
    Case {
        clause: "a stop of what never started",
        story: || planned().line([stop(1, 120_000)]),
        finds: &[(&[3, 4], "issue:1", "dispatch d1 is to be stopped, and does not run")],
    },
    Case {
        clause: "a stop of another process",
        story: || Story::job().line([stop_process(11)]),
        finds: &[(&[4, 5], "issue:1", "a stop of dispatch d1 names another process")],
    },
    Case {
        clause: "a member is stopped and its dispatch is not",
        story: || Story::batch(&["1"]).line([member_stop()]),
        finds: &[(&[5], "batch:b1/1", "batch:b1/1 is to be stopped, and no stop is in the line")],
    },
    Case {
        clause: "a stronger reason of no stop",
        story: || Story::job().line([raised(StopReason::Operator)]),
        finds: &[(&[5], "issue:1", "dispatch d1 has a stronger reason to stop, and had none")],
    },
    Case {
        clause: "a stronger reason that is weaker",
        story: || Story::job().line([stop(1, 120_000)]).line([raised(StopReason::Stall)]),
        finds: &[(
            &[5, 6],
            "issue:1",
            "dispatch d1 is stopped for stall, no stronger than timeout",
        )],
    },
];

fn planned() -> Story {
    Story::new().line([queued("1", &[])]).line([job(1, "1", 1)])
}

fn replaces(replaced: u128, of: &str) -> Event {
    DispatchPlanned { replaces: Some(id(replaced)), ..plan(2, of, Role::Reclaim) }.into()
}

fn stop_process(pid: u32) -> Event {
    let Event::StopRequested(stop) = stop(1, 120_000) else { unreachable!() };
    StopRequested { pid: Some(pid), ..stop }.into()
}

fn member_stop() -> Event {
    let (member, dispatch) = ("batch:b1/1".parse().unwrap(), id(1));
    MemberStopRequested { member, dispatch, reason: StopReason::Timeout }.into()
}

fn raised(reason: StopReason) -> Event {
    StopReasonRaised { dispatch: id(1), reason }.into()
}
