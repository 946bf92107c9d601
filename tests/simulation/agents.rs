//! What supervisors start: agents, gates, suites, and what these leave behind. They know nothing
//! of the scheduler; each is a row of acts, one after the other.

use crate::process::Machine;
use crate::programs;
use crate::scenario::{Behaviour, Scenario};
use crate::world::World;
use sched::domain::event::{DispatchStarted, Role, Tree};
use sched::domain::ids::DispatchId;
use sched::engine::ports::JobPlan;
use std::collections::VecDeque;
use std::sync::Arc;

/// Where the command of a dispatch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Forked; waits for the go byte.
    Held,
    /// Acts.
    Running,
    /// Runs code of the program.
    Program,
    /// Over, and not reaped.
    Ended { code: Option<i32>, signal: Option<i32> },
}

/// One thing that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    MarkRan,
    Execute,
    IgnoreTerm,
    Output(u64),
    Commit(String, String),
    Edit(String, String),
    Detach,
    Wreck,
    Post(&'static str, &'static str),
    Leave { own_session: bool, ignores_term: bool },
    Hang,
    Exit(i32),
}

/// The process of a dispatch's command.
#[derive(Debug, Clone)]
pub struct Command {
    pub pid: u32,
    pub start: u64,
    pub supervisor: u32,
    pub phase: Phase,
    pub plan: JobPlan,
    acts: VecDeque<(u64, Act)>,
    next: u64,
    ignores_term: bool,
}

/// A process that a command left behind.
#[derive(Debug, Clone)]
pub struct Stray {
    pub dispatch: DispatchId,
    /// Whose descendant it is.
    pub supervisor: u32,
    /// The command's session, unless it has one of its own.
    pub session: Option<u32>,
    pub ignores_term: bool,
    pub ends_at: u64,
}

impl Command {
    pub fn held(pid: u32, supervisor: u32, up: u64, plan: &JobPlan) -> Self {
        Self {
            pid,
            start: up,
            supervisor,
            phase: Phase::Held,
            plan: plan.clone(),
            acts: VecDeque::new(),
            next: up,
            ignores_term: false,
        }
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }

    /// Lets it become the command.
    pub fn go(&mut self, up: u64) {
        if self.phase == Phase::Held {
            self.phase = Phase::Running;
            self.acts = VecDeque::from([(1, Act::MarkRan), (2, Act::Execute)]);
            self.next = up + 1;
        }
    }

    /// When it acts next.
    pub fn next_moment(&self) -> Option<u64> {
        (self.phase == Phase::Running && !self.acts.is_empty()).then_some(self.next)
    }

    fn end(&mut self, code: Option<i32>, signal: Option<i32>) {
        self.phase = Phase::Ended { code, signal };
        self.acts.clear();
    }

    pub fn dispatch(&self) -> DispatchId {
        self.plan.plan.dispatch
    }

    /// The tree that it works in.
    fn tree(&self) -> Option<String> {
        match &self.plan.plan.tree {
            Tree::Member { path, .. } | Tree::Check { path, .. } => Some(path.clone()),
            Tree::None => None,
        }
    }
}

impl World {
    /// A signal to a recorded process, and to its group.
    pub fn signal(&mut self, started: &DispatchStarted, kill: bool) {
        let pid = started.process.pid;
        let is_it = self.commands.get(&pid).is_some_and(|c| c.start == started.process.start_time);
        if is_it {
            self.signal_command(pid, kill);
        }
        self.signal_session(started.process_group, started.dispatch, kill);
    }

    /// A signal to a command's group.
    pub fn signal_group(&mut self, pid: u32, dispatch: DispatchId, kill: bool) {
        self.signal_command(pid, kill);
        self.signal_session(pid, dispatch, kill);
    }

    fn signal_session(&mut self, session: u32, dispatch: DispatchId, kill: bool) {
        self.strays.retain(|_, stray| {
            let meant = stray.session == Some(session) && stray.dispatch == dispatch;
            !meant || (stray.ignores_term && !kill)
        });
    }

