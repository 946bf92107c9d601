//! What happens from outside, between two turns.

use crate::agents::Phase;
use crate::programs;
use crate::run::{Run, new_issue};
use crate::weather::Disturbance as D;
use crate::world::{Inode, World};
use sched::domain::command::{Command, Enqueue, Target};

/// Perhaps one of the disturbances that the weather has.
pub fn maybe(run: &mut Run<'_>) {
    let which = {
        let mut world = run.machine.world();
        let (chance, kinds) = (world.weather.disturbed, world.weather.disturbances.len());
        world.tape.rare(chance, u32::try_from(kinds).unwrap())
    };
    if which == 0 {
        return;
    }
    let disturbance = run.machine.world().weather.disturbances[which as usize - 1];
    match disturbance {
        D::Tick => {
            let mut world = run.machine.world();
            world.meet("one more tick", false);
            programs::start_tick(&run.machine, &mut world);
        }
        D::Kill => kill(run),
        D::Told | D::Stopped => signal(run, disturbance == D::Told),
        D::KillCommand => kill_command(&mut run.machine.world()),
        D::Reboot => boot(run, false),
        D::Power => boot(run, true),
        D::Clock => jump(&mut run.machine.world()),
        D::Operator => ask(run),
        D::Base => base(run),
        D::Full => fill(&mut run.machine.world()),
        D::Slow => {
            let mut world = run.machine.world();
            let more = [100, 1_000, 30_000, 400_000][world.tape.pick(4) as usize];
            world.up += more;
            world.say(|| format!("{more} ms pass"));
            world.meet("a slow machine", more > 1_000); // bounds come
        }
    }
}

/// One of the processes.
fn some_process(world: &mut World) -> Option<u32> {
    let pids: Vec<u32> = world.procs.keys().copied().collect();
    let nth = world.tape.pick(u32::try_from(pids.len()).unwrap());
    pids.get(nth as usize).copied()
}

fn kill(run: &Run<'_>) {
    let pid = {
        let mut world = run.machine.world();
        let Some(pid) = some_process(&mut world) else { return };
        let name = world.procs[&pid].name.clone();
        world.say(|| format!("kill -9 for {name}"));
        world.meet("killed from outside", false);
        pid
    };
    run.machine.kill(pid);
}

fn signal(run: &Run<'_>, told: bool) {
    let mut world = run.machine.world();
    let Some(pid) = some_process(&mut world) else { return };
    let long = [1_000, 20_000, 90_000][world.tape.pick(3) as usize];
    let up = world.up;
    let proc = world.procs.get_mut(&pid).expect("it was there");
    let name = proc.name.clone();
    if told {
        proc.told = true;
        world.meet("told to leave", true);
        world.say(|| format!("TERM for {name}"));
    } else {
        proc.stopped_until = up + long;
        world.meet("stopped", long > 30_000); // bounds come
        world.say(|| format!("{name} is stopped for {long} ms"));
    }
}

fn kill_command(world: &mut World) {
    let running: Vec<u32> =
        world.commands.values().filter(|c| c.phase == Phase::Running).map(|c| c.pid).collect();
    let nth = world.tape.pick(u32::try_from(running.len()).unwrap());
    let Some(pid) = running.get(nth as usize).copied() else { return };
    world.meet("a command killed from outside", true);
    world.say(|| format!("kill -9 for command {pid}"));
    world.signal_command(pid, true);
}

fn jump(world: &mut World) {
    let steps = [3_600_000, -3_600_000, 90_000_000, -90_000_000, 5_000];
    let step = steps[world.tape.pick(5) as usize];
    world.wall_ahead += step;
    world.meet("a jump of the clock", false);
    world.say(|| format!("the clock jumps by {step} ms"));
}

fn fill(world: &mut World) {
    world.meet("a disk that fills or empties", true);
    match world.tape.pick(4) {
        0 => world.disk_full = true,
        1 => world.disk_low = true,
        _ => (world.disk_full, world.disk_low) = (false, false),
    }
    let (full, low) = (world.disk_full, world.disk_low);
    world.say(|| format!("the disk is full: {full}, low: {low}"));
}

