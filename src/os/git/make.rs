//! Making the working tree that a dispatch needs.
//!
//! | what is there | then |
//! |---|---|
//! | nothing | made: with its branch, where that is absent; on it, where it exists |
//! | a tree of ours | used, on its branch or commit; unsaved work in it is rescued first |
//! | half-made | removed and made again, once commits that nothing else has are rescued |
//! | ours without a registration | registered again, then used: it may hold work |
//! | anything else | an error of the member's own path; never repaired, never removed |
//!
//! A failure never falls back to the main checkout, and no branch is ever moved (`-B`).

use super::refs::branch_ref;
use super::registry::{Registration, Standing};
use super::run::Launcher;
use crate::domain::event::Tree;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{GitError, MadeTree, RescueRequest, TreeError, TreeRequest};
use std::path::{Path, PathBuf};

fn own(reason: impl Into<String>) -> TreeError {
    TreeError { own: true, reason: reason.into() }
}

/// What git says when the member's own branch or path is the cause.
const OWN: &[&str] = &[
    "already used by worktree",
    "already checked out",
    "already exists",
    "cannot create 'refs/heads/",
    "not a valid branch name",
];

impl From<GitError> for TreeError {
    fn from(error: GitError) -> Self {
        let reason = error.to_string();
        let own = !matches!(error, GitError::Locked { .. } | GitError::TimedOut { .. })
            && OWN.iter().any(|said| reason.contains(said));
        TreeError { own, reason }
    }
}

impl Launcher {
    pub(super) fn make_tree(&self, request: &TreeRequest) -> Result<MadeTree, TreeError> {
        match &request.tree {
            Tree::None => Ok(MadeTree::default()),
            Tree::Member { path, branch, commit, exact } => {
                let place = self.placed(path, &request.root)?;
                let mut made = MadeTree::default();
                let rescue = rescue_of(request, path, Some(branch));
                let tree = match self.found(&place, &rescue, &mut made)? {
                    Some(tree) => tree,
                    None => self.add_member(&place, branch, commit, *exact)?,
                };
                let fitted = if *exact {
                    self.exactly(request, &tree, branch, commit)?
                } else {
                    self.fit(request, &tree, branch, commit)?
                };
                Ok(MadeTree { rescue: fitted.rescue.or(made.rescue) })
            }
            Tree::Check { path, commit } => {
                let place = self.placed(path, &request.root)?;
                let mut made = MadeTree::default();
                let rescue = rescue_of(request, path, None);
                if let Some(tree) = self.found(&place, &rescue, &mut made)? {
                    if self.reset_check(&tree, commit).is_ok() {
                        return Ok(made);
                    }
                    made.rescue = self.rescue(&rescue)?;
                    self.remove_registered(&tree)?;
                }
                let call = self.worktree("add")?.arg("--detach").arg(&place);
                call.arg(&commit.0).unbounded().bytes()?;
                Ok(made)
            }
        }
    }

    /// Where the tree is to lie. A root that is wrong is not the member's fault.
    fn placed(&self, path: &str, root: &str) -> Result<PathBuf, TreeError> {
        self.place(path, root).map_err(|error| {
            let own = matches!(&error, GitError::Refused { path: about, .. } if about == path);
            TreeError { own, reason: error.to_string() }
        })
    }

    /// A tree of ours that is there already, once what is half-made is gone.
    fn found(
        &self,
        place: &Path,
        rescue: &RescueRequest,
        made: &mut MadeTree,
    ) -> Result<Option<Registration>, TreeError> {
        match self.standing(place)? {
            Standing::Absent => Ok(None),
            Standing::Whole(tree) => Ok(Some(tree)),
            Standing::HalfMade(tree) => {
                made.rescue = self.rescue(rescue)?;
                self.remove_registered(&tree)?;
                Ok(None)
            }
            Standing::Orphan(admin) => {
                let branch = rescue.branch.as_deref();
                Ok(Some(self.register_again(place, &admin, branch)?))
            }
            Standing::Foreign(why) => Err(own(format!("`{}`: {why}", place.display()))),
        }
    }

    fn add_member(
        &self,
        place: &Path,
        branch: &str,
        commit: &CommitId,
        exact: bool,
    ) -> Result<Registration, TreeError> {
        let exists = self.resolve(&branch_ref(branch))?.is_some();
        let call = self.worktree("add")?;
        let call = if exists {
            call.arg(place).arg(branch)
        } else if exact {
            call.arg("--detach").arg(place).arg(&commit.0)
        } else {
            call.args(["--no-track", "-b", branch]).arg(place).arg(&commit.0)
        };
        call.unbounded().bytes()?;
        match self.standing(place)? {
            Standing::Whole(tree) => Ok(tree),
            other => {
                Err(own(format!("`{}` is not the tree just made: {other:?}", place.display())))
            }
        }
    }

    /// A tree for an agent: on its branch, with nothing unsaved in it. What an earlier run left
    /// there goes to a rescue ref first.
    fn fit(
        &self,
        request: &TreeRequest,
        tree: &Registration,
        branch: &str,
        start: &CommitId,
    ) -> Result<MadeTree, TreeError> {
        let name = branch_ref(branch);
        self.drop_stale_lock(tree);
        let on_it = self.head(tree)?.name.as_ref() == Some(&name);
        let absent = self.resolve(&name)?.is_none();
        if on_it && !absent && !self.is_dirty(tree, None)? {
            return Ok(MadeTree::default());
        }
        let path = tree.path.to_string_lossy();
        let rescue = self.rescue(&rescue_of(request, &path, Some(branch)))?;
        if absent {
            self.swap(&name, start, None)?;
        }
        self.put_back(tree, branch, false)?;
        Ok(MadeTree { rescue })
    }

    /// A tree for a gate: HEAD is the pinned commit and nothing differs from it. What is in the
    /// way (an earlier gate's leftovers, a later commit) goes to a rescue ref first.
    fn exactly(
        &self,
        request: &TreeRequest,
        tree: &Registration,
        branch: &str,
        commit: &CommitId,
    ) -> Result<MadeTree, TreeError> {
        if self.object(&commit.0, "commit")?.is_none() {
            return Err(own(format!("the pinned commit `{commit}` is not in the repository")));
        }
        let at_it = self.head(tree)?.commit.as_ref() == Some(commit);
        if at_it && !self.is_dirty(tree, None)? {
            return Ok(MadeTree::default());
        }
        let path = tree.path.to_string_lossy();
        let rescue = self.rescue(&rescue_of(request, &path, Some(branch)))?;
        let on_branch = self.resolve(&branch_ref(branch))?.as_ref() == Some(commit);
        if !on_branch || self.put_back(tree, branch, false).is_err() {
            self.put_back(tree, commit.as_str(), true)?;
        }
        // what still differs now is how git itself checks the commit out (line ends, filters)
        Ok(MadeTree { rescue })
    }

    fn reset_check(&self, tree: &Registration, commit: &CommitId) -> Result<(), GitError> {
        self.drop_stale_lock(tree);
        let checkout = self.in_tree(tree, "checkout").args(["--detach", "--force", &commit.0]);
        checkout.unbounded().bytes()?;
        self.in_tree(tree, "clean").args(["-f", "-d", "-q"]).unbounded().bytes()?;
        Ok(())
    }
}

fn rescue_of(request: &TreeRequest, path: &str, branch: Option<&str>) -> RescueRequest {
    RescueRequest {
        unit: request.unit.clone(),
        path: path.to_owned(),
        root: request.root.clone(),
        branch: branch.map(str::to_owned),
        time: request.time,
    }
}
