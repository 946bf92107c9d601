//! Which units a repair holds back: what was given up may have been about them.

use crate::domain::ids::Unit;
use crate::domain::state::State;
use serde_json::Value;
use std::collections::BTreeSet;

/// Keys under which an event names a unit, or a part of one, or a dispatch.
const NAMES: [&str; 6] = ["unit", "issue", "member", "batch", "dispatch", "replaces"];

/// The unfinished units that a damaged text names, by their own id or by one of their dispatches,
/// and whatever has an open dispatch: its start or its end may be what was given up. Batches
/// whole, issues on their own. Where more was lost than can be read (`missing`), or damage may
/// have changed a name, all that is unfinished.
pub fn named_in(text: &str, missing: bool, state: &State) -> Vec<Unit> {
    let all = missing || !is_telling(text, state);
    let named =
        |id: &str| text.contains(&format!("\"{id}\"")) || text.contains(&format!("/{id}\""));
    let batches = state
        .batches
        .values()
        .filter(|b| !b.is_over())
        .filter(|b| all || named(b.id.as_str()) || text.contains(&format!("batch:{}", b.id)));
    let mut units: BTreeSet<Unit> = batches.map(|b| b.unit()).collect();
    let unfinished = state
        .issues
        .values()
        .filter(|i| i.batch.is_none() && !i.status.is_terminal() && !i.status.is_parked());
    let issues = unfinished
        .filter(|i| all || named(i.id.as_str()) || text.contains(&format!("issue:{}\"", i.id)));
    units.extend(issues.map(|i| i.unit()));
    let open = state.dispatches.values().map(|d| match state.batch_of(&d.unit) {
        Some(batch) => batch.unit(),
        None => d.unit.clone(),
    });
    units.extend(open);
    units.into_iter().collect()
}

/// Whether each line still reads as an entry, and names only what is known or what the lines
/// themselves bring in.
fn is_telling(text: &str, state: &State) -> bool {
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else { return false };
        let Some(events) = entry["events"].as_array() else { return false };
        for event in events {
            let brings = match event["type"].as_str() {
                Some("issue-enqueued") => "issue",
                Some("batch-formed" | "batch-started") => "batch",
                Some("dispatch-planned") => "dispatch",
                _ => "",
            };
            known.extend(event["data"][brings].as_str().map(str::to_owned));
            named.extend(ids_in(&event["data"]));
        }
    }
    let ids = |id: &str| {
        state.issues.keys().any(|i| i.as_str() == id)
            || state.batches.keys().any(|b| b.as_str() == id)
            || state.dispatches.keys().any(|d| d.to_string() == id)
    };
    named.iter().all(|id| known.contains(id) || ids(id))
}

/// The ids of issues, batches and dispatches that an event names.
fn ids_in(data: &Value) -> Vec<String> {
    let named = NAMES.iter().filter_map(|key| data[*key].as_str());
    let parts = |name: &str| match name.parse::<Unit>() {
        Ok(Unit::Issue(issue)) => vec![issue.to_string()],
        Ok(Unit::Batch(batch)) => vec![batch.to_string()],
        Ok(Unit::Member(batch, issue)) => vec![batch.to_string(), issue.to_string()],
        Err(_) => vec![name.to_owned()],
    };
    named.flat_map(parts).collect()
}
