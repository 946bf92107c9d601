//! Landing: the commit is made first, and only then is the branch looked at and swapped.

use super::message::{subject, trailers, with_trailers, without_ours};
use super::repo::{Commit, Files, Repo, Swap};
use super::{Between, SimGit, branch_ref};
use sched::domain::event::Landing;
use sched::domain::fact::{FoundLanding, LandResult};
use sched::domain::ids::{BatchId, CommitId};
use sched::engine::ports::git::{GitError, LandRequest};
use std::collections::BTreeMap;

impl<B: Between> SimGit<B> {
    pub(super) fn landed(&self, request: &LandRequest) -> Result<LandResult, GitError> {
        let name = branch_ref(&request.branch);
        let missing = || GitError::Missing { name: name.clone() };
        let commit = match self.step("land", |repo| repo.landing(request))?? {
            Ok(commit) => commit,
            Err(result) => {
                let now = self.step("land: nothing made", |repo| repo.resolve(&name))?;
                let now = now.ok_or_else(missing)?;
                let stays = now == request.parent;
                return self.told(if stays { result } else { LandResult::Moved(now) });
            }
        };
        let mut now = self.step("land: made", |repo| repo.resolve(&name))?;
        if now.as_ref() == Some(&request.parent) {
            let swap = |repo: &mut Repo| repo.swap(&name, &commit, Some(&request.parent));
            match self.step("land: looked", swap)?? {
                Swap::Done => return self.told(LandResult::Landed(commit)),
                Swap::Lost(at) => now = at,
            }
        }
        let now = now.ok_or_else(missing)?;
        let there = self.step("land: moved", |repo| repo.reaches(&commit, &now))?;
        self.told(if there == Some(true) {
            LandResult::Landed(commit)
        } else {
            LandResult::Moved(now)
        })
    }
}

impl Repo {
    /// The commit of a landing, or why there is none.
    fn landing(&mut self, request: &LandRequest) -> Result<Result<CommitId, LandResult>, GitError> {
        let files = match self.merge(None, &request.parent, &request.tip)? {
            Ok(files) => files,
            Err(paths) => return Ok(Err(LandResult::Conflict(paths))),
        };
        if files == self.commit(&request.parent)?.files {
            return Ok(Err(LandResult::AlreadyLanded));
        }
        Ok(Ok(match request.landing {
            Landing::Squash => self.whole(request, files, None)?,
            Landing::Merge => self.whole(request, files, Some(request.tip.clone()))?,
            Landing::Rebase => self.one_by_one(request, files)?,
        }))
    }

    fn whole(
        &mut self,
        request: &LandRequest,
        files: Files,
        more: Option<CommitId>,
    ) -> Result<CommitId, GitError> {
        let subject = subject(&request.title, request.issue.as_str());
        let author = match self.own_commits(request)?.last() {
            Some(last) => self.commit(last)?.author.clone(),
            None => "sched".into(),
        };
        let parents = std::iter::once(request.parent.clone()).chain(more).collect();
        let message = with_trailers(&subject, &request.trailers);
        let commit = Commit::by("sched", request.time.seconds(), parents, files, message);
        Ok(self.make(Commit { author, ..commit }))
    }

    /// The member's own commits, oldest first, without merges, in git's topological order.
    fn own_commits(&self, request: &LandRequest) -> Result<Vec<CommitId>, GitError> {
        let before = self.ancestors([&request.parent]);
        let own = self.ancestors([&request.tip]);
        let own: Vec<&CommitId> = own.difference(&before).collect();
        let mut children: BTreeMap<&CommitId, usize> = BTreeMap::new();
        for parent in own.iter().flat_map(|id| &self.commits[*id].parents) {
            *children.entry(parent).or_default() += 1;
        }
        let mut ready: Vec<&CommitId> =
            own.iter().copied().filter(|id| **id == request.tip).collect();
        let mut order = Vec::new();
        while let Some(id) = ready.pop() {
            let parents = &self.commit(id)?.parents;
            if parents.len() < 2 {
                order.push(id.clone());
            }
            for parent in parents.iter().filter(|parent| own.contains(parent)) {
                let left = children.entry(parent).or_default();
                *left -= 1;
                if *left == 0 {
                    ready.push(parent);
                }
            }
        }
        order.reverse();
        Ok(order)
    }

    fn one_by_one(&mut self, request: &LandRequest, files: Files) -> Result<CommitId, GitError> {
        let mut tip = request.parent.clone();
        let mut last: Option<Commit> = None;
        for id in self.own_commits(request)? {
            let Ok(picked) = self.pick(&id, &tip)? else {
                return self.whole(request, files, None);
            };
            if picked == self.commit(&tip)?.files {
                continue;
            }
            let original = self.commit(&id)?;
            let message = with_trailers(&without_ours(&original.message), &[]);
            let author = original.author.clone();
            let time = request.time.seconds();
            let step = Commit::by("sched", time, vec![tip], picked, message);
            let step = Commit { author, ..step };
            tip = self.make(step.clone());
            last = Some(step);
        }
        match last {
            Some(last) if last.files == files => {
                let message = with_trailers(&last.message, &request.trailers);
                Ok(self.make(Commit { message, ..last }))
            }
            _ => self.whole(request, files, None),
        }
    }

    pub(super) fn landings(
        &self,
        branch: &str,
        batch: &BatchId,
        since: &CommitId,
    ) -> Result<Option<Vec<FoundLanding>>, GitError> {
        let Some(tip) = self.resolve(&branch_ref(branch)) else { return Ok(None) };
        let mut found = Vec::new();
        for commit in self.first_parents(since, &tip)? {
            let all: BTreeMap<_, _> =
                trailers(&self.commit(&commit)?.message).into_iter().collect();
            let of = |key: &str| all.get(key).cloned().unwrap_or_default();
            let member = of("Sched-Member");
            if of("Sched-Batch") == batch.as_str() && !member.is_empty() {
                found.push(FoundLanding { member: member.as_str().into(), commit });
            }
        }
        Ok(Some(found))
    }
}
