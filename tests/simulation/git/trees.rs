//! Working trees: what is at a place, how one is made, put back and looked at.

use super::repo::{Files, Head, Registration, Repo, WorkTree};
use super::{Between, SimGit, branch_ref, failed};
use sched::domain::event::{Ground, Tree};
use sched::domain::ids::CommitId;
use sched::engine::ports::git::{GitError, MadeTree, RescueRequest, TreeError, TreeRequest};

/// What is at the place of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing, or an empty directory, and no registration.
    Absent,
    /// A tree of ours.
    Whole,
    /// A registration whose tree was never finished, or is gone.
    HalfMade,
    /// A tree of ours without its registration.
    Orphan,
    /// Something that is not ours.
    Foreign,
}

fn own(reason: impl Into<String>) -> TreeError {
    TreeError { own: true, reason: reason.into() }
}

impl<B: Between> SimGit<B> {
    pub(super) fn made_tree(&self, request: &TreeRequest) -> Result<MadeTree, TreeError> {
        let made = match &request.tree {
            Tree::None => MadeTree::default(),
            Tree::Member { path, branch, commit, exact } => {
                self.placed(path, &request.root)?;
                let mut made = MadeTree::default();
                if !self.found(&rescue_of(request, path, Some(branch)), &mut made)? {
                    self.add_member(path, branch, commit, *exact)?;
                }
                let fitted = if *exact {
                    self.exactly(request, path, branch, commit)?
                } else {
                    self.fit(request, path, branch, commit)?
                };
                MadeTree { rescue: fitted.rescue.or(made.rescue) }
            }
            Tree::Check { path, commit } => {
                self.placed(path, &request.root)?;
                self.check(request, path, commit)?
            }
        };
        Ok(self.told(made)?)
    }

    fn placed(&self, path: &str, root: &str) -> Result<(), TreeError> {
        self.step("tree", |repo| repo.place(path, root))?.map_err(|error| {
            let own = matches!(&error, GitError::Refused { path: about, .. } if about == path);
            TreeError { own, reason: error.to_string() }
        })
    }

    /// Whether a tree of ours is there already, once what is half-made is gone.
    fn found(&self, rescue: &RescueRequest, made: &mut MadeTree) -> Result<bool, TreeError> {
        let path = &rescue.path;
        match self.step("tree: placed", |repo| repo.standing(path))? {
            Standing::Absent => Ok(false),
            Standing::Whole => Ok(true),
            Standing::HalfMade => {
                made.rescue = self.rescued(rescue)?;
                self.unmade(path)?;
                Ok(false)
            }
            Standing::Orphan => {
                self.registered_again(path, rescue.branch.as_deref())?;
                Ok(true)
            }
            Standing::Foreign => Err(own(format!("`{path}`: it is no working tree of ours"))),
        }
    }

    fn add_member(
        &self,
        path: &str,
        branch: &str,
        commit: &CommitId,
        exact: bool,
    ) -> Result<(), TreeError> {
        let name = branch_ref(branch);
        let exists = self.step("tree: absent", |repo| repo.refs.contains_key(&name))?;
        let head = if exists || !exact {
            Head::Branch(branch.to_owned())
        } else {
            Head::Detached(commit.clone())
        };
        if !exists && !exact {
            self.step("tree: to branch", |repo| repo.branch(&name, commit))??;
        }
        self.add(path, head)?;
        match self.step("tree: made", |repo| repo.standing(path))? {
            Standing::Whole => Ok(()),
            other => Err(own(format!("`{path}` is not the tree just made: {other:?}"))),
        }
    }

    /// What `worktree add` does once there is a branch.
    fn add(&self, path: &str, head: Head) -> Result<(), GitError> {
        self.step("tree: to register", |repo| repo.begin_tree(path, &head))??;
        self.step("tree: to check out", |repo| repo.fill_tree(path))??;
        self.step("tree: to finish", |repo| {
            repo.registration_mut(path).map(|registration| registration.initializing = false)
        })?
    }

    /// For an agent: on its branch, with nothing unsaved in it.
    fn fit(
        &self,
        request: &TreeRequest,
        path: &str,
        branch: &str,
        start: &CommitId,
    ) -> Result<MadeTree, TreeError> {
        let name = branch_ref(branch);
        let look = |repo: &mut Repo| -> Result<(bool, bool), GitError> {
            let absent = !repo.refs.contains_key(&name);
            Ok((absent, !absent && repo.is_on(path, branch)? && !repo.is_dirty(path)?))
        };
        let (absent, fits) = self.step("tree: to fit", look)??;
        if fits {
            return Ok(MadeTree::default());
        }
        let rescue = self.rescued(&rescue_of(request, path, Some(branch)))?;
        if absent {
            self.step("tree: to branch again", |repo| repo.swap(&name, start, None))??;
        }
        self.put_back(path, &Head::Branch(branch.to_owned()))?;
        Ok(MadeTree { rescue })
    }

