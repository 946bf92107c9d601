//! Events about dispatches: one attempt each to run one command.

use super::{Exit, Ground, Tier, Verdict};
use crate::domain::ids::{BootId, CommitId, DispatchId, GateId, SlotId, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a dispatch is for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Does the work of an issue.
    Agent,
    /// Checks a member before it lands.
    Gate,
    /// Checks the whole integration branch.
    Suite,
    /// Finds who broke the suite.
    Bisect,
    /// One attempt to repair what broke the suite.
    Fix,
    /// Looks at the whole before it ships.
    Review,
    /// Ships by command.
    Ship,
    /// Pushes a branch.
    Push,
    /// Reports.
    Report,
    /// Prepares outside state.
    Setup,
    /// Cleans outside state.
    Teardown,
    /// Makes an artifact.
    Build,
    /// Rescues unsaved work, removes trees, releases resources.
    Reclaim,
    /// Runs a configured hook.
    Hook,
}

impl Role {
    /// Whether the role needs a slot; every other role needs a task permit.
    pub const fn takes_slot(self) -> bool {
        matches!(self, Role::Agent | Role::Fix | Role::Review | Role::Ship | Role::Report)
    }

    /// The role's name as in the journal.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Agent => "agent",
            Role::Gate => "gate",
            Role::Suite => "suite",
            Role::Bisect => "bisect",
            Role::Fix => "fix",
            Role::Review => "review",
            Role::Ship => "ship",
            Role::Push => "push",
            Role::Report => "report",
            Role::Setup => "setup",
            Role::Teardown => "teardown",
            Role::Build => "build",
            Role::Reclaim => "reclaim",
            Role::Hook => "hook",
        }
    }
}

/// Where a dispatch runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Tree {
    /// A member's own worktree, on its branch; made at `commit` when the branch is absent.
    /// With `exact`, HEAD must be `commit` and the tree clean before the command runs.
    Member {
        /// Absolute path.
        path: String,
        /// The member's branch, without `refs/heads/`.
        branch: String,
        /// Where the branch starts, or (exact) what must be checked out.
        commit: CommitId,
        /// Whether exactly `commit` is to be judged.
        exact: bool,
    },
    /// A check tree, detached at `commit`, cleaned before use.
    Check {
        /// Absolute path.
        path: String,
        /// What is checked out.
        commit: CommitId,
    },
    /// An empty run directory, no git.
    None,
}

/// What a built-in dispatch of role `reclaim` does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Reclaim {
    /// Puts dirty files and unreached commits of a tree on a rescue ref and cleans the tree.
    Rescue {
        /// The tree's absolute path.
        path: String,
        /// The branch that must be checked out again.
        branch: String,
    },
    /// Rescues, then removes trees.
    Remove {
        /// Under which directory every path must lie, links resolved.
        root: String,
        /// The trees.
        trees: Vec<ReclaimTree>,
    },
}

/// A tree that is to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReclaimTree {
    /// Whose work it may hold.
    pub unit: Unit,
    /// Absolute path.
    pub path: String,
    /// The branch whose commits count as reached; absent for a check tree.
    pub branch: Option<String>,
}

/// See [`super::Event::DispatchPlanned`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchPlanned {
    /// The new dispatch.
    pub dispatch: DispatchId,
    /// For which unit.
    pub unit: Unit,
    /// In which role.
    pub role: Role,
    /// The slot, for the roles that take one.
    pub slot: Option<SlotId>,
    /// 1 for the first attempt that counts.
    pub attempt: u32,
    /// The tier of this attempt.
    pub tier: Option<Tier>,
    /// The profile; absent for what is not an agent.
    pub profile: Option<String>,
    /// The command, argument by argument; empty for a built-in reclaim.
    pub command: Vec<String>,
    /// Where it runs.
    pub tree: Tree,
    /// Its hard bound in milliseconds.
    pub timeout_ms: u64,
    /// How long it may show no activity, in milliseconds; agents only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_timeout_ms: Option<u64>,
    /// Which gate, for role `gate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateId>,
    /// Whether it asks a gate once more for a blocked batch.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recheck: bool,
    /// Whether it asks the gate of the integration tip, not of the member.
    #[serde(default, skip_serializing_if = "is_false")]
    pub baseline: bool,
    /// What a built-in reclaim does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<Reclaim>,
    /// Not to be started earlier than this many milliseconds after the entry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    /// The dispatch it replaces, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<DispatchId>,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// A process that cannot be mistaken for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its start time in clock ticks since boot (`/proc/<pid>/stat`, field 22).
    pub start_time: u64,
    /// The boot it belongs to.
    pub boot_id: BootId,
    /// The host it runs on.
    pub host: String,
    /// Its pidfs file handle (inode), where the kernel has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
}

