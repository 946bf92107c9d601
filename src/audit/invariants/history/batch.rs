//! What is known of a batch and its members.

use crate::domain::event::{BatchStarted, EvictionKind, Mode, ShipMode};
use crate::domain::ids::{CommitId, GateId, IssueId};
use std::collections::BTreeMap;

/// How a member left its batch, or landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    Landed,
    Evicted,
    HandedBack,
    Requeued,
}

impl Left {
    pub fn by(kind: EvictionKind) -> Self {
        match kind {
            EvictionKind::Evicted => Left::Evicted,
            EvictionKind::HandedBack => Left::HandedBack,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Left::Landed => "landed",
            Left::Evicted => "evicted",
            Left::HandedBack => "handed back",
            Left::Requeued => "queued again",
        }
    }
}

/// One member.
#[derive(Debug, Clone, Default)]
pub struct Member {
    /// Its outcome, with its entry; of a landed one that left afterwards, the later.
    pub outcome: Option<(u64, Left)>,
    /// What goes to the gates.
    pub judged: Option<(CommitId, Vec<GateId>)>,
    pub verified: Option<CommitId>,
    pub landing: Option<CommitId>,
    /// The entry with which an operator ends it.
    pub stopping: Option<u64>,
}

/// What was pinned when it started.
#[derive(Debug, Clone)]
pub struct Pinned {
    pub serial: bool,
    pub suite: bool,
    pub ships_nowhere: bool,
    fraction: f64,
    min_evictions: u32,
}

/// One batch.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub members: BTreeMap<IssueId, Member>,
    pub sealed: bool,
    /// The stand-alone issue whose batch of one this is.
    pub issue: Option<IssueId>,
    pub pinned: Option<Pinned>,
    pub current: Option<IssueId>,
    /// Whether its members have been worked and the whole is looked at.
    pub whole: bool,
    pub rebasing: bool,
    pub dissolving: bool,
    /// The entry with which an operator stops it.
    pub stopping: Option<u64>,
    /// Why it is blocked, and since which entry.
    pub block: Option<(u64, String)>,
    pub validated: Option<CommitId>,
    pub shipping: Option<CommitId>,
    pub merged: Option<u64>,
    /// The entry with which it ended.
    pub over: Option<u64>,
    /// How many members came to each outcome.
    landed: u32,
    evicted: u32,
    resolved: usize,
}

impl Batch {
    pub fn start(&mut self, e: &BatchStarted) {
        self.pinned = Some(Pinned {
            serial: e.mode == Mode::Serial,
            suite: e.suite.is_some(),
            ships_nowhere: e.ship == ShipMode::None,
            fraction: e.dissolve.fraction,
            min_evictions: e.dissolve.min_evictions,
        });
        if let Some(issue) = &e.issue {
            self.issue = Some(issue.clone());
            self.join(issue);
            self.sealed = true;
        }
    }

    /// How many members there are, as the statements of decisions count them.
    pub fn size(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    pub fn join(&mut self, issue: &IssueId) {
        self.members.entry(issue.clone()).or_default();
    }

    /// A member came to an outcome.
    pub fn resolve(&mut self, issue: &IssueId, seq: u64, how: Left) {
        let Some(member) = self.members.get_mut(issue) else { return };
        match member.outcome.replace((seq, how)).map(|(_, before)| before) {
            None => self.resolved += 1,
            Some(Left::Landed) => self.landed -= 1,
            Some(Left::Evicted) => self.evicted -= 1,
            Some(_) => {}
        }
        match how {
            Left::Landed => self.landed += 1,
            Left::Evicted => self.evicted += 1,
            _ => {}
        }
    }

    /// How many members have landed.
    pub fn landed(&self) -> u32 {
        self.landed
    }

    /// How many members left by the scheduler's verdict.
    pub fn evicted(&self) -> u32 {
        self.evicted
    }

    /// Whether a member has no outcome.
    pub fn has_unresolved(&self) -> bool {
        self.resolved < self.members.len()
    }

    /// `T = min(max(ceil(N × fraction), min_evictions), N − 1)`, in decimal arithmetic: seven
    /// hundredths of a hundred are seven.
    pub fn threshold(&self) -> u32 {
        let members = self.size();
        let (fraction, least) =
            self.pinned.as_ref().map_or((1.0 / 3.0, 1), |p| (p.fraction, p.min_evictions));
        let billionths = (f64::from(members) * fraction * 1e9).round();
        let share = (billionths / 1e9).ceil().clamp(0.0, f64::from(members)) as u32;
        share.max(least).min(members.saturating_sub(1))
    }

    /// The entries with which members came to an outcome, oldest first.
    pub fn outcomes(&self, how: Left) -> Vec<u64> {
        let outcomes = self.members.values().filter_map(|m| m.outcome);
        let mut entries: Vec<u64> =
            outcomes.filter(|(_, left)| *left == how).map(|(seq, _)| seq).collect();
        entries.sort_unstable();
        entries
    }
}