    /// A signal to one command; whether it ended it.
    pub fn signal_command(&mut self, pid: u32, kill: bool) {
        let Some(command) = self.commands.get_mut(&pid) else { return };
        if command.has_ended() || (command.ignores_term && !kill) {
            return;
        }
        if command.phase == Phase::Program {
            if let Some(proc) = self.procs.get_mut(&pid) {
                proc.killed = true;
                proc.waits = crate::world::Waits::Turn;
            }
            return; // it ends in its next turn
        }
        command.end(None, Some(if kill { 9 } else { 15 }));
    }

    /// A signal to whatever descends from a supervisor beside the command; how many there are.
    pub fn signal_strays_of(&mut self, supervisor: u32, kill: bool) -> u32 {
        let ours = |stray: &Stray| stray.supervisor == supervisor;
        let count = self.strays.values().filter(|stray| ours(stray)).count();
        self.strays.retain(|_, stray| !ours(stray) || (stray.ignores_term && !kill));
        u32::try_from(count).unwrap()
    }

    /// A process is gone; where it was the command of a dispatch, that has ended.
    pub fn ended(&mut self, pid: u32) {
        let Some(proc) = self.procs.remove(&pid) else { return };
        if let Some(command) = self.commands.get_mut(&pid)
            && command.phase == Phase::Program
        {
            command.end((!proc.killed).then_some(proc.code), proc.killed.then_some(9));
        }
        let Some(dispatch) = proc.supervises.filter(|_| proc.killed) else { return };
        if self.runs.get(&dispatch).is_some_and(|run| run.ran && run.receipt.is_none()) {
            // how it ends is not known to anybody
            self.meet("a supervisor killed while its command ran", true);
        }
    }

    /// Takes away what nobody waits for any more.
    pub fn reap(&mut self) {
        let procs = &self.procs;
        self.commands.retain(|_, command| {
            let dispatch = command.dispatch();
            let parent = procs.get(&command.supervisor);
            let orphan = parent.is_none_or(|parent| parent.supervises != Some(dispatch));
            let over = command.has_ended() || command.phase == Phase::Held;
            !(orphan && over)
        });
        let up = self.up;
        self.strays.retain(|_, stray| stray.ends_at > up);
    }
}

/// The next act of a command.
pub fn step(machine: &Arc<Machine>, scenario: &Scenario, pid: u32) {
    let mut world = machine.world();
    let Some(command) = world.commands.get_mut(&pid) else { return };
    let Some((_, act)) = command.acts.pop_front() else { return };
    let dispatch = command.dispatch();
    let tree = command.tree();
    let supervisor = command.supervisor;
    if let Some((delay, _)) = command.acts.front() {
        command.next += *delay;
    }
    match act {
        Act::MarkRan => {
            let up = world.up;
            let run = world.runs.entry(dispatch).or_default();
            let again = std::mem::replace(&mut run.ran, true);
            run.ran_up.get_or_insert(up);
            if again && let Some(command) = world.commands.get_mut(&pid) {
                command.end(Some(125), None);
            }
        }
        Act::Execute => {
            drop(world);
            execute(machine, scenario, pid);
        }
        Act::IgnoreTerm => {
            command.ignores_term = true;
            world.meet("a command that ignores TERM", false);
        }
        Act::Output(bytes) => world.runs.entry(dispatch).or_default().output += bytes,
        Act::Commit(name, content) => {
            if let Some(tree) = tree {
                let mut repo = machine.repo.lock().unwrap();
                let _ = repo.commit_in(&tree, &[(&name, Some(&content))], "work");
            }
        }
        Act::Edit(name, content) => {
            if let Some(tree) = tree {
                machine.repo.lock().unwrap().edit_in(&tree, &name, &content);
            }
        }
        Act::Detach => {
            if let Some(tree) = tree {
                let _ = machine.repo.lock().unwrap().detach_in(&tree);
            }
        }
        Act::Wreck => {
            world.meet("a wrecked tree", false);
            if let Some(tree) = tree {
                machine.repo.lock().unwrap().wreck(&tree);
            }
        }
        Act::Post(phase, status) => programs::post(machine, &mut world, dispatch, phase, status),
        Act::Leave { own_session, ignores_term } => {
            world.meet("a process left behind", false);
            let number = world.number();
            let ends_at = world.up + 400_000;
            let session = (!own_session).then_some(pid);
            let stray = Stray { dispatch, supervisor, session, ignores_term, ends_at };
            world.strays.insert(number, stray);
        }
        Act::Hang => {}
        Act::Exit(code) => command.end(Some(code), None),
    }
}

