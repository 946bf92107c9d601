//! Of what is said about the journal, the configuration and trees.

use crate::Case;
use crate::story::*;
use sched::domain::event::{
    ConfigApplied, DispatchUnhealthy, Event, Exit, JournalAdopted, JournalPoint, JournalRepaired,
    Place, ProfileSuspended, Reclaimed, Role, TreeRemoved, Verdict, WorkRescued,
};
use sched::domain::ids::{JournalId, Unit};
use uuid::Uuid;

pub const CASES: &[Case] = &[
    Case {
        clause: "a configuration has another digest",
        story: || {
            Story::new().line([ConfigApplied { digest: "0".into(), content: String::new() }.into()])
        },
        finds: &[(&[2], "", "the configuration is not the one of digest 0")],
    },
    Case {
        clause: "another journal is adopted",
        story: || Story::new().line([adopted()]),
        finds: &[(
            &[2],
            "",
            "journal 00000000-0000-0000-0000-0000000000ff is adopted, and this was another",
        )],
    },
    Case {
        clause: "a repair stands elsewhere",
        story: || Story::new().line([repaired(9)]),
        finds: &[(&[2], "", "entries from 9 on were cut, and this is behind")],
    },
    Case {
        clause: "a pause by itself after one bad end",
        story: || Story::new().line([unhealthy(&["issue:1"])]),
        finds: &[(&[2], "", "the scheduler pauses by itself, and two bad ends are not named")],
    },
    Case {
        clause: "a pause by itself after bad ends of one unit",
        story: || Story::new().line([unhealthy(&["issue:1", "issue:1"])]),
        finds: &[(&[2], "", "the scheduler pauses by itself, and two bad ends are not named")],
    },
    Case {
        clause: "a profile is suspended without a fault",
        story: || Story::new().line([suspended()]),
        finds: &[(&[2], "", "profile agent is suspended, and no end shows why")],
    },
    Case {
        clause: "work is rescued that no dispatch rescued",
        story: || reclaim(None, true, rescued()),
        finds: &[(&[4], "", "tree `/trees/1` is rescued, and no end of a dispatch says so")],
    },
    Case {
        clause: "a tree is removed that is there",
        story: || reclaim(None, false, removed()),
        finds: &[(&[4], "", "tree `/trees/1` is removed, and no end of a dispatch says so")],
    },
];

fn adopted() -> Event {
    let from = JournalId(Uuid::from_u128(255));
    let event = JournalAdopted {
        journal: JournalId(Uuid::from_u128(9)),
        place: Place { machine: "m".into(), inode: 2, birth: 1 },
        from: JournalPoint { journal: from, seq: 1, hash: String::new() },
    };
    event.into()
}

fn repaired(from_seq: u64) -> Event {
    let (sha256, units) = ("0".into(), Vec::new());
    JournalRepaired { from_seq, offset: 1, bytes: 1, sha256, units }.into()
}

fn unhealthy(units: &[&str]) -> Event {
    let units: Vec<Unit> = units.iter().map(|unit| unit.parse().unwrap()).collect();
    DispatchUnhealthy { verdicts: vec!["empty".into(); units.len()], units }.into()
}

fn suspended() -> Event {
    let (program, reason) = ("x".into(), "not found".into());
    ProfileSuspended { profile: "agent".into(), program, reason }.into()
}

fn tree() -> (Unit, String) {
    ("batch:b1/1".parse().unwrap(), "/trees/1".into())
}

/// Entry 4 ends a reclaim that says this of a tree, and says more.
fn reclaim(rescue: Option<&str>, done: bool, more: Event) -> Story {
    let (unit, path) = tree();
    let rescue = rescue.map(str::to_owned);
    let reclaimed = vec![Reclaimed { unit, path, rescue, done, error: None }];
    let end = exited(1, Verdict::Done, Exit { reclaimed, ..code(0) });
    let plan = plan(1, "batch:b1", Role::Reclaim).into();
    Story::new().line([plan]).line([started(1)]).line([end, more])
}

fn rescued() -> Event {
    let (unit, path) = tree();
    WorkRescued { unit, reference: "refs/sched/rescue/1".into(), path }.into()
}

fn removed() -> Event {
    let (unit, path) = tree();
    TreeRemoved { unit, path }.into()
}
