//! What the engine needs of the world, as traits: real in [`crate::os`], simulated in tests.

use crate::domain::effect::Land;
use crate::domain::event::{
    By, DispatchPlanned, DispatchStarted, Exit, Ground, Process, Reclaim, Reclaimed, SuiteReport,
    Tree, Writer,
};
use crate::domain::fact::{BranchResult, LandResult, RebaseResult, Seen, ShipResult};
use crate::domain::ids::{BatchId, CommitId, DispatchId, IssueId};
use crate::domain::time::Now;
use std::collections::BTreeMap;
use std::time::Duration;

/// Clocks, and who we are.
pub trait Clock {
    /// The present.
    fn now(&self) -> Now;
    /// Us, as an entry names its writer. `up` is that of `now`.
    fn by(&self, role: Writer, now: &Now) -> By;
}

/// Whether a process is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It is, and it is the one that was meant.
    Alive,
    /// It is not, or somebody else has its number.
    Gone,
    /// It belongs to another host.
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
    /// How it ended, if its supervisor could write that down.
    fn receipt(&self, dispatch: DispatchId) -> Option<Exit>;
    /// The last lines of its output.
    fn output_tail(&self, dispatch: DispatchId) -> String;
}

/// Why something of git did not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitFailure {
    /// Somebody holds a lock file; later it may work.
    #[error("{0}")]
    Busy(String),
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

/// A rebase of an integration branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebaseRequest {
    /// The integration branch.
    pub branch: String,
    /// Where it is.
    pub tip: CommitId,
    /// What it stands on.
    pub from: CommitId,
    /// What it is to stand on.
    pub onto: CommitId,
    /// The landed members' commits, in order.
    pub landed: Vec<(IssueId, CommitId)>,
}

/// A landing that was found by its trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Which batch.
    pub batch: BatchId,
    /// Which member.
    pub member: IssueId,
    /// Its commit.
    pub commit: CommitId,
}

/// Branches and commits, without a tree.
pub trait Git {
    /// Where a branch is.
    fn reference(&self, branch: &str) -> Seen<CommitId>;
    /// Where all branches under a prefix are.
    fn references(&self, prefix: &str) -> Seen<BTreeMap<String, CommitId>>;
    /// Makes a branch, if it is absent.
    ///
    /// # Errors
    /// [`GitFailure`].
    fn create_branch(&self, branch: &str, commit: &CommitId) -> Result<BranchResult, GitFailure>;
    /// Lands a member: one possible commit, compare-and-swap.
    ///
    /// # Errors
    /// [`GitFailure`].
    fn land(&self, land: &Land) -> Result<LandResult, GitFailure>;
    /// The landings on a branch after a commit, oldest first.
    ///
    /// # Errors
    /// [`GitFailure`].
    fn landings(&self, branch: &str, since: &CommitId) -> Result<Vec<Found>, GitFailure>;
    /// Puts landed commits onto another base.
    ///
    /// # Errors
    /// [`GitFailure`].
    fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitFailure>;
    /// Moves the base branch, and its checkout where it has a clean one.
    ///
    /// # Errors
    /// [`GitFailure`].
    fn ship(&self, base: &str, old: &CommitId, new: &CommitId) -> Result<ShipResult, GitFailure>;
}

/// Why a tree could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFailure {
    /// Whether the cause is the member's own branch or path.
    pub own: bool,
    /// What happened.
    pub reason: String,
}

/// Working trees; used under `worktree.lock`, by supervisors only.
pub trait Trees {
    /// Makes a tree, or makes it fit for use again.
    ///
    /// # Errors
    /// [`TreeFailure`].
    fn make(&self, tree: &Tree) -> Result<(), TreeFailure>;
    /// What a member's tree and branch show. `None`: nobody can tell now.
    fn ground(&self, tree: &Tree, integration: &str) -> Option<Ground>;
    /// Does what a built-in reclaim is for.
    fn reclaim(&self, reclaim: &Reclaim, unit: &crate::domain::ids::Unit) -> Vec<Reclaimed>;
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
    /// Waits for an end, a signal to us, or time.
    fn wait(&mut self, time: Duration) -> Woken;
    /// Bytes of output so far.
    fn output_bytes(&self) -> u64;
    /// Asks the command and what belongs to it to end, then ends it.
    fn end(&mut self);
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
