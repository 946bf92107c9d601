//! One run: a calm beginning, a storm, a calm end, and the judgement.

use crate::agents;
use crate::disturb;
use crate::git::Repo;
use crate::judge::{Outcome, judge};
use crate::process::Machine;
use crate::programs;
use crate::scenario::Scenario;
use crate::tape::Tape;
use crate::weather::Weather;
use crate::witness::Witness;
use crate::world::World;
use sched::domain::command::{Command, Enqueue, NewBatch, NewIssue, Target};
use sched::domain::ids::BootId;
use sched::domain::owed;
use sched::domain::rules::{is_held, needs, next_due};
use sched::domain::state::{BatchStatus, IssueStatus};
use sched::domain::time::Now;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Between two ticks of cron, in milliseconds.
const CRON: u64 = 60_000;
/// How many turns a storm has.
const STORM: u64 = 3_000;
/// More turns than this in the calm that follows mean that it never gets quiet.
const CALM: u64 = 60_000;
/// How often an operator comes and asks that what is blocked or paused go on.
const ASKED: u32 = 4;
/// More ticks of cron than this without a new entry, and not quiet: forgotten.
const FORGOTTEN: u32 = 300;

/// How a run went.
pub struct Finished {
    pub failure: Option<String>,
    pub outcome: Outcome,
    /// Whether something happened that may change what comes of a unit.
    pub rough: bool,
    pub choices: Vec<u32>,
    pub trace: Vec<String>,
    pub entries: u64,
    pub turns: u64,
    pub met: BTreeMap<&'static str, u64>,
    /// Whether its outcome was compared with that of an undisturbed run.
    pub compared: bool,
}

/// What a run consists of.
pub struct Run<'s> {
    pub machine: Arc<Machine>,
    pub scenario: &'s Scenario,
    pub witness: Witness,
    cron_at: u64,
    silent: (u64, u32),
    calm: bool,
}

/// Runs a scenario to its end, with drawn weather between.
pub fn run(scenario: &Scenario, mut tape: Tape, gentle: bool) -> Finished {
    let weather = Weather::drawn(&mut tape, gentle);
    run_in(weather, scenario, tape)
}

/// Runs a scenario to its end in this weather.
pub fn run_in(weather: Weather, scenario: &Scenario, tape: Tape) -> Finished {
    let mut repo = Repo::new();
    if !scenario.checked_out {
        repo.leave_base();
    }
    let machine = Machine::new(World::new(tape, scenario.config.clone()), repo);
    let mut run =
        Run { machine, scenario, witness: Witness::new(), cron_at: 0, silent: (0, 0), calm: false };
    run.begin();
    run.machine.world().weather = weather;
    run.storm();
    run.calm_down();
    run.until_quiet();
    for _ in 0..ASKED {
        if run.going() && run.ask_once_more() {
            run.until_quiet();
        }
    }
    run.end()
}

/// An issue to be queued, alone.
pub fn new_issue(id: &str) -> NewIssue {
    NewIssue {
        id: id.into(),
        title: None,
        prompt: None,
        profile: None,
        tier: None,
        priority: None,
        deps: Vec::new(),
        batch: None,
    }
}

