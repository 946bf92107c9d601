//! What a batch is judged by, as pinned at its start.

use crate::domain::ids::GateId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A gate as pinned at the start of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateSpec {
    /// Its name.
    pub id: GateId,
    /// Its command.
    pub command: Vec<String>,
    /// Its bound in milliseconds.
    pub timeout_ms: u64,
    /// Exit codes that mean "cannot tell", besides 75, 126 and 127.
    pub inconclusive_codes: Vec<i32>,
    /// How often a failure is asked again on the same commit.
    pub retries: u32,
}

/// How a suite's result is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "format", rename_all = "kebab-case")]
pub enum ReportSpec {
    /// By exit code alone.
    ExitCode,
    /// A JUnit XML file.
    Junit {
        /// Its path, relative to the tree.
        path: String,
    },
}

/// The suite as pinned at the start of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteSpec {
    /// Its command.
    pub command: Vec<String>,
    /// Its bound in milliseconds.
    pub timeout_ms: u64,
    /// How its result is read.
    pub report: ReportSpec,
}

/// How a member's work becomes commits of the integration branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Landing {
    /// One commit.
    Squash,
    /// One commit per member commit.
    Rebase,
    /// A merge commit.
    Merge,
}

/// What a dissolve does with unlanded members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Each goes back to the queue, alone.
    Full,
    /// Two new batches.
    Halved,
    /// Landed members stay and ship, the rest goes back.
    Partial,
}

/// When a batch dissolves, as pinned at its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DissolveSpec {
    /// Share of the members that may be evicted.
    pub fraction: f64,
    /// How many evictions are always tolerated (N − 1 at most).
    pub min_evictions: u32,
    /// What happens with the rest.
    pub strategy: Strategy,
}

/// How a batch ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShipMode {
    /// The base branch moves to the integration tip.
    Merge,
    /// The integration branch is pushed.
    Push,
    /// A command ships.
    Command,
    /// It stays where it is.
    None,
}
