//! What the disk of a simulated repository holds: commits, refs, trees, a checkout.

use super::{branch_ref, failed};
use sched::domain::ids::CommitId;
use sched::engine::ports::git::GitError;
use sched::journal::line::sha256_hex;
use std::collections::{BTreeMap, BTreeSet};

/// The base branch.
pub const BASE: &str = "main";
/// How a file begins that can be executed.
pub const PROGRAM: &str = "#!";
/// The lock name of the main tree's index; every other lock is named after its ref.
pub const INDEX: &str = "index";

/// Contents by path.
pub type Files = BTreeMap<String, String>;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    pub parents: Vec<CommitId>,
    pub files: Files,
    pub author: String,
    /// Seconds since 1970.
    pub author_time: i64,
    pub committer: String,
    /// Seconds since 1970.
    pub time: i64,
    pub message: String,
}

impl Commit {
    /// A commit that one person made at once.
    pub fn by(who: &str, time: i64, parents: Vec<CommitId>, files: Files, message: String) -> Self {
        let (author, committer) = (who.to_owned(), who.to_owned());
        Commit { parents, files, author, author_time: time, committer, time, message }
    }

    /// The same commit always has the same id.
    pub fn id(&self) -> CommitId {
        let Commit { parents, files, author, author_time, committer, time, message } = self;
        let tree = tree_id(files);
        let text =
            format!("{tree} {parents:?} {author:?} {author_time} {committer:?} {time} {message:?}");
        CommitId(sha256_hex(text.as_bytes())[..40].to_owned())
    }
}

/// The id of a tree with these files.
pub fn tree_id(files: &Files) -> String {
    sha256_hex(format!("{files:?}").as_bytes())[..40].to_owned()
}

/// Where a tree's HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    /// On this branch, which may be gone.
    Branch(String),
    /// At a commit.
    Detached(CommitId),
}

/// What the common directory knows of a working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    pub head: Head,
    pub index: Files,
    /// Whether it was never finished.
    pub initializing: bool,
    /// Whether its HEAD is garbage.
    pub wrecked: bool,
}

/// The place of a working tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkTree {
    /// Its files; absent when the directory is.
    pub files: Option<Files>,
    /// Whether it has a `.git` that points to this repository.
    pub link: bool,
    pub registration: Option<Registration>,
}

/// The main tree while the base branch is checked out in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkout {
    pub index: Files,
    pub files: Files,
    /// What the operator edited and did not commit.
    pub dirtied: BTreeSet<String>,
}

/// Something that an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub tree: String,
    pub path: String,
    pub content: String,
}

/// How a compare-and-swap of a ref ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swap {
    /// The ref is where it was to go.
    Done,
    /// It was somewhere else; absent: it does not exist.
    Lost(Option<CommitId>),
}

/// A repository on its disk, which survives every crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// Where its main tree is.
    pub main: String,
    pub commits: BTreeMap<CommitId, Commit>,
    /// By full name.
    pub refs: BTreeMap<String, CommitId>,
    /// By path.
    pub trees: BTreeMap<String, WorkTree>,
    /// The checkout of the base branch, if it is checked out.
    pub base: Option<Checkout>,
    /// Where the main tree's HEAD is while the base branch is not checked out.
    pub aside: CommitId,
    /// What agents wrote and nobody took back.
    pub written: Vec<Written>,
    /// Locks that a foreign git holds: full names of refs, or [`INDEX`].
    pub locks: BTreeSet<String>,
    /// The time of the next commit of an agent or operator, in seconds since 1970.
    pub clock: i64,
}

impl Repo {
    /// A repository with a first commit on the base branch, which is checked out.
    pub fn new() -> Self {
        let files = Files::from([("README".to_owned(), "first\n".to_owned())]);
        let clock = 1_790_000_000;
        let first = Commit::by("Operator", clock, vec![], files.clone(), "First\n".into());
        let id = first.id();
        Repo {
            main: "/repo".into(),
            commits: BTreeMap::from([(id.clone(), first)]),
            refs: BTreeMap::from([(branch_ref(BASE), id.clone())]),
            trees: BTreeMap::new(),
            base: Some(Checkout { index: files.clone(), files, dirtied: BTreeSet::new() }),
            aside: id,
            written: Vec::new(),
            locks: BTreeSet::new(),
            clock: clock + 1,
        }
    }

    /// Where a ref is.
    pub fn resolve(&self, name: &str) -> Option<CommitId> {
        self.refs.get(name).cloned()
    }

    /// A commit that must be there.
    pub fn commit(&self, id: &CommitId) -> Result<&Commit, GitError> {
        self.commits.get(id).ok_or_else(|| failed("cat-file", format!("Not a valid object {id}")))
    }

    /// Makes a commit object.
    pub fn make(&mut self, commit: Commit) -> CommitId {
        let id = commit.id();
        self.commits.insert(id.clone(), commit);
        id
    }

    /// A commit and everything before it.
    pub fn ancestors<'a>(&'a self, from: impl IntoIterator<Item = &'a CommitId>) -> Ids {
        let mut found = Ids::new();
        let mut left: Vec<&CommitId> = from.into_iter().collect();
        while let Some(id) = left.pop() {
            if let Some(commit) = self.commits.get(id).filter(|_| found.insert(id.clone())) {
                left.extend(&commit.parents);
            }
        }
        found
    }

    /// Whether one commit is the other or an ancestor of it; `None` when one is missing.
    pub fn reaches(&self, old: &CommitId, new: &CommitId) -> Option<bool> {
        (self.commits.contains_key(old) && self.commits.contains_key(new))
            .then(|| self.ancestors([new]).contains(old))
    }

    /// The first-parent line after everything that `from` reaches, up to `to`, oldest first.
    pub fn first_parents(&self, from: &CommitId, to: &CommitId) -> Result<Vec<CommitId>, GitError> {
        self.commit(from)?;
        let before = self.ancestors([from]);
        let (mut line, mut next) = (Vec::new(), Some(to.clone()));
        while let Some(id) = next.filter(|id| !before.contains(id)) {
            next = self.commit(&id)?.parents.first().cloned();
            line.push(id);
        }
        line.reverse();
        Ok(line)
    }

    /// Whether a foreign git is in the way.
    pub fn unlocked(&self, name: &str) -> Result<(), GitError> {
        let path = format!("{}/.git/{name}.lock", self.main);
        if self.locks.contains(name) { Err(GitError::Locked { path }) } else { Ok(()) }
    }

    /// Moves a ref if it still is at `old` (`None`: if it does not exist).
    pub fn swap(
        &mut self,
        name: &str,
        new: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<Swap, GitError> {
        self.unlocked(name)?;
        let now = self.refs.get(name);
        if now == Some(new) {
            return Ok(Swap::Done);
        }
        if now != old {
            return Ok(Swap::Lost(now.cloned()));
        }
        self.commit(new)?;
        self.refs.insert(name.to_owned(), new.clone());
        Ok(Swap::Done)
    }

    /// Deletes a ref that still is at `commit`; whether it is gone.
    pub fn delete(&mut self, name: &str, commit: &CommitId) -> Result<bool, GitError> {
        self.unlocked(name)?;
        if self.refs.get(name) == Some(commit) {
            self.refs.remove(name);
        }
        Ok(!self.refs.contains_key(name))
    }
}

/// Commits in no order of their own.
pub type Ids = BTreeSet<CommitId>;
