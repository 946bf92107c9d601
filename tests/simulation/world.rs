//! Everything that survives the death of a process: time, the disk, evidence, who is there. One
//! process runs at a time; whose turn it is, and what goes wrong, is on the tape.

use crate::agents::{Command, Stray};
use crate::tape::Tape;
use crate::weather::Weather;
use sched::domain::event::{Exit, Reclaimed};
use sched::domain::ids::{DispatchId, IssueId};
use sched::domain::state::{Settled, State};
use sched::domain::time::Timestamp;
use sched::journal::{ACTIVE, Position};
use sched::projection::Rest;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar};

/// When the world begins, in milliseconds since 1970.
pub const BEGIN: i64 = 1_796_000_000_000;

/// One file: what the cache shows, what the disk has, and what of the one is not yet the other.
#[derive(Debug, Clone, Default)]
pub struct Inode {
    pub cache: Vec<u8>,
    pub durable: Vec<u8>,
    pub dirty: Vec<(usize, usize)>,
    /// Whether its name is on the disk.
    pub linked: bool,
}

/// Why a process does not run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waits {
    /// It only waits for its turn.
    Turn,
    /// For a moment.
    Until(u64),
    /// For a lock, or a moment.
    Lock(String, u64),
    /// For the end of a command, a signal, or a moment.
    Command(u32, u64),
}

/// One process that runs code of the program.
pub struct Proc {
    pub name: String,
    pub start: u64,
    pub waits: Waits,
    pub turn: Arc<Condvar>,
    pub killed: bool,
    pub told: bool,
    pub stopped_until: u64,
    /// What it ends with, where it is the command of a dispatch.
    pub code: i32,
    /// The dispatch that it supervises.
    pub supervises: Option<DispatchId>,
    /// When it last ran, for fairness.
    pub ran_at: u64,
}

/// `runs/<dispatch>/`.
#[derive(Debug, Clone, Default)]
pub struct Run {
    pub prepared: bool,
    pub claimed: bool,
    pub ran: bool,
    pub ran_up: Option<u64>,
    pub receipt: Option<Exit>,
    pub output: u64,
    pub reclaimed: Vec<Reclaimed>,
    /// How often its command ran.
    pub times: u32,
}

/// What is remembered beside the journal.
#[derive(Default)]
pub struct Remembered {
    pub checkpoint: Option<(State, Position)>,
    pub rest: Option<Rest>,
    pub settled: BTreeMap<IssueId, Settled>,
}

/// See the module.
pub struct World {
    pub tape: Tape,
    pub weather: Weather,
    pub up: u64,
    pub booted_at: u64,
    pub boot: u32,
    pub wall_ahead: i64,
    pub running: Option<u32>,
    pub procs: BTreeMap<u32, Proc>,
    pub next_pid: u32,
    pub turns: u64,
    pub drawn: u128,
    pub files: BTreeMap<String, Inode>,
    /// What of the journal was durable once.
    pub promised: Vec<u8>,
    pub locks: BTreeMap<String, u32>,
    pub ticked: Option<Timestamp>,
    pub runs: BTreeMap<DispatchId, Run>,
    pub commands: BTreeMap<u32, Command>,
    pub strays: BTreeMap<u32, Stray>,
    pub remembered: Remembered,
    pub config: String,
    pub disk_full: bool,
    pub disk_low: bool,
    /// How often agents and judges ran, by what they ran for.
    pub counts: BTreeMap<String, u32>,
    /// How often something happened that may cost a unit an attempt, or changes what comes of it.
    pub rough: u32,
    /// How often each kind of fault happened.
    pub met: BTreeMap<&'static str, u64>,
    pub trace: Vec<String>,
    pub failure: Option<String>,
}

