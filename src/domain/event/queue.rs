//! Events about issues in the queue.

use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strong an agent is asked for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// For work without judgement.
    Mechanical,
    /// The usual one.
    Mid,
    /// For hard work.
    Strong,
}

/// Whether members work one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One member at a time.
    Serial,
    /// Several members at a time.
    Parallel,
}

/// See [`super::Event::IssueEnqueued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueEnqueued {
    /// Which issue.
    pub issue: IssueId,
    /// 1 for the first time; a terminal issue that is queued anew starts the next generation.
    pub generation: u32,
    /// How many runs on its own it had in earlier generations.
    pub runs: u32,
    /// One line.
    pub title: Option<String>,
    /// What its agent is told, instead of the profile's prompt.
    pub prompt: Option<String>,
    /// The profile; absent: `agent`.
    pub profile: Option<String>,
    /// The tier that was asked for.
    pub tier: Option<Tier>,
    /// High first; default 0.
    pub priority: i32,
    /// Issues that must be satisfied before.
    pub deps: Vec<IssueId>,
    /// The batch it is a member of.
    pub batch: Option<BatchId>,
}

/// See [`super::Event::BatchFormed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchFormed {
    /// Which batch.
    pub batch: BatchId,
    /// How its members are to work.
    pub mode: Mode,
    /// High first; default 10.
    pub priority: i32,
}

/// See [`super::Event::BatchSealed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchSealed {
    /// Which batch.
    pub batch: BatchId,
    /// Its members, in order.
    pub members: Vec<IssueId>,
}

/// See [`super::Event::IssueDone`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueDone {
    /// Which issue.
    pub issue: IssueId,
    /// The dispatch that did it, where one did.
    pub dispatch: Option<DispatchId>,
}

/// See [`super::Event::IssueFailed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueFailed {
    /// Which issue.
    pub issue: IssueId,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::IssueStopped`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueStopped {
    /// Which issue.
    pub issue: IssueId,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::IssueBlocked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueBlocked {
    /// Which issue.
    pub issue: IssueId,
    /// Why: `needs-human`, `dep-failed:<id>`, `reconcile-error` …
    pub reason: String,
    /// What was seen, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// See [`super::Event::IssueUnblocked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueUnblocked {
    /// Which issue.
    pub issue: IssueId,
    /// What had blocked it.
    pub reason: String,
}

/// See [`super::Event::IssueRequeued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssueRequeued {
    /// Which issue.
    pub issue: IssueId,
    /// The branch its earlier work is on.
    pub branch: Option<String>,
}

/// See [`super::Event::Reprioritized`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reprioritized {
    /// Which unit.
    pub unit: Unit,
    /// The new priority.
    pub priority: i32,
}
