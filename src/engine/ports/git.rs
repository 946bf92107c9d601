//! Git as the engine needs it: refs, landings, rebases, shipping, working trees, rescue.
//!
//! Every operation is idempotent: each point at which it can be interrupted is found by the
//! next call, which goes on from there. No operation touches the operator's own checkout, its
//! index or its HEAD, except [`Git::ship`] as 4-batches.md ("Shipping") has it.

use super::Seen;
use crate::domain::event::{Ground, Landing, Tree};
use crate::domain::fact::{BranchResult, FoundLanding, LandResult, RebaseResult, ShipResult};
use crate::domain::ids::{BatchId, CommitId, IssueId, Unit};
use crate::domain::time::Timestamp;
use std::collections::BTreeMap;

/// Git, for one repository.
pub trait Git {
    /// Where a branch (without `refs/heads/`) is.
    fn reference(&self, branch: &str) -> Seen<CommitId>;

    /// Every ref under a full prefix such as `refs/heads/sched/`, by full name, in one call.
    fn references(&self, prefix: &str) -> Seen<BTreeMap<String, CommitId>>;

    /// Whether `ancestor` is `descendant` or one of its ancestors; absent when either is no
    /// commit of this repository.
    fn is_ancestor(&self, ancestor: &CommitId, descendant: &CommitId) -> Seen<bool>;

    /// Whether a branch has an executable file at this path, relative to its top.
    fn has_program(&self, branch: &str, path: &str) -> Seen<bool>;

    /// The id of a commit's tree.
    fn tree_of(&self, commit: &CommitId) -> Seen<String>;

    /// Makes a branch that does not exist yet. One that already is at `commit` counts as made.
    ///
    /// # Errors
    /// [`GitError`]; the same call later goes on from there.
    fn create_branch(&self, branch: &str, commit: &CommitId) -> Result<BranchResult, GitError>;

    /// Deletes a ref (full name) if it still is at `commit`. Whether it is gone now.
    ///
    /// # Errors
    /// [`GitError`].
    fn delete_reference(&self, name: &str, commit: &CommitId) -> Result<bool, GitError>;

    /// Puts a member's work on the integration branch, without a working tree. The request has
    /// one possible commit, so a landing that was interrupted is found or finished.
    ///
    /// # Errors
    /// [`GitError`]; the same call later goes on from there.
    fn land(&self, request: &LandRequest) -> Result<LandResult, GitError>;

    /// Landings of a batch on a branch after `since`, by their trailers, oldest first.
    fn landings(&self, branch: &str, batch: &BatchId, since: &CommitId) -> Seen<Vec<FoundLanding>>;

    /// Puts the landed commits onto another base, without a working tree. The request has one
    /// possible result, so a rebase that was interrupted is found or finished.
    ///
    /// # Errors
    /// [`GitError`]; the same call later goes on from there.
    fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitError>;

    /// Moves the base branch from `old` to `new`; where it is checked out, index and files first.
    ///
    /// # Errors
    /// [`GitError`]; the same call later goes on from there.
    fn ship(&self, request: &ShipRequest) -> Result<ShipResult, GitError>;

    /// Makes the working tree that a dispatch needs, or makes an existing one fit. Not bounded
    /// in time.
    ///
    /// # Errors
    /// [`TreeError`], which says whether the member's own branch or path is the cause.
    fn make_tree(&self, request: &TreeRequest) -> Result<MadeTree, TreeError>;

    /// After power failed: a branch whose objects did not all reach the disk goes back to the
    /// newest commit it was at that is whole, or else to `start`. Whether it had to. Not bounded
    /// in time.
    ///
    /// # Errors
    /// [`GitError`]; the branch is where it was.
    fn mend(&self, branch: &str, start: &CommitId) -> Result<bool, GitError>;

    /// Has everything in the repository reach the disk, whoever wrote it.
    ///
    /// # Errors
    /// [`GitError::System`] when the file system does not say so.
    fn sync(&self) -> Result<(), GitError>;

    /// What a member's tree and branch show. A tree that is gone is a value, not an absence.
    fn ground(&self, path: &str, branch: &str, integration: &CommitId) -> Seen<Ground>;

    /// Puts dirty files and unreached commits of a tree on a rescue ref; the tree and its HEAD
    /// stay as they are. The ref, when there was something to rescue. Not bounded in time.
    ///
    /// # Errors
    /// [`GitError`]; then nothing of the tree was touched.
    fn rescue(&self, request: &RescueRequest) -> Result<Option<String>, GitError>;

    /// Puts a tree back to its branch, without anything unsaved. To be called after a rescue.
    ///
    /// # Errors
    /// [`GitError`].
    fn clean_tree(&self, request: &RescueRequest) -> Result<(), GitError>;

