//! What is known of an issue.

use crate::domain::event::IssueEnqueued;
use crate::domain::ids::{BatchId, IssueId};

/// One issue, in its latest generation.
#[derive(Debug, Clone, Default)]
pub struct Issue {
    /// The entry that queued it.
    pub queued: u64,
    pub deps: Vec<IssueId>,
    /// Whether it is done or its batch has shipped.
    pub satisfied: bool,
    /// Whether it is done, failed or stopped.
    pub over: bool,
    /// Why it is blocked, and since which entry.
    pub block: Option<(u64, String)>,
    /// The entry with which an operator ends it.
    pub stopping: Option<u64>,
    /// Its batches of one, oldest first.
    pub runs: Vec<BatchId>,
}

impl Issue {
    pub fn queued(e: &IssueEnqueued, seq: u64, before: Option<Issue>) -> Self {
        let runs = before.map(|issue| issue.runs).unwrap_or_default();
        Self { queued: seq, deps: e.deps.clone(), runs, ..Self::default() }
    }

    /// Keeps what a dependent asks for; the batches of one that are forgotten with it.
    pub fn shrink(&mut self) -> Vec<BatchId> {
        self.deps = Vec::new();
        std::mem::take(&mut self.runs)
    }
}
