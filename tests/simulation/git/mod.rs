//! Git in memory: the [`Git`] port over a model of a repository.
//!
//! The semantics are those of `sched::os::git`, and `against_real` holds both to the same
//! answers. An operation is a row of steps. One step is atomic for others and either survives a
//! crash or never was; between two steps stands [`Between`], where others run and the caller
//! may die.
//!
//! Reading order: `repo` (what a disk holds), `merge` and `message`, then the operations `land`,
//! `rebase`, `ship`, `trees`, `rescue`; `world` is what agents and operators do, `judge` what must
//! be true at the end.
//!
//! Not in the model: directories (a path is a name), merges within a file, renames, submodules,
//! a base branch that is checked out in a linked tree.

mod against_real;
mod interrupted;
mod judge;
mod land;
mod merge;
mod message;
mod operations;
mod outside;
mod pair;
mod random;
mod real;
mod rebase;
mod repo;
mod rescue;
mod ship;
mod trees;
mod world;

pub use repo::Repo;

use sched::domain::event::Ground;
use sched::domain::fact::{BranchResult, FoundLanding, LandResult, RebaseResult, ShipResult};
use sched::domain::ids::{BatchId, CommitId};
use sched::engine::ports::Seen;
use sched::engine::ports::git::{
    Git, GitError, GitVersion, LandRequest, MadeTree, RebaseRequest, RemoveError, Repository,
    RescueRequest, ShipRequest, TreeError, TreeRequest,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What stands between two steps of an operation.
pub trait Between {
    /// Other processes run here, and the caller may die here by unwinding. Nothing is locked.
    ///
    /// # Errors
    /// What git is to fail with.
    fn between(&self, what: &'static str) -> Result<(), GitError>;
}

/// Git over a repository in memory.
pub struct SimGit<B: Between> {
    /// The disk.
    pub repo: Arc<Mutex<Repo>>,
    /// Who comes in between.
    pub between: B,
}

impl<B: Between> SimGit<B> {
    /// One step, after whatever comes before it.
    fn step<T>(
        &self,
        what: &'static str,
        step: impl FnOnce(&mut Repo) -> T,
    ) -> Result<T, GitError> {
        self.between.between(what)?;
        Ok(step(&mut self.repo.lock().unwrap()))
    }

    /// The answer, unless something comes after the last step.
    fn told<T>(&self, value: T) -> Result<T, GitError> {
        self.between.between("told")?;
        Ok(value)
    }

    /// A question.
    fn ask<T>(
        &self,
        what: &'static str,
        question: impl FnOnce(&mut Repo) -> Result<Option<T>, GitError>,
    ) -> Seen<T> {
        let answer = self.step(what, question).and_then(|answer| self.told(answer?));
        match answer {
            Ok(Some(value)) => Seen::Value(value),
            Ok(None) => Seen::Absent,
            Err(error) => Seen::Unreachable(error.to_string()),
        }
    }
}

/// The full name of a branch.
fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// A command of git that ended with an error.
fn failed(command: &str, message: impl Into<String>) -> GitError {
    GitError::Failed { command: command.into(), message: message.into() }
}

impl<B: Between> Git for SimGit<B> {
    fn reference(&self, branch: &str) -> Seen<CommitId> {
        self.ask("reference", |repo| Ok(repo.resolve(&branch_ref(branch))))
    }

    fn references(&self, prefix: &str) -> Seen<BTreeMap<String, CommitId>> {
        self.ask("references", |repo| Ok(Some(repo.refs(prefix))))
    }

    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Seen<bool> {
        self.ask("is_ancestor", |repo| Ok(repo.reaches(ancestor, descendant)))
    }

    fn has_program(&self, branch: &str, path: &str) -> Seen<bool> {
        self.ask("has_program", |repo| {
            let Some(tip) = repo.resolve(&branch_ref(branch)) else {
                return Err(failed("ls-tree", "Not a valid object name"));
            };
            let content = repo.commit(&tip)?.files.get(path);
            Ok(Some(content.is_some_and(|content| content.starts_with(repo::PROGRAM))))
        })
    }

    fn tree_of(&self, commit: &CommitId) -> Seen<String> {
        self.ask("tree_of", |repo| Ok(repo.commits.get(commit).map(|c| repo::tree_id(&c.files))))
    }

    fn create_branch(&self, branch: &str, commit: &CommitId) -> Result<BranchResult, GitError> {
        let name = branch_ref(branch);
        match self.step("create_branch", |repo| repo.swap(&name, commit, None))?? {
            repo::Swap::Done => self.told(BranchResult::Made),
            repo::Swap::Lost(Some(at)) => self.told(BranchResult::Exists(at)),
            repo::Swap::Lost(None) => Err(GitError::Missing { name }),
        }
    }

    fn delete_reference(&self, name: &str, commit: &CommitId) -> Result<bool, GitError> {
        let gone = self.step("delete_reference", |repo| repo.delete(name, commit))??;
        self.told(gone)
    }

    fn land(&self, request: &LandRequest) -> Result<LandResult, GitError> {
        self.landed(request)
    }

    fn landings(&self, branch: &str, batch: &BatchId, since: &CommitId) -> Seen<Vec<FoundLanding>> {
        self.ask("landings", |repo| repo.landings(branch, batch, since))
    }

    fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitError> {
        self.rebased(request)
    }

    fn ship(&self, request: &ShipRequest) -> Result<ShipResult, GitError> {
        self.shipped(request)
    }

    fn make_tree(&self, request: &TreeRequest) -> Result<MadeTree, TreeError> {
        self.made_tree(request)
    }

    fn mend(&self, _: &str, _: &CommitId) -> Result<bool, GitError> {
        Ok(false) // what its objects are written to loses nothing
    }

    fn sync(&self) -> Result<(), GitError> {
        Ok(())
    }

    fn ground(&self, path: &str, branch: &str, integration: &CommitId) -> Seen<Ground> {
        self.ask("ground", |repo| repo.ground(path, branch, integration).map(Some))
    }

    fn rescue(&self, request: &RescueRequest) -> Result<Option<String>, GitError> {
        let rescue = self.rescued(request)?;
        self.told(rescue)
    }

    fn clean_tree(&self, request: &RescueRequest) -> Result<(), GitError> {
        self.cleaned(request)?;
        self.told(())
    }

    fn remove_tree(&self, request: &RescueRequest) -> Result<Option<String>, RemoveError> {
        self.removed(request)
    }

    fn repository(&self) -> Seen<Repository> {
        self.ask("repository", |repo| {
            Ok(Some(Repository {
                main_tree: Some(repo.main.clone()),
                common_dir: format!("{}/.git", repo.main),
                head: repo.base.as_ref().map(|_| repo::BASE.to_owned()),
            }))
        })
    }

    fn version(&self) -> Seen<GitVersion> {
        self.ask("version", |_| Ok(Some(GitVersion::OLDEST)))
    }
}
