//! Removing trees, and taking back one whose registration was removed.
//!
//! Order: the path is checked, work is rescued, and only then something goes. A crash in between
//! leaves a tree that the next removal finds whole, half-made or gone, and ends.

use super::locks::live_owner;
use super::place::{make_writable, remove_all, resolved};
use super::refs::branch_ref;
use super::registry::{Registration, Standing};
use super::run::Launcher;
use crate::engine::ports::git::{GitError, RemoveError, RescueRequest};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Launcher {
    pub(super) fn remove_tree(
        &self,
        request: &RescueRequest,
    ) -> Result<Option<String>, RemoveError> {
        let kept = |rescue: Option<String>| {
            move |error: GitError| RemoveError { rescue, reason: error.to_string() }
        };
        let place = self.place(&request.path, &request.root).map_err(kept(None))?;
        let standing = self.standing(&place).map_err(kept(None))?;
        if let Standing::Whole(tree) | Standing::HalfMade(tree) = &standing
            && let Some(pid) = tree.locked.as_deref().and_then(live_owner)
        {
            let reason = format!("it is locked by process {pid}, which is alive");
            let path = request.path.clone();
            return Err(kept(None)(GitError::Refused { path, reason }));
        }
        let rescue = self.rescue(request).map_err(kept(None))?;
        let failed = kept(rescue.clone());
        // a rescue may have registered the tree again
        let removed = self.standing(&place).and_then(|standing| match standing {
            Standing::Whole(tree) | Standing::HalfMade(tree) => self.remove_registered(&tree),
            _ => remove_all(&place),
        });
        removed.map_err(failed)?;
        let root = resolved(Path::new(&request.root)).ok();
        if let Some(parent) = place.parent().filter(|p| Some(*p) != root.as_deref()) {
            let _ = fs::remove_dir(parent); // only where it was the last tree of its batch
        }
        Ok(rescue)
    }

    pub(super) fn clean_tree(&self, request: &RescueRequest) -> Result<(), GitError> {
        let place = self.place(&request.path, &request.root)?;
        let refused = |reason: String| GitError::Refused { path: request.path.clone(), reason };
        match self.standing(&place)? {
            Standing::Whole(tree) => match &request.branch {
                Some(branch) => self.put_back(&tree, branch, false),
                None => self.put_back(&tree, "HEAD", true),
            },
            Standing::Absent => Ok(()),
            Standing::HalfMade(tree) => self.remove_registered(&tree),
            Standing::Orphan(_) => Err(refused("it is not registered".into())),
            Standing::Foreign(reason) => Err(refused(reason)),
        }
    }

    /// Removes a tree of ours with its registration: by git, or where git will not (no `.git`,
    /// an administration that was never finished, a directory that may not be written) by hand.
    pub(super) fn remove_registered(&self, tree: &Registration) -> Result<(), GitError> {
        let remove = || {
            let call = self.worktree("remove")?.args(["--force", "--force"]);
            call.arg(&tree.path).unbounded().output()
        };
        if remove()?.code == Some(0) && !tree.path.exists() && !tree.admin.exists() {
            return Ok(());
        }
        make_writable(&tree.path);
        remove_all(&tree.path)?;
        if tree.admin.exists() && remove()?.code != Some(0) {
            remove_all(&tree.admin)?;
        }
        Ok(())
    }

    /// Makes the registration anew of a tree that lost it: HEAD is its branch, or that branch's
    /// commit where the branch is checked out elsewhere; its files stay as they are. The
    /// administration takes its name last, so that one cut off is never taken for whole.
    pub(super) fn register_again(
        &self,
        place: &Path,
        admin: &Path,
        branch: Option<&str>,
    ) -> Result<Registration, GitError> {
        let head = match branch.map(branch_ref) {
            Some(name) if self.resolve(&name)?.is_some() => {
                let taken = self.checkouts()?.iter().any(|c| c.head.as_deref() == Some(&name));
                let commit = self.resolve(&name)?.map(|c| c.0).unwrap_or_default();
                if taken { commit } else { format!("ref: {name}") }
            }
            _ => self.git("rev-parse").args(["--verify", "HEAD^{commit}"]).line()?,
        };
        let name = admin.file_name().map_or(OsStr::from_bytes(b"tree"), |n| n).to_owned();
        let mut new = name.clone();
        new.push(".new");
        let directory = self.common_dir()?.join("worktrees");
        let (new, admin) = (directory.join(new), directory.join(name));
        let failed = |error: std::io::Error| GitError::System {
            path: new.display().to_string(),
            message: error.to_string(),
        };
        remove_all(&new)?;
        fs::create_dir_all(&new).map_err(failed)?;
        let mut link = place.join(".git").into_os_string().as_bytes().to_vec();
        link.push(b'\n');
        fs::write(new.join("HEAD"), format!("{head}\n")).map_err(failed)?;
        fs::write(new.join("commondir"), "../..\n").map_err(failed)?;
        fs::write(new.join("gitdir"), link).map_err(failed)?;
        fs::rename(&new, &admin).map_err(failed)?;
        let tree = Registration { admin, path: place.to_owned(), locked: None };
        self.in_tree(&tree, "read-tree").arg("HEAD").bytes()?;
        Ok(tree)
    }
}
