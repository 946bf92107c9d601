//! How a dispatch ended: what its supervisor saw, what its tree showed, what it is judged as.

use super::dispatch::is_false;
use crate::domain::ids::{CommitId, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a dispatch's output is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutputRange {
    /// Path, relative to the state directory.
    pub path: String,
    /// How many bytes, from the start.
    pub bytes: u64,
    /// SHA-256 of those bytes, hex.
    pub sha256: String,
}

/// What every end of a dispatch is judged as (3-engine.md, "Whose fault is it").
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// An agent whose work looks done, or a command without a question that ended well.
    Done,
    /// A gate or suite that passed.
    Passed,
    /// A gate or suite that said no and left evidence.
    Failed,
    /// A gate or suite that could not tell.
    Inconclusive,
    /// Ended after our `stop-requested`.
    Stopped,
    /// Ended by a signal that no line of ours asked for.
    KilledOutside,
    /// The command never ran.
    NeverRan,
    /// The tree could not be made.
    WorktreeFailed,
    /// The command could not be executed.
    HostFault,
    /// Lost with the machine.
    HostLost,
    /// Lost without the machine.
    Lost,
    /// The member's own hand-back.
    HandedBack,
    /// Asks for a person.
    NeedsHuman,
    /// Nothing came of it at all.
    Empty,
    /// All else that is not verified done.
    UnverifiedExit,
}

impl Verdict {
    /// The verdict's name as in the journal.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Done => "done",
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Stopped => "stopped",
            Verdict::KilledOutside => "killed-outside",
            Verdict::NeverRan => "never-ran",
            Verdict::WorktreeFailed => "worktree-failed",
            Verdict::HostFault => "host-fault",
            Verdict::HostLost => "host-lost",
            Verdict::Lost => "lost",
            Verdict::HandedBack => "handed-back",
            Verdict::NeedsHuman => "needs-human",
            Verdict::Empty => "empty",
            Verdict::UnverifiedExit => "unverified-exit",
        }
    }
}

/// What a member's tree and branch showed when its agent was gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ground {
    /// The tip of the member's branch; absent when the branch is gone.
    pub tip: Option<CommitId>,
    /// Commits on the branch that the integration branch does not have.
    pub commits: u32,
    /// Whether tracked or untracked files differ from HEAD.
    pub dirty: bool,
    /// Whether the tree is there and belongs to this repository.
    pub tree: bool,
    /// Whether HEAD is the member's branch.
    pub on_branch: bool,
    /// The tip together with an integration tip that it does not stand on: what is judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<Merge>,
}

/// A member's work on an integration tip that it does not stand on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Merge {
    /// The merge of both.
    Commit(CommitId),
    /// It conflicts in these paths; at most 50.
    Conflict(Vec<String>),
}

/// What a suite's report said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteReport {
    /// How many tests ran.
    pub tests: u32,
    /// The names of those that failed; at most 200.
    pub failures: Vec<String>,
    /// Why the report could not be read, if it could not.
    pub unreadable: Option<String>,
}

/// How a dispatch ended, as its supervisor saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exit {
    /// Whether the command ran at all.
    pub ran: bool,
    /// Exit code, when it exited.
    pub code: Option<i32>,
    /// Signal number, when one ended it.
    pub signal: Option<i32>,
    /// From go byte to end, in milliseconds.
    pub duration_ms: u64,
    /// CPU time of all its processes, in milliseconds.
    pub cpu_ms: u64,
    /// Peak memory of its largest process, in KiB.
    pub max_rss_kib: u64,
    /// Its output.
    pub output: Option<OutputRange>,
    /// Last lines of its output, at most 2 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_tail: String,
    /// Why the command could not be executed, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_failed: Option<String>,
    /// Why the working tree could not be made, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_failed: Option<String>,
    /// Whether that reason lies in the member's own branch or path.
    #[serde(default, skip_serializing_if = "is_false")]
    pub worktree_own: bool,
    /// Whether the supervisor was told to leave and ended the command for that.
    #[serde(default, skip_serializing_if = "is_false")]
    pub supervisor: bool,
    /// How many processes of its own were left and had to be ended.
    #[serde(default, skip_serializing_if = "is_zero_u32")]
    pub left_behind: u32,
    /// What tree and branch showed, for members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// What the suite's report said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<SuiteReport>,
    /// What a built-in reclaim did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reclaimed: Vec<Reclaimed>,
}

fn is_zero_u32(value: &u32) -> bool {
    *value == 0
}

/// What became of one tree of a reclaim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reclaimed {
    /// Whose tree.
    pub unit: Unit,
    /// The tree's path.
    pub path: String,
    /// The rescue ref, when there was something to rescue.
    pub rescue: Option<String>,
    /// Whether the tree is gone (or, for a rescue, clean).
    pub done: bool,
    /// Why not.
    pub error: Option<String>,
}
