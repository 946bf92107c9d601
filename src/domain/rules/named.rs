//! Which units a repair holds back: what was given up may have been about them.

use crate::domain::ids::Unit;
use crate::domain::state::State;
use std::collections::BTreeSet;

/// The units that a damaged text names, by their own id or by one of their dispatches, and
/// whatever has an open dispatch: its start or its end may be what was given up. Batches whole,
/// issues on their own. Where more was lost than can be read (`missing`), all that is unfinished.
pub fn named_in(text: &str, missing: bool, state: &State) -> Vec<Unit> {
    let named =
        |id: &str| text.contains(&format!("\"{id}\"")) || text.contains(&format!("/{id}\""));
    let batches =
        state.batches.values().filter(|b| !b.is_over()).filter(|b| {
            missing || named(b.id.as_str()) || text.contains(&format!("batch:{}", b.id))
        });
    let mut units: BTreeSet<Unit> = batches.map(|b| b.unit()).collect();
    let unfinished = state
        .issues
        .values()
        .filter(|i| i.batch.is_none() && !i.status.is_terminal() && !i.status.is_parked());
    let issues = unfinished
        .filter(|i| missing || named(i.id.as_str()) || text.contains(&format!("issue:{}\"", i.id)));
    units.extend(issues.map(|i| i.unit()));
    let open = state.dispatches.values().map(|d| match state.batch_of(&d.unit) {
        Some(batch) => batch.unit(),
        None => d.unit.clone(),
    });
    units.extend(open);
    units.into_iter().collect()
}
