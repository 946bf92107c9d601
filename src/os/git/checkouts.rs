//! What is checked out where, as `git worktree list` tells.

use super::registry::as_path;
use super::run::Launcher;
use crate::engine::ports::git::GitError;
use std::fs;
use std::path::{Path, PathBuf};

/// A working tree, the operator's or anybody's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checkout {
    /// Where it is, links resolved.
    pub(super) path: PathBuf,
    /// Whether it is the repository's main working tree.
    pub(super) main: bool,
    /// Whether it has no files at all.
    pub(super) bare: bool,
    /// Whether its directory is gone.
    pub(super) gone: bool,
    /// The ref that its HEAD is, if it is one.
    pub(super) head: Option<String>,
}

impl Launcher {
    /// Every working tree; the main one first.
    pub(super) fn checkouts(&self) -> Result<Vec<Checkout>, GitError> {
        let bytes = self.worktree("list")?.args(["--porcelain", "-z"]).bytes()?;
        let mut all: Vec<Checkout> = Vec::new();
        for field in bytes.split(|b| *b == 0) {
            if let Some(path) = field.strip_prefix(b"worktree ") {
                let path = as_path(path.to_vec());
                let path = fs::canonicalize(&path).unwrap_or(path);
                let main = all.is_empty();
                all.push(Checkout { path, main, ..Checkout::default() });
            }
            let Some(last) = all.last_mut() else { continue };
            if let Some(name) = field.strip_prefix(b"branch ") {
                last.head = Some(String::from_utf8_lossy(name).into_owned());
            }
            last.bare |= field == b"bare";
            last.gone |= field.starts_with(b"prunable");
        }
        let common = self.common_dir()?;
        if let Some(main) = all.first_mut().filter(|c| !c.bare && c.path == common) {
            main.path = self.top_level(&common)?.unwrap_or(common);
        }
        Ok(all)
    }

    /// The main working tree of a repository whose directory lies elsewhere (`git init
    /// --separate-git-dir`, a submodule), which `worktree list` does not know.
    fn top_level(&self, common: &Path) -> Result<Option<PathBuf>, GitError> {
        let call = self.git("rev-parse").args(["--path-format=absolute", "--git-dir"]);
        if fs::canonicalize(as_path(call.bytes()?)).ok().as_deref() != Some(common) {
            return Ok(None);
        }
        let output = self.git("rev-parse").arg("--show-toplevel").output()?;
        let path = (output.code == Some(0)).then(|| as_path(output.stdout));
        Ok(path.and_then(|path| fs::canonicalize(path).ok()))
    }
}
