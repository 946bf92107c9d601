//! Puts landed commits onto another base, without a tree; the same input gives the same commits.

use super::land::{Merged, author, commit, pick};
use super::refs::{reference, swap, tree_of};
use super::run::SystemGit;
use crate::domain::fact::{RebaseResult, Seen};
use crate::domain::ids::{CommitId, IssueId};
use crate::engine::ports::{GitFailure, RebaseRequest};

pub(super) fn rebase(git: &SystemGit, request: &RebaseRequest) -> Result<RebaseResult, GitFailure> {
    let now = match reference(git, &request.branch) {
        Seen::Value(now) => now,
        Seen::Absent => {
            return Err(GitFailure::Failed(format!("branch `{}` is gone", request.branch)));
        }
        Seen::Unreachable(why) => return Err(GitFailure::Failed(why)),
    };
    let (tip, commits) = match replay(git, request)? {
        Ok(made) => made,
        Err(conflict) => return Ok(conflict),
    };
    if now == tip {
        return Ok(RebaseResult::Rebased(tip, commits)); // killed after the swap
    }
    if now != request.tip {
        return Ok(RebaseResult::Moved(now));
    }
    if swap(git, &request.branch, &tip, Some(&request.tip))? {
        return Ok(RebaseResult::Rebased(tip, commits));
    }
    Err(GitFailure::Busy(format!("`{}` moved while it was rebased", request.branch)))
}

type Replayed = Result<(CommitId, Vec<(IssueId, CommitId)>), RebaseResult>;

fn replay(git: &SystemGit, request: &RebaseRequest) -> Result<Replayed, GitFailure> {
    let range = format!("{}..{}", request.from, request.tip);
    let args = ["rev-list", "--reverse", "--topo-order", "--first-parent", &range];
    let listed = git.must(&args)?;
    let mut onto = request.onto.clone();
    let mut landed = Vec::new();
    for picked in listed.lines().map(CommitId::from) {
        let owner = request.landed.iter().find(|(_, commit)| *commit == picked);
        let tree = match pick(git, &onto, &picked)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(paths) => {
                let issue = owner.or(next_owner(request, &landed)).map(|(issue, _)| issue.clone());
                let issue = issue.unwrap_or_else(|| IssueId::from("unknown"));
                return Ok(Err(RebaseResult::Conflict(issue, paths)));
            }
        };
        if tree != tree_of(git, &onto)? {
            let body = git.must(&["show", "-s", "--format=%B", picked.as_str()])?;
            let who = author(git, &picked)?;
            let date = git.must(&["show", "-s", "--format=%cd", "--date=raw", picked.as_str()])?;
            onto = commit(git, &tree, &[&onto], body.trim_end(), &who, &date)?;
        }
        if let Some((issue, _)) = owner {
            landed.push((issue.clone(), onto.clone()));
        }
    }
    Ok(Ok((onto, landed)))
}

/// The member whose commits come next, where a member landed as several.
fn next_owner<'a>(
    request: &'a RebaseRequest,
    landed: &[(IssueId, CommitId)],
) -> Option<&'a (IssueId, CommitId)> {
    request.landed.get(landed.len())
}