    /// For a gate: HEAD is the pinned commit and nothing differs from it.
    fn exactly(
        &self,
        request: &TreeRequest,
        path: &str,
        branch: &str,
        commit: &CommitId,
    ) -> Result<MadeTree, TreeError> {
        if !self.step("tree: to pin", |repo| repo.commits.contains_key(commit))? {
            return Err(own(format!("the pinned commit `{commit}` is not in the repository")));
        }
        let look = |repo: &mut Repo| -> Result<bool, GitError> {
            Ok(repo.head_commit(path)?.as_ref() == Some(commit) && !repo.is_dirty(path)?)
        };
        if self.step("tree: pinned", look)?? {
            return Ok(MadeTree::default());
        }
        let rescue = self.rescued(&rescue_of(request, path, Some(branch)))?;
        let tip = self.step("tree: rescued", |repo| repo.resolve(&branch_ref(branch)))?;
        let on_branch = tip.as_ref() == Some(commit);
        if !on_branch || self.put_back(path, &Head::Branch(branch.to_owned())).is_err() {
            self.put_back(path, &Head::Detached(commit.clone()))?;
        }
        Ok(MadeTree { rescue })
    }

    /// For a suite: detached and clean; what is there is nobody's work.
    fn check(
        &self,
        request: &TreeRequest,
        path: &str,
        commit: &CommitId,
    ) -> Result<MadeTree, TreeError> {
        let mut made = MadeTree::default();
        let head = Head::Detached(commit.clone());
        let rescue = rescue_of(request, path, None);
        if self.found(&rescue, &mut made)? {
            let reset = self.checked_out(path, &head).and_then(|()| {
                self.step("tree: to clean", |repo| {
                    repo.clean(path)?;
                    repo.forgive(path);
                    Ok(())
                })?
            });
            if reset.is_ok() {
                return Ok(made);
            }
            made.rescue = self.rescued(&rescue)?;
            self.unmade(path)?;
        }
        self.add(path, head)?;
        Ok(made)
    }

    /// Puts a tree at a branch or commit with nothing unsaved in it.
    pub(super) fn put_back(&self, path: &str, head: &Head) -> Result<(), GitError> {
        match self.checked_out(path, head) {
            Err(GitError::Failed { .. }) => {
                self.step("tree: to drop the index", |repo| {
                    repo.registration_mut(path).map(|registration| registration.index.clear())
                })??;
                self.checked_out(path, head)?;
            }
            done => done?,
        }
        self.step("tree: to clean", |repo| repo.clean(path))?
    }

    /// `checkout --force`: index and files, then HEAD.
    fn checked_out(&self, path: &str, head: &Head) -> Result<(), GitError> {
        self.step("tree: to put back", |repo| {
            repo.free(path, head)?;
            let target = repo.files_at(head)?;
            repo.check_out(path, &target)
        })??;
        self.step("tree: to move HEAD", |repo| {
            repo.registration_mut(path).map(|registration| registration.head = head.clone())
        })?
    }
}

impl Repo {
    /// Checks that a tree may lie at `path`.
    pub(super) fn place(&self, path: &str, root: &str) -> Result<(), GitError> {
        let refused = |of: &str, reason: &str| GitError::Refused {
            path: of.to_owned(),
            reason: reason.to_owned(),
        };
        for of in [root, path] {
            if !of.starts_with('/') || of.split('/').any(|part| part == "..") {
                return Err(refused(of, "it is not an absolute path without `..`"));
            }
            if of == self.main || of.starts_with(&format!("{}/", self.main)) {
                return Err(refused(of, "it lies inside the repository"));
            }
        }
        if path.starts_with(&format!("{root}/")) {
            return Ok(());
        }
        Err(refused(path, "it does not lie under its root"))
    }

    /// What is at the place of a tree.
    pub(super) fn standing(&self, path: &str) -> Standing {
        let Some(tree) = self.trees.get(path) else { return Standing::Absent };
        match (&tree.registration, &tree.files) {
            (Some(registration), Some(_)) if tree.link && !registration.initializing => {
                Standing::Whole
            }
            (Some(_), _) => Standing::HalfMade,
            (None, None) => Standing::Absent,
            (None, Some(files)) if files.is_empty() && !tree.link => Standing::Absent,
            (None, Some(_)) if tree.link => Standing::Orphan,
            (None, Some(_)) => Standing::Foreign,
        }
    }

    pub(super) fn registration(&self, path: &str) -> Result<&Registration, GitError> {
        let known = self.trees.get(path).and_then(|tree| tree.registration.as_ref());
        known.ok_or_else(|| failed("status", format!("not a git repository: `{path}`")))
    }

    pub(super) fn registration_mut(&mut self, path: &str) -> Result<&mut Registration, GitError> {
        let known = self.trees.get_mut(path).and_then(|tree| tree.registration.as_mut());
        let known = known.filter(|registration| !registration.wrecked);
        known.ok_or_else(|| failed("checkout", format!("not a git repository: `{path}`")))
    }

    /// The commit of a tree's HEAD.
    pub(super) fn head_commit(&self, path: &str) -> Result<Option<CommitId>, GitError> {
        let registration = self.registration(path)?;
        Ok(match &registration.head {
            _ if registration.wrecked => None,
            Head::Branch(branch) => self.resolve(&branch_ref(branch)),
            Head::Detached(commit) => Some(commit.clone()),
        })
    }

