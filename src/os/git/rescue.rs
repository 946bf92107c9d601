//! Rescue: unsaved work of a tree goes to a ref, and the tree is not touched.
//!
//! One commit holds it all: its tree is the files as they are, and its parents are HEAD, the
//! index (where that differs), commits that no branch or tag reaches, and the same of every
//! repository inside the tree (`nested`). It is built with a throw-away copy of the
//! index. Ignored files are no work.
//!
//! The ref is named after unit and time and is made only after the commit: a rescue that was
//! cut off is made again; work that is on a rescue ref already counts as reached.

use super::commit::{Commit, Person, make_commit_by};
use super::nested::Nested;
use super::refs::Swap;
use super::registry::{Registration, Standing};
use super::run::{Call, Launcher};
use super::tree::Head;
use crate::domain::ids::{CommitId, Unit};
use crate::domain::time::Timestamp;
use crate::engine::ports::git::{GitError, RescueRequest};
use std::fs;
use std::path::{Path, PathBuf};

/// Under which all rescue refs are.
const RESCUE: &str = "refs/sched/rescue";

/// Files in the administration of a tree that name commits of an operation under way.
const UNDER_WAY: &[&str] = &[
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge/orig-head",
    "rebase-merge/autostash",
    "rebase-apply/orig-head",
    "rebase-apply/autostash",
];

/// A repository whose files are saved: how git is called there, and what its HEAD is.
pub(super) struct Site<'a> {
    pub(super) call: Box<dyn Fn(&str) -> Call<'a> + 'a>,
    pub(super) directory: PathBuf,
    pub(super) index: PathBuf,
    pub(super) head: Head,
    /// Commits that nothing else keeps.
    pub(super) loose: Vec<CommitId>,
}

/// The name of a rescue ref.
fn reference(unit: &Unit, time: Timestamp) -> String {
    let unit = unit.to_string().replace(':', "/");
    let time: String = time.to_string().chars().filter(|c| !matches!(c, ':' | '-' | '.')).collect();
    format!("{RESCUE}/{unit}/{time}")
}

impl Launcher {
    pub(super) fn rescue(&self, request: &RescueRequest) -> Result<Option<String>, GitError> {
        let place = self.place(&request.path, &request.root)?;
        match self.standing(&place)? {
            Standing::Absent => Ok(None),
            Standing::Whole(tree) => self.rescue_tree(request, &tree, true),
            Standing::HalfMade(tree) => self.rescue_tree(request, &tree, false),
            Standing::Orphan(admin) => {
                let tree = self.register_again(&place, &admin, request.branch.as_deref())?;
                self.rescue_tree(request, &tree, true)
            }
            Standing::Foreign(reason) => {
                Err(GitError::Refused { path: request.path.clone(), reason })
            }
        }
    }

    /// Rescues commits, and of a whole tree files too.
    fn rescue_tree(
        &self,
        request: &RescueRequest,
        tree: &Registration,
        files: bool,
    ) -> Result<Option<String>, GitError> {
        let head = self.head(tree)?;
        let loose = self.unreached(tree, &head)?;
        let about = format!("rescue {}: unsaved work in {}", request.unit, request.path);
        if !files || !(self.is_dirty(tree, None)? || self.has_submodules(tree)?) {
            let commit = match loose.as_slice() {
                [] => return Ok(None),
                [one] => one.clone(),
                [first, ..] => {
                    let tree = self.commit(first)?.tree;
                    self.make_commit(&rescued(tree, loose, request.time, &about))?
                }
            };
            return self.keep(request, &commit).map(Some);
        }
        let site = Site {
            call: Box::new(|subcommand| self.in_tree(tree, subcommand)),
            directory: tree.path.clone(),
            index: tree.admin.join("index"),
            head,
            loose,
        };
        match self.save(&site, request.time, &about)? {
            Some(commit) => self.keep(request, &commit).map(Some),
            None => Ok(None),
        }
    }

    /// A ref for a rescued commit; another one where its name is taken by other work.
    fn keep(&self, request: &RescueRequest, commit: &CommitId) -> Result<String, GitError> {
        let first = reference(&request.unit, request.time);
        let mut name = first.clone();
        for n in 2..100 {
            match self.swap(&name, commit, None)? {
                Swap::Done => return Ok(name),
                Swap::Lost(_) => name = format!("{first}-{n}"),
            }
        }
        Err(GitError::System { path: name, message: "no free name for a rescue ref".into() })
    }

    /// Commits of HEAD, or of an operation under way, that no branch, tag or rescue reaches.
    fn unreached(&self, tree: &Registration, head: &Head) -> Result<Vec<CommitId>, GitError> {
        let mut found: Vec<CommitId> = head.commit.iter().cloned().collect();
        for file in UNDER_WAY {
            let text = fs::read_to_string(tree.admin.join(file)).unwrap_or_default();
            for line in text.lines() {
                found.extend(self.object(line.trim(), "commit")?.map(CommitId));
            }
        }
        let mut loose: Vec<CommitId> = Vec::new();
        for commit in found {
            // a branch that power has left without its objects reaches nothing
            let call = self.git("rev-list").args(["-n", "1", "--ignore-missing"]);
            let call = call.args([&commit.0, "--not"]);
            let call = call.args(["--branches", "--tags", "--remotes", "--glob=refs/sched"]);
            if !loose.contains(&commit) && !call.line()?.is_empty() {
                loose.push(commit);
            }
        }
        Ok(loose)
    }

