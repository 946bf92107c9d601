//! What must be true when all is quiet, and what came of everything.

use crate::run::Run;
use sched::domain::state::{BatchStatus, IssueStatus};
use std::collections::BTreeMap;

/// What came of everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    pub issues: BTreeMap<String, String>,
    pub batches: BTreeMap<String, String>,
    /// Whose work is on the base branch.
    pub shipped: Vec<String>,
}

impl Outcome {
    pub fn of(run: &Run<'_>) -> Self {
        let state = &run.witness.state;
        let world = run.machine.world();
        let settled = world.remembered.settled.iter().chain(state.settled.iter());
        let mut issues: BTreeMap<String, String> =
            settled.map(|(id, s)| (id.to_string(), s.outcome.name().to_owned())).collect();
        let present = state.issues.values();
        issues.extend(present.map(|i| (i.id.to_string(), i.status.name().to_owned())));
        let named = state.batches.values().filter(|b| b.issue.is_none());
        let batches = named.map(|b| (b.id.to_string(), b.status.name().to_owned())).collect();
        let repo = run.machine.repo.lock().unwrap();
        let trailers = repo.history("main").into_iter().flat_map(|(_, _, trailers)| trailers);
        let mut shipped: Vec<String> =
            trailers.filter(|(name, _)| name == "Sched-Member").map(|(_, value)| value).collect();
        shipped.sort();
        shipped.dedup();
        Self { issues, batches, shipped }
    }
}

/// What holds when all is quiet.
pub fn judge(run: &mut Run<'_>) -> Result<(), String> {
    run.machine.repo.lock().unwrap().judge()?;
    let state = &run.witness.state;
    if !state.slots.is_empty() {
        return Err(format!("slots are held by nobody's dispatch: {:?}", state.slots));
    }
    for batch in state.batches.values() {
        let open = batch.members.iter().find(|member| member.outcome.is_none());
        let over = matches!(batch.status, BatchStatus::Done | BatchStatus::Dissolved);
        if let Some(member) = open.filter(|_| over) {
            return Err(format!("{} is over, and {} has no outcome", batch.id, member.issue));
        }
        let under_way = matches!(
            batch.status,
            BatchStatus::Executing | BatchStatus::Validating | BatchStatus::Rebasing
        );
        if under_way {
            return Err(format!("{} is {} for ever", batch.id, batch.status.name()));
        }
    }
    for issue in state.issues.values() {
        let batch = issue.batch.as_ref().and_then(|id| state.batch(id));
        let blocked = batch.is_some_and(|batch| batch.status == BatchStatus::Blocked);
        let working = matches!(
            issue.status,
            IssueStatus::Dispatched | IssueStatus::Working | IssueStatus::Verified
        );
        if working && !blocked {
            return Err(format!("{} is {} for ever", issue.id, issue.status.name()));
        }
    }
    let world = run.machine.world();
    if !world.locks.is_empty() {
        return Err(format!("locks are held by nobody: {:?}", world.locks));
    }
    Ok(())
}
