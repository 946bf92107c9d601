//! Refs: where they are, and compare-and-swap.

use super::run::{Launcher, one_line};
use crate::domain::fact::BranchResult;
use crate::domain::ids::CommitId;
use crate::engine::ports::Seen;
use crate::engine::ports::git::GitError;
use std::collections::BTreeMap;

/// How a compare-and-swap of a ref ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Swap {
    /// The ref is where it was to go.
    Done,
    /// It was somewhere else; absent: it does not exist.
    Lost(Option<CommitId>),
}

/// The full name of a branch.
pub(super) fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// An answer of git as one of the three answers from outside.
pub(super) fn seen<T>(answer: Result<Option<T>, GitError>) -> Seen<T> {
    match answer {
        Ok(Some(value)) => Seen::Value(value),
        Ok(None) => Seen::Absent,
        Err(error) => Seen::Unreachable(error.to_string()),
    }
}

impl Launcher {
    /// Where a ref (full name) is. A broken ref is an error, not an absence.
    pub(super) fn resolve(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let call = self.git("for-each-ref").arg("--format=%(objectname) %(refname)").arg(name);
        let output = call.output()?;
        if output.code != Some(0) {
            return Err(output.failure());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let found = text.lines().find_map(|l| l.split_once(' ').filter(|(_, n)| *n == name));
        if found.is_none() && output.stderr.contains(name) {
            let (command, message) = ("for-each-ref".into(), one_line(&output.stderr));
            return Err(GitError::Failed { command, message });
        }
        Ok(found.map(|(id, _)| CommitId(id.to_owned())))
    }

    /// Every ref under a full prefix.
    pub(super) fn under(&self, prefix: &str) -> Result<BTreeMap<String, CommitId>, GitError> {
        let pattern = prefix.rsplit_once('/').map_or("refs", |(directory, _)| directory);
        let call = self.git("for-each-ref").arg("--format=%(objectname) %(refname)").arg(pattern);
        let text = String::from_utf8_lossy(&call.bytes()?).into_owned();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        let inside = pairs.filter(|(_, name)| name.starts_with(prefix));
        Ok(inside.map(|(id, name)| (name.to_owned(), CommitId(id.to_owned()))).collect())
    }

    /// Whether one commit is the other or an ancestor of it; `None` when one of them is missing.
    pub(super) fn reaches(&self, old: &str, new: &str) -> Result<Option<bool>, GitError> {
        let output = self.git("merge-base").args(["--is-ancestor", old, new]).output()?;
        match output.code {
            Some(0) => Ok(Some(true)),
            Some(1) => Ok(Some(false)),
            _ if output.stderr.contains("Not a valid") => Ok(None),
            _ => Err(output.failure()),
        }
    }

    /// The mode of a path in a branch, six octal digits; empty when there is nothing.
    pub(super) fn mode_of(&self, branch: &str, path: &str) -> Result<String, GitError> {
        let call = self.git("ls-tree").args(["--full-tree", &branch_ref(branch), "--", path]);
        let line = call.line()?;
        Ok(line.split(' ').next().unwrap_or_default().to_owned())
    }

    /// A revision as the id of an object of a type; `None` when there is none.
    pub(super) fn object(&self, revision: &str, kind: &str) -> Result<Option<String>, GitError> {
        let name = format!("{revision}^{{{kind}}}");
        let call = self.git("rev-parse").args(["--verify", "--quiet", &name]);
        let output = call.output()?;
        match output.code {
            Some(0) => Ok(Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())),
            Some(1) => Ok(None),
            _ if output.stderr.contains("Needed a single revision") => Ok(None),
            _ => Err(output.failure()),
        }
    }

    /// Moves a ref if it still is at `old` (`None`: if it does not exist).
    ///
    /// A swap that was lost is told from one that failed by looking again. A crash after the
    /// swap is no loss: the ref is then where it was to go.
    pub(super) fn swap(
        &self,
        name: &str,
        new: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<Swap, GitError> {
        let before = old.map_or_else(|| "0".repeat(new.0.len()), |c| c.0.clone());
        let call = self.git("update-ref").args(["-m", "sched"]).args([name, &new.0, &before]);
        let output = call.output()?;
        if output.code == Some(0) {
            return Ok(Swap::Done);
        }
        let now = self.resolve(name)?;
        if now.as_ref() == Some(new) {
            return Ok(Swap::Done);
        }
        if now.as_ref() == old {
            return Err(output.failure());
        }
        Ok(Swap::Lost(now))
    }

    pub(super) fn create_branch(
        &self,
        branch: &str,
        commit: &CommitId,
    ) -> Result<BranchResult, GitError> {
        let name = branch_ref(branch);
        match self.swap(&name, commit, None)? {
            Swap::Done => Ok(BranchResult::Made),
            Swap::Lost(Some(at)) => Ok(BranchResult::Exists(at)),
            Swap::Lost(None) => Err(GitError::Missing { name }),
        }
    }

    pub(super) fn delete_ref(&self, name: &str, commit: &CommitId) -> Result<bool, GitError> {
        let output = self.git("update-ref").args(["-d", name, &commit.0]).output()?;
        if output.code == Some(0) {
            return Ok(true);
        }
        match self.resolve(name)? {
            None => Ok(true),
            Some(now) if now == *commit => Err(output.failure()),
            Some(_) => Ok(false),
        }
    }
}
