//! What is known of a dispatch.

use crate::audit::invariants::moment::Moment;
use crate::domain::event::{DispatchPlanned, DispatchStarted, Role, StopReason, Tree, Verdict};
use crate::domain::ids::{BootId, CommitId, GateId, SlotId, Unit};

/// Whether a dispatch is known.
pub enum Known<'a> {
    /// No entry planned it.
    Never,
    /// Its unit is over; it ended with this entry.
    Past(u64),
    /// Known with all that was said of it.
    Here(&'a Dispatch),
}

impl<'a> Known<'a> {
    /// All that was said of it, unless it is forgotten.
    pub fn here(self) -> Option<&'a Dispatch> {
        match self {
            Known::Here(dispatch) => Some(dispatch),
            _ => None,
        }
    }
}

/// When it started, and as which process.
#[derive(Debug, Clone)]
pub struct Started {
    pub seq: u64,
    pub pid: u32,
    pub boot: BootId,
}

/// A stop that was requested.
#[derive(Debug, Clone)]
pub struct Stop {
    pub requested: Moment,
    pub bound_ms: u64,
    pub reason: StopReason,
    pub killed: Option<Moment>,
    pub ineffective: Option<u64>,
}

/// How it ended; without a verdict when it never started.
#[derive(Debug, Clone)]
pub struct End {
    pub seq: u64,
    pub how: &'static str,
    pub verdict: Option<Verdict>,
}

/// One dispatch.
#[derive(Debug, Clone)]
pub struct Dispatch {
    pub unit: Unit,
    pub role: Role,
    pub slot: Option<SlotId>,
    pub gate: Option<GateId>,
    pub baseline: bool,
    pub commit: Option<CommitId>,
    pub planned: u64,
    pub started: Option<Started>,
    pub stop: Option<Stop>,
    pub superseded: Option<u64>,
    pub end: Option<End>,
}

impl Dispatch {
    pub fn planned(e: &DispatchPlanned, seq: u64) -> Self {
        let commit = match &e.tree {
            Tree::Member { commit, .. } | Tree::Check { commit, .. } => Some(commit.clone()),
            Tree::None => None,
        };
        Self {
            unit: e.unit.clone(),
            role: e.role,
            slot: e.slot,
            gate: e.gate.clone(),
            baseline: e.baseline,
            commit,
            planned: seq,
            started: None,
            stop: None,
            superseded: None,
            end: None,
        }
    }

    pub fn start(&mut self, e: &DispatchStarted, seq: u64) {
        let boot = e.process.boot_id.clone();
        self.started.get_or_insert(Started { seq, pid: e.process.pid, boot });
    }

    pub fn end(&mut self, seq: u64, how: &'static str, verdict: Option<Verdict>) {
        self.end.get_or_insert(End { seq, how, verdict });
    }

    /// Whether a process of it may live, or may still be started.
    pub fn is_open(&self) -> bool {
        self.end.is_none() && (self.superseded.is_none() || self.started.is_some())
    }

    /// Whether a process of it may live.
    pub fn is_live(&self) -> bool {
        self.end.is_none() && self.started.is_some()
    }

    /// Whether it ended with this verdict.
    pub fn was(&self, verdict: Verdict) -> bool {
        self.end.as_ref().is_some_and(|end| end.verdict == Some(verdict))
    }

    /// The last entry that changed it.
    pub fn last_entry(&self) -> u64 {
        let ended = self.end.as_ref().map(|end| end.seq);
        let started = self.started.as_ref().map(|started| started.seq);
        ended.or(self.superseded).or(started).unwrap_or(self.planned)
    }
}
