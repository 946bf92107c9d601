//! Events about batches and their members.

use super::{DissolveSpec, GateSpec, Landing, Mode, ShipMode, Strategy, SuiteSpec, Verb};
use crate::domain::ids::{BatchId, CommitId, DispatchId, GateId, IssueId, Unit};
use crate::domain::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// See [`super::Event::BatchStarted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchStarted {
    /// Which batch.
    pub batch: BatchId,
    /// The stand-alone issue whose implicit batch this is; then this event also forms it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<IssueId>,
    /// The base branch, without `refs/heads/`.
    pub base: String,
    /// The base branch's commit.
    pub base_commit: CommitId,
    /// The integration branch, without `refs/heads/`.
    pub branch: String,
    /// How its members work.
    pub mode: Mode,
    /// Where its trees are, absolute.
    pub worktree_root: String,
    /// The gates, in order.
    pub gates: Vec<GateSpec>,
    /// The suite, if there is one.
    pub suite: Option<SuiteSpec>,
    /// How members land.
    pub landing: Landing,
    /// When it dissolves.
    pub dissolve: DissolveSpec,
    /// How it ships.
    pub ship: ShipMode,
}

/// See [`super::Event::IntegrationCreated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntegrationCreated {
    /// Which batch.
    pub batch: BatchId,
    /// Where the integration branch starts.
    pub commit: CommitId,
}

/// See [`super::Event::MemberAssigned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberAssigned {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// Its position, from 1.
    pub n: u32,
    /// Its branch.
    pub branch: String,
    /// Its tree.
    pub worktree: String,
}

/// See [`super::Event::GatesPlanned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GatesPlanned {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// The commit that will be judged, and nothing else.
    pub tip: CommitId,
    /// The gates, in order.
    pub gates: Vec<GateId>,
    /// Whether unsaved work must be rescued from the tree first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rescue: bool,
}

/// See [`super::Event::MemberVerified`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberVerified {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// The commit that passed.
    pub tip: CommitId,
    /// Gates that passed only when asked again on the same commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaky: Vec<GateId>,
}

/// See [`super::Event::LandingPlanned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LandingPlanned {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// What lands.
    pub tip: CommitId,
    /// On what it lands.
    pub parent: CommitId,
    /// Author and committer date of the landing.
    pub time: Timestamp,
    /// The dispatch whose work it is; nil where none is known.
    pub dispatch: DispatchId,
}

/// How a member's work came onto the integration branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Landed {
    /// As a landing of this batch.
    Landed,
    /// It was there already.
    AlreadyLanded,
    /// A declared no-op: nothing to land.
    NoOp,
}

/// See [`super::Event::MemberLanded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberLanded {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// The integration branch's tip with it.
    pub commit: CommitId,
    /// How.
    pub outcome: Landed,
}

/// See [`super::Event::MemberAdvanced`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberAdvanced {
    /// Which batch.
    pub batch: BatchId,
    /// The member that was current.
    pub from: Option<IssueId>,
    /// The member that is current now.
    pub to: IssueId,
}

/// Whose verdict it is that a member leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EvictionKind {
    /// The scheduler's; counts towards a dissolve.
    Evicted,
    /// The member's own, or an operator's; never counts.
    HandedBack,
}

/// What is known about a member that left.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Its last dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<DispatchId>,
    /// Its last milestone, `phase status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// How it ended, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// The last lines of its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The last tool its agent used, where its log is understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tool: Option<String>,
    /// A pull request it opened by itself, for the operator to close.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stray_pr: Option<String>,
    /// Paths in conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// See [`super::Event::MemberEvicted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberEvicted {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// Why: `gate-failed:unit`, `timeout`, `dep-left:101` …
    pub reason: String,
    /// Whose verdict.
    pub kind: EvictionKind,
    /// The branch that keeps its work.
    pub branch: Option<String>,
    /// What is known.
    pub evidence: Evidence,
}

/// See [`super::Event::EvictionDuplicate`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvictionDuplicate {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// Why it would have left.
    pub reason: String,
    /// Whose verdict it would have been.
    pub kind: EvictionKind,
}

/// See [`super::Event::MemberRequeued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberRequeued {
    /// The batch it leaves.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// The new batch it joins; absent: alone.
    pub into: Option<BatchId>,
    /// The branch that keeps its work.
    pub branch: Option<String>,
}

/// See [`super::Event::MemberReprompted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberReprompted {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// The milestone outside the procedure, `phase status`.
    pub milestone: String,
}