    /// Rescues what a tree holds, then removes it. A tree that is gone already is removed.
    ///
    /// # Errors
    /// [`RemoveError`]: the tree is still there, with the rescue ref if one was made.
    fn remove_tree(&self, request: &RescueRequest) -> Result<Option<String>, RemoveError>;

    /// What kind of repository this is; absent when it is none.
    fn repository(&self) -> Seen<Repository>;

    /// The version of git itself; absent when there is no git.
    fn version(&self) -> Seen<GitVersion>;
}

/// A member's landing: all that its commit is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LandRequest {
    /// The integration branch, without `refs/heads/`.
    pub branch: String,
    /// What lands.
    pub tip: CommitId,
    /// On what it lands.
    pub parent: CommitId,
    /// Author and committer date.
    pub time: Timestamp,
    /// As one commit, as many, or as a merge.
    pub landing: Landing,
    /// Which issue.
    pub issue: IssueId,
    /// Its title; empty: its id.
    pub title: String,
    /// The trailers of the landing, in order: `Sched-Batch`, `Sched-Member` …
    pub trailers: Vec<(String, String)>,
}

/// The landed commits of a batch go onto another base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RebaseRequest {
    /// The integration branch, without `refs/heads/`.
    pub branch: String,
    /// The base it stands on.
    pub from: CommitId,
    /// The base it is to stand on.
    pub onto: CommitId,
    /// The branch's tip.
    pub tip: CommitId,
    /// Each landed member with the branch's tip after it, in order.
    pub landed: Vec<(IssueId, CommitId)>,
    /// The tip of the member that is being judged: it is merged with the new tip.
    pub judged: Option<CommitId>,
}

/// The base branch is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShipRequest {
    /// The base branch, without `refs/heads/`.
    pub base: String,
    /// Where it is.
    pub old: CommitId,
    /// Where it goes.
    pub new: CommitId,
}

/// A working tree is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRequest {
    /// Which.
    pub tree: Tree,
    /// The directory under which it must lie, links resolved.
    pub root: String,
    /// Whose work an existing tree may hold.
    pub unit: Unit,
    /// Names the rescue ref, should an exact tree hold unsaved files.
    pub time: Timestamp,
}

/// A working tree that is ready.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MadeTree {
    /// The rescue ref that holds what was in the way, if anything was.
    pub rescue: Option<String>,
}

/// A tree that may hold unsaved work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RescueRequest {
    /// Whose work.
    pub unit: Unit,
    /// The tree's absolute path.
    pub path: String,
    /// The directory under which it must lie, links resolved.
    pub root: String,
    /// The branch that it belongs to; absent for a check tree.
    pub branch: Option<String>,
    /// Names the rescue ref.
    pub time: Timestamp,
}

/// A repository, for `doctor` and `init`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The main working tree, absolute; absent for a bare repository.
    pub main_tree: Option<String>,
    /// The directory that all working trees share, absolute.
    pub common_dir: String,
    /// The branch that is checked out in the main working tree, if one is.
    pub head: Option<String>,
}

/// The version of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(pub u32, pub u32, pub u32);

impl GitVersion {
    /// The oldest git that can do all that is asked of it (`merge-tree --write-tree`).
    pub const OLDEST: GitVersion = GitVersion(2, 38, 0);
}

impl std::fmt::Display for GitVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Why git did not do it. Nothing here blames a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GitError {
    /// Somebody else holds one of git's lock files; to be tried again later.
    #[error("`{path}` is held by another git process, or was left there less than a minute ago")]
    Locked {
        /// The lock file.
        path: String,
    },
    /// Git took too long; its process group was ended.
    #[error("`git {command}` did not end within {seconds} s")]
    TimedOut {
        /// The subcommand.
        command: String,
        /// The bound.
        seconds: u64,
    },
    /// A signal ended git that nobody of ours had sent: it says nothing about the repository.
    #[error("`git {command}` was ended by a signal")]
    Killed {
        /// The subcommand.
        command: String,
    },
    /// Git ended with an error.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// What it said.
        message: String,
    },
    /// The operating system refused something.
    #[error("`{path}`: {message}")]
    System {
        /// What it was about.
        path: String,
        /// What the system said.
        message: String,
    },
    /// A ref that must be there is not.
    #[error("`{name}` does not exist")]
    Missing {
        /// Its full name.
        name: String,
    },
    /// The tree is not one that may be touched.
    #[error("`{path}` is not touched: {reason}")]
    Refused {
        /// The tree's path.
        path: String,
        /// Why not.
        reason: String,
    },
}

/// Why a working tree could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TreeError {
    /// Whether the member's own branch or path is the cause.
    pub own: bool,
    /// What is wrong, in one line.
    pub reason: String,
}

/// Why a working tree is still there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RemoveError {
    /// The rescue ref that was made before it went wrong.
    pub rescue: Option<String>,
    /// What is wrong, in one line.
    pub reason: String,
}
