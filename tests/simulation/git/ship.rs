//! Shipping: index and files of the base branch's checkout first, then the swap.

use super::repo::{BASE, Checkout, Files, INDEX, Repo, Swap};
use super::{Between, SimGit, branch_ref, failed};
use sched::domain::fact::ShipResult;
use sched::domain::ids::CommitId;
use sched::engine::ports::git::{GitError, ShipRequest};

/// Paths with the index entries that they are to have.
type Stage = Vec<(String, Option<String>)>;

/// What a path holds before and after.
pub struct Change {
    path: String,
    old: Option<String>,
    new: Option<String>,
}

impl<B: Between> SimGit<B> {
    pub(super) fn shipped(&self, request: &ShipRequest) -> Result<ShipResult, GitError> {
        let name = branch_ref(&request.base);
        let now = self.step("ship", |repo| repo.resolve(&name))?;
        let now = now.ok_or_else(|| GitError::Missing { name: name.clone() })?;
        if self.step("ship: looked", |repo| repo.reaches(&request.new, &now))? == Some(true) {
            return self.told(ShipResult::Shipped);
        }
        if now != request.old {
            return self.told(ShipResult::BaseMoved(now));
        }
        let survey = |repo: &mut Repo| repo.survey(request);
        let checked_out = match self.step("ship: to survey", survey)?? {
            Some(Err(path)) => return self.told(ShipResult::Dirty(path)),
            Some(Ok(stage)) => {
                if let Some(path) = self.switch(request, &stage)? {
                    return self.told(ShipResult::Dirty(path));
                }
                true
            }
            None => false,
        };
        let swap = |repo: &mut Repo| repo.swap(&name, &request.new, Some(&request.old));
        match self.step("ship: to swap", swap)?? {
            Swap::Done => self.told(ShipResult::Shipped),
            Swap::Lost(now) => {
                if checked_out {
                    self.go(&request.new, &request.old)?;
                }
                let now = now.ok_or(GitError::Missing { name })?;
                self.told(ShipResult::BaseMoved(now))
            }
        }
    }

    /// Index and files go from `old` to `new`; the path that is in the way, if one is.
    fn switch(&self, request: &ShipRequest, stage: &Stage) -> Result<Option<String>, GitError> {
        self.step("ship: to stage", |repo| repo.stage(stage))??;
        let passable = |repo: &mut Repo| repo.passable(&request.old, &request.new);
        if let Err(path) = self.step("ship: to try", passable)?? {
            return Ok(Some(path));
        }
        match self.go(&request.old, &request.new)? {
            Some(path) => Err(failed("read-tree", format!("Entry '{path}' not uptodate"))),
            None => Ok(None),
        }
    }

    /// Checks, then writes file by file, then the index; the path that is in the way.
    fn go(&self, from: &CommitId, to: &CommitId) -> Result<Option<String>, GitError> {
        let changes = match self.step("ship: to check", |repo| repo.passable(from, to))?? {
            Ok(changes) => changes,
            Err(path) => return Ok(Some(path)),
        };
        for change in &changes {
            self.step("ship: to write a file", |repo| repo.write(change))?;
        }
        self.step("ship: to write the index", |repo| repo.write_index(&changes))?;
        Ok(None)
    }
}

fn put(files: &mut Files, path: &str, content: Option<&String>) {
    match content {
        Some(content) => files.insert(path.to_owned(), content.clone()),
        None => files.remove(path),
    };
}

impl Repo {
    /// What differs between two commits.
    fn changes(&self, old: &CommitId, new: &CommitId) -> Result<Vec<Change>, GitError> {
        let (old, new) = (&self.commit(old)?.files, &self.commit(new)?.files);
        let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
        paths.sort();
        paths.dedup();
        let change = |path: &String| {
            let (old, new) = (old.get(path).cloned(), new.get(path).cloned());
            (old != new).then(|| Change { path: path.clone(), old, new })
        };
        Ok(paths.into_iter().filter_map(change).collect())
    }

    /// The index entries that are to be staged, or the path in the way; `None`: not checked out.
    fn survey(&self, request: &ShipRequest) -> Result<Option<Result<Stage, String>>, GitError> {
        let Some(base) = self.base.as_ref().filter(|_| request.base == BASE) else {
            return Ok(None);
        };
        self.unlocked(INDEX)?;
        let changes = self.changes(&request.old, &request.new)?;
        let head = self.resolve(&branch_ref(BASE)).unwrap_or_else(|| request.old.clone());
        let head = &self.commit(&head)?.files;
        let mut tracked: Vec<&String> = head.keys().chain(base.index.keys()).collect();
        tracked.sort();
        let differs = |path: &&&String| {
            let index = base.index.get(**path);
            index != head.get(**path) || (index.is_some() && index != base.files.get(**path))
        };
        let ours = |path: &str| changes.iter().any(|change| change.path == path);
        if let Some(path) = tracked.iter().find(|path| differs(path) && !ours(path)) {
            return Ok(Some(Err((*path).clone())));
        }
        let mut stage = Stage::new();
        for Change { path, old, new } in &changes {
            let (index, file) = (base.index.get(path), base.files.get(path));
            let known = |held| held == old.as_ref() || held == new.as_ref();
            if !known(index) || !known(file) {
                return Ok(Some(Err(path.clone())));
            }
            if index != file {
                stage.push((path.clone(), file.cloned()));
            }
        }
        Ok(Some(Ok(stage)))
    }

    /// Gives paths the index entries that their files already have.
    fn stage(&mut self, stage: &Stage) -> Result<(), GitError> {
        self.unlocked(INDEX)?;
        if let Some(base) = &mut self.base {
            for (path, content) in stage {
                put(&mut base.index, path, content.as_ref());
            }
        }
        Ok(())
    }

    /// The changes that a two-tree merge would make, or the path that it refuses to touch.
    pub(super) fn passable(
        &self,
        from: &CommitId,
        to: &CommitId,
    ) -> Result<Result<Vec<Change>, String>, GitError> {
        self.unlocked(INDEX)?;
        let changes = self.changes(from, to)?;
        let stuck = |base: &Checkout| changes.iter().find(|c| in_the_way(base, c));
        let stuck = self.base.as_ref().and_then(stuck).map(|change| change.path.clone());
        Ok(stuck.map_or(Ok(changes), Err))
    }

    pub(super) fn write(&mut self, change: &Change) {
        if let Some(base) = &mut self.base
            && base.index.get(&change.path) != change.new.as_ref()
        {
            put(&mut base.files, &change.path, change.new.as_ref());
        }
    }

    pub(super) fn write_index(&mut self, changes: &[Change]) {
        if let Some(base) = &mut self.base {
            changes.iter().for_each(|c| put(&mut base.index, &c.path, c.new.as_ref()));
        }
    }
}

fn in_the_way(base: &Checkout, Change { path, old, new }: &Change) -> bool {
    let (index, file) = (base.index.get(path), base.files.get(path));
    if index.is_some() && index == new.as_ref() {
        return false;
    }
    match (index, old) {
        (Some(_), Some(_)) if index == old.as_ref() => file.is_some() && file != index,
        (None, Some(_)) if new.is_some() => true,
        (None, _) => file.is_some(),
        _ => true,
    }
}
