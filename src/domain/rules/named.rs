//! Which units a text names that is no journal any more.

use crate::domain::ids::Unit;
use crate::domain::state::State;

/// The known units that a damaged text names: batches whole, issues on their own.
pub fn named_in(text: &str, state: &State) -> Vec<Unit> {
    let named =
        |id: &str| text.contains(&format!("\"{id}\"")) || text.contains(&format!("/{id}\""));
    let batches = state
        .batches
        .values()
        .filter(|b| named(b.id.as_str()) || text.contains(&format!("batch:{}", b.id)));
    let mut units: Vec<Unit> = batches.map(|b| b.unit()).collect();
    let issues = state.issues.values().filter(|i| {
        i.batch.is_none() && (named(i.id.as_str()) || text.contains(&format!("issue:{}\"", i.id)))
    });
    units.extend(issues.map(|i| i.unit()));
    units.sort();
    units.dedup();
    units
}
