//! An issue: one piece of work, and where it stands.

use crate::domain::event::{Evidence, Tier, Verb, Verdict};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use crate::domain::time::Stamp;
use serde::{Deserialize, Serialize};

/// Where an issue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IssueStatus {
    /// In the queue.
    Queued,
    /// At work without a tree.
    Dispatched,
    /// A member whose turn is not now.
    Waiting,
    /// A member at work or under judgement.
    Working,
    /// A member that passed its gates.
    Verified,
    /// On the integration branch.
    Landed,
    /// On the base branch.
    Shipped,
    /// Over, done.
    Done,
    /// Left its batch by the scheduler's verdict.
    Evicted,
    /// Left its batch by its own.
    HandedBack,
    /// Cannot go on by itself.
    Blocked,
    /// Over, failed.
    Failed,
    /// Over, stopped by an operator.
    Stopped,
}

impl IssueStatus {
    /// The name as in the journal.
    pub const fn name(self) -> &'static str {
        match self {
            IssueStatus::Queued => "queued",
            IssueStatus::Dispatched => "dispatched",
            IssueStatus::Waiting => "waiting",
            IssueStatus::Working => "working",
            IssueStatus::Verified => "verified",
            IssueStatus::Landed => "landed",
            IssueStatus::Shipped => "shipped",
            IssueStatus::Done => "done",
            IssueStatus::Evicted => "evicted",
            IssueStatus::HandedBack => "handed-back",
            IssueStatus::Blocked => "blocked",
            IssueStatus::Failed => "failed",
            IssueStatus::Stopped => "stopped",
        }
    }

    /// Whether nothing more happens to it, unless it is queued anew.
    pub const fn is_terminal(self) -> bool {
        matches!(self, IssueStatus::Done | IssueStatus::Failed | IssueStatus::Stopped)
    }

    /// Whether it left its batch and waits for an operator.
    pub const fn is_parked(self) -> bool {
        matches!(self, IssueStatus::Evicted | IssueStatus::HandedBack)
    }

    /// Whether a dependency on it is satisfied.
    pub const fn satisfies(self) -> bool {
        matches!(self, IssueStatus::Shipped | IssueStatus::Done)
    }

    /// Whether what depends on it can never start.
    pub const fn fails_dependents(self) -> bool {
        matches!(self, IssueStatus::Failed | IssueStatus::Stopped)
    }

    /// Whether the edge exists (4-batches.md, "Status machines").
    pub const fn may_become(self, to: IssueStatus) -> bool {
        use IssueStatus as S;
        match (self, to) {
            (S::Queued, S::Dispatched | S::Waiting)
            | (S::Dispatched, S::Queued | S::Done)
            | (S::Waiting, S::Working)
            | (S::Working, S::Waiting | S::Verified)
            | (S::Verified, S::Landed)
            | (S::Landed, S::Shipped | S::Evicted | S::Queued)
            | (S::Shipped, S::Done)
            | (S::Evicted | S::HandedBack, S::Queued)
            | (S::Waiting | S::Working | S::Verified, S::Evicted | S::HandedBack | S::Queued) => {
                true
            }
            (from, S::Blocked) => !from.is_terminal() && !matches!(from, S::Blocked),
            (from, S::Failed | S::Stopped) => !from.is_terminal(),
            _ => false,
        }
    }
}

/// Why an issue is blocked, and where it goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueBlock {
    /// Why.
    pub reason: String,
    /// What was seen, for people.
    pub detail: Option<String>,
    /// Where it stood.
    pub from: IssueStatus,
    /// Since when.
    pub since: Stamp,
}

/// An operator's word that an issue is to end as soon as its process is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopping {
    /// What was asked.
    pub verb: Verb,
    /// Why.
    pub reason: String,
}

