//! Branches: where they are, and compare-and-swap.

use super::run::SystemGit;
use crate::domain::fact::{BranchResult, Seen};
use crate::domain::ids::{BatchId, CommitId, IssueId};
use crate::engine::ports::{Found, GitFailure};
use std::collections::BTreeMap;

/// What a branch that is to be made stands against.
const ABSENT: &str = "0000000000000000000000000000000000000000";

pub(super) fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

pub(super) fn reference(git: &SystemGit, branch: &str) -> Seen<CommitId> {
    let name = full(branch);
    match git.ask(&["for-each-ref", "--format=%(objectname) %(refname)", &name]) {
        Ok(said) if said.code == 0 => {
            let text = said.text();
            let found = text.lines().find_map(|line| {
                let (commit, refname) = line.split_once(' ')?;
                (refname == name).then(|| CommitId(commit.to_owned()))
            });
            found.map_or(Seen::Absent, Seen::Value)
        }
        Ok(said) => Seen::Unreachable(said.failure("for-each-ref").to_string()),
        Err(failure) => Seen::Unreachable(failure.to_string()),
    }
}

pub(super) fn references(git: &SystemGit, prefix: &str) -> Seen<BTreeMap<String, CommitId>> {
    let format = "--format=%(objectname) %(refname:strip=2)";
    match git.ask(&["for-each-ref", format, &full(prefix)]) {
        Ok(said) if said.code == 0 => Seen::Value(
            said.text()
                .lines()
                .filter_map(|line| line.split_once(' '))
                .map(|(commit, name)| (name.to_owned(), CommitId(commit.to_owned())))
                .collect(),
        ),
        Ok(said) => Seen::Unreachable(said.failure("for-each-ref").to_string()),
        Err(failure) => Seen::Unreachable(failure.to_string()),
    }
}

/// The tree of a commit.
pub(super) fn tree_of(git: &SystemGit, commit: &CommitId) -> Result<String, GitFailure> {
    git.must(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{tree}}")])
}

pub(super) fn is_ancestor(
    git: &SystemGit,
    older: &CommitId,
    newer: &CommitId,
) -> Result<bool, GitFailure> {
    let said = git.ask(&["merge-base", "--is-ancestor", older.as_str(), newer.as_str()])?;
    match said.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(said.failure("merge-base")),
    }
}

/// Moves a branch, if it is where it is thought to be. `false`: it is not.
pub(super) fn swap(
    git: &SystemGit,
    branch: &str,
    new: &CommitId,
    old: Option<&CommitId>,
) -> Result<bool, GitFailure> {
    let old_text = old.map_or(ABSENT, CommitId::as_str);
    let name = full(branch);
    let said = git.ask(&["update-ref", "-m", "sched", &name, new.as_str(), old_text])?;
    if said.code == 0 {
        return Ok(true);
    }
    match reference(git, branch) {
        Seen::Value(now) if Some(&now) != old => Ok(false),
        Seen::Absent if old.is_some() => Ok(false),
        _ => Err(said.failure("update-ref")),
    }
}

pub(super) fn create_branch(
    git: &SystemGit,
    branch: &str,
    commit: &CommitId,
) -> Result<BranchResult, GitFailure> {
    if swap(git, branch, commit, None)? {
        return Ok(BranchResult::Made);
    }
    match reference(git, branch) {
        Seen::Value(now) if now == *commit => Ok(BranchResult::Made),
        Seen::Value(now) => Ok(BranchResult::Exists(now)),
        Seen::Absent => Err(GitFailure::Busy(format!("`{branch}` came and went"))),
        Seen::Unreachable(why) => Err(GitFailure::Failed(why)),
    }
}

pub(super) fn landings(
    git: &SystemGit,
    branch: &str,
    since: &CommitId,
) -> Result<Vec<Found>, GitFailure> {
    let format = "--format=%H%x00%(trailers:key=Sched-Batch,valueonly,separator=%x2C)%x00\
                  %(trailers:key=Sched-Member,valueonly,separator=%x2C)%x00";
    let range = format!("{since}..{}", full(branch));
    let said = git.ask(&["log", "--reverse", format, &range])?;
    if said.code != 0 {
        return Err(said.failure("log"));
    }
    let text = String::from_utf8_lossy(&said.out).into_owned();
    let fields: Vec<&str> = text.split('\0').map(|f| f.trim_matches('\n')).collect();
    let found = fields.chunks_exact(3).filter_map(|fields| {
        let [commit, batch, member] = fields else { return None };
        let named = !batch.is_empty() && !member.is_empty();
        named.then(|| Found {
            batch: BatchId::from(*batch),
            member: IssueId::from(*member),
            commit: CommitId::from(*commit),
        })
    });
    Ok(found.collect())
}
