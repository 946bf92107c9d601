//! Git through the `git` command: the real [`Git`] port.
//!
//! Reading order: `run` (one bounded child), `refs`, `commit` and `merge` (objects without a
//! tree), `land` and `rebase` built on them, `clean` and `ship`; then working trees: `registry`
//! and `place` (which are ours, and where they may lie), `make`, `tree`, `mend`, `rescue`,
//! `remove`.

mod checkouts;
mod clean;
mod commit;
mod discover;
mod land;
mod locks;
mod make;
mod mend;
mod merge;
mod message;
mod nested;
mod place;
mod rebase;
mod refs;
mod registry;
mod remove;
mod rescue;
mod run;
mod ship;
#[cfg(test)]
mod tests;
mod tree;

use crate::domain::event::Ground;
use crate::domain::fact::{BranchResult, FoundLanding, LandResult, RebaseResult, ShipResult};
use crate::domain::ids::{BatchId, CommitId};
use crate::engine::ports::Seen;
use crate::engine::ports::git::{
    Git, GitError, GitVersion, LandRequest, MadeTree, RebaseRequest, RemoveError, Repository,
    RescueRequest, ShipRequest, TreeError, TreeRequest,
};
use refs::{branch_ref, seen};
use run::Launcher;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What git children get of the caller's environment; no `GIT_*` among it.
const PASSED_ON: &[&str] = &["PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR"];

/// Git for one repository, by the `git` command.
#[derive(Debug)]
pub struct GitCommand {
    launcher: Launcher,
}

impl GitCommand {
    /// Git for the repository in this directory.
    pub fn new(repository: impl Into<PathBuf>) -> Self {
        let passed = |name: &&str| std::env::var_os(name).map(|v| (OsString::from(name), v));
        let environment = PASSED_ON.iter().filter_map(passed).collect();
        GitCommand { launcher: Launcher::new(repository.into(), environment) }
    }

    /// Sets a variable for git, such as the `PATH` that was recorded at `init`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.launcher.environment.retain(|(known, _)| known != name);
        self.launcher.environment.push((name.into(), value.into()));
        self
    }

    /// Lets every child hold this lock: it is taken for as long as one of them lives.
    #[must_use]
    pub fn holding(mut self, lock: OwnedFd) -> Self {
        self.launcher.lock = Some(lock);
        self
    }
}

impl Git for GitCommand {
    fn reference(&self, branch: &str) -> Seen<CommitId> {
        seen(self.launcher.resolve(&branch_ref(branch)))
    }

    fn references(&self, prefix: &str) -> Seen<BTreeMap<String, CommitId>> {
        seen(self.launcher.under(prefix).map(Some))
    }

    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Seen<bool> {
        seen(self.launcher.reaches(&ancestor.0, &descendant.0))
    }

    fn has_program(&self, branch: &str, path: &str) -> Seen<bool> {
        seen(self.launcher.mode_of(branch, path).map(|mode| Some(mode == "100755")))
    }

    fn tree_of(&self, commit: &CommitId) -> Seen<String> {
        seen(self.launcher.object(&commit.0, "tree"))
    }

    fn create_branch(&self, branch: &str, commit: &CommitId) -> Result<BranchResult, GitError> {
        self.launcher.create_branch(branch, commit)
    }

    fn delete_reference(&self, name: &str, commit: &CommitId) -> Result<bool, GitError> {
        self.launcher.delete_ref(name, commit)
    }

    fn land(&self, request: &LandRequest) -> Result<LandResult, GitError> {
        self.launcher.land(request)
    }

    fn landings(&self, branch: &str, batch: &BatchId, since: &CommitId) -> Seen<Vec<FoundLanding>> {
        seen(self.launcher.landings(branch, batch, since))
    }

    fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitError> {
        self.launcher.rebase(request)
    }

    fn ship(&self, request: &ShipRequest) -> Result<ShipResult, GitError> {
        self.launcher.ship(request)
    }

    fn make_tree(&self, request: &TreeRequest) -> Result<MadeTree, TreeError> {
        self.launcher.make_tree(request)
    }

    fn mend(&self, branch: &str, start: &CommitId) -> Result<bool, GitError> {
        self.launcher.mend(branch, start)
    }

    fn sync(&self) -> Result<(), GitError> {
        self.launcher.common_dir().and_then(|directory| tree::on_disk(&directory))
    }

    fn ground(&self, path: &str, branch: &str, integration: &CommitId) -> Seen<Ground> {
        seen(self.launcher.ground(path, branch, integration).map(Some))
    }

    fn rescue(&self, request: &RescueRequest) -> Result<Option<String>, GitError> {
        self.launcher.rescue(request)
    }

    fn clean_tree(&self, request: &RescueRequest) -> Result<(), GitError> {
        self.launcher.clean_tree(request)
    }

    fn remove_tree(&self, request: &RescueRequest) -> Result<Option<String>, RemoveError> {
        self.launcher.remove_tree(request)
    }

    fn repository(&self) -> Seen<Repository> {
        seen(self.launcher.discover())
    }

    fn version(&self) -> Seen<GitVersion> {
        seen(self.launcher.version())
    }
}
