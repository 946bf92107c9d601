//! A batch, its members, and where they stand.

use super::issue::{Stopping, Tally};
use crate::domain::event::{BatchStarted, DissolveDecision, EvictionKind, Evidence, Landed, Mode};
use crate::domain::ids::{BatchId, CommitId, DispatchId, GateId, IssueId, Unit};
use crate::domain::time::{Stamp, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)] // the names are the documentation: 4-batches.md, "Status machines"
pub enum BatchStatus {
    Forming,
    Ready,
    Executing,
    Validating,
    Attributing,
    Fixing,
    Evicting,
    Reviewing,
    Shipping,
    AwaitingMerge,
    Rebasing,
    Merged,
    Done,
    Dissolving,
    Dissolved,
    Blocked,
    Stopped,
}

impl BatchStatus {
    /// The name as in the journal.
    pub const fn name(self) -> &'static str {
        use BatchStatus as S;
        match self {
            S::Forming => "forming",
            S::Ready => "ready",
            S::Executing => "executing",
            S::Validating => "validating",
            S::Attributing => "attributing",
            S::Fixing => "fixing",
            S::Evicting => "evicting",
            S::Reviewing => "reviewing",
            S::Shipping => "shipping",
            S::AwaitingMerge => "awaiting-merge",
            S::Rebasing => "rebasing",
            S::Merged => "merged",
            S::Done => "done",
            S::Dissolving => "dissolving",
            S::Dissolved => "dissolved",
            S::Blocked => "blocked",
            S::Stopped => "stopped",
        }
    }

    /// Whether nothing more happens to it, except cleaning up.
    pub const fn is_terminal(self) -> bool {
        matches!(self, BatchStatus::Done | BatchStatus::Dissolved | BatchStatus::Stopped)
    }

    /// Whether it may dissolve from here.
    pub const fn may_dissolve(self) -> bool {
        use BatchStatus as S;
        matches!(
            self,
            S::Forming
                | S::Ready
                | S::Executing
                | S::Validating
                | S::Attributing
                | S::Fixing
                | S::Evicting
                | S::Reviewing
                | S::Shipping
                | S::AwaitingMerge
                | S::Rebasing
                | S::Blocked
        )
    }

    /// Whether the edge exists (4-batches.md, "Status machines"). `validating → rebasing` and
    /// `executing → rebasing → executing` are what `resume` of `suite-unattributed` and of
    /// `gate-baseline-red` do when the base has moved.
    pub const fn may_become(self, to: BatchStatus) -> bool {
        use BatchStatus as S;
        match (self, to) {
            (S::Forming, S::Ready)
            | (S::Ready, S::Executing)
            | (S::Executing, S::Validating | S::Shipping | S::Rebasing)
            | (S::Validating, S::Reviewing | S::Shipping | S::Attributing | S::Rebasing)
            | (S::Attributing, S::Fixing | S::Evicting)
            | (S::Fixing | S::Evicting, S::Validating)
            | (S::Reviewing, S::Shipping)
            | (S::Shipping, S::AwaitingMerge | S::Merged | S::Rebasing)
            | (S::AwaitingMerge, S::Merged | S::Rebasing)
            | (S::Rebasing, S::Executing | S::Validating | S::Shipping)
            | (S::Merged, S::Done)
            | (S::Dissolving, S::Dissolved) => true,
            (from, S::Dissolving | S::Dissolved) => from.may_dissolve(),
            (from, S::Blocked) => !from.is_terminal() && !matches!(from, S::Blocked),
            (from, S::Stopped) => !from.is_terminal(),
            _ => false,
        }
    }
}

/// How a member was resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// On the integration branch.
    Landed,
    /// Left by the scheduler's verdict.
    Evicted,
    /// Left by its own.
    HandedBack,
    /// Back in the queue.
    Requeued,
}

/// How often in a row what was lost through nobody's fault is run again.
pub const LOSSES_AGAIN: u32 = 2;

