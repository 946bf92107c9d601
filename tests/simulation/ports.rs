//! Clocks, processes and evidence, as the engine asks for them.

use crate::disk::{SimCache, SimFiles};
use crate::process::Us;
use crate::programs;
use crate::world::{Waits, World};
use sched::domain::event::{By, DispatchStarted, Exit, Process, Writer};
use sched::domain::ids::{BootId, DispatchId};
use sched::domain::time::Now;
use sched::engine::Home;
use sched::engine::ports::{Clock, Life, Processes, Runs};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The one host of the world.
pub const HOST: &str = "host";

/// Milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX / 2)
}

/// A process's clock.
pub struct SimClock(pub Us);

impl Clock for SimClock {
    fn now(&self) -> Now {
        let world = self.0.world();
        Now { wall: world.wall(), up: world.up - world.booted_at, boot: BootId(world.boot_id()) }
    }

    fn by(&self, role: Writer, now: &Now) -> By {
        let us = self.0.world().process(self.0.pid);
        By {
            role,
            host: us.host,
            boot: now.boot.clone(),
            up: now.up,
            pid: us.pid,
            start: us.start_time,
            user: "user".into(),
            version: "0".into(),
            dispatch: None,
        }
    }

    fn up(&self) -> Duration {
        let world = self.0.world();
        Duration::from_millis(world.up - world.booted_at)
    }

    fn sleep(&self, time: Duration) {
        let until = self.0.world().up + millis(time).max(1);
        self.0.wait(Waits::Until(until));
    }

    fn unique(&self) -> Uuid {
        let mut world = self.0.world();
        world.drawn += 1;
        let time = u128::from(world.up) << 80;
        Uuid::from_u128(time | 7 << 76 | world.drawn << 8)
    }
}

impl World {
    /// Who a process of ours is.
    pub fn process(&self, pid: u32) -> Process {
        let start = self.procs.get(&pid).map(|proc| proc.start);
        let start = start.or_else(|| self.commands.get(&pid).map(|c| c.start)).unwrap_or(0);
        Process {
            pid,
            start_time: start,
            boot_id: BootId(self.boot_id()),
            host: HOST.into(),
            handle: None,
        }
    }
}

/// Where a process finds its scheduler.
pub fn home<'a>(us: &Us, clock: &'a SimClock) -> Home<'a> {
    Home { files: Arc::new(SimFiles(us.clone())), cache: Arc::new(SimCache(us.clone())), clock }
}

/// Everybody's processes.
pub struct SimProcesses(pub Us);

impl Processes for SimProcesses {
    fn command(&self, started: &DispatchStarted) -> Life {
        self.0.step("look at a command");
        let world = self.0.world();
        if started.process.boot_id.0 != world.boot_id() {
            return Life::Gone;
        }
        let lives = world.commands.get(&started.process.pid).is_some_and(|command| {
            command.start == started.process.start_time && !command.has_ended()
        });
        let group = started.process_group;
        let left = world
            .strays
            .values()
            .any(|stray| stray.dispatch == started.dispatch && stray.session == Some(group));
        if lives || left { Life::Alive } else { Life::Gone }
    }

    fn supervisor(&self, process: &Process) -> Life {
        self.0.step("look at a supervisor");
        let world = self.0.world();
        let lives = process.boot_id.0 == world.boot_id()
            && world
                .procs
                .get(&process.pid)
                .is_some_and(|proc| proc.start == process.start_time && proc.supervises.is_some());
        if lives { Life::Alive } else { Life::Gone }
    }

    fn rebooted_since(&self, process: &Process) -> bool {
        process.boot_id.0 != self.0.world().boot_id()
    }

    fn signal(&self, started: &DispatchStarted, kill: bool) {
        self.0.step("signal");
        let mut world = self.0.world();
        if started.process.boot_id.0 == world.boot_id() {
            world.signal(started, kill);
        }
    }

    fn start_supervisor(&self, dispatch: DispatchId) -> Result<(), String> {
        self.0.step("start a supervisor");
        let mut world = self.0.world();
        if world.disk_full {
            return Err("no space left for its log".into());
        }
        let chance = world.weather.start;
        let late = match world.tape.rare(chance, 4) {
            0 => 0,
            1 => {
                world.meet("no fork", false);
                return Err("cannot fork".into());
            }
            2 => {
                world.meet("a lost start", false);
                world.say(|| format!("the start of {dispatch} is lost"));
                return Ok(());
            }
            3 => 2_000,
            _ => 40_000,
        };
        if late > 0 {
            world.meet("a late supervisor", false);
        }
        programs::start_supervisor(&self.0.machine, &mut world, dispatch, late);
        drop(world);
        self.0.step("have started a supervisor");
        Ok(())
    }

    fn can_execute(&self, _: &str, _: &str) -> bool {
        true
    }
}

/// The evidence.
pub struct SimRuns(pub Us);

impl Runs for SimRuns {
    fn prepare(&self, dispatch: DispatchId) -> Result<(), String> {
        self.0.step("prepare the evidence");
        let mut world = self.0.world();
        if world.disk_full {
            return Err("no space left for the evidence".into());
        }
        world.runs.entry(dispatch).or_default().prepared = true;
        Ok(())
    }

    fn tried(&self, dispatch: DispatchId) -> bool {
        self.0.world().runs.get(&dispatch).is_some_and(|run| run.prepared)
    }

    fn claimed(&self, dispatch: DispatchId) -> bool {
        self.0.world().runs.get(&dispatch).is_some_and(|run| run.claimed)
    }

    fn ran(&self, dispatch: DispatchId) -> bool {
        self.0.step("look whether it ran");
        self.0.world().runs.get(&dispatch).is_some_and(|run| run.ran)
    }

    fn ran_up(&self, dispatch: DispatchId) -> Option<u64> {
        self.0.world().runs.get(&dispatch)?.ran_up
    }

    fn receipt(&self, dispatch: DispatchId) -> Option<Exit> {
        self.0.step("look at the receipt");
        self.0.world().runs.get(&dispatch)?.receipt.clone()
    }

    fn output_tail(&self, _: DispatchId) -> String {
        String::new()
    }
}
