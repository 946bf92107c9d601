//! What agents, operators and others do to a repository.

use super::branch_ref;
use super::message::trailers;
use super::repo::{BASE, Commit, Files, Head, Repo, Swap, WorkTree, Written};
use super::trees::Standing;
use sched::domain::ids::CommitId;
use std::collections::BTreeMap;

/// The trailers of a message.
pub type Trailers = Vec<(String, String)>;

impl Repo {
    /// Where a branch is.
    pub fn tip(&self, branch: &str) -> Option<CommitId> {
        self.resolve(&branch_ref(branch))
    }

    /// The files of a commit.
    pub fn files_of(&self, commit: &CommitId) -> Files {
        self.commits.get(commit).map(|commit| commit.files.clone()).unwrap_or_default()
    }

    /// The files in a working tree, while its directory is there.
    pub fn files_in(&self, path: &str) -> Option<Files> {
        self.trees.get(path)?.files.clone()
    }

    /// The paths of all working trees that are there.
    pub fn trees(&self) -> Vec<String> {
        let there = self.trees.iter().filter(|(_, tree)| tree.files.is_some());
        there.map(|(path, _)| path.clone()).collect()
    }

    /// Every ref under a full prefix.
    pub fn refs(&self, prefix: &str) -> BTreeMap<String, CommitId> {
        let inside = self.refs.iter().filter(|(name, _)| name.starts_with(prefix));
        inside.map(|(name, id)| (name.clone(), id.clone())).collect()
    }

    /// The first-parent line of a branch, newest first: id, subject, trailers.
    pub fn history(&self, branch: &str) -> Vec<(CommitId, String, Trailers)> {
        let mut line = Vec::new();
        let mut next = self.tip(branch);
        while let Some(id) = next {
            let commit = &self.commits[&id];
            let subject = commit.message.lines().next().unwrap_or_default().to_owned();
            next = commit.parents.first().cloned();
            line.push((id, subject, trailers(&commit.message)));
        }
        line
    }

    /// The commit that is checked out in the main tree.
    pub fn main_head(&self) -> CommitId {
        let base = self.base.as_ref().and_then(|_| self.tip(BASE));
        base.unwrap_or_else(|| self.aside.clone())
    }

    /// An agent writes files (`None`: deletes one) and commits just these.
    ///
    /// # Errors
    /// What git says.
    pub fn commit_in(
        &mut self,
        path: &str,
        changes: &[(&str, Option<&str>)],
        subject: &str,
    ) -> Result<CommitId, String> {
        self.workable(path)?;
        for (name, content) in changes {
            self.write_in(path, name, *content);
        }
        let head = self.head_commit(path).map_err(|error| error.to_string())?;
        let parents: Vec<CommitId> = head.into_iter().collect();
        let registration = self.registration_mut(path).map_err(|error| error.to_string())?;
        for (name, content) in changes {
            match content {
                Some(content) => {
                    registration.index.insert((*name).to_owned(), (*content).to_owned());
                }
                None => {
                    registration.index.remove(*name);
                }
            }
        }
        let files = registration.index.clone();
        if parents.first().map(|head| self.files_of(head)).unwrap_or_default() == files {
            return Err("nothing to commit".into());
        }
        self.committed(path, parents, files, &format!("{subject}\n"))
    }

    /// An agent merges another commit into what its clean tree has checked out.
    ///
    /// # Errors
    /// What git says.
    pub fn merge_in(&mut self, path: &str, other: &CommitId) -> Result<CommitId, String> {
        self.workable(path)?;
        let text = |error: sched::engine::ports::git::GitError| error.to_string();
        if self.is_dirty(path).map_err(text)? {
            return Err("the tree is dirty".into());
        }
        let head = self.head_commit(path).map_err(text)?.ok_or("no commit yet")?;
        if self.reaches(other, &head) != Some(false) {
            return Err("already up to date".into());
        }
        let merged = self.merge(None, &head, other).map_err(text)?;
        let files = merged.map_err(|paths| format!("conflicts in {paths:?}"))?;
        self.check_out(path, &files).map_err(text)?;
        self.committed(path, vec![head, other.clone()], files, "Merge\n")
    }

    fn committed(
        &mut self,
        path: &str,
        parents: Vec<CommitId>,
        files: Files,
        message: &str,
    ) -> Result<CommitId, String> {
        let head = parents.first().cloned();
        let commit = Commit::by("Agent", self.clock, parents, files, message.into());
        let registration = self.registration(path).map_err(|error| error.to_string())?;
        let id = commit.id();
        if let Head::Branch(branch) = registration.head.clone() {
            self.unlocked(&branch_ref(&branch)).map_err(|error| error.to_string())?;
            self.make(commit);
            self.refs.insert(branch_ref(&branch), id.clone());
        } else {
            self.make(commit);
            let registration = self.registration_mut(path).map_err(|error| error.to_string())?;
            registration.head = Head::Detached(id.clone());
        }
        debug_assert_ne!(head.as_ref(), Some(&id));
        self.clock += 1;
        Ok(id)
    }

