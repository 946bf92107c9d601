//! One command under supervision: its process, its signals, and what it leaves behind.
//!
//! * The end of a job is its leader ended, never end-of-file: a grandchild may hold the output
//!   open for ever. Output goes to a file.
//! * The leader is reaped last: until then the number of its group is nobody else's.
//! * This process is the child subreaper: what the command's children leave becomes its child.

mod bell;
mod held;
mod usage;

use super::child::{Executed, NOT_EXECUTED, NOT_RUN};
use super::junit;
use super::process::leftovers::{Relative, family, is_alone};
use super::process::own_process;
use super::process::stat::{children, stat};
use super::runs::SystemRuns;
use crate::domain::event::{DispatchStarted, Exit, SuiteReport};
use crate::domain::ids::DispatchId;
use crate::engine::ports::{Job, JobPlan, Runs, Woken};
use crate::journal::place::make_dir;
use bell::Bell;
use held::Held;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process_group, waitid, waitpid,
};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use usage::Usage;

/// How long what a command left behind has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long a command has to end when its supervisor is told to leave.
const LEAVING: Duration = Duration::from_secs(5);
/// How long KILL may take. What lives longer is in the kernel's hands, and no one's.
const KILLED: Duration = Duration::from_secs(5);
/// How often processes that are nobody's child of ours are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The real thing.
pub struct SystemJob {
    runs: SystemRuns,
    program: PathBuf,
    dispatch: DispatchId,
    bell: Bell,
    said_told: bool,
    held: Option<Held>,
    begun: Option<Instant>,
    usage: Usage,
}

impl SystemJob {
    /// Prepares for one dispatch: from here on signals to this process are noticed, and what
    /// the command's children leave is inherited. `program` is this very program.
    ///
    /// # Errors
    /// Why signals cannot be noticed, or nothing can be inherited.
    pub fn new(state_dir: &Path, program: &Path, dispatch: DispatchId) -> io::Result<Self> {
        let bell = Bell::hang()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Self {
            runs: SystemRuns::new(state_dir),
            program: program.to_owned(),
            dispatch,
            bell,
            said_told: false,
            held: None,
            begun: None,
            usage: Usage::new(),
        })
    }

    /// Set when somebody tells us to leave, for whoever waits elsewhere.
    pub fn told_flag(&self) -> Arc<AtomicBool> {
        self.bell.told_flag()
    }

    fn leader(&self) -> Option<u32> {
        Some(self.held.as_ref()?.process.pid)
    }

    /// Whether the leader has ended; it is not reaped yet, so its numbers are still its own.
    fn has_ended(&self) -> bool {
        let Some(leader) = self.leader().and_then(number) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        loop {
            match waitid(WaitId::Pid(leader), options) {
                Ok(status) => return status.is_some(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return true,
            }
        }
    }

    /// Waits until the leader has ended; whether it has.
    fn ends_within(&mut self, bound: Duration) -> bool {
        let begun = Instant::now();
        while !self.has_ended() {
            let left = bound.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return false;
            }
            self.bell.wait(left);
        }
        true
    }

    /// Reaps what was inherited and has ended, except the leader.
    fn reap_inherited(&mut self) {
        let leader = self.leader();
        for pid in children(std::process::id()) {
            if Some(pid) != leader && stat(pid).is_some_and(|stat| stat.is_dead()) {
                self.usage.count(pid);
                let _ = waitpid(number(pid), WaitOptions::NOHANG);
            }
        }
    }

    /// Ends what the leader left behind: TERM, a short grace, KILL. How many there were.
    fn end_leftovers(&mut self) -> u32 {
        let mut seen = BTreeSet::new();
        let (us, dispatch) = (std::process::id(), self.dispatch);
        for (signals, bound, look) in [
            (&[Signal::TERM, Signal::CONT][..], GRACE, LOOK),
            (&[Signal::KILL][..], KILLED, LOOK / 20),
        ] {
            let begun = Instant::now();
            let mut asked = BTreeSet::new();
            loop {
                self.reap_inherited();
                let left = family(us, dispatch);
                if left.is_empty() && is_alone(us, self.leader(), dispatch) {
                    return count(&seen);
                }
                for relative in left.into_iter().filter(|one| asked.insert(*one)) {
                    seen.insert(relative);
                    let Some(pinned) = relative.pin() else { continue };
                    signals.iter().for_each(|signal| pinned.signal(*signal));
                }
                if begun.elapsed() > bound {
                    break;
                }
                self.bell.wait(look);
            }
        }
        count(&seen)
    }

    fn prepare(&self, plan: &JobPlan) -> Result<(), String> {
        let say = |what: &str, error: io::Error| format!("cannot {what}: {error}");
        let dir = self.runs.dir(self.dispatch);
        self.runs.claim(self.dispatch).map_err(|e| say("claim the dispatch", e))?;
        crate::crash::point("supervise-claimed");
        let directory = match &plan.directory {
            Some(directory) => directory.clone(),
            None => {
                let work = dir.join("work");
                make_dir(&work).map_err(|e| say("make a directory", e))?;
                work.to_string_lossy().into_owned()
            }
        };
        if let Some(input) = &plan.input {
            let put = put(&dir.join("prompt"), input.as_bytes());
            put.map_err(|e| say("write the prompt", e))?;
        }
        let command = plan.command.clone();
        let executed = Executed { command, directory, input: plan.input.is_some() };
        let text = serde_json::to_string(&executed).map_err(|e| e.to_string())?;
        let put = put(&dir.join("command.json"), text.as_bytes());
        put.map_err(|e| say("write the command", e))
    }
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn count(seen: &BTreeSet<Relative>) -> u32 {
    u32::try_from(seen.len()).unwrap_or(u32::MAX)
}

