//! What operators and agents ask for.

use super::event::{EnvironmentRecorded, JournalCreated, JournalRepaired, Mode, Place, Tier};
use super::ids::{BatchId, CommitId, DispatchId, IssueId, JournalId};
use super::state::Settled;
use std::collections::BTreeMap;

/// How many characters a text of an operator or an agent may have: it is kept in every state.
pub const LONGEST_TEXT: usize = 2_000;

/// How many bytes a prompt or a configuration may have: it becomes one event of the journal.
pub const LONGEST_FILE: usize = 48 << 10;

/// An issue that is to be queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIssue {
    /// Its id.
    pub id: IssueId,
    /// One line.
    pub title: Option<String>,
    /// What its agent is told.
    pub prompt: Option<String>,
    /// Its profile.
    pub profile: Option<String>,
    /// The tier that is asked for.
    pub tier: Option<Tier>,
    /// High first.
    pub priority: Option<i32>,
    /// What must be satisfied before.
    pub deps: Vec<IssueId>,
    /// The batch it joins.
    pub batch: Option<BatchId>,
}

/// A batch that is to be formed, or gets more members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBatch {
    /// Its id.
    pub id: BatchId,
    /// How its members work.
    pub mode: Option<Mode>,
    /// High first.
    pub priority: Option<i32>,
    /// Whether more members are to come; else it is sealed.
    pub more: bool,
}

/// Work to be queued: all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enqueue {
    /// The issues, in order.
    pub issues: Vec<NewIssue>,
    /// The batches.
    pub batches: Vec<NewBatch>,
    /// What is remembered of issues named here that left the working state.
    pub settled: BTreeMap<IssueId, Settled>,
}

/// An issue or a batch, as an operator names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An issue.
    Issue(IssueId),
    /// A batch.
    Batch(BatchId),
}

/// A milestone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// By which dispatch.
    pub dispatch: DispatchId,
    /// Which phase.
    pub phase: String,
    /// Where that phase stands.
    pub status: String,
    /// Key-value pairs.
    pub keys: BTreeMap<String, String>,
    /// What it used.
    pub usage: BTreeMap<String, String>,
    /// One text.
    pub detail: Option<String>,
}

/// Something somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// The first entry.
    Create(JournalCreated, EnvironmentRecorded),
    /// Repository and configuration have other paths now: they were renamed.
    Record(EnvironmentRecorded),
    /// Queue work.
    Enqueue(Enqueue),
    /// Hold new dispatches back.
    Pause {
        /// Why.
        reason: Option<String>,
    },
    /// Lift a pause.
    Resume {
        /// Why.
        reason: Option<String>,
    },
    /// Let a blocked unit go on.
    ResumeUnit {
        /// Which.
        target: Target,
        /// Why.
        reason: Option<String>,
        /// Where the base branch is now, when that could be read.
        base: Option<CommitId>,
    },
    /// Fail an issue; dissolve a batch.
    Abandon {
        /// Which.
        target: Target,
        /// Why.
        reason: Option<String>,
    },
    /// End without requeue.
    Stop {
        /// Which.
        target: Target,
        /// Why.
        reason: Option<String>,
    },
    /// Queue a parked issue again.
    Requeue {
        /// Which.
        issue: IssueId,
        /// Why.
        reason: Option<String>,
    },
    /// Change a priority.
    Reprioritize {
        /// Which.
        target: Target,
        /// To what.
        priority: i32,
        /// Why.
        reason: Option<String>,
    },
    /// Report a milestone.
    Post(Post),
    /// Take over a copied or restored state directory.
    Adopt {
        /// The new id.
        journal: JournalId,
        /// The new place.
        place: Place,
        /// Whether an operator insists although something is live.
        insist: bool,
    },
    /// Bytes were cut off on an operator's word.
    Repaired(JournalRepaired),
}