    /// An agent writes a file and commits nothing.
    pub fn edit_in(&mut self, path: &str, name: &str, content: &str) {
        self.write_in(path, name, Some(content));
    }

    fn write_in(&mut self, path: &str, name: &str, content: Option<&str>) {
        let Some(files) = self.trees.get_mut(path).and_then(|tree| tree.files.as_mut()) else {
            return;
        };
        self.written.retain(|w| w.tree != path || w.path != name);
        match content {
            Some(content) => {
                let (path, content) = (path.to_owned(), content.to_owned());
                files.insert(name.to_owned(), content.clone());
                self.written.push(Written { tree: path, path: name.to_owned(), content });
            }
            None => {
                files.remove(name);
            }
        }
    }

    /// An agent leaves its branch: HEAD is the commit itself.
    ///
    /// # Errors
    /// What git says.
    pub fn detach_in(&mut self, path: &str) -> Result<(), String> {
        self.workable(path)?;
        let head = self.head_commit(path).map_err(|error| error.to_string())?;
        let head = head.ok_or("no commit yet")?;
        let registration = self.registration_mut(path).map_err(|error| error.to_string())?;
        registration.head = Head::Detached(head);
        Ok(())
    }

    fn workable(&self, path: &str) -> Result<(), String> {
        let whole = self.standing(path) == Standing::Whole;
        let wrecked = self.registration(path).is_ok_and(|registration| registration.wrecked);
        if whole && !wrecked { Ok(()) } else { Err(format!("`{path}` is no working tree")) }
    }

    /// Somebody commits to the base branch; where it is checked out, the checkout follows.
    ///
    /// # Errors
    /// What git says; nothing has moved.
    pub fn move_base(&mut self, changes: &[(&str, Option<&str>)]) -> Result<CommitId, String> {
        let text = |error: sched::engine::ports::git::GitError| error.to_string();
        let tip = self.tip(BASE).ok_or("there is no base branch")?;
        let mut files = self.files_of(&tip);
        for (name, content) in changes {
            match content {
                Some(content) => files.insert((*name).to_owned(), (*content).to_owned()),
                None => files.remove(*name),
            };
        }
        let commit = Commit::by("Operator", self.clock, vec![tip.clone()], files, "Else\n".into());
        let id = self.make(commit);
        self.clock += 1;
        self.unlocked(&branch_ref(BASE)).map_err(text)?;
        if self.base.is_some() {
            let changes = self.passable(&tip, &id).map_err(text)?;
            let changes = changes.map_err(|path| format!("`{path}` is in the way"))?;
            changes.iter().for_each(|change| self.write(change));
            self.write_index(&changes);
        }
        match self.swap(&branch_ref(BASE), &id, Some(&tip)).map_err(text)? {
            Swap::Done => Ok(id),
            Swap::Lost(_) => Err("somebody was faster".into()),
        }
    }

    /// The operator edits a file in the checkout of the base branch.
    pub fn dirty_base(&mut self, name: &str, content: &str) {
        if let Some(base) = &mut self.base {
            base.files.insert(name.to_owned(), content.to_owned());
            base.dirtied.insert(name.to_owned());
        }
    }

    /// The operator gives up all that is not committed in the checkout of the base branch.
    pub fn clean_base(&mut self) {
        let files = self.files_of(&self.main_head());
        if let Some(base) = &mut self.base {
            base.dirtied.clear();
            (base.index, base.files) = (files.clone(), files);
        }
    }

    /// The operator leaves the base branch: the main tree stands at its commit.
    pub fn leave_base(&mut self) {
        self.aside = self.main_head();
        self.base = None;
    }

    /// A tree's HEAD becomes garbage.
    pub fn wreck(&mut self, path: &str) {
        if let Ok(registration) = self.registration_mut(path) {
            registration.wrecked = true;
        }
        self.forgive(path);
    }

    /// Somebody removes a tree's directory.
    pub fn vanish(&mut self, path: &str) {
        if let Some(tree) = self.trees.get_mut(path) {
            (tree.files, tree.link) = (None, false);
        }
        self.forgive(path);
    }

    /// Somebody removes a tree's registration.
    pub fn unregister(&mut self, path: &str) {
        if let Some(tree) = self.trees.get_mut(path) {
            tree.registration = None;
        }
        self.forgive(path);
    }

    /// Somebody puts a directory where a tree is to be.
    pub fn squat(&mut self, path: &str) {
        let files = Some(Files::from([("theirs".to_owned(), "theirs\n".to_owned())]));
        let tree = WorkTree { files, ..WorkTree::default() };
        self.trees.entry(path.to_owned()).or_insert(tree);
    }

    /// A foreign git takes a lock: the full name of a ref, or `index`.
    pub fn take_lock(&mut self, name: &str) {
        self.locks.insert(name.to_owned());
    }

    /// A foreign git releases a lock.
    pub fn drop_lock(&mut self, name: &str) {
        self.locks.remove(name);
    }
}
