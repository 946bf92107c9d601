//! Processes as threads, of which one runs at a time. A process gives its turn away at a step, and
//! dies at one: it unwinds, as if there were nothing behind it.

use crate::git::Between;
use crate::world::{Proc, Waits, World};
use sched::domain::ids::DispatchId;
use sched::engine::ports::git::GitError;
use sched::journal::{TICK_LOCK, WORKTREE_LOCK};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A simulated machine.
pub struct Machine {
    world: Mutex<World>,
    idle: Condvar,
    pub repo: Arc<Mutex<crate::git::Repo>>,
}

/// The name of a process's thread.
pub const THREAD: &str = "simulated";

/// What a killed process unwinds with.
struct Killed;

impl Machine {
    pub fn new(world: World, repo: crate::git::Repo) -> Arc<Self> {
        let repo = Arc::new(Mutex::new(repo));
        Arc::new(Self { world: Mutex::new(world), idle: Condvar::new(), repo })
    }

    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process; it gets its first turn later.
    pub fn spawn(
        self: &Arc<Self>,
        world: &mut World,
        name: String,
        supervises: Option<DispatchId>,
        body: impl FnOnce(&Us) + Send + 'static,
    ) -> u32 {
        let pid = world.number();
        self.spawn_as(world, pid, name, supervises, body);
        pid
    }

    pub fn spawn_as(
        self: &Arc<Self>,
        world: &mut World,
        pid: u32,
        name: String,
        supervises: Option<DispatchId>,
        body: impl FnOnce(&Us) + Send + 'static,
    ) {
        let turn = Arc::new(Condvar::new());
        let proc = Proc {
            name,
            start: world.up,
            waits: Waits::Turn,
            turn: Arc::clone(&turn),
            killed: false,
            told: false,
            stopped_until: 0,
            code: 1,
            supervises,
            ran_at: world.turns,
        };
        world.procs.insert(pid, proc);
        let us = Us { machine: Arc::clone(self), pid, turn };
        std::thread::Builder::new()
            .name(THREAD.into())
            .stack_size(4 << 20)
            .spawn(move || us.live(body))
            .expect("a thread");
    }

    /// Gives a process its turn, and comes back when it gave it away or is gone.
    pub fn give_turn(&self, pid: u32) {
        let mut world = self.world();
        world.turns += 1;
        let turns = world.turns;
        let Some(proc) = world.procs.get_mut(&pid) else { return };
        proc.ran_at = turns;
        proc.turn.notify_one();
        world.running = Some(pid);
        while world.running.is_some() {
            world = self.idle.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// `kill -9`.
    pub fn kill(&self, pid: u32) {
        {
            let mut world = self.world();
            let Some(proc) = world.procs.get_mut(&pid) else { return };
            proc.killed = true;
        }
        self.give_turn(pid);
    }
}

/// A process, as its own code knows it.
#[derive(Clone)]
pub struct Us {
    pub machine: Arc<Machine>,
    pub pid: u32,
    turn: Arc<Condvar>,
}

impl Us {
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.machine.world()
    }

    fn live(&self, body: impl FnOnce(&Us)) {
        let done = catch_unwind(AssertUnwindSafe(|| {
            let world = self.world();
            drop(self.wait_for_turn(world));
            body(self);
        }));
        let mut world = self.world();
        if let Err(payload) = done
            && !payload.is::<Killed>()
        {
            let text = payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            world.fail(format!("a panic: {}", text.unwrap_or_default()));
        }
        world.release(self.pid);
        world.ended(self.pid);
        world.running = None;
        self.machine.idle.notify_one();
    }

    fn wait_for_turn<'w>(&self, mut world: MutexGuard<'w, World>) -> MutexGuard<'w, World> {
        while world.running != Some(self.pid) {
            world = self.turn.wait(world).unwrap_or_else(PoisonError::into_inner);
        }
        if world.procs.get(&self.pid).is_some_and(|proc| proc.killed) {
            drop(world);
            resume_unwind(Box::new(Killed));
        }
        if let Some(proc) = world.procs.get_mut(&self.pid) {
            proc.waits = Waits::Turn;
        }
        world
    }

    /// Waits for something.
    pub fn wait(&self, waits: Waits) {
        if std::thread::panicking() {
            return;
        }
        let mut world = self.world();
        world.procs.get_mut(&self.pid).expect("it is us").waits = waits;
        world.running = None;
        self.machine.idle.notify_one();
        drop(self.wait_for_turn(world));
    }

    /// Here others may go on, and here this process may die.
    pub fn step(&self, what: &str) {
        if std::thread::panicking() {
            return;
        }
        let mut world = self.world();
        let (switch, die) = (world.weather.switch, world.weather.die);
        if world.tape.happens(die) {
            let name = world.procs[&self.pid].name.clone();
            world.say(|| format!("{name} dies before: {what}"));
            world.meet("killed between two steps", false);
            drop(world);
            self.die();
        }
        if world.tape.happens(switch) {
            drop(world);
            self.wait(Waits::Turn);
        }
    }

    /// Ends this process here and now.
    pub fn die(&self) -> ! {
        if let Some(proc) = self.world().procs.get_mut(&self.pid) {
            proc.killed = true;
        }
        resume_unwind(Box::new(Killed))
    }

    /// Whether somebody told us to leave.
    pub fn told(&self) -> bool {
        self.world().procs.get(&self.pid).is_some_and(|proc| proc.told)
    }
}

/// The questions among git's operations.
const LOOKS: [&str; 8] = [
    "reference",
    "references",
    "is_ancestor",
    "has_program",
    "tree_of",
    "ground",
    "landings",
    "repository",
];

/// Under which lock git does this: a tick under its own, whoever changes trees under theirs.
fn lock_of(what: &str) -> Option<&'static str> {
    match what.split(':').next()? {
        "create_branch" | "land" | "rebase" | "ship" => Some(TICK_LOCK),
        "tree" | "registration" | "rescue" | "clean" | "removal" => Some(WORKTREE_LOCK),
        _ => None,
    }
}

impl Between for Us {
    fn between(&self, what: &'static str) -> Result<(), GitError> {
        self.step(what);
        let mut world = self.world();
        if let Some(lock) = lock_of(what).filter(|lock| world.locks.get(*lock) != Some(&self.pid)) {
            world.fail(format!("git does `{what}` without {lock}"));
        }
        let (refused, unreachable) = (world.weather.refused, world.weather.unreachable);
        if what == "told" {
            return Ok(());
        }
        let looks = LOOKS.contains(&what);
        match world.tape.rare(if looks { unreachable } else { refused }, 3) {
            0 => Ok(()),
            _ if looks => {
                world.meet("git does not answer", false);
                Err(GitError::TimedOut { command: what.to_owned(), seconds: 30 })
            }
            1 => {
                world.meet("git is locked", false);
                Err(GitError::Locked { path: what.to_owned() })
            }
            2 => {
                world.meet("git is killed", false);
                Err(GitError::Killed { command: what.to_owned() })
            }
            _ => {
                world.meet("git fails", true);
                let message = "cannot fork".to_owned();
                Err(GitError::Failed { command: what.to_owned(), message })
            }
        }
    }
}