/// Writes a file in one step: a second supervisor of the same dispatch, which will be refused,
/// must not cut what the first one's child is about to read.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&name)?;
    file.write_all(bytes)?;
    rustix::io::retry_on_intr(|| rustix::fs::rename(&name, path))?;
    Ok(())
}

impl Job for SystemJob {
    fn spawn(&mut self, plan: &JobPlan) -> Result<(), String> {
        self.prepare(plan)?;
        let log = self.runs.open_log(self.dispatch);
        let log = log.map_err(|error| format!("cannot open the log: {error}"))?;
        let dir = self.runs.dir(self.dispatch);
        let held = Held::start(&self.program, &dir, &plan.environment, log);
        self.held =
            Some(held.map_err(|error| format!("cannot start the command's process: {error}"))?);
        Ok(())
    }

    fn started(&self) -> Option<DispatchStarted> {
        let process = self.held.as_ref()?.process.clone();
        Some(DispatchStarted {
            dispatch: self.dispatch,
            process_group: process.pid,
            process,
            supervisor: own_process(),
        })
    }

    fn go(&mut self) {
        self.begun = Some(Instant::now());
        self.usage = Usage::new();
        if let Some(held) = &mut self.held {
            held.go();
        }
    }

    fn drop_unused(&mut self) {
        let Some(held) = &mut self.held else { return };
        held.let_go();
        let ended = self.ends_within(LEAVING);
        if let Some(mut held) = self.held.take() {
            if !ended {
                held.kill(); // somebody has stopped it
            }
            let _ = held.reap();
        }
    }

    fn told(&self) -> bool {
        self.bell.told()
    }

    fn wait(&mut self, time: Duration) -> Woken {
        let deadline = Instant::now() + time;
        loop {
            let dispatch = self.dispatch;
            self.usage.sample(|| family(std::process::id(), dispatch));
            if self.has_ended() {
                return Woken::Ended;
            }
            self.reap_inherited();
            if self.bell.told() && !self.said_told {
                self.said_told = true;
                return Woken::Told;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Woken::Time;
            }
            self.bell.wait(left.min(self.usage.due().max(Duration::from_millis(1))));
        }
    }

    fn output_bytes(&self) -> u64 {
        std::fs::metadata(self.runs.log(self.dispatch)).map_or(0, |meta| meta.len())
    }

    fn end(&mut self) -> bool {
        for (signal, bound) in [(Signal::TERM, LEAVING), (Signal::KILL, KILLED)] {
            let Some(group) = self.leader().filter(|_| !self.has_ended()).and_then(number) else {
                return true;
            };
            let _ = kill_process_group(group, signal);
            let _ = kill_process_group(group, Signal::CONT);
            if self.ends_within(bound) {
                return true;
            }
        }
        false
    }

    fn finish(&mut self) -> Exit {
        self.ends_within(Duration::MAX);
        let duration = self.begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        if let Some(leader) = self.leader() {
            self.usage.count(leader);
        }
        let left_behind = self.end_leftovers();
        let report = self.held.as_mut().and_then(Held::report);
        let status = self.held.as_mut().and_then(Held::reap);
        let (output, output_tail) = self.runs.output(self.dispatch);
        let mut exit = Exit {
            ran: self.runs.ran(self.dispatch),
            signal: status.and_then(|status| status.signal()),
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            cpu_ms: self.usage.cpu_ms(),
            max_rss_kib: self.usage.peak_kib,
            output,
            output_tail,
            left_behind,
            ..Exit::default()
        };
        match report {
            // what stood between us and the command ended, not the command: its code is nobody's
            Some(said) => match said.strip_prefix(NOT_EXECUTED) {
                Some(why) => exit.exec_failed = Some(why.to_owned()),
                None => exit.output_tail = said.trim_start_matches(NOT_RUN).to_owned(),
            },
            None if exit.ran => exit.code = status.and_then(|status| status.code()),
            None => {}
        }
        exit
    }

    fn report(&self, plan: &JobPlan) -> Option<SuiteReport> {
        let path = Path::new(plan.directory.as_ref()?).join(plan.report.as_ref()?);
        Some(junit::read(&path))
    }

    fn write_receipt(&mut self, exit: &Exit) -> Result<(), String> {
        self.runs.write_receipt(self.dispatch, exit).map_err(|error| error.to_string())
    }
}
