//! Repositories inside a working tree: clones that an agent made there, and submodules.
//!
//! Their files are no files of the tree that holds them, so a rescue saves each in a commit of
//! its own: what differs from its HEAD, and what none of its remotes has. That commit is then
//! brought over, so that it outlives the directory.

use super::registry::{Registration, option};
use super::rescue::{Site, commit_in, rescued, with_index};
use super::run::Launcher;
use super::tree::Head;
use crate::domain::ids::CommitId;
use crate::domain::time::Timestamp;
use crate::engine::ports::git::GitError;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A repository inside another's working tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nested {
    /// Its path in the tree.
    pub(super) path: PathBuf,
    /// Its directory.
    directory: PathBuf,
    /// What is checked out in it; absent when it has no commit yet.
    head: Option<CommitId>,
}

impl Nested {
    /// The pathspec that leaves it out, where git could not add it: it has no commit.
    pub(super) fn excluded(&self) -> Option<OsString> {
        self.head.is_none().then(|| option(":(exclude,literal)", &self.path))
    }
}

impl Launcher {
    /// The repositories right inside a tree: untracked ones, and submodules that are there.
    pub(super) fn nested(&self, site: &Site<'_>, index: &Path) -> Result<Vec<Nested>, GitError> {
        let others = ["-z", "--others", "--exclude-standard"];
        let others = with_index(site, "ls-files", index).args(others).output()?.stdout;
        let others = others.split(|b| *b == 0).filter_map(|p| p.strip_suffix(b"/"));
        let staged = with_index(site, "ls-files", index).args(["-z", "--stage"]).output()?.stdout;
        let links = staged.split(|b| *b == 0).filter(|e| e.starts_with(b"160000 "));
        let links = links.filter_map(|e| e.splitn(2, |b| *b == b'\t').nth(1));
        let mut found = Vec::new();
        for path in others.chain(links) {
            let path = PathBuf::from(OsStr::from_bytes(path));
            let directory = site.directory.join(&path);
            if !directory.join(".git").exists() {
                continue;
            }
            let call = self.inside(&directory, "rev-parse");
            let head = call.args(["--verify", "--quiet", "HEAD^{commit}"]).output()?;
            let text = String::from_utf8_lossy(&head.stdout).trim().to_owned();
            let head = (head.code == Some(0)).then_some(CommitId(text));
            found.push(Nested { path, directory, head });
        }
        Ok(found)
    }

    /// Saves what nested repositories hold, and gives the commits that now hold it.
    pub(super) fn save_nested(
        &self,
        site: &Site<'_>,
        nested: &[Nested],
        time: Timestamp,
        about: &str,
    ) -> Result<Vec<CommitId>, GitError> {
        let mut saved = Vec::new();
        for inner in nested {
            let about = format!("{about}: {}", inner.path.display());
            let git_dir = self.inside(&inner.directory, "rev-parse").arg("--absolute-git-dir");
            let inside = Site {
                call: Box::new(|subcommand| self.inside(&inner.directory, subcommand)),
                directory: inner.directory.clone(),
                index: super::registry::as_path(git_dir.bytes()?).join("index"),
                head: Head { name: None, commit: inner.head.clone() },
                loose: self.unpushed(inner)?,
            };
            let Some(commit) = self.save(&inside, time, &about)? else { continue };
            if fetch(site, &inner.directory, &commit).is_ok() {
                saved.push(commit);
                continue;
            }
            // a shallow clone cannot give its history away; its files it can
            let tree = (inside.call)("rev-parse").arg(format!("{commit}^{{tree}}")).line()?;
            let alone = commit_in(&inside, &rescued(tree, Vec::new(), time, &about))?;
            fetch(site, &inner.directory, &alone)?;
            saved.push(alone);
        }
        Ok(saved)
    }

    /// Whether a tree has submodules that are checked out: their own commits show nowhere in it.
    pub(super) fn has_submodules(&self, tree: &Registration) -> Result<bool, GitError> {
        let staged = self.in_tree(tree, "ls-files").args(["-z", "--stage"]).unbounded().bytes()?;
        let mut links = staged.split(|b| *b == 0).filter(|e| e.starts_with(b"160000 "));
        Ok(links.any(|entry| {
            let path = entry.splitn(2, |b| *b == b'\t').nth(1).unwrap_or_default();
            tree.path.join(OsStr::from_bytes(path)).join(".git").exists()
        }))
    }

    /// The tips of a nested repository (branches, tags, stash, and what is checked out), if it
    /// has commits that none of its remotes has.
    fn unpushed(&self, inner: &Nested) -> Result<Vec<CommitId>, GitError> {
        let tips = ["--branches", "--tags", "--glob=refs/stas[h]"];
        let call = self.inside(&inner.directory, "rev-list").arg("--no-walk").args(tips);
        let tips = call.args(inner.head.iter().map(|head| &head.0)).line()?;
        let tips: Vec<&str> = tips.lines().collect();
        let call = self.inside(&inner.directory, "rev-list").args(["-n", "1"]).args(&tips);
        if tips.is_empty() || call.args(["--not", "--remotes"]).line()?.is_empty() {
            return Ok(Vec::new());
        }
        let call = self.inside(&inner.directory, "merge-base").arg("--independent").args(tips);
        Ok(call.line()?.lines().map(|l| CommitId(l.to_owned())).collect())
    }

    /// A call of git in a nested repository, and in no other that may be around it.
    fn inside(&self, directory: &Path, subcommand: &str) -> super::run::Call<'_> {
        let call = self.git(subcommand).option(option("--git-dir=", &directory.join(".git")));
        call.option(option("--work-tree=", directory)).at(directory)
    }
}

/// Brings a commit over from a repository inside this one's tree.
fn fetch(site: &Site<'_>, from: &Path, commit: &CommitId) -> Result<(), GitError> {
    let call = (site.call)("fetch").config("protocol.file.allow=always").unbounded();
    let call = call.args(["--quiet", "--no-tags", "--no-write-fetch-head"]);
    call.arg("--no-recurse-submodules").arg(from).arg(&commit.0).bytes()?;
    Ok(())
}
