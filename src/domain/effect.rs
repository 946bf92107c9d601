//! What the journal promises and the world does not show yet, and what should be looked at.

use super::event::{BatchStarted, DispatchStarted, Landing};
use super::ids::{BatchId, CommitId, DispatchId, IssueId};
use super::state::LandingPlan;

/// Something to be done. Doing it twice is harmless.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Make an integration branch.
    CreateIntegration {
        /// Whose.
        batch: BatchId,
        /// Its name.
        branch: String,
        /// Where it starts.
        commit: CommitId,
    },
    /// Start a supervisor.
    Start {
        /// For which dispatch.
        dispatch: DispatchId,
    },
    /// Signal a process that is to stop.
    Signal {
        /// Which dispatch.
        dispatch: DispatchId,
        /// Who it is.
        process: DispatchStarted,
        /// Whether TERM was not enough.
        kill: bool,
    },
    /// Land a member.
    Land(Box<Land>),
    /// Put the landed commits onto a new base.
    Rebase {
        /// Whose.
        batch: BatchId,
        /// The integration branch.
        branch: String,
        /// The integration branch's tip.
        tip: CommitId,
        /// The old base.
        from: CommitId,
        /// The new base.
        onto: CommitId,
        /// The landed members' commits, in order.
        landed: Vec<(IssueId, CommitId)>,
        /// The tip of the member that is being judged.
        judged: Option<CommitId>,
    },
    /// Move the base branch.
    Ship {
        /// Whose.
        batch: BatchId,
        /// The base branch.
        base: String,
        /// Where it is.
        old: CommitId,
        /// Where it goes.
        new: CommitId,
    },
}

/// A landing that is owed.
#[derive(Debug, Clone, PartialEq)]
pub struct Land {
    /// Whose.
    pub batch: BatchId,
    /// What the batch is judged by.
    pub pinned: BatchStarted,
    /// Which member.
    pub member: IssueId,
    /// Its title, or its id.
    pub title: String,
    /// What was planned.
    pub plan: LandingPlan,
    /// How.
    pub landing: Landing,
}

impl Effect {
    /// A name that is the same for the same effect, for "once per tick".
    pub fn key(&self) -> String {
        match self {
            Effect::CreateIntegration { batch, .. } => format!("integration {batch}"),
            Effect::Start { dispatch } => format!("start {dispatch}"),
            Effect::Signal { dispatch, kill, .. } => format!("signal {dispatch} {kill}"),
            Effect::Land(land) => {
                format!("land {} {} {}", land.batch, land.member, land.plan.parent)
            }
            Effect::Rebase { batch, onto, .. } => format!("rebase {batch} {onto}"),
            Effect::Ship { batch, old, new, .. } => format!("ship {batch} {old} {new}"),
        }
    }

    /// The kind, as `status --json` names it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Effect::CreateIntegration { .. } => "integration",
            Effect::Start { .. } => "start",
            Effect::Signal { kill: false, .. } => "term",
            Effect::Signal { kill: true, .. } => "kill",
            Effect::Land(_) => "land",
            Effect::Rebase { .. } => "rebase",
            Effect::Ship { .. } => "ship",
        }
    }
}

/// Something to be looked at; the answer is a [`super::fact::Fact`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Probe {
    /// Where is this branch?
    Base(String),
    /// Was this planned dispatch started by anybody? It is late.
    Late(DispatchId),
    /// Is this dispatch's process still there, and its supervisor?
    Alive(DispatchId),
    /// Is the integration branch where the journal says?
    Integration(BatchId),
    /// Can this profile's program be executed again?
    Program(String),
}
