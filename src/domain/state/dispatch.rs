//! An open dispatch. Ended ones leave the state; what their unit needs of them stays there.

use crate::domain::event::{DispatchPlanned, DispatchStarted, StopReason};
use crate::domain::ids::{DispatchId, Unit};
use crate::domain::time::Stamp;
use serde::{Deserialize, Serialize};

/// A stop under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The strongest reason so far.
    pub reason: StopReason,
    /// When it was requested.
    pub requested: Stamp,
    /// How long until it is killed, in milliseconds.
    pub bound_ms: u64,
    /// When it was killed.
    pub escalated: Option<Stamp>,
    /// Whether even that had no effect.
    pub ineffective: bool,
}

/// One attempt to run one command that has not ended yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// Its id.
    pub id: DispatchId,
    /// Its unit.
    pub unit: Unit,
    /// What was planned.
    pub plan: DispatchPlanned,
    /// When it was planned.
    pub planned: Stamp,
    /// How it was started, once it was.
    pub started: Option<DispatchStarted>,
    /// When it was started.
    pub started_at: Option<Stamp>,
    /// Whether its supervisor is known to be dead.
    pub supervision_lost: bool,
    /// A stop under way.
    pub stop: Option<Stop>,
    /// The last milestone, `phase status`.
    pub milestone: Option<String>,
    /// The phase of the last milestone.
    pub phase: Option<String>,
    /// When the last milestone came.
    pub milestone_at: Option<Stamp>,
    /// How many milestones it has posted.
    pub milestones: u32,
    /// Whether it posted its terminal milestone.
    pub said_done: bool,
    /// Starts in a row that had not come up before this one did: it may still turn out that its
    /// command never ran.
    pub never_ran_before: u32,
    /// What its milestones said that the verdict must respect.
    pub said: Said,
}

/// What an agent said of itself, beyond its phases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// It hands its work back: `blocked`, or `review` with `partial`; the milestone.
    pub handed_back: Option<String>,
    /// It asks for a person.
    pub needs_human: bool,
    /// It declared a no-op.
    pub no_op: bool,
    /// The first milestone outside its procedure.
    pub wrong: Option<String>,
    /// Its trail shows that it shipped by itself; the pull request, if it named one.
    pub shipped: bool,
    /// The pull request it named.
    pub pr: Option<String>,
}

impl Dispatch {
    /// Whether its process exists, as far as the journal knows.
    pub fn is_started(&self) -> bool {
        self.started.is_some()
    }

    /// Whether its agent may still report.
    pub fn may_report(&self) -> bool {
        self.is_started() && self.stop.is_none()
    }
}