impl World {
    pub fn new(tape: Tape, config: String) -> Self {
        Self {
            tape,
            weather: Weather::calm(),
            up: 1_000_000,
            booted_at: 0,
            boot: 1,
            wall_ahead: 0,
            running: None,
            procs: BTreeMap::new(),
            next_pid: 100,
            turns: 0,
            drawn: 0,
            files: BTreeMap::new(),
            promised: Vec::new(),
            locks: BTreeMap::new(),
            ticked: None,
            runs: BTreeMap::new(),
            commands: BTreeMap::new(),
            strays: BTreeMap::new(),
            remembered: Remembered::default(),
            config,
            disk_full: false,
            disk_low: false,
            counts: BTreeMap::new(),
            rough: 0,
            met: BTreeMap::new(),
            trace: Vec::new(),
            failure: None,
        }
    }

    /// The journal was made durable: what had been before must still be there.
    pub fn synced(&mut self) {
        let durable = &self.files[ACTIVE].durable;
        let whole = durable.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if !durable.starts_with(&self.promised) {
            self.fail("the journal lost what it had made durable");
            return;
        }
        self.promised = self.files[ACTIVE].durable[..whole].to_vec();
    }

    /// What the wall clock says.
    pub fn wall(&self) -> Timestamp {
        let up = i64::try_from(self.up).unwrap();
        Timestamp::from_millis(BEGIN + up + self.wall_ahead)
    }

    /// The name of this boot.
    pub fn boot_id(&self) -> String {
        format!("boot-{}", self.boot)
    }

    /// Writes down what happens, for whoever has to understand a failure.
    pub fn say(&mut self, what: impl FnOnce() -> String) {
        let line = format!("{:>9} {}", self.up - 1_000_000, what());
        self.trace.push(line);
    }

    /// Counts a fault. `rough`: it may change what comes of a unit.
    pub fn meet(&mut self, fault: &'static str, rough: bool) {
        *self.met.entry(fault).or_insert(0) += 1;
        self.rough += u32::from(rough);
    }

    /// Remembers the first thing that must not be.
    pub fn fail(&mut self, what: impl Into<String>) {
        let what = what.into();
        self.say(|| format!("FAILED: {what}"));
        self.failure.get_or_insert(what);
    }

    /// A new process number. Numbers are used again soon, as on a machine that forks a lot.
    pub fn number(&mut self) -> u32 {
        loop {
            self.next_pid = if self.next_pid >= 160 { 100 } else { self.next_pid + 1 };
            let pid = self.next_pid;
            let taken = self.procs.contains_key(&pid)
                || self.commands.contains_key(&pid)
                || self.strays.contains_key(&pid);
            if !taken {
                return pid;
            }
        }
    }

    /// Whether a process could go on now.
    pub fn may_run(&self, pid: u32) -> bool {
        let Some(proc) = self.procs.get(&pid) else { return false };
        if proc.stopped_until > self.up {
            return false;
        }
        match &proc.waits {
            Waits::Turn => true,
            Waits::Until(at) => self.up >= *at,
            Waits::Lock(name, at) => self.up >= *at || !self.locks.contains_key(name),
            Waits::Command(command, at) => {
                let ended = self.commands.get(command).is_none_or(Command::has_ended);
                self.up >= *at || proc.told || ended
            }
        }
    }

    /// When something happens by itself: a wait that ends, a step of a command.
    pub fn next_moment(&self) -> Option<u64> {
        let procs = self.procs.values().map(|proc| {
            let at = match &proc.waits {
                Waits::Turn => self.up,
                Waits::Until(at) | Waits::Lock(_, at) | Waits::Command(_, at) => *at,
            };
            at.max(proc.stopped_until)
        });
        let commands = self.commands.values().filter_map(Command::next_moment);
        let strays = self.strays.values().map(|stray| stray.ends_at);
        procs.chain(commands).chain(strays).min()
    }

    /// Drops the locks of a process that is gone.
    pub fn release(&mut self, pid: u32) {
        self.locks.retain(|_, holder| *holder != pid);
    }
}