/// The program of a dispatch begins.
fn execute(machine: &Arc<Machine>, scenario: &Scenario, pid: u32) {
    let mut world = machine.world();
    let Some(command) = world.commands.get(&pid).cloned() else { return };
    let dispatch = command.dispatch();
    let run = world.runs.entry(dispatch).or_default();
    run.times += 1;
    if run.times > 1 {
        world.fail(format!("the command of {dispatch} ran twice"));
    }
    let plan = &command.plan.plan;
    world.say(|| format!("{} of {} begins ({pid})", plan.role.name(), plan.unit));
    if plan.reclaim.is_some() {
        world.commands.get_mut(&pid).unwrap().phase = Phase::Program;
        programs::reclaim(machine, &mut world, pid, dispatch);
        return;
    }
    let issue = plan.unit.issue_id().map(ToString::to_string).unwrap_or_default();
    let acts = match plan.role {
        Role::Agent => {
            let nth = world.counts.entry(format!("agent {issue}")).or_insert(0);
            *nth += 1;
            let nth = *nth;
            agent(scenario.behaviour(&issue, nth), &issue, nth)
        }
        role => {
            let files =
                command.tree().and_then(|tree| machine.repo.lock().unwrap().files_in(&tree));
            let nth = world.counts.entry(format!("{} {}", role.name(), plan.unit)).or_insert(0);
            *nth += 1;
            scenario.judge(role, files.as_ref(), *nth)
        }
    };
    let command = world.commands.get_mut(&pid).unwrap();
    command.acts = acts.into();
    if let Some((delay, _)) = command.acts.front() {
        command.next += *delay;
    }
}

/// What an agent does.
fn agent(behaviour: Behaviour, issue: &str, nth: u32) -> Vec<(u64, Act)> {
    use Behaviour as B;
    let output = (300, Act::Output(100));
    let work = || (2_000, Act::Commit(format!("work-{issue}"), format!("{issue} {nth}")));
    let exit = |code| (1_000, Act::Exit(code));
    let mut acts = vec![output];
    match behaviour {
        B::Good => acts.extend([work(), exit(0)]),
        B::Posts => acts.extend([
            (500, Act::Post("plan", "done")),
            work(),
            (500, Act::Post("implement", "done")),
            exit(0),
        ]),
        B::Bad => {
            let bad = Act::Commit(format!("bad-{issue}"), format!("{nth}"));
            acts.extend([work(), (1_000, bad), exit(0)]);
        }
        B::Conflicts => {
            let shared = Act::Commit("shared".into(), format!("{issue} {nth}"));
            acts.extend([work(), (1_000, shared), exit(0)]);
        }
        B::Hangs => acts.extend([work(), (1_000, Act::Hang)]),
        B::Stubborn => acts.extend([(100, Act::IgnoreTerm), work(), (1_000, Act::Hang)]),
        B::Leaves | B::LeavesStubborn | B::Escapes => {
            let own_session = behaviour == B::Escapes;
            let ignores_term = behaviour != B::Leaves;
            acts.extend([work(), (500, Act::Leave { own_session, ignores_term }), exit(0)]);
        }
        B::Fails => acts.push(exit(1)),
        B::FailsWithWork => acts.extend([work(), exit(1)]),
        B::Transient => acts.push(exit(75)),
        B::Silent => acts = vec![exit(0)],
        B::HandsBack => acts.push(exit(20)),
        B::Dirty => {
            let edit = Act::Edit(format!("notes-{issue}"), format!("{nth}"));
            acts.extend([work(), (500, edit), exit(0)]);
        }
        B::Detaches => acts.extend([work(), (100, Act::Detach), work(), exit(0)]),
        B::Wrecks => acts.extend([work(), (100, Act::Wreck), exit(0)]),
        B::Floods => acts.extend([work(), (100, Act::Output(1 << 40)), (1, Act::Hang)]),
        B::WrongPhase => acts.extend([work(), (100, Act::Post("ship", "done")), (1, Act::Hang)]),
    }
    acts
}