/// A member under judgement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judging {
    /// What is judged.
    pub tip: CommitId,
    /// The integration tip it stands against.
    pub base: CommitId,
    /// The gates, in order.
    pub gates: Vec<GateId>,
    /// How many have passed.
    pub passed: usize,
    /// How often the current gate has failed.
    pub failures: u32,
    /// How often the current gate was lost or ended from outside, in a row.
    pub losses: u32,
    /// Gates that passed only when asked again.
    pub flaky: Vec<GateId>,
    /// Whether unsaved work must leave the tree first.
    pub rescue: bool,
    /// Whether there is nothing to land, as declared.
    pub no_op: bool,
}

impl Judging {
    /// The gate that is due.
    pub fn current(&self) -> Option<&GateId> {
        self.gates.get(self.passed)
    }
}

/// A landing that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandingPlan {
    /// What lands.
    pub tip: CommitId,
    /// On what.
    pub parent: CommitId,
    /// Its dates.
    pub time: Timestamp,
    /// Whose work it is.
    pub dispatch: DispatchId,
    /// Sequence number and hash of the planning entry.
    pub planned_by: (u64, String),
}

/// An issue inside a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Which issue.
    pub issue: IssueId,
    /// Its position, from 1.
    pub n: u32,
    /// How it was resolved.
    pub outcome: Option<Outcome>,
    /// How its agents ended.
    pub tally: Tally,
    /// The judgement under way.
    pub judging: Option<Judging>,
    /// The landing that is owed.
    pub landing: Option<LandingPlan>,
    /// The integration tip it landed as.
    pub landed: Option<(CommitId, Landed)>,
    /// The wrong milestone it was re-prompted for.
    pub reprompted: Option<String>,
    /// Its last agent.
    pub agent: Option<DispatchId>,
    /// What is known of its last dispatch.
    pub evidence: Evidence,
    /// Set when it ends as soon as its process is gone.
    pub stopping: Option<Stopping>,
}

/// A member that left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Eviction {
    /// Which issue.
    pub member: IssueId,
    /// Whose verdict.
    pub kind: EvictionKind,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
    /// The branch that keeps its work.
    pub branch: Option<String>,
}

/// Why a batch is blocked, and where it goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchBlock {
    /// Why.
    pub reason: String,
    /// What was seen, for people.
    pub detail: Option<String>,
    /// The member it is about.
    pub member: Option<IssueId>,
    /// The dispatch whose output tells more.
    pub dispatch: Option<DispatchId>,
    /// Where it stood.
    pub from: BatchStatus,
    /// Since when.
    pub since: Stamp,
    /// Whether a recheck was asked for and has not answered yet.
    pub recheck: bool,
}

/// What a gate says of the integration tip itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline {
    /// The gate.
    pub gate: GateId,
    /// The integration tip.
    pub commit: CommitId,
    /// Whether it passed.
    pub green: bool,
}

/// A rebase that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebasing {
    /// The old base.
    pub from: CommitId,
    /// The new base.
    pub onto: CommitId,
    /// Whether the batch's members are still at work: it goes back to that.
    pub executing: bool,
}

/// A tree that exists and must be removed one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRecord {
    /// Whose tree.
    pub unit: Unit,
    /// Its branch; absent for a check tree.
    pub branch: Option<String>,
}