fn base(run: &Run<'_>) {
    let mut world = run.machine.world();
    world.meet("somebody else at the base branch", true);
    let turns = world.turns;
    let how = world.tape.pick(4);
    world.say(|| format!("somebody touches the base branch ({how})"));
    let mut repo = run.machine.repo.lock().unwrap();
    match how {
        0 => drop(repo.move_base(&[("shared", Some(&format!("theirs {turns}")))])),
        1 => repo.dirty_base("shared", &format!("edited {turns}")),
        _ => drop(repo.move_base(&[(&format!("other-{turns}"), Some("theirs"))])),
    }
}

/// The machine starts anew.
fn boot(run: &mut Run<'_>, power: bool) {
    let pids: Vec<u32> = {
        let mut world = run.machine.world();
        world.meet(if power { "a power cut" } else { "a boot" }, true);
        world.say(|| format!("the machine boots{}", if power { " after a power cut" } else { "" }));
        world.commands.clear();
        world.strays.clear();
        world.procs.keys().copied().collect()
    };
    pids.into_iter().for_each(|pid| run.machine.kill(pid));
    let mut world = run.machine.world();
    world.boot += 1;
    world.up += 30_000;
    world.booted_at = world.up;
    world.locks.clear();
    world.commands.clear();
    world.strays.clear();
    if power {
        lose(&mut world);
        drop(world);
        run.witness.forget();
        run.witness.follow(&mut run.machine.world());
    }
}

/// What was not synced stays, goes, or stays in part.
fn lose(world: &mut World) {
    let names: Vec<String> = world.files.keys().cloned().collect();
    for name in names {
        let how = world.tape.pick(4);
        let part = world.tape.pick(1_000) as usize;
        let inode = world.files.get_mut(&name).expect("it was listed");
        if how > 0 && !inode.linked {
            world.files.remove(&name);
            continue;
        }
        inode.lose(how, part);
    }
    let forgets = world.tape.pick(2) == 1;
    world.runs.values_mut().for_each(|run| run.prepared &= !forgets || run.claimed);
    if forgets {
        world.remembered.checkpoint = None;
        world.remembered.rest = None;
    }
}

impl Inode {
    fn lose(&mut self, how: u32, part: usize) {
        let mut kept = self.durable.clone();
        let last = self.dirty.last().copied();
        match (how, last) {
            (0, _) | (_, None) if how == 0 => kept = self.cache.clone(),
            (2, Some((from, to))) => {
                // a part of the last write
                let to = (from + (to - from) * part / 1_000).min(self.cache.len());
                if from < to && from <= kept.len() {
                    kept.resize(kept.len().max(to), 0);
                    kept[from..to].copy_from_slice(&self.cache[from..to]);
                }
            }
            // its length, and none of its bytes
            (3, Some((_, to))) if to > kept.len() => kept.resize(to.min(self.cache.len()), 0),
            _ => {}
        }
        self.cache = kept.clone();
        self.durable = kept;
        self.dirty.clear();
    }
}

/// An operator asks for something.
fn ask(run: &Run<'_>) {
    let mut world = run.machine.world();
    world.meet("an operator", true);
    let state = &run.witness.state;
    let issues: Vec<_> = state.issues.keys().cloned().collect();
    let batches: Vec<_> = state.batches.values().filter(|b| b.issue.is_none()).collect();
    let of_issue = world.tape.pick(2) == 0 || batches.is_empty();
    let nth = world.tape.pick(12) as usize;
    if issues.is_empty() {
        return;
    }
    let issue = issues[nth % issues.len()].clone();
    let target = match of_issue {
        true => Target::Issue(issue.clone()),
        false => Target::Batch(batches[nth % batches.len()].id.clone()),
    };
    let reason = None;
    let command = match world.tape.pick(11) {
        0 => Command::Pause { reason },
        1 | 2 => Command::Resume { reason },
        3 => Command::Stop { target, reason },
        4 => Command::Abandon { target, reason },
        5 => Command::Requeue { issue, reason },
        6 => Command::Reprioritize { target, priority: nth as i32, reason },
        7 | 8 => more_work(&format!("more-{}", world.turns)),
        _ => Command::ResumeUnit { target, reason, base: None },
    };
    programs::operator(&run.machine, &mut world, command);
}

fn more_work(id: &str) -> Command {
    Command::Enqueue(Enqueue { issues: vec![new_issue(id)], ..Enqueue::default() })
}