impl Run<'_> {
    fn going(&self) -> bool {
        self.machine.world().failure.is_none()
    }

    /// `init`, a first tick, and the work.
    fn begin(&mut self) {
        programs::init(&self.machine, &mut self.machine.world());
        self.until_nobody_runs();
        programs::start_tick(&self.machine, &mut self.machine.world());
        self.until_nobody_runs();
        let mut enqueue = Enqueue::default();
        for work in &self.scenario.work {
            let mut new = new_issue(&work.issue);
            new.batch = work.batch.as_deref().map(Into::into);
            new.deps = work.deps.iter().map(|dep| dep.as_str().into()).collect();
            enqueue.issues.push(new);
            let batch = work.batch.as_deref().map(|id| NewBatch {
                id: id.into(),
                mode: None,
                priority: None,
                more: false,
            });
            let new = batch.filter(|new| !enqueue.batches.iter().any(|known| known.id == new.id));
            enqueue.batches.extend(new);
        }
        let command = Command::Enqueue(enqueue);
        programs::operator(&self.machine, &mut self.machine.world(), command);
        self.until_nobody_runs();
        self.cron_at = self.machine.world().up + 1_000;
    }

    fn until_nobody_runs(&mut self) {
        while self.going() && !self.machine.world().procs.is_empty() {
            self.turn();
        }
    }

    fn storm(&mut self) {
        for _ in 0..STORM {
            if !self.going() || self.is_quiet() {
                return;
            }
            disturb::maybe(self);
            self.turn();
        }
    }

    /// Whatever is wrong with the machine is mended; processes that are told to wait go on.
    fn calm_down(&mut self) {
        (self.silent, self.calm) = ((0, 0), true);
        let mut world = self.machine.world();
        world.say(|| "calm".into());
        world.weather = Weather::calm();
        world.disk_full = false;
        world.disk_low = false;
        world.wall_ahead = world.wall_ahead.max(0);
        world.procs.values_mut().for_each(|proc| proc.stopped_until = 0);
        drop(world);
        self.machine.repo.lock().unwrap().clean_base();
    }

    fn until_quiet(&mut self) {
        for _ in 0..CALM {
            if !self.going() || self.is_quiet() {
                return;
            }
            self.turn();
        }
        let mut world = self.machine.world();
        world.fail("it never gets quiet");
    }

    /// An operator lifts a pause and lets every blocked unit go on. Whether there was anything.
    fn ask_once_more(&mut self) -> bool {
        let state = &self.witness.state;
        let blocked = |status| status == BatchStatus::Blocked;
        let batches = state.batches.values().filter(|b| blocked(b.status));
        let mut targets: Vec<Target> =
            batches.filter(|b| b.issue.is_none()).map(|b| Target::Batch(b.id.clone())).collect();
        let issues = state.issues.values().filter(|i| i.status == IssueStatus::Blocked);
        targets.extend(issues.map(|i| Target::Issue(i.id.clone())));
        let lift = state.health.pause.is_some().then_some(Command::Resume { reason: None });
        let resume = |target| Command::ResumeUnit { target, reason: None, base: None };
        let commands: Vec<Command> =
            lift.into_iter().chain(targets.into_iter().map(resume)).collect();
        let any = !commands.is_empty();
        for command in commands {
            programs::operator(&self.machine, &mut self.machine.world(), command);
        }
        self.silent = (0, 0);
        any
    }

    /// One process or command goes on, or time passes.
    fn turn(&mut self) {
        enum Who {
            Proc(u32),
            Command(u32),
            Nobody,
        }
        let who = {
            let mut world = self.machine.world();
            world.reap();
            let up = world.up;
            if up >= self.cron_at && self.cron_at > 0 {
                self.cron_at = up + CRON;
                self.silent = match self.silent {
                    (entries, ticks) if entries == self.witness.entries() => (entries, ticks + 1),
                    _ => (self.witness.entries(), 0),
                };
                programs::start_tick(&self.machine, &mut world);
            }
            let due = |(pid, command): (&u32, &agents::Command)| {
                command.next_moment().filter(|at| *at <= up).map(|at| (at, Who::Command(*pid)))
            };
            let mut able: Vec<(u64, Who)> = world.commands.iter().filter_map(due).collect();
            able.sort_by_key(|(at, _)| *at);
            let mut procs: Vec<(u64, Who)> = world
                .procs
                .iter()
                .filter(|(pid, _)| world.may_run(**pid))
                .map(|(pid, proc)| (proc.ran_at, Who::Proc(*pid)))
                .collect();
            procs.sort_by_key(|(ran_at, _)| *ran_at);
            able.extend(procs);
            if able.is_empty() {
                let next = world.next_moment().unwrap_or(u64::MAX);
                let next = if self.cron_at > 0 { next.min(self.cron_at) } else { next };
                if next == u64::MAX {
                    world.fail("nobody can go on");
                }
                world.up = next.max(up + 1).min(up + 10 * CRON);
                Who::Nobody
            } else {
                let others = u32::try_from(able.len() - 1).unwrap();
                let chance = world.weather.switch * 2;
                let nth = world.tape.rare(chance.min(9_000), others);
                able.swap_remove(usize::try_from(nth).unwrap()).1
            }
        };
        match who {
            Who::Proc(pid) => self.machine.give_turn(pid),
            Who::Command(pid) => agents::step(&self.machine, self.scenario, pid),
            Who::Nobody => {}
        }
        self.witness.follow(&mut self.machine.world());
        if self.calm && self.silent.1 > FORGOTTEN {
            let what = self.left_over();
            self.machine.world().fail(format!("forgotten: {what}"));
        }
    }

    /// The present, as a rule would get it.
    fn now(&self) -> Now {
        let world = self.machine.world();
        Now { wall: world.wall(), up: world.up - world.booted_at, boot: BootId(world.boot_id()) }
    }

    /// Whether nothing runs, nothing is owed, and nothing becomes due by itself, behind a tick
    /// that found nothing to do.
    fn is_quiet(&self) -> bool {
        {
            let world = self.machine.world();
            if !world.procs.is_empty() || !world.commands.is_empty() || self.silent.1 < 2 {
                return false;
            }
        }
        self.left_over().is_empty()
    }

    /// What is still to be done, in words.
    fn left_over(&self) -> String {
        let (state, now) = (&self.witness.state, self.now());
        let mut left = Vec::new();
        let dispatches = state.dispatches.values();
        left.extend(dispatches.map(|d| format!("{} of {}", d.plan.role.name(), d.unit)));
        left.extend(owed(state, &now).iter().map(|effect| effect.key()));
        let needs = needs(state, &now);
        let open = needs.iter().filter(|need| !is_held(state, need));
        left.extend(open.map(|need| format!("{:?}", need.kind)));
        left.extend(next_due(state, &now).map(|due| format!("something in {due:?}")));
        left.join(", ")
    }

    fn end(mut self) -> Finished {
        if self.going() {
            let judged = judge(&mut self);
            if let Err(why) = judged {
                self.machine.world().fail(why);
            }
        }
        let pids: Vec<u32> = self.machine.world().procs.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.machine.kill(pid));
        let outcome = Outcome::of(&self);
        let mut world = self.machine.world();
        Finished {
            failure: world.failure.clone(),
            outcome,
            rough: world.rough > 0,
            choices: world.tape.choices(),
            trace: std::mem::take(&mut world.trace),
            entries: self.witness.entries(),
            turns: world.turns,
            met: std::mem::take(&mut world.met),
            compared: false,
        }
    }
}
