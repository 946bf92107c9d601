//! Ended units leave the working state when nothing can come of them.
//!
//! A deterministic function of the state alone, run after each entry: the fold from the first
//! line and the fold from a checkpoint forget the same units at the same entry.

use crate::domain::ids::{BatchId, IssueId, Unit};
use crate::domain::state::{Settled, State};
use std::sync::Arc;

/// How many ended units stay, so that `status` still shows them.
pub const KEPT_ENDED: usize = 256;

/// Moves the oldest ended units out of the working state, beyond [`KEPT_ENDED`].
/// Returns what has to be remembered of the issues that left.
pub fn retire(state: &mut State) -> Vec<(IssueId, Settled)> {
    let mut left = Vec::new();
    let mut index = 0;
    while state.ended.len() > KEPT_ENDED && index < state.ended.len() {
        if may_leave(state, &state.ended[index]) {
            let unit = state.ended.remove(index);
            leave(state, &unit, &mut left);
        } else {
            index += 1;
        }
    }
    if !left.is_empty() {
        Arc::make_mut(&mut state.settled).extend(left.iter().cloned());
    }
    left
}

/// Whether nothing can come of an ended unit any more.
fn may_leave(state: &State, unit: &Unit) -> bool {
    match unit {
        Unit::Issue(id) => {
            let over = state.issue(id).is_none_or(|i| i.status.is_terminal());
            let named = state
                .issues
                .values()
                .any(|other| !other.status.is_terminal() && other.deps.contains(id));
            let listed = state.batches.values().any(|b| {
                b.issue.as_ref() != Some(id)
                    && b.member(id).is_some()
                    && !left_cleanly(state, &b.id)
            });
            over && !named && !listed && implicit(state, id).all(|b| left_cleanly(state, &b))
        }
        Unit::Batch(id) | Unit::Member(id, _) => left_cleanly(state, id),
    }
}

fn left_cleanly(state: &State, id: &BatchId) -> bool {
    state.batch(id).is_none_or(|b| b.is_over() && b.trees.is_empty())
}

fn implicit<'a>(state: &'a State, issue: &'a IssueId) -> impl Iterator<Item = BatchId> + 'a {
    state.batches.values().filter(move |b| b.issue.as_ref() == Some(issue)).map(|b| b.id.clone())
}

fn leave(state: &mut State, unit: &Unit, left: &mut Vec<(IssueId, Settled)>) {
    match unit {
        Unit::Issue(id) => {
            let batches: Vec<BatchId> = implicit(state, id).collect();
            batches.iter().for_each(|batch| {
                state.batches.remove(batch);
            });
            if let Some(issue) = state.issues.remove(id) {
                let outcome = issue.status;
                let settled = Settled { generation: issue.generation, runs: issue.runs, outcome };
                left.push((id.clone(), settled));
            }
        }
        Unit::Batch(id) | Unit::Member(id, _) => {
            state.batches.remove(id);
        }
    }
}
