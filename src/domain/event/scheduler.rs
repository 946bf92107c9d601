//! Events about the scheduler as a whole: configuration, conditions, pauses, operators.

use crate::domain::ids::Unit;
use crate::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`super::Event::ConfigApplied`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigApplied {
    /// SHA-256 of `content`, hex.
    pub digest: String,
    /// The text of `sched.toml`.
    pub content: String,
}

/// How much a condition matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Somebody should look some time.
    Warning,
    /// Something does not work.
    Error,
}

/// See [`super::Event::ConditionRaised`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionRaised {
    /// What kind: `config-invalid`, `disk-low`, `unreachable` …
    pub code: String,
    /// Of what: a unit, a profile, a branch; empty for the scheduler as a whole.
    pub subject: String,
    /// How much it matters.
    pub severity: Severity,
    /// When it began.
    pub since: Timestamp,
    /// One sentence for people.
    pub message: String,
}

/// See [`super::Event::ConditionCleared`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConditionCleared {
    /// What kind.
    pub code: String,
    /// Of what.
    pub subject: String,
    /// When it began.
    pub since: Timestamp,
}

/// See [`super::Event::TickGap`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TickGap {
    /// When the last tick ran.
    pub since: Timestamp,
}

/// See [`super::Event::ClockBehind`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockBehind {
    /// How far the newest stamp is ahead of the clock, in milliseconds.
    pub ahead_ms: u64,
}

/// See [`super::Event::SchedulerPaused`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerPaused {
    /// Why, in the operator's words.
    pub reason: Option<String>,
}

/// See [`super::Event::SchedulerResumed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulerResumed {
    /// Why, in the operator's words.
    pub reason: Option<String>,
}

/// See [`super::Event::DispatchUnhealthy`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchUnhealthy {
    /// The verdicts in a row that say so, oldest first.
    pub verdicts: Vec<String>,
    /// The units they belong to.
    pub units: Vec<Unit>,
}

/// See [`super::Event::SpawnFailing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnFailing {
    /// How many starts in a row did not come up.
    pub count: u32,
    /// After how many milliseconds one trial start is made.
    pub trial_after_ms: u64,
}

/// See [`super::Event::SpawnRecovered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpawnRecovered {}

/// See [`super::Event::ProfileSuspended`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileSuspended {
    /// Which profile; `agent` is the default one.
    pub profile: String,
    /// The program that could not be executed.
    pub program: String,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::ProfileRestored`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRestored {
    /// Which profile.
    pub profile: String,
}

/// What an operator can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Fail an issue; dissolve a batch.
    Abandon,
    /// End without requeue.
    Stop,
    /// Queue a parked issue again.
    Requeue,
    /// Change a priority.
    Reprioritize,
    /// Let a blocked unit go on.
    Resume,
}

/// See [`super::Event::OperatorActed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorActed {
    /// What was asked.
    pub verb: Verb,
    /// Of which unit.
    pub unit: Unit,
    /// Why, in the operator's words.
    pub reason: Option<String>,
}
