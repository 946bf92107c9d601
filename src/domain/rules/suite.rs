//! The suite: the whole is validated once.

use super::draft::Draft;
use super::ended::{AGAIN, push_exit};
use super::{member, stop, verdict};
use crate::domain::event::{Exit, ReportSpec, SuiteReport, SuiteResult, Tree, Verdict};
use crate::domain::ids::BatchId;
use crate::domain::state::{BatchStatus, Dispatch};

/// How many failing tests a reason shows.
const SHOWN: usize = 10;

/// The suite answered.
pub(super) fn ended(draft: &mut Draft<'_>, dispatch: &Dispatch, exit: &Exit) {
    let Some(batch) = draft.state.batch_of(&dispatch.unit).cloned() else { return };
    let suite = batch.pinned.as_ref().and_then(|p| p.suite.as_ref());
    let by_report = suite.is_some_and(|s| s.report != ReportSpec::ExitCode);
    let verdict = verdict::suite(dispatch, by_report, exit);
    push_exit(draft, dispatch, verdict, exit);
    answered(draft, &batch.id, dispatch, verdict, exit.report.as_ref());
}

/// What follows from the suite's answer, however it was found out.
pub(super) fn answered(
    draft: &mut Draft<'_>,
    id: &BatchId,
    dispatch: &Dispatch,
    verdict: Verdict,
    report: Option<&SuiteReport>,
) {
    let Some(batch) = draft.batch(id) else { return };
    if batch.dissolving.is_some() || batch.stopping.is_some() {
        return stop::conclude_batch(draft, id);
    }
    if let Some(issue) = batch.issue.as_ref().filter(|issue| stop::pending(draft, id, issue)) {
        return stop::conclude(draft, id, issue);
    }
    if batch.status != BatchStatus::Validating {
        return;
    }
    let judged = match &dispatch.plan.tree {
        Tree::Check { commit, .. } => commit.clone(),
        _ => return,
    };
    match verdict {
        Verdict::Passed => member::validated(draft, id, judged, SuiteResult::Passed),
        Verdict::Failed => {
            let failing = report.map_or_else(|| "it exited non-zero".to_owned(), named);
            let (by, detail) = (Some(dispatch.id), Some(failing));
            member::block(draft, id, "suite-unattributed", None, by, detail);
        }
        Verdict::Lost | Verdict::HostLost | Verdict::KilledOutside | Verdict::NeverRan
            if batch.suite_losses <= AGAIN => {}
        Verdict::WorktreeFailed if batch.reclaim.worktree_failed <= super::ended::TREE_TRIES => {}
        Verdict::WorktreeFailed => {
            let by = Some(dispatch.id);
            member::block(draft, id, "worktree-failed:check-tree", None, by, None);
        }
        _ => {
            let unread = report.and_then(|r| r.unreadable.clone());
            member::block(draft, id, "suite-unreadable", None, Some(dispatch.id), unread);
        }
    }
}

fn named(report: &SuiteReport) -> String {
    if report.failures.is_empty() {
        return "it exited non-zero".into();
    }
    let shown = report.failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match report.failures.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
