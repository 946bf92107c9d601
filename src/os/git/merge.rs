//! Merges without a working tree, that come out the same wherever they are made.
//!
//! What could make them differ is pinned: attributes come from our side's tree and not from
//! whatever the operator has checked out, renames are found alike whoever's configuration is read.

use super::commit::{Commit, Person};
use super::run::Launcher;
use crate::domain::event::Merge;
use crate::domain::ids::CommitId;
use crate::domain::time::Timestamp;
use crate::engine::ports::git::GitError;

const PINNED: &[&str] = &[
    "merge.renames=true",
    "diff.renames=true",
    "merge.directoryRenames=conflict",
    "merge.renameLimit=7000",
    "merge.conflictStyle=merge",
    "merge.renormalize=false",
    "merge.default=text",
    "core.attributesFile=/dev/null",
];

/// How many paths in conflict are told.
const CONFLICTS: usize = 50;

/// What a merge gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Merged {
    /// A tree.
    Tree(String),
    /// Paths in conflict, sorted.
    Conflict(Vec<String>),
}

impl Launcher {
    /// Our tree as a commit right on a base, so that git finds just that base: what
    /// `--merge-base` does in newer versions of git.
    fn on_base(&self, ours: &CommitId, base: &CommitId) -> Result<CommitId, GitError> {
        let author = Person::sched(Timestamp::default());
        self.make_commit(&Commit {
            tree: self.commit(ours)?.tree,
            parents: vec![base.clone()],
            committer: author.clone(),
            author,
            encoding: None,
            message: b"base\n".to_vec(),
        })
    }

    /// A member's work on an integration tip that it does not stand on; `None` when it does. The
    /// merge gets the tip's date, so it has one possible id.
    pub(super) fn onto(&self, work: &CommitId, tip: &CommitId) -> Result<Option<Merge>, GitError> {
        if self.reaches(&tip.0, &work.0)? == Some(true) {
            return Ok(None);
        }
        let tree = match self.merge(None, tip, work)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(mut paths) => {
                paths.truncate(CONFLICTS);
                return Ok(Some(Merge::Conflict(paths)));
            }
        };
        let date = self.commit(tip)?.committer.date;
        let author = Person { date, ..Person::sched(Timestamp::default()) };
        let merge = Commit {
            tree,
            parents: vec![work.clone(), tip.clone()],
            committer: author.clone(),
            author,
            encoding: None,
            message: format!("Merge the integration tip {}\n", tip.short()).into_bytes(),
        };
        Ok(Some(Merge::Commit(self.make_commit(&merge)?)))
    }

    /// Merges two commits; with `base`, as if that were their merge base.
    pub(super) fn merge(
        &self,
        base: Option<&CommitId>,
        ours: &CommitId,
        theirs: &CommitId,
    ) -> Result<Merged, GitError> {
        let mut call = self.git("merge-tree").env("GIT_ATTR_SOURCE", ours.as_str());
        for setting in PINNED {
            call = call.config(setting);
        }
        call = call.args(["--write-tree", "-z", "--no-messages", "--name-only"]);
        call = call.arg("--allow-unrelated-histories");
        let based = base.map(|base| self.on_base(ours, base)).transpose()?;
        let output =
            call.args([based.as_ref().unwrap_or(ours).as_str(), theirs.as_str()]).output()?;
        let mut fields = output.stdout.split(|b| *b == 0).filter(|f| !f.is_empty());
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        match (output.code, fields.next()) {
            (Some(0), Some(tree)) => Ok(Merged::Tree(text(tree))),
            (Some(1), Some(_)) => {
                let mut paths: Vec<String> = fields.map(text).collect();
                paths.sort();
                paths.dedup();
                Ok(Merged::Conflict(paths))
            }
            _ => Err(output.failure()),
        }
    }
}