/// How the dispatches of a unit ended lately, where that decides what follows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Ends by a foreign signal, in a row.
    #[serde(default, skip_serializing_if = "is_default")]
    pub killed_outside: u32,
    /// Losses after it ran, in a row.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lost: u32,
    /// Ends without any result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empty: u32,
    /// Trees that could not be made, in a row.
    #[serde(default, skip_serializing_if = "is_default")]
    pub worktree_failed: u32,
    /// Attempts that counted.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attempts: u32,
    /// Not to be planned again earlier than this long after `since`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay_ms: u64,
    /// When the last one ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub since: Stamp,
}

impl Tally {
    /// Takes note of how a dispatch ended, and whether it had broken a bound of its own.
    pub fn note(&mut self, verdict: Verdict, bound: bool, at: &Stamp) {
        let keep = |same: bool, count: u32| if same { count + 1 } else { 0 };
        self.killed_outside = keep(verdict == Verdict::KilledOutside, self.killed_outside);
        self.lost = keep(verdict == Verdict::Lost, self.lost);
        self.worktree_failed = keep(verdict == Verdict::WorktreeFailed, self.worktree_failed);
        self.empty += u32::from(verdict == Verdict::Empty);
        let counts = matches!(
            verdict,
            Verdict::Done | Verdict::HandedBack | Verdict::UnverifiedExit | Verdict::Empty
        );
        self.attempts += u32::from(counts || bound && verdict == Verdict::Stopped);
        self.rest(verdict, at);
    }

    /// Takes note of a tree that could not be made for a gate, or could: nothing else of a gate
    /// counts for the unit's agents.
    pub fn note_tree(&mut self, verdict: Verdict, at: &Stamp) {
        let failed = verdict == Verdict::WorktreeFailed;
        self.worktree_failed = if failed { self.worktree_failed + 1 } else { 0 };
        self.rest(verdict, at);
    }

    fn rest(&mut self, verdict: Verdict, at: &Stamp) {
        self.since = at.clone();
        self.back_off(if verdict == Verdict::WorktreeFailed { self.worktree_failed } else { 0 });
    }

    /// Not to be planned again at once after so many failures in a row.
    pub fn back_off(&mut self, failures: u32) {
        self.delay_ms = match failures {
            0 => 0,
            1 => 1_000,
            2 => 10_000,
            _ => 60_000,
        };
    }
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    /// Its id.
    pub id: IssueId,
    /// How often it was queued anew after its end, from 1.
    pub generation: u32,
    /// One line.
    #[serde(default, skip_serializing_if = "is_default")]
    pub title: Option<String>,
    /// What its agent is told instead of the profile's prompt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub prompt: Option<String>,
    /// Its profile; absent: `agent`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: Option<String>,
    /// The tier that was asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tier: Option<Tier>,
    /// High first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// What must be satisfied before.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deps: Vec<IssueId>,
    /// When it was queued.
    pub queued: Stamp,
    /// Where it stands.
    pub status: IssueStatus,
    /// Why it is blocked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub block: Option<IssueBlock>,
    /// Why it ended as it did, or left its batch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: Option<String>,
    /// Its batch, implicit ones too.
    #[serde(default, skip_serializing_if = "is_default")]
    pub batch: Option<BatchId>,
    /// How many implicit batches it has had.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs: u32,
    /// The branch that has its work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub branch: Option<String>,
    /// Its open dispatch, when it works without a tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dispatch: Option<DispatchId>,
    /// How its dispatches ended, when it works without a tree.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tally: Tally,
    /// What is known of its last dispatch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: Evidence,
    /// Set when it ends as soon as its process is gone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stopping: Option<Stopping>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Issue {
    /// The unit name of the issue on its own.
    pub fn unit(&self) -> Unit {
        Unit::Issue(self.id.clone())
    }

    /// The title, or the id where there is none.
    pub fn title(&self) -> &str {
        self.title.as_deref().unwrap_or(self.id.as_str())
    }

    /// The tier that was asked for, or the one in the middle.
    pub fn requested_tier(&self) -> Tier {
        self.tier.unwrap_or(Tier::Mid)
    }

    /// The profile's name.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("agent")
    }
}