/// See [`super::Event::DispatchStarted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchStarted {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// The command's process.
    #[serde(flatten)]
    pub process: Process,
    /// Its process group, which is also its session.
    pub process_group: u32,
    /// Its supervisor.
    pub supervisor: Process,
}

/// See [`super::Event::DispatchExited`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchExited {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// What it was judged as.
    pub verdict: Verdict,
    /// How the judgement came about where no exit code decided: `by-work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<String>,
    /// What was seen.
    pub exit: Exit,
}

/// See [`super::Event::DispatchLost`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchLost {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// Whether the command ran.
    pub ran: bool,
    /// What it was judged as.
    pub verdict: Verdict,
    /// How the judgement came about: `by-work`, or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<String>,
    /// What tree and branch showed, for members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// Last lines of its output, at most 2 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
}

/// See [`super::Event::DispatchExpired`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchExpired {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// Whether somebody tried to start it.
    pub tried: bool,
}

/// See [`super::Event::DispatchSuperseded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DispatchSuperseded {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// Why.
    pub reason: String,
}

/// See [`super::Event::SupervisionLost`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SupervisionLost {
    /// Which dispatch.
    pub dispatch: DispatchId,
}

/// Why a dispatch is stopped. Stronger reasons compare greater.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// No activity for `stall_timeout`.
    Stall,
    /// More output than `output_limit`.
    OutputLimit,
    /// Over its `timeout`.
    Timeout,
    /// A milestone of a phase its role does not allow.
    WrongProcedure,
    /// Its batch dissolves.
    Dissolve,
    /// An operator asked.
    Operator,
}

impl StopReason {
    /// Whether the dispatch itself broke a bound; else it is a decision about its unit.
    pub const fn is_bound(self) -> bool {
        matches!(self, StopReason::Stall | StopReason::OutputLimit | StopReason::Timeout)
    }

    /// The reason's name as in the journal.
    pub const fn name(self) -> &'static str {
        match self {
            StopReason::Stall => "stall",
            StopReason::OutputLimit => "output-limit",
            StopReason::Timeout => "timeout",
            StopReason::WrongProcedure => "wrong-procedure",
            StopReason::Dissolve => "dissolve",
            StopReason::Operator => "operator",
        }
    }
}

/// See [`super::Event::StopRequested`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRequested {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// The process that is asked.
    pub pid: Option<u32>,
    /// The slot it runs in.
    pub slot: Option<SlotId>,
    /// Why.
    pub reason: StopReason,
    /// How long it has until it is killed, in milliseconds.
    pub bound_ms: u64,
}

/// See [`super::Event::MemberStopRequested`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberStopRequested {
    /// Which member.
    pub member: Unit,
    /// Its dispatch.
    pub dispatch: DispatchId,
    /// Why.
    pub reason: StopReason,
}

/// See [`super::Event::StopReasonRaised`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopReasonRaised {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// The stronger reason.
    pub reason: StopReason,
}

/// See [`super::Event::KillEscalated`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KillEscalated {
    /// Which dispatch.
    pub dispatch: DispatchId,
    /// The process that is killed.
    pub pid: Option<u32>,
    /// The slot it runs in.
    pub slot: Option<SlotId>,
    /// How long it has lived since the request, in milliseconds.
    pub alive_ms: u64,
    /// Whether the whole process group is killed.
    pub group: bool,
}

/// See [`super::Event::KillIneffective`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KillIneffective {
    /// Which dispatch.
    pub dispatch: DispatchId,
}

/// See [`super::Event::SlotReleased`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SlotReleased {
    /// Which slot.
    pub slot: SlotId,
    /// The unit that held it.
    pub unit: Unit,
}

/// See [`super::Event::MilestonePosted`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MilestonePosted {
    /// By which dispatch.
    pub dispatch: DispatchId,
    /// For which unit.
    pub unit: Unit,
    /// `plan`, `implement`, `review` …
    pub phase: String,
    /// `started`, `done`, `partial`, `blocked` …
    pub status: String,
    /// Key-value pairs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, String>,
    /// What it used, as it says: `cost_usd`, `tokens`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usage: BTreeMap<String, String>,
    /// One bounded text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// See [`super::Event::WorkRescued`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRescued {
    /// Whose work.
    pub unit: Unit,
    /// The ref it is on now.
    pub reference: String,
    /// The tree it was found in.
    pub path: String,
}

/// See [`super::Event::TreeRemoved`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeRemoved {
    /// Whose tree.
    pub unit: Unit,
    /// Its path.
    pub path: String,
}

/// See [`super::Event::TreeKept`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeKept {
    /// Whose tree.
    pub unit: Unit,
    /// Its path.
    pub path: String,
    /// Why it could not be removed.
    pub reason: String,
}
