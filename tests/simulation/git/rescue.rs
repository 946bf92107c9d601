//! Rescue, cleaning and removal of trees.

use super::message::one_line;
use super::repo::{Commit, Files, Head, Registration, Repo, Swap};
use super::trees::Standing;
use super::{Between, SimGit, branch_ref, failed};
use sched::domain::ids::CommitId;
use sched::engine::ports::git::{GitError, RemoveError, RescueRequest};

impl<B: Between> SimGit<B> {
    pub(super) fn rescued(&self, request: &RescueRequest) -> Result<Option<String>, GitError> {
        let path = &request.path;
        let look = |repo: &mut Repo| repo.place(path, &request.root).map(|()| repo.standing(path));
        let files = match self.step("rescue", look)?? {
            Standing::Absent => return Ok(None),
            Standing::Whole => true,
            Standing::HalfMade => false,
            Standing::Orphan => {
                self.registered_again(path, request.branch.as_deref())?;
                true
            }
            Standing::Foreign => return Err(refused(request, "it is no working tree of ours")),
        };
        let save = |repo: &mut Repo| repo.save(request, files);
        let Some(commit) = self.step("rescue: to save", save)?? else { return Ok(None) };
        self.step("rescue: to keep", |repo| repo.keep(request, &commit))?.map(Some)
    }

    pub(super) fn cleaned(&self, request: &RescueRequest) -> Result<(), GitError> {
        let path = &request.path;
        let look = |repo: &mut Repo| repo.place(path, &request.root).map(|()| repo.standing(path));
        match self.step("clean", look)?? {
            Standing::Whole => {
                let head = match &request.branch {
                    Some(branch) => Head::Branch(branch.clone()),
                    None => {
                        let head = self.step("clean: look", |repo| repo.head_commit(path))??;
                        // without a commit there is nothing to go to, and that fails
                        head.map_or_else(|| Head::Branch(String::new()), Head::Detached)
                    }
                };
                self.put_back(path, &head)
            }
            Standing::Absent => Ok(()),
            Standing::HalfMade => self.unmade(path),
            Standing::Orphan => Err(refused(request, "it is not registered")),
            Standing::Foreign => Err(refused(request, "it is no working tree of ours")),
        }
    }

    pub(super) fn removed(&self, request: &RescueRequest) -> Result<Option<String>, RemoveError> {
        let kept = |rescue: Option<String>| {
            move |error: GitError| RemoveError { rescue, reason: error.to_string() }
        };
        let rescue = self.rescued(request).map_err(kept(None))?;
        self.unmade(&request.path).and_then(|()| self.told(rescue.clone())).map_err(kept(rescue))
    }

    /// Removes what is at the place of a tree: files, directory, registration.
    pub(super) fn unmade(&self, path: &str) -> Result<(), GitError> {
        self.step("removal: to remove files", |repo| {
            let tree = repo.trees.get_mut(path);
            if let Some(files) = tree.and_then(|tree| tree.files.as_mut()) {
                files.pop_first();
            }
        })?;
        self.step("removal: to remove the directory", |repo| {
            if let Some(tree) = repo.trees.get_mut(path) {
                (tree.files, tree.link) = (None, false);
            }
        })?;
        self.step("removal: to forget", |repo| repo.trees.remove(path))?;
        Ok(())
    }

    /// Takes back a tree that lost its registration.
    pub(super) fn registered_again(
        &self,
        path: &str,
        branch: Option<&str>,
    ) -> Result<(), GitError> {
        self.step("registration: to make", |repo| repo.register(path, branch))?;
        self.step("registration: to read the index", |repo| repo.read_index(path))?
    }
}

fn refused(request: &RescueRequest, reason: &str) -> GitError {
    GitError::Refused { path: request.path.clone(), reason: reason.into() }
}

impl Repo {
    fn register(&mut self, path: &str, branch: Option<&str>) {
        let tip = branch.and_then(|branch| self.resolve(&branch_ref(branch)));
        let head = match (branch, tip) {
            (Some(branch), Some(tip)) => {
                let head = Head::Branch(branch.to_owned());
                if self.free(path, &head).is_ok() { head } else { Head::Detached(tip) }
            }
            _ => Head::Detached(self.main_head()),
        };
        let index = Files::new();
        let registration = Registration { head, index, initializing: false, wrecked: false };
        if let Some(tree) = self.trees.get_mut(path) {
            tree.registration = Some(registration);
        }
    }

    fn read_index(&mut self, path: &str) -> Result<(), GitError> {
        let commit = self.head_commit(path)?;
        let commit = commit.ok_or_else(|| failed("read-tree", "Not a valid object name HEAD"))?;
        self.registration_mut(path)?.index = self.commit(&commit)?.files.clone();
        Ok(())
    }

    /// Files, index and unreached commits of a tree as one commit, if there is anything.
    fn save(&mut self, request: &RescueRequest, files: bool) -> Result<Option<CommitId>, GitError> {
        let path = &request.path;
        let head = self.head_commit(path)?;
        let reached = self.ancestors(self.refs.values());
        let loose = head.clone().filter(|commit| !reached.contains(commit));
        if !files || !self.is_dirty(path)? {
            return Ok(loose);
        }
        let registration = self.registration(path)?;
        if registration.wrecked {
            return Err(failed("add", format!("not a git repository: `{path}`")));
        }
        let index = registration.index.clone();
        let files = self.files_in(path).unwrap_or_default();
        let before = match &head {
            Some(commit) => Some(self.commit(commit)?.files.clone()),
            None => None,
        };
        let staged = Some(index).filter(|index| Some(index) != before.as_ref() && *index != files);
        if before.unwrap_or_default() == files && staged.is_none() && loose.is_none() {
            return Ok(None);
        }
        let time = request.time.seconds();
        let about = format!("rescue {}: unsaved work in {path}", request.unit);
        let about = one_line(&about);
        let mut parents: Vec<CommitId> = head.into_iter().collect();
        if let Some(staged) = staged {
            let message = format!("{about} (index)\n");
            let index = Commit::by("sched", time, parents.clone(), staged, message);
            parents.push(self.make(index));
        }
        let commit = Commit::by("sched", time, parents, files, format!("{about}\n"));
        Ok(Some(self.make(commit)))
    }

    /// A ref for a rescued commit; another one where its name is taken by other work.
    fn keep(&mut self, request: &RescueRequest, commit: &CommitId) -> Result<String, GitError> {
        let unit = request.unit.to_string().replace(':', "/");
        let time = request.time.to_string().replace([':', '-', '.'], "");
        let first = format!("refs/sched/rescue/{unit}/{time}");
        let mut name = first.clone();
        for n in 2..100 {
            match self.swap(&name, commit, None)? {
                Swap::Done => return Ok(name),
                Swap::Lost(_) => name = format!("{first}-{n}"),
            }
        }
        Err(GitError::System { path: name, message: "no free name for a rescue ref".into() })
    }
}