    fn is_on(&self, path: &str, branch: &str) -> Result<bool, GitError> {
        let registration = self.registration(path)?;
        Ok(!registration.wrecked && registration.head == Head::Branch(branch.to_owned()))
    }

    /// Whether files or index of a tree differ from HEAD, as far as that can be told; else yes.
    pub(super) fn is_dirty(&self, path: &str) -> Result<bool, GitError> {
        let registration = self.registration(path)?;
        let head = match self.head_commit(path)? {
            Some(commit) => self.commit(&commit)?.files.clone(),
            None => Files::new(),
        };
        let files = self.files_in(path).unwrap_or_default();
        Ok(registration.wrecked || registration.index != head || registration.index != files)
    }

    /// The files of a branch or commit.
    fn files_at(&self, head: &Head) -> Result<Files, GitError> {
        let commit = match head {
            Head::Branch(branch) => self.resolve(&branch_ref(branch)),
            Head::Detached(commit) => Some(commit.clone()),
        };
        let commit = commit.filter(|commit| self.commits.contains_key(commit));
        let commit = commit.ok_or_else(|| failed("checkout", "invalid reference"))?;
        Ok(self.commit(&commit)?.files.clone())
    }

    /// Checks that a branch is checked out in no other tree.
    pub(super) fn free(&self, path: &str, head: &Head) -> Result<(), GitError> {
        let Head::Branch(branch) = head else { return Ok(()) };
        let mut others = self.trees.iter().filter(|(other, _)| *other != path);
        let used = |tree: &WorkTree| {
            tree.registration.as_ref().is_some_and(|r| !r.wrecked && r.head == *head)
        };
        let main = self.base.is_some() && branch == super::repo::BASE;
        if main || others.any(|(_, tree)| used(tree)) {
            let message = format!("'{branch}' is already used by worktree");
            return Err(failed("worktree", message));
        }
        Ok(())
    }

    /// Makes a branch as `git branch` does.
    fn branch(&mut self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        self.unlocked(name)?;
        self.commit(commit)?;
        if self.refs.contains_key(name) {
            return Err(failed("worktree", format!("a branch named '{name}' already exists")));
        }
        self.refs.insert(name.to_owned(), commit.clone());
        Ok(())
    }

    fn begin_tree(&mut self, path: &str, head: &Head) -> Result<(), GitError> {
        self.free(path, head)?;
        self.files_at(head)?;
        if self.standing(path) != Standing::Absent {
            return Err(failed("worktree", format!("'{path}' already exists")));
        }
        let registration = Registration {
            head: head.clone(),
            index: Files::new(),
            initializing: true,
            wrecked: false,
        };
        let (files, registration) = (Some(Files::new()), Some(registration));
        self.trees.insert(path.to_owned(), WorkTree { files, link: true, registration });
        Ok(())
    }

    fn fill_tree(&mut self, path: &str) -> Result<(), GitError> {
        let head = self.registration(path)?.head.clone();
        if let Head::Branch(branch) = &head
            && let Err(error) = self.unlocked(&branch_ref(branch))
        {
            self.trees.remove(path); // git resets the new tree, and takes it back where it cannot
            return Err(error);
        }
        let target = self.files_at(&head)?;
        self.check_out(path, &target)
    }

    /// Index and files of a tree become these; untracked files stay.
    pub(super) fn check_out(&mut self, path: &str, target: &Files) -> Result<(), GitError> {
        let before = std::mem::replace(&mut self.registration_mut(path)?.index, target.clone());
        if let Some(files) = self.trees.get_mut(path).and_then(|tree| tree.files.as_mut()) {
            files.retain(|name, _| !before.contains_key(name));
            files.extend(target.clone());
        }
        Ok(())
    }

    /// Untracked files of a tree go.
    fn clean(&mut self, path: &str) -> Result<(), GitError> {
        let index = self.registration_mut(path)?.index.clone();
        if let Some(files) = self.trees.get_mut(path).and_then(|tree| tree.files.as_mut()) {
            files.retain(|name, _| index.contains_key(name));
        }
        Ok(())
    }

    pub(super) fn ground(
        &mut self,
        path: &str,
        branch: &str,
        integration: &CommitId,
    ) -> Result<Ground, GitError> {
        let tip = self.resolve(&branch_ref(branch));
        let (mut commits, mut merged) = (0, None);
        if let Some(tip) = &tip {
            self.commit(integration)?;
            let before = self.ancestors([integration]);
            let own = self.ancestors([tip]).difference(&before).count();
            commits = u32::try_from(own).unwrap_or(u32::MAX);
            merged = self.onto(tip, integration)?;
        }
        let mut ground =
            Ground { tip, commits, dirty: false, tree: false, on_branch: false, merged };
        if self.standing(path) == Standing::Whole {
            ground.tree = true;
            ground.dirty = self.is_dirty(path)?;
            ground.on_branch = self.is_on(path, branch)?;
        }
        Ok(ground)
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
