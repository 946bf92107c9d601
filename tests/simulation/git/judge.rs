//! What must be true of a repository at the end of every simulation.

use super::repo::{BASE, Head, Repo, WorkTree, Written};
use sched::domain::ids::CommitId;
use std::collections::{BTreeMap, BTreeSet};

impl Repo {
    /// Checks that nothing landed twice, that the operator's checkout is as its commit, and that
    /// nothing an agent wrote is lost.
    ///
    /// # Errors
    /// What is wrong.
    pub fn judge(&self) -> Result<(), String> {
        self.landed_once()?;
        self.checkout_follows()?;
        let kept = self.kept();
        let lost = self.written.iter().find(|written| !kept.contains(&key(written)));
        lost.map_or(Ok(()), |written| Err(format!("lost: {written:?}")))
    }

    fn landed_once(&self) -> Result<(), String> {
        let mut seen: BTreeMap<(String, String), CommitId> = BTreeMap::new();
        for (id, _, trailers) in self.history(BASE) {
            let all: BTreeMap<String, String> = trailers.into_iter().collect();
            let of = |key: &str| all.get(key).cloned();
            let (Some(batch), Some(member)) = (of("Sched-Batch"), of("Sched-Member")) else {
                continue;
            };
            let landing = format!("{batch}/{member}");
            if let Some(other) = seen.insert((batch, member), id.clone()) {
                return Err(format!("{landing} landed twice: {id} and {other}"));
            }
        }
        Ok(())
    }

    fn checkout_follows(&self) -> Result<(), String> {
        let Some(base) = &self.base else { return Ok(()) };
        let head = self.files_of(&self.main_head());
        let paths: BTreeSet<&String> =
            head.keys().chain(base.index.keys()).chain(base.files.keys()).collect();
        let clean = |path: &&&String| !base.dirtied.contains(**path);
        for path in paths.iter().filter(clean) {
            let (is, index, file) = (head.get(*path), base.index.get(*path), base.files.get(*path));
            if is != index || is != file {
                return Err(format!("`{path}` is {is:?}, in index {index:?}, as file {file:?}"));
            }
        }
        Ok(())
    }

    /// Every content that a ref or a tree still has.
    fn kept(&self) -> BTreeSet<(&str, &str)> {
        let detached = |tree: &WorkTree| match &tree.registration.as_ref()?.head {
            Head::Detached(commit) => Some(commit.clone()),
            Head::Branch(_) => None,
        };
        let heads: Vec<CommitId> =
            self.trees.values().filter(|tree| !is_wrecked(tree)).filter_map(detached).collect();
        let commits = self.ancestors(self.refs.values().chain(&heads));
        let committed = self.commits.iter().filter(|(id, _)| commits.contains(id));
        let committed = committed.flat_map(|(_, commit)| &commit.files);
        let present = self.trees.values().filter_map(|tree| tree.files.as_ref()).flatten();
        committed.chain(present).map(|(path, content)| (path.as_str(), content.as_str())).collect()
    }

    /// What an outsider took from a tree is nobody's loss.
    pub(super) fn forgive(&mut self, path: &str) {
        let kept: BTreeSet<(String, String)> =
            self.kept().into_iter().map(|(p, c)| (p.to_owned(), c.to_owned())).collect();
        self.written.retain(|written| {
            let (name, content) = key(written);
            written.tree != path || kept.contains(&(name.to_owned(), content.to_owned()))
        });
    }
}

fn key(written: &Written) -> (&str, &str) {
    (&written.path, &written.content)
}

fn is_wrecked(tree: &WorkTree) -> bool {
    tree.registration.as_ref().is_some_and(|registration| registration.wrecked)
}
