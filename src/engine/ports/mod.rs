//! What the engine needs of the world, as traits: real in [`crate::os`], simulated in tests.

pub mod git;

pub use crate::domain::fact::Seen;

use crate::domain::event::{
    By, DispatchPlanned, DispatchStarted, Exit, Process, SuiteReport, Writer,
};
use crate::domain::ids::DispatchId;
use crate::domain::time::Now;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// Clocks, and who we are.
pub trait Clock {
    /// The present.
    fn now(&self) -> Now;
    /// Us, as an entry names its writer. `up` is that of `now`.
    fn by(&self, role: Writer, now: &Now) -> By;
    /// How long the machine has been up, never going back within one boot.
    fn up(&self) -> Duration;
    /// Lets time pass.
    fn sleep(&self, time: Duration);
    /// An id that nobody else draws.
    fn unique(&self) -> Uuid;
}

/// How long ago that was, by [`Clock::up`].
pub fn since(clock: &dyn Clock, at: Duration) -> Duration {
    clock.up().saturating_sub(at)
}

/// Whether a process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is, and it is the one that was meant.
    Alive,
    /// It is not, or somebody else has its number.
    Gone,
    /// It belongs to another host, or cannot be looked at: not judged, not touched.
    Unknown,
}

/// Processes that others started.
pub trait Processes {
    /// Whether a dispatch's command, or anything of it, is still there.
    fn command(&self, started: &DispatchStarted) -> Life;
    /// Whether a supervisor is still there.
    fn supervisor(&self, process: &Process) -> Life;
    /// Whether the machine has booted since.
    fn rebooted_since(&self, process: &Process) -> bool;
    /// Asks a dispatch's processes to end, or ends them. Never anybody else's.
    fn signal(&self, started: &DispatchStarted, kill: bool);
    /// Starts a supervisor and does not wait for it.
    ///
    /// # Errors
    /// Why it could not be started.
    fn start_supervisor(&self, dispatch: DispatchId) -> Result<(), String>;
    /// Whether a program can be executed with a search path.
    fn can_execute(&self, program: &str, path: &str) -> bool;
}

/// The evidence of dispatches: `runs/<dispatch>/`.
pub trait Runs {
    /// Makes the directory: from here on a start counts as tried.
    ///
    /// # Errors
    /// Why it could not be made.
    fn prepare(&self, dispatch: DispatchId) -> Result<(), String>;
    /// Whether somebody tried to start it.
    fn tried(&self, dispatch: DispatchId) -> bool;
    /// Whether a supervisor claimed it.
    fn claimed(&self, dispatch: DispatchId) -> bool;
    /// Whether its command ran.
    fn ran(&self, dispatch: DispatchId) -> bool;
    /// The uptime, in milliseconds, at which its command was let run, where that is known.
    fn ran_up(&self, dispatch: DispatchId) -> Option<u64>;
    /// How it ended, if its supervisor could write that down.
    fn receipt(&self, dispatch: DispatchId) -> Option<Exit>;
    /// The last lines of its output.
    fn output_tail(&self, dispatch: DispatchId) -> String;
}

/// What a job needs before its command can run.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// The dispatch.
    pub plan: DispatchPlanned,
    /// The command, every placeholder expanded.
    pub command: Vec<String>,
    /// Where it runs; `None`: in an empty directory of its own.
    pub directory: Option<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// What goes to its standard input.
    pub input: Option<String>,
    /// The JUnit report to read afterwards, relative to the tree.
    pub report: Option<String>,
}

/// What woke a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// The command ended.
    Ended,
    /// The supervisor was told to leave.
    Told,
    /// Time has passed.
    Time,
}

/// One command under supervision.
pub trait Job {
    /// Writes `claim` and an empty receipt, and starts the command's process, which waits.
    ///
    /// # Errors
    /// Why nothing was started.
    fn spawn(&mut self, plan: &JobPlan) -> Result<(), String>;
    /// Who it is.
    fn started(&self) -> Option<DispatchStarted>;
    /// Lets the command run.
    fn go(&mut self);
    /// Lets the process end without ever running the command.
    fn drop_unused(&mut self);
    /// Whether somebody told us to leave.
    fn told(&self) -> bool;
    /// Waits for an end, a signal to us, or time.
    fn wait(&mut self, time: Duration) -> Woken;
    /// Bytes of output so far.
    fn output_bytes(&self) -> u64;
    /// Asks the command's group to end, then ends it. Whether it is gone.
    fn end(&mut self) -> bool;
    /// Ends what the command left behind, and says how it all went.
    fn finish(&mut self) -> Exit;
    /// Reads the suite's report.
    fn report(&self, plan: &JobPlan) -> Option<SuiteReport>;
    /// Writes the receipt, durably.
    ///
    /// # Errors
    /// Why it could not be written.
    fn write_receipt(&mut self, exit: &Exit) -> Result<(), String>;
}
