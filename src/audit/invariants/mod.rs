//! Did the scheduler keep its promises? The invariants of the design, checked over a whole
//! history, entry by entry.
//!
//! Written from the design's text, independently of `apply` and `rules`: it shares the event
//! types with them and nothing else, so that a fault in those is not a fault here. It takes any
//! sequence of entries, also one that no fold would accept, and never panics.
//!
//! [`RULES`] is the table. Rules 7 to 10 and 14 concern leases, lifecycles, builds, resources and
//! runs, whose events do not exist yet; they are not checked.
//!
//! What is remembered is in `history`: facts as the events state them, without a judgement.
//! Each rule is a file that compares an event (or a whole line) with that memory, before the
//! event is added to it. What belongs to units that are over is forgotten but for their ids, so
//! memory grows with units and dispatches, not with entries.

mod dependencies;
mod dispatches;
mod dissolves;
mod evictions;
mod evidence;
mod history;
mod kills;
mod members;
mod moment;
mod settings;
mod slots;
mod verdicts;

use crate::domain::event::{Entry, Event};
use crate::domain::ids::Unit;
use history::History;
use serde::Serialize;

/// The rules that are checked: number and promise.
pub const RULES: &[(u8, &str)] = &[
    (1, "no dispatch is started twice; no unit has two live agent dispatches"),
    (2, "a slot is held by one unit at a time, never more than `max_slots` when it was planned"),
    (3, "every started dispatch ends in exactly one of exited, lost, superseded-and-gone"),
    (4, "a resolved member is not dispatched again as an agent, and has exactly one outcome"),
    (5, "an eviction's line also holds its slot's release and the batch's next move"),
    (6, "a kill comes at least `kill_escalation` after its stop request"),
    (11, "a threshold dissolve only above its threshold, never over landed members"),
    (12, "dependencies are satisfied before dispatch"),
    (13, "`at` never decreases; every decision names its evidence"),
];

/// A promise that was not kept, or that the journal cannot prove to have been kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which rule of [`RULES`].
    pub rule: u8,
    /// The entries that show it, in order.
    pub entries: Vec<u64>,
    /// The unit it is about, if it is about one.
    pub unit: Option<String>,
    /// One sentence.
    pub message: String,
}

/// The check over one history.
#[derive(Debug, Clone, Default)]
pub struct Audit {
    history: History,
    findings: Vec<Finding>,
}

impl Audit {
    /// Before the first entry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next entry.
    pub fn entry(&mut self, entry: &Entry) {
        let Self { history, findings } = self;
        for (index, event) in entry.events.iter().enumerate() {
            let mut case = Case { history, entry, index, findings };
            for check in EVENT_CHECKS {
                check(&mut case, event);
            }
            history.take(entry, event);
        }
        let mut case = Case { history, entry, index: entry.events.len(), findings };
        for check in LINE_CHECKS {
            check(&mut case);
        }
        history.end_line(entry);
    }

    /// What is certain so far, in the order in which it was found.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// All findings, now that no entry follows.
    pub fn finish(self) -> Vec<Finding> {
        self.findings
    }
}

/// What each rule looks at before an event is remembered.
const EVENT_CHECKS: &[fn(&mut Case<'_>, &Event)] = &[
    dispatches::starts,
    dispatches::ends,
    slots::event,
    members::event,
    kills::event,
    dissolves::event,
    dependencies::event,
    verdicts::event,
    evidence::event,
];

/// What each rule looks at when a line is whole.
const LINE_CHECKS: &[fn(&mut Case<'_>)] =
    &[dispatches::line, slots::line, members::line, evictions::line, moment::line];

/// What a rule sees.
struct Case<'a> {
    history: &'a History,
    entry: &'a Entry,
    /// The event's place in its line.
    index: usize,
    findings: &'a mut Vec<Finding>,
}

impl Case<'_> {
    /// Notes a finding of this entry, with the earlier ones that show it.
    fn found(&mut self, rule: u8, before: &[u64], unit: Option<Unit>, message: String) {
        let mut entries: Vec<u64> = before.iter().copied().filter(|seq| *seq != 0).collect();
        entries.push(self.entry.seq);
        entries.sort_unstable();
        entries.dedup();
        let unit = unit.map(|unit| unit.to_string());
        self.findings.push(Finding { rule, entries, unit, message });
    }

    /// The events of the line before this one.
    fn earlier(&self) -> impl Iterator<Item = &Event> {
        self.entry.events[..self.index].iter()
    }
}
