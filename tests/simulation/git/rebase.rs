//! Rebasing: each commit is made anew on the other base, and only then is the branch swapped.

use super::repo::{Commit, Repo, Swap};
use super::{Between, SimGit, branch_ref, failed};
use sched::domain::event::Merge;
use sched::domain::fact::RebaseResult;
use sched::domain::ids::{CommitId, IssueId};
use sched::engine::ports::git::{GitError, RebaseRequest};
use std::collections::BTreeMap;

type Landed = Vec<(IssueId, CommitId)>;

/// New commits, or the member whose commit conflicts in these paths.
type Replayed = Result<(CommitId, Landed, Option<Merge>), (IssueId, Vec<String>)>;

impl<B: Between> SimGit<B> {
    pub(super) fn rebased(&self, request: &RebaseRequest) -> Result<RebaseResult, GitError> {
        let name = branch_ref(&request.branch);
        let replayed = self.step("rebase", |repo| repo.replay(request))??;
        let (tip, landed, judged) = match replayed {
            Ok(made) => made,
            Err((member, paths)) => {
                let now = self.step("rebase: nothing made", |repo| repo.resolve(&name))?;
                let now = now.ok_or(GitError::Missing { name })?;
                let stays = now == request.tip;
                let conflict = RebaseResult::Conflict(member, paths);
                return self.told(if stays { conflict } else { RebaseResult::Moved(now) });
            }
        };
        let swap = |repo: &mut Repo| repo.swap(&name, &tip, Some(&request.tip));
        match self.step("rebase: made", swap)?? {
            Swap::Done => self.told(RebaseResult::Rebased { tip, landed, judged }),
            Swap::Lost(Some(now)) => self.told(RebaseResult::Moved(now)),
            Swap::Lost(None) => Err(GitError::Missing { name }),
        }
    }
}

impl Repo {
    fn replay(&mut self, request: &RebaseRequest) -> Result<Replayed, GitError> {
        let mut tip = request.tip.clone();
        let mut landed = request.landed.clone();
        if self.reaches(&request.onto, &request.tip) != Some(true) {
            let line = self.first_parents(&request.from, &request.tip)?;
            let mut moved = BTreeMap::from([(request.from.clone(), request.onto.clone())]);
            tip = request.onto.clone();
            for id in &line {
                if self.reaches(id, &request.onto) == Some(true) {
                    moved.insert(id.clone(), id.clone());
                    continue;
                }
                let files = match self.pick(id, &tip)? {
                    Ok(files) => files,
                    Err(paths) => return Ok(Err((owner(request, &line, id), paths))),
                };
                let original = self.commit(id)?.clone();
                let mut parents = vec![tip];
                parents.extend(original.parents.iter().skip(1).cloned());
                tip = self.make(Commit { files, parents, ..original });
                moved.insert(id.clone(), tip.clone());
            }
            for (_, commit) in &mut landed {
                let missing = || failed("rev-list", format!("`{commit}` is not on the branch"));
                *commit = moved.get(commit).cloned().ok_or_else(missing)?;
            }
        }
        let judged = match &request.judged {
            Some(work) => Some(self.onto(work, &tip)?.unwrap_or(Merge::Commit(work.clone()))),
            None => None,
        };
        Ok(Ok((tip, landed, judged)))
    }
}

/// The member that a commit belongs to.
fn owner(request: &RebaseRequest, line: &[CommitId], commit: &CommitId) -> IssueId {
    let place = |id: &CommitId| line.iter().position(|l| l == id);
    let after = request.landed.iter().find(|(_, landed)| place(landed) >= place(commit));
    let member = after.or(request.landed.last()).map(|(member, _)| member.clone());
    member.unwrap_or_else(|| commit.short().into())
}