/// How the member had been resolved when its batch's move was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveredKind {
    /// Evicted.
    Evicted,
    /// Handed back.
    HandedBack,
    /// Landed.
    Landed,
}

/// See [`super::Event::MemberAdvanceRecovered`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberAdvanceRecovered {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// Why it had left; null for a landing.
    pub reason: Option<String>,
    /// How it had been resolved.
    pub kind: RecoveredKind,
    /// When it had left; null for a landing.
    pub evicted_at: Option<Timestamp>,
    /// Members of the batch.
    pub members: u32,
    /// Evictions that count.
    pub evictions: u32,
    /// The threshold, computed anew.
    pub threshold: u32,
}

/// See [`super::Event::BatchValidating`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchValidating {
    /// Which batch.
    pub batch: BatchId,
    /// The integration tip that is validated.
    pub commit: CommitId,
}

/// What a suite said of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SuiteResult {
    /// It passed.
    Passed,
    /// There is none.
    None,
}

/// See [`super::Event::BatchValidated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchValidated {
    /// Which batch.
    pub batch: BatchId,
    /// The commit that counts as validated.
    pub commit: CommitId,
    /// What the suite said.
    pub suite: SuiteResult,
}

/// See [`super::Event::BatchBlocked`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchBlocked {
    /// Which batch.
    pub batch: BatchId,
    /// Why: `gate-inconclusive:<gate>`, `suite-unreadable` …
    pub reason: String,
    /// The member it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<IssueId>,
    /// The dispatch whose output tells more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispatch: Option<DispatchId>,
    /// What was seen, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// See [`super::Event::BatchResumed`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchResumed {
    /// Which batch.
    pub batch: BatchId,
    /// What had blocked it.
    pub reason: String,
}

/// See [`super::Event::RecheckPlanned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecheckPlanned {
    /// Which batch.
    pub batch: BatchId,
    /// Which issue.
    pub member: IssueId,
    /// Which gate.
    pub gate: GateId,
    /// On which commit.
    pub tip: CommitId,
}

/// Why a batch ends, or does not, with the arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DissolveDecision {
    /// Which batch.
    pub batch: BatchId,
    /// Why: `threshold`, `nothing-landed`, `operator` …
    pub reason: String,
    /// What happens with the rest.
    pub strategy: Strategy,
    /// Members of the batch.
    pub members: u32,
    /// Evictions that count.
    pub evictions: u32,
    /// More evictions than this trip it.
    pub threshold: u32,
    /// Members that have landed.
    pub landed: u32,
}

macro_rules! dissolve_events {
    ($($name:ident)+) => {$(
        #[doc = concat!("See [`super::Event::", stringify!($name), "`].")]
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub DissolveDecision);
    )+};
}

dissolve_events!(DissolveSuppressed BatchDissolving BatchDissolved);

/// See [`super::Event::UnitStopping`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnitStopping {
    /// Which unit.
    pub unit: Unit,
    /// What was asked.
    pub verb: Verb,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::BatchStopped`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchStopped {
    /// Which batch.
    pub batch: BatchId,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::BatchShipping`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchShipping {
    /// Which batch.
    pub batch: BatchId,
    /// The base branch, without `refs/heads/`.
    pub base: String,
    /// Where the base branch is.
    pub old: CommitId,
    /// Where it goes.
    pub new: CommitId,
}

/// See [`super::Event::BatchRebasing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchRebasing {
    /// Which batch.
    pub batch: BatchId,
    /// What the integration branch stands on.
    pub from: CommitId,
    /// Where the base branch is now.
    pub onto: CommitId,
    /// How many times the base has moved while the batch shipped; 0 for a rebase that an
    /// operator's `resume` asked for.
    pub attempt: u32,
}

/// A landed member after a rebase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RebasedMember {
    /// Which issue.
    pub member: IssueId,
    /// Its commit on the new base.
    pub commit: CommitId,
}

/// See [`super::Event::BatchRebased`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchRebased {
    /// Which batch.
    pub batch: BatchId,
    /// The new base commit.
    pub base_commit: CommitId,
    /// The integration branch's new tip.
    pub tip: CommitId,
    /// The landed members' new commits, in order.
    pub members: Vec<RebasedMember>,
}

/// See [`super::Event::BatchMerged`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchMerged {
    /// Which batch.
    pub batch: BatchId,
    /// What the base branch holds now (mode `none`: the integration tip).
    pub commit: CommitId,
}

/// See [`super::Event::BatchDone`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchDone {
    /// Which batch.
    pub batch: BatchId,
}
