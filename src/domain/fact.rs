//! What was observed: nothing here is a decision.

use super::event::{DispatchStarted, Exit, Ground, Merge};
use super::ids::{BatchId, CommitId, DispatchId, IssueId};
use super::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// An answer from outside: a value, verified absence, or no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen<T> {
    /// It is there.
    Value(T),
    /// It is verified not to be there.
    Absent,
    /// Nobody can tell; why.
    Unreachable(String),
}

/// What a tick finds when it begins, or when a bound wakes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TickSeen {
    /// The configuration file, when its digest is not the one in force: digest, and its text or
    /// what is wrong with it.
    pub config: Option<(String, Result<String, String>)>,
    /// When the last tick ran.
    pub last_tick: Option<Timestamp>,
    /// Whether the state directory's disk has less than `min_free`, and how much it has.
    pub disk_low: Option<u64>,
    /// How long commands waited for their trees after their supervisors began, or wait still: no
    /// command runs then that could break its bound.
    pub waited: BTreeMap<DispatchId, Duration>,
}

/// How an attempt to land ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LandResult {
    /// The integration branch's tip is now this commit.
    Landed(CommitId),
    /// The parent has all of it already.
    AlreadyLanded,
    /// These paths are in conflict.
    Conflict(Vec<String>),
    /// Somebody else moved the integration branch there.
    Moved(CommitId),
}

/// How an attempt to make the integration branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchResult {
    /// It is there, at the commit that was asked for.
    Made,
    /// It is somewhere else.
    Exists(CommitId),
}

/// How an attempt to rebase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RebaseResult {
    /// The commits are on the new base.
    Rebased {
        /// The integration branch's new tip.
        tip: CommitId,
        /// The new commit of each landed member, in order.
        landed: Vec<(IssueId, CommitId)>,
        /// What became of the work that is being judged.
        judged: Option<Merge>,
    },
    /// This member's commit conflicts.
    Conflict(IssueId, Vec<String>),
    /// Somebody else moved the integration branch there.
    Moved(CommitId),
}

/// How an attempt to move the base branch ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShipResult {
    /// The base branch has it.
    Shipped,
    /// The base branch is somewhere else.
    BaseMoved(CommitId),
    /// The checkout of the base branch is in the way.
    Dirty(String),
}

/// A landing found in git by its trailers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLanding {
    /// Which member.
    pub member: IssueId,
    /// Its commit.
    pub commit: CommitId,
}

/// What was found of a dispatch whose processes are gone and that left no receipt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Whether its supervisor claimed it.
    pub claimed: bool,
    /// Whether its command ran.
    pub ran: bool,
    /// Whether the machine has booted since it started.
    pub rebooted: bool,
    /// What tree and branch show, for members.
    pub ground: Option<Ground>,
    /// Last lines of its output.
    pub output_tail: String,
}

/// Something observed.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A tick begins, or a bound has come.
    Tick(TickSeen),
    /// What stands in the configuration file, and nothing else of [`TickSeen`]; plans nothing.
    Config(TickSeen),
    /// Where a base branch is.
    Base {
        /// The branch.
        branch: String,
        /// Its commit.
        seen: Seen<CommitId>,
    },
    /// A supervisor has the command's process ready: may it run?
    Starting(DispatchStarted),
    /// Nobody started a dispatch in time.
    NotStarted {
        /// Which.
        dispatch: DispatchId,
        /// Whether somebody tried.
        tried: bool,
    },
    /// A command ended.
    Ended {
        /// Which.
        dispatch: DispatchId,
        /// How.
        exit: Exit,
    },
    /// Supervisor and command are gone without a receipt.
    Gone {
        /// Which.
        dispatch: DispatchId,
        /// What is left.
        remains: Remains,
    },
    /// A dispatch is over, and nobody can read what its tree and branch show.
    Unreadable {
        /// Which.
        dispatch: DispatchId,
    },
    /// The supervisor is gone, the command is not.
    Unsupervised {
        /// Which.
        dispatch: DispatchId,
    },
    /// No activity for longer than its bound.
    Stalled {
        /// Which.
        dispatch: DispatchId,
    },
    /// More output than the bound.
    Flooded {
        /// Which.
        dispatch: DispatchId,
    },
    /// The integration branch was to be made.
    Integration {
        /// Whose.
        batch: BatchId,
        /// How it went.
        result: BranchResult,
    },
    /// What is on an integration branch that is not where the journal says.
    IntegrationSeen {
        /// Whose.
        batch: BatchId,
        /// Landings after the journal's tip, oldest first.
        landings: Vec<FoundLanding>,
    },
    /// A landing was tried.
    Landing {
        /// Whose.
        batch: BatchId,
        /// Which member.
        member: IssueId,
        /// How it went.
        result: LandResult,
    },
    /// A rebase was tried.
    Rebase {
        /// Whose.
        batch: BatchId,
        /// How it went.
        result: RebaseResult,
    },
    /// Shipping was tried.
    Ship {
        /// Whose.
        batch: BatchId,
        /// How it went.
        result: ShipResult,
    },
    /// Whether a suspended profile's program is there again.
    Program {
        /// The profile.
        profile: String,
        /// Whether it can be executed.
        found: bool,
    },
    /// Something could not be done for one unit, again and again.
    Failed {
        /// Whose batch.
        batch: BatchId,
        /// What happened.
        message: String,
    },
}

/// A command or a fact.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Somebody asks.
    Command(super::command::Command),
    /// Something was observed.
    Fact(Fact),
}
