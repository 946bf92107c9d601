//! Three-way merges, path by path.

use super::failed;
use super::repo::{Commit, Files, Repo};
use sched::domain::event::Merge;
use sched::domain::ids::CommitId;
use sched::engine::ports::git::GitError;
use std::collections::BTreeSet;

/// How many paths in conflict are told.
const CONFLICTS: usize = 50;

/// What a merge gives: files, or the paths in conflict.
pub type Merged = Result<Files, Vec<String>>;

fn three_way(base: &Files, ours: &Files, theirs: &Files) -> Merged {
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let (mut merged, mut conflicts) = (Files::new(), Vec::new());
    for path in paths {
        let (base, ours, theirs) = (base.get(path), ours.get(path), theirs.get(path));
        let held = match (ours == base, theirs == base) {
            (true, _) => theirs,
            (_, true) => ours,
            _ if ours == theirs => ours,
            _ => {
                conflicts.push(path.clone());
                continue;
            }
        };
        merged.extend(held.map(|content| (path.clone(), content.clone())));
    }
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}

impl Repo {
    /// The best common ancestors of two commits.
    fn bases(&self, one: &CommitId, other: &CommitId) -> Vec<CommitId> {
        let one = self.ancestors([one]);
        let common: Vec<CommitId> =
            self.ancestors([other]).into_iter().filter(|id| one.contains(id)).collect();
        let within =
            |id: &CommitId| common.iter().any(|c| c != id && self.reaches(id, c) == Some(true));
        common.iter().filter(|id| !within(id)).cloned().collect()
    }

    /// What two commits have in common; several bases are merged, and what conflicts in that is
    /// like nothing else.
    fn common(&self, one: &CommitId, other: &CommitId) -> Files {
        let bases = self.bases(one, other);
        let Some((first, rest)) = bases.split_first() else { return Files::new() };
        let mut files = self.commits[first].files.clone();
        for next in rest {
            let theirs = &self.commits[next].files;
            files = three_way(&self.common(first, next), &files, theirs).unwrap_or_else(|paths| {
                let mut kept = files.clone();
                kept.extend(paths.into_iter().map(|path| (path, "<conflict>".to_owned())));
                kept
            });
        }
        files
    }

    /// Merges two commits; with `base`, as if that were their merge base.
    pub fn merge(
        &self,
        base: Option<&CommitId>,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Merged, GitError> {
        let (left, right) = (&self.commit(ours)?.files, &self.commit(theirs)?.files);
        let base = match base {
            Some(base) => self.commit(base)?.files.clone(),
            None => self.common(ours, theirs),
        };
        Ok(three_way(&base, left, right))
    }

    /// The files of `tip` with one commit's change.
    pub fn pick(&self, id: &CommitId, tip: &CommitId) -> Result<Merged, GitError> {
        let original = self.commit(id)?;
        match original.parents.first() {
            Some(parent) if parent == tip => Ok(Ok(original.files.clone())),
            parent => self.merge(parent, tip, id),
        }
    }

    /// Work on a tip that it does not stand on; `None` when it does.
    pub fn onto(&mut self, work: &CommitId, tip: &CommitId) -> Result<Option<Merge>, GitError> {
        if self.reaches(tip, work).ok_or_else(|| failed("merge-base", "Not a valid commit"))? {
            return Ok(None);
        }
        let files = match self.merge(None, tip, work)? {
            Ok(files) => files,
            Err(mut paths) => {
                paths.truncate(CONFLICTS);
                return Ok(Some(Merge::Conflict(paths)));
            }
        };
        let parents = vec![work.clone(), tip.clone()];
        let message = format!("Merge the integration tip {}\n", tip.short());
        let time = self.commit(tip)?.time;
        Ok(Some(Merge::Commit(self.make(Commit::by("sched", time, parents, files, message)))))
    }
}