    /// Files, index and loose commits of a repository as one commit there; `None` when there is
    /// nothing that HEAD does not have.
    pub(super) fn save(
        &self,
        site: &Site<'_>,
        time: Timestamp,
        about: &str,
    ) -> Result<Option<CommitId>, GitError> {
        let system = |error: std::io::Error| GitError::System {
            path: std::env::temp_dir().display().to_string(),
            message: error.to_string(),
        };
        let scratch = tempfile::tempdir().map_err(system)?;
        let index = scratch.path().join("index");
        if copy_index(&site.index, &index).is_err() {
            let _ = fs::remove_file(&index);
        }
        let before = match &site.head.commit {
            Some(commit) => (site.call)("rev-parse").arg(format!("{commit}^{{tree}}")).line().ok(),
            None => None,
        };
        let staged = with_index(site, "write-tree", &index).output()?;
        let staged = (staged.code == Some(0)).then_some(staged.stdout);
        let staged = staged.map(|s| String::from_utf8_lossy(&s).trim().to_owned());
        let lost = self.has_lost();
        let start = site.head.commit.clone();
        let whole = |tree: &String| {
            start.as_ref().is_some_and(|start| self.is_whole(tree, start).unwrap_or(false))
        };
        let staged = staged.filter(|tree| !lost || whole(tree));
        let nested = self.nested(site, &index)?;
        let tree = files_as_tree(site, &index, &nested, !lost)?;
        let staged = staged.filter(|s| Some(s) != before.as_ref() && *s != tree);
        let mut more = self.save_nested(site, &nested, time, about)?;
        more.extend(site.loose.iter().cloned());
        let empty = || (site.call)("ls-tree").arg(&tree).line().is_ok_and(|l| l.is_empty());
        let as_head = before.map_or_else(empty, |before| before == tree);
        if as_head && staged.is_none() && more.is_empty() {
            return Ok(None);
        }
        let mut parents: Vec<CommitId> = site.head.commit.iter().cloned().collect();
        if let Some(staged) = staged {
            let index_of = rescued(staged, parents.clone(), time, &format!("{about} (index)"));
            parents.push(commit_in(site, &index_of)?);
        }
        for commit in more {
            if !parents.contains(&commit) {
                parents.push(commit);
            }
        }
        commit_in(site, &rescued(tree, parents, time, about)).map(Some)
    }
}

/// Copies an index with its age: files that are older than their index git takes for unchanged
/// by size and time alone, and an edit within the second of a commit would be taken for none.
fn copy_index(from: &Path, to: &Path) -> std::io::Result<()> {
    let modified = fs::metadata(from)?.modified()?;
    fs::copy(from, to)?;
    fs::File::options().append(true).open(to)?.set_modified(modified)
}

/// The files of a repository, as they are, as a tree. Where the copied index is of no use, or not
/// to be trusted, a new one is made from HEAD: an index that names objects which power took, and
/// knows their files, has them not read again.
fn files_as_tree(
    site: &Site<'_>,
    index: &Path,
    nested: &[Nested],
    trusted: bool,
) -> Result<String, GitError> {
    let add = || {
        let call = with_index(site, "add", index).config("core.safecrlf=false");
        let call = call.config("advice.addEmbeddedRepo=false").config("add.ignoreErrors=false");
        call.args(["--all", "--sparse", "--", "."])
            .args(nested.iter().filter_map(Nested::excluded))
            .bytes()
    };
    let written = || with_index(site, "write-tree", index).line();
    if trusted && let Ok(tree) = add().and_then(|_| written()) {
        return Ok(tree);
    }
    let _ = fs::remove_file(index);
    if let Some(commit) = &site.head.commit {
        with_index(site, "read-tree", index).arg(&commit.0).bytes()?;
    }
    add()?;
    written()
}

/// Makes a commit in the repository whose files are saved.
pub(super) fn commit_in(site: &Site<'_>, commit: &Commit) -> Result<CommitId, GitError> {
    make_commit_by((site.call)("commit-tree"), commit)
}

/// A call in a repository with another index than its own.
pub(super) fn with_index<'a>(site: &Site<'a>, subcommand: &str, index: &Path) -> Call<'a> {
    (site.call)(subcommand).env("GIT_INDEX_FILE", index).unbounded()
}

pub(super) fn rescued(
    tree: String,
    parents: Vec<CommitId>,
    time: Timestamp,
    about: &str,
) -> Commit {
    Commit {
        tree,
        parents,
        author: Person::sched(time),
        committer: Person::sched(time),
        encoding: None,
        message: format!("{}\n", super::message::one_line(about)).into_bytes(),
    }
}
