//! One command under supervision.

use crate::agents::{Command, Phase};
use crate::ports::millis;
use crate::process::Us;
use crate::world::Waits;
use sched::domain::event::{DispatchStarted, Exit, OutputRange, SuiteReport};
use sched::domain::ids::DispatchId;
use sched::engine::ports::{Job, JobPlan, Woken};
use std::time::Duration;

/// How long a command has when its supervisor is told to leave, and how long KILL may take.
const LEAVING: u64 = 5_000;
/// How long what was left behind has between TERM and KILL.
const GRACE: u64 = 2_000;

/// See the module.
pub struct SimJob {
    us: Us,
    dispatch: DispatchId,
    command: Option<u32>,
    said_told: bool,
    begun: u64,
}

impl SimJob {
    pub fn new(us: &Us, dispatch: DispatchId) -> Self {
        Self { us: us.clone(), dispatch, command: None, said_told: false, begun: 0 }
    }

    fn has_ended(&self) -> bool {
        let world = self.us.world();
        self.command.and_then(|pid| world.commands.get(&pid)).is_none_or(Command::has_ended)
    }

    fn ends_within(&self, bound: u64) -> bool {
        let until = self.us.world().up.saturating_add(bound);
        while !self.has_ended() {
            if self.us.world().up >= until {
                return false;
            }
            let told = self.us.told(); // it does not wake us twice
            match self.command {
                Some(pid) if !told => self.us.wait(Waits::Command(pid, until)),
                _ => {
                    let soon = (self.us.world().up + 100).min(until);
                    self.us.wait(Waits::Until(soon));
                }
            }
        }
        true
    }

    fn end_leftovers(&self) -> u32 {
        let mut seen = 0;
        for (kill, bound) in [(false, GRACE), (true, LEAVING)] {
            let until = self.us.world().up + bound;
            loop {
                let left = self.us.world().signal_strays_of(self.us.pid, kill);
                seen = seen.max(left);
                if left == 0 {
                    return seen;
                }
                if self.us.world().up > until {
                    break;
                }
                let soon = self.us.world().up + 200;
                self.us.wait(Waits::Until(soon));
            }
        }
        seen
    }
}

impl Job for SimJob {
    fn spawn(&mut self, plan: &JobPlan) -> Result<(), String> {
        self.us.step("claim");
        {
            let mut world = self.us.world();
            if world.disk_full {
                return Err("cannot claim the dispatch: no space left".into());
            }
            world.runs.entry(self.dispatch).or_default().claimed = true;
        }
        self.us.step("fork the command");
        let mut world = self.us.world();
        let chance = world.weather.start / 4;
        if world.tape.happens(chance) {
            world.meet("no fork", false);
            return Err("cannot start the command's process".into());
        }
        let pid = world.number();
        let command = Command::held(pid, self.us.pid, world.up, plan);
        world.commands.insert(pid, command);
        self.command = Some(pid);
        Ok(())
    }

    fn started(&self) -> Option<DispatchStarted> {
        let world = self.us.world();
        let pid = self.command?;
        Some(DispatchStarted {
            dispatch: self.dispatch,
            process: world.process(pid),
            process_group: pid,
            supervisor: world.process(self.us.pid),
        })
    }

    fn go(&mut self) {
        self.us.step("go");
        let mut world = self.us.world();
        self.begun = world.up;
        let up = world.up;
        if let Some(command) = self.command.and_then(|pid| world.commands.get_mut(&pid)) {
            command.go(up);
        }
    }

    fn drop_unused(&mut self) {
        self.us.step("drop the command");
        if let Some(pid) = self.command.take() {
            self.us.world().commands.remove(&pid);
        }
    }

    fn told(&self) -> bool {
        self.us.told()
    }

    fn wait(&mut self, time: Duration) -> Woken {
        let until = self.us.world().up + millis(time).max(1);
        loop {
            if self.has_ended() {
                return Woken::Ended;
            }
            if self.us.told() && !self.said_told {
                self.said_told = true;
                return Woken::Told;
            }
            if self.us.world().up >= until {
                return Woken::Time;
            }
            match self.command {
                Some(pid) if !self.said_told => self.us.wait(Waits::Command(pid, until)),
                _ => self.us.wait(Waits::Until(until)),
            }
        }
    }

    fn output_bytes(&self) -> u64 {
        self.us.world().runs.get(&self.dispatch).map_or(0, |run| run.output)
    }

    fn end(&mut self) -> bool {
        for kill in [false, true] {
            self.us.step("end the command");
            if let Some(pid) = self.command {
                self.us.world().signal_group(pid, self.dispatch, kill);
            }
            if self.ends_within(LEAVING) {
                return true;
            }
        }
        false
    }

    fn finish(&mut self) -> Exit {
        self.ends_within(u64::MAX / 2);
        let duration_ms = self.us.world().up - self.begun;
        let left_behind = self.end_leftovers();
        self.us.step("reap the command");
        let mut world = self.us.world();
        let command = self.command.take().and_then(|pid| world.commands.remove(&pid));
        let run = world.runs.entry(self.dispatch).or_default().clone();
        let mut exit = Exit { ran: run.ran, duration_ms, left_behind, ..Exit::default() };
        if run.output > 0 {
            let path = format!("runs/{}/output.log", self.dispatch);
            exit.output = Some(OutputRange { path, bytes: run.output, sha256: "0".into() });
        }
        if let Some(Phase::Ended { code, signal }) = command.map(|command| command.phase) {
            exit.code = code.filter(|_| run.ran);
            exit.signal = signal;
        }
        exit
    }

    fn report(&self, _: &JobPlan) -> Option<SuiteReport> {
        None
    }

    fn write_receipt(&mut self, exit: &Exit) -> Result<(), String> {
        self.us.step("write the receipt");
        let mut world = self.us.world();
        let chance = world.weather.sync;
        if world.tape.happens(chance) {
            world.meet("a receipt that cannot be synced", true);
            return Err("the receipt cannot be synced".into());
        }
        world.runs.entry(self.dispatch).or_default().receipt = Some(exit.clone());
        drop(world);
        self.us.step("have written the receipt");
        Ok(())
    }
}
