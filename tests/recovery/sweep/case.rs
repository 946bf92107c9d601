//! One case: the batch runs until the point, something dies, and all is ticked until quiet.

use super::disk::Disk;
use super::point::{Case, Way};
use super::world::{Met, World};
use crate::bench::{Bench, Outcome, signal};

const KILL: i32 = 9;
/// What came of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All that must hold, holds.
    Passed,
    /// The batch came to its end and the point was not in it.
    NotMet,
    /// It does not hold.
    Failed,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    outcome: Outcome,
    /// The files on the base branch.
    base: String,
}

impl End {
    /// As it is now.
    pub fn of(bench: &Bench) -> Self {
        Self {
            outcome: bench.outcome(),
            base: bench.git(&["ls-tree", "-r", "--name-only", "main"]),
        }
    }
}

/// Runs a case; fails when something does not hold that must.
pub fn disturb(case: &Case, undisturbed: &End) -> Verdict {
    match case.way {
        Way::Kill | Way::Both => killed(case, undisturbed),
        Way::Power => cut_off(case, undisturbed),
    }
}

fn killed(case: &Case, undisturbed: &End) -> Verdict {
    let world = World::new(|_| {});
    let met = world.run(Some(case));
    if let Met::Held = met {
        // whoever waits for it goes first: nobody sees how it ended
        let role = &case.point.role;
        let ends = role.match_indices(".git-").map(|(end, _)| end).chain([role.len()]);
        let all = ends.filter_map(|end| world.process(&role[..end]));
        signal(KILL, &all.collect::<Vec<_>>());
        // what held it holds what it held
        signal(KILL, &world.bench.processes("strace"));
    }
    world.age_locks();
    world.settle(&[]);
    world.check(&case.to_string());
    assert_eq!(&End::of(&world.bench), undisturbed, "{case}\n{}", world.bench.ok(&["log"]));
    verdict(!matches!(met, Met::Never))
}

fn verdict(met: bool) -> Verdict {
    if met { Verdict::Passed } else { Verdict::NotMet }
}

/// Everything that runs ends at once, and what was not synced is gone.
fn cut_off(case: &Case, undisturbed: &End) -> Verdict {
    let mut disk = None;
    let world = World::new(|place| disk = Some(Disk::mount(place)));
    let disk = disk.unwrap();
    disk.sync(); // what the operator made is long there
    let met = world.run(Some(case));
    let met = matches!(met, Met::Held);
    if met {
        disk.cut();
        let all = || world.bench.processes("");
        world.bench.until("nothing runs any more", || {
            signal(KILL, &all());
            all().is_empty()
        });
        disk.mount_again();
        world.age_locks();
    }
    let variables: &[_] = if met { &[("SCHED_TEST_BOOT_ID", "another")] } else { &[] };
    world.settle(variables);
    world.check(&case.to_string());
    let end = End::of(&world.bench);
    assert_eq!(
        end.without_runs(),
        undisturbed.without_runs(),
        "{case}\n{}",
        world.bench.ok(&["log"])
    );
    verdict(met)
}

impl End {
    /// What a machine that went down with an agent starts again is run again.
    fn without_runs(&self) -> Self {
        let outcome = Outcome { agents: Vec::new(), ..self.outcome.clone() };
        Self { outcome, base: self.base.clone() }
    }
}