/// A group of issues that land and ship together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Its id.
    pub id: BatchId,
    /// The stand-alone issue whose implicit batch this is.
    pub issue: Option<IssueId>,
    /// How its members are to work.
    pub mode: Mode,
    /// High first.
    pub priority: i32,
    /// Where it stands.
    pub status: BatchStatus,
    /// Since when it has been ready.
    pub ready: Stamp,
    /// Why it is blocked.
    pub block: Option<BatchBlock>,
    /// Its members, in order.
    pub members: Vec<Member>,
    /// The member whose turn it is.
    pub current: Option<IssueId>,
    /// What it is judged by; absent before its start.
    pub pinned: Option<BatchStarted>,
    /// The base it stands on.
    pub base_commit: Option<CommitId>,
    /// The integration branch's tip; absent until the branch was made.
    pub integration: Option<CommitId>,
    /// Members that left, in order.
    pub evictions: Vec<Eviction>,
    /// What gates said of integration tips.
    pub baselines: Vec<Baseline>,
    /// The dissolve under way.
    pub dissolving: Option<DissolveDecision>,
    /// Set when it ends as soon as its processes are gone.
    pub stopping: Option<Stopping>,
    /// The suite's losses in a row.
    pub suite_losses: u32,
    /// The commit that counts as validated.
    pub validated: Option<CommitId>,
    /// Whether it holds the lane of its base.
    pub lane: bool,
    /// The move of the base branch that is owed: from, to.
    pub shipping: Option<(CommitId, CommitId)>,
    /// The rebase that is owed.
    pub rebasing: Option<Rebasing>,
    /// How often it was rebased because its base moved while it shipped.
    pub rebases: u32,
    /// Its trees, by path.
    pub trees: BTreeMap<String, TreeRecord>,
    /// How its attempts to remove trees went.
    pub reclaim: Tally,
    /// Attempts to remove trees that failed.
    pub reclaim_failures: u32,
}

impl Batch {
    /// The unit name: a stand-alone issue's implicit batch is the issue.
    pub fn unit(&self) -> Unit {
        match &self.issue {
            Some(issue) => Unit::Issue(issue.clone()),
            None => Unit::Batch(self.id.clone()),
        }
    }

    /// The unit name of one of its members.
    pub fn member_unit(&self, issue: &IssueId) -> Unit {
        match &self.issue {
            Some(issue) => Unit::Issue(issue.clone()),
            None => Unit::Member(self.id.clone(), issue.clone()),
        }
    }

    /// Whether a unit is this batch or one of its members.
    pub fn owns(&self, unit: &Unit) -> bool {
        match unit {
            Unit::Issue(issue) => self.issue.as_ref() == Some(issue),
            Unit::Batch(batch) | Unit::Member(batch, _) => *batch == self.id,
        }
    }

    /// One of its members.
    pub fn member(&self, issue: &IssueId) -> Option<&Member> {
        self.members.iter().find(|m| m.issue == *issue)
    }

    /// The member whose turn it is.
    pub fn current(&self) -> Option<&Member> {
        self.member(self.current.as_ref()?)
    }

    /// The member under judgement.
    pub fn judged(&self) -> Option<(&Member, &Judging)> {
        let member = self.current().filter(|m| m.outcome.is_none())?;
        Some((member, member.judging.as_ref()?))
    }

    /// Whether nothing more happens to it, except cleaning up.
    pub fn is_over(&self) -> bool {
        self.status.is_terminal()
    }

    /// Members on the integration branch.
    pub fn landed(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|m| m.outcome == Some(Outcome::Landed))
    }

    /// How many evictions count towards a dissolve.
    pub fn counted_evictions(&self) -> u32 {
        let counts = self.evictions.iter().filter(|e| e.kind == EvictionKind::Evicted).count();
        u32::try_from(counts).unwrap_or(u32::MAX)
    }

    /// The members' branch names.
    pub fn branch_of(&self, member: &Member) -> String {
        format!("sched/{}/{}-{}", self.id, member.n, member.issue)
    }

    /// The integration branch's name.
    pub fn integration_branch(&self) -> String {
        format!("sched/{}/integration", self.id)
    }

    /// The member's tree; empty before the batch's start.
    pub fn tree_of(&self, member: &Member) -> String {
        let root = self.pinned.as_ref().map_or("", |p| p.worktree_root.as_str());
        format!("{root}/{}/{}-{}", self.id, member.n, member.issue)
    }

    /// The `n`-th check tree.
    pub fn check_tree(&self, n: u32) -> String {
        let root = self.pinned.as_ref().map_or("", |p| p.worktree_root.as_str());
        format!("{root}/{}/check-{n}", self.id)
    }
}
