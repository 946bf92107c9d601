//! Plans whatever has a permit now.
//!
//! Slots and task permits are filled in one order. A start that needs the base branch's place,
//! which this decision does not know, ends the filling of slots: nothing overtakes it.

use super::draft::Draft;
use super::needs::{Need, NeedKind, may_start, needs};
use super::{plan, start};
use crate::domain::ids::SlotId;
use crate::domain::state::State;
use crate::domain::time::Now;
use std::time::Duration;

/// Plans dispatches until no permit is free or no need is left.
pub(super) fn fill(draft: &mut Draft<'_>) {
    while let Some(need) = next(draft) {
        let drafted = draft.len();
        match &need.kind {
            NeedKind::StartBatch(batch) => start::start_batch(draft, batch),
            NeedKind::StartIssue(issue) => start::start_issue(draft, issue),
            NeedKind::RunIssue(issue) => plan::run_issue(draft, issue),
            NeedKind::Agent(batch, issue) => plan::agent(draft, batch, issue),
            NeedKind::Rescue(batch, issue) => plan::rescue(draft, batch, issue),
            NeedKind::Gate(batch, issue) => plan::gate(draft, batch, issue, false, false),
            NeedKind::Baseline(batch, issue) => plan::gate(draft, batch, issue, true, false),
            NeedKind::Recheck(batch, issue) => plan::gate(draft, batch, issue, false, true),
            NeedKind::Suite(batch) => plan::suite(draft, batch),
            NeedKind::RemoveTrees(batch) => plan::remove_trees(draft, batch),
        }
        let planned = draft.len() > drafted;
        debug_assert!(planned, "BUG: nothing was planned for {need:?}");
        if !planned {
            return; // it would be asked for ever
        }
    }
}

/// The lowest free slot, if new work may start at all.
pub(super) fn free_slot(state: &State) -> Option<SlotId> {
    (1..=state.config().max_slots()).map(SlotId).find(|slot| !state.slots.contains_key(slot))
}

fn free_task(state: &State) -> bool {
    let open = state.dispatches.values().filter(|d| !d.plan.role.takes_slot()).count();
    open < usize::from(state.config().max_tasks())
}

fn next(draft: &Draft<'_>) -> Option<Need> {
    let state = &draft.state;
    if !spawn_allowed(state, draft.now) {
        return None;
    }
    let mut slots = free_slot(state).is_some() && may_start(state).is_ok();
    let tasks = free_task(state);
    if !slots && !tasks {
        return None;
    }
    for need in needs(state, draft.now) {
        if !need.takes_slot() {
            if tasks {
                return Some(need);
            }
            continue;
        }
        if !slots {
            continue;
        }
        let unknown_base = matches!(need.kind, NeedKind::StartBatch(_) | NeedKind::StartIssue(_))
            && !draft.bases.contains_key(state.config().base_branch());
        if unknown_base {
            slots = false;
            continue;
        }
        return Some(need);
    }
    None
}

/// While starting is suspended, one trial is made when it is due, and nothing else.
fn spawn_allowed(state: &State, now: &Now) -> bool {
    let Some(spawn) = &state.health.spawn else { return true };
    let due = spawn.since.remaining(Duration::from_millis(spawn.trial_after_ms), now).is_zero();
    due && state.dispatches.values().all(|d| d.is_started())
}
