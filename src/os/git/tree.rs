//! The state of one working tree: its HEAD, whether it is dirty, and how it is put back.

use super::refs::branch_ref;
use super::registry::{Registration, Standing, option};
use super::run::Launcher;
use crate::domain::event::Ground;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::GitError;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Where HEAD is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    /// The ref that it is; absent when it is detached.
    pub(super) name: Option<String>,
    /// The commit; absent when there is none yet.
    pub(super) commit: Option<CommitId>,
}

impl Launcher {
    /// Where a tree's HEAD is.
    pub(super) fn head(&self, tree: &Registration) -> Result<Head, GitError> {
        let git_dir = option("--git-dir=", &tree.admin);
        let symbolic = self.git("symbolic-ref").option(&git_dir).args(["--quiet", "HEAD"]);
        let symbolic = symbolic.output()?;
        let text = String::from_utf8_lossy(&symbolic.stdout).trim().to_owned();
        let name = (symbolic.code == Some(0)).then_some(text);
        let call = self.git("rev-parse").option(git_dir);
        let output = call.args(["--verify", "--quiet", "HEAD^{commit}"]).output()?;
        let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Head { name, commit: (output.code == Some(0)).then_some(CommitId(commit)) })
    }

    /// Whether tracked or untracked files of a tree differ from HEAD. Ignored ones never count.
    /// An index that cannot be read hides unsaved work, so it counts as dirty.
    pub(super) fn is_dirty(
        &self,
        tree: &Registration,
        bound: Option<Duration>,
    ) -> Result<bool, GitError> {
        let call = self.in_tree(tree, "status").args([
            "--porcelain=v2",
            "-z",
            "--untracked-files=normal",
            "--ignore-submodules=none",
            "--no-renames",
        ]);
        let call = if bound.is_none() { call.unbounded() } else { call };
        let output = call.output()?;
        Ok(output.code != Some(0) || !output.stdout.is_empty())
    }

    /// Puts a tree at a branch or commit with nothing unsaved in it.
    pub(super) fn put_back(
        &self,
        tree: &Registration,
        target: &str,
        detach: bool,
    ) -> Result<(), GitError> {
        self.drop_stale_lock(tree);
        for command in ["rebase", "am", "merge", "cherry-pick", "revert"] {
            let _ = self.in_tree(tree, command).arg("--quit").output()?;
        }
        let _ = self.in_tree(tree, "bisect").args(["reset", "HEAD"]).output()?;
        let checkout = self.in_tree(tree, "checkout").args(["--force", "--quiet"]);
        let checkout = if detach { checkout.arg("--detach") } else { checkout };
        let output = checkout.arg(target).arg("--").unbounded().output()?;
        if output.code != Some(0) {
            // an index that cannot be read is made anew from the commit
            let _ = fs::remove_file(tree.admin.join("index"));
            let again = self.in_tree(tree, "checkout").args(["--force", "--quiet"]);
            let again = if detach { again.arg("--detach") } else { again };
            again.arg(target).arg("--").unbounded().bytes()?;
        }
        self.in_tree(tree, "clean").args(["-f", "-f", "-d", "-q"]).unbounded().bytes()?;
        Ok(())
    }

    /// What a member's tree and branch show.
    pub(super) fn ground(
        &self,
        path: &str,
        branch: &str,
        integration: &CommitId,
    ) -> Result<Ground, GitError> {
        let name = branch_ref(branch);
        let tip = self.resolve(&name)?;
        let (commits, merged) = match &tip {
            Some(tip) => {
                let call = self.git("rev-list").args(["--count", &tip.0, "--not", &integration.0]);
                (call.line()?.parse().unwrap_or(0), self.onto(tip, integration)?)
            }
            None => (0, None),
        };
        let place = super::place::entry(Path::new(path))
            .map_err(|e| GitError::System { path: path.to_owned(), message: e.to_string() })?;
        let mut ground =
            Ground { tip, commits, dirty: false, tree: false, on_branch: false, merged };
        if let Standing::Whole(tree) = self.standing(&place)? {
            ground.tree = true;
            ground.dirty = self.is_dirty(&tree, Some(Duration::from_secs(10)))?;
            ground.on_branch = self.head(&tree)?.name == Some(name);
        }
        Ok(ground)
    }
}

/// Has everything in the file system that holds a directory reach the disk.
pub(super) fn on_disk(directory: &Path) -> Result<(), GitError> {
    let done = fs::File::open(directory)
        .and_then(|directory| rustix::fs::syncfs(directory).map_err(Into::into));
    done.map_err(|error| GitError::System {
        path: directory.display().to_string(),
        message: error.to_string(),
    })
}
