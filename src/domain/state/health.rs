//! How the scheduler as a whole is: pauses, suspensions, conditions that last.

use crate::domain::event::Severity;
use crate::domain::ids::Unit;
use crate::domain::time::{Stamp, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// New dispatches of slot roles are held back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Why.
    pub reason: Option<String>,
    /// Whether the scheduler paused itself.
    pub automatic: bool,
    /// Since when.
    pub since: Stamp,
}

/// Starting is suspended, but for a trial now and then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnSuspension {
    /// Since the last trial.
    pub since: Stamp,
    /// When the next trial is due, in milliseconds after `since`.
    pub trial_after_ms: u64,
    /// When it began.
    pub began: Stamp,
}

/// A profile whose command cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// The program.
    pub program: String,
    /// Why.
    pub reason: String,
    /// Since when.
    pub since: Stamp,
}

/// A condition that lasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// How much it matters.
    pub severity: Severity,
    /// When it began.
    pub since: Timestamp,
    /// When it was journaled last.
    pub said: Stamp,
    /// One sentence for people.
    pub message: String,
}

/// How the scheduler is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Whether new dispatches are held back.
    pub pause: Option<Pause>,
    /// Bad ends of agents in a row, oldest first.
    pub bad_ends: Vec<(Unit, String)>,
    /// Starts in a row that did not come up.
    pub never_ran: u32,
    /// Whether starting is suspended.
    pub spawn: Option<SpawnSuspension>,
    /// Profiles that cannot be executed.
    pub profiles: BTreeMap<String, Suspension>,
    /// How often in a row a profile's command could not be executed.
    #[serde(default)]
    pub faults: BTreeMap<String, u32>,
    /// Conditions by code and subject.
    pub conditions: BTreeMap<String, BTreeMap<String, Condition>>,
    /// The stamp that a clock behind the journal was last reported for.
    pub clock_behind_said: bool,
}

impl Health {
    /// A condition that lasts now.
    pub fn condition(&self, code: &str, subject: &str) -> Option<&Condition> {
        self.conditions.get(code)?.get(subject)
    }
}
