//! Rebasing: the integration branch's commits go onto another base, without a working tree.
//!
//! Each commit of the branch's first-parent line is replayed with its own author, committer,
//! dates and message, so there is one possible result; a rebase that was cut off is made again
//! object by object, or found where the branch already moved. A commit whose change the new base
//! already has stays, empty: it carries the landing's trailers.

use super::commit::Commit;
use super::merge::Merged;
use super::refs::{Swap, branch_ref};
use super::run::Launcher;
use crate::domain::event::Merge;
use crate::domain::fact::{FoundLanding, RebaseResult};
use crate::domain::ids::{BatchId, CommitId, IssueId};
use crate::engine::ports::git::{GitError, RebaseRequest};
use std::collections::BTreeMap;

impl Launcher {
    pub(super) fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitError> {
        if self.reaches(&request.onto.0, &request.tip.0)? == Some(true) {
            // the new base is a part of the batch: it stands on it already
            return self.publish_rebase(request, request.tip.clone(), request.landed.clone());
        }
        let line = self.first_parents(&request.from, &request.tip)?;
        let mut moved = BTreeMap::from([(request.from.clone(), request.onto.clone())]);
        let mut tip = request.onto.clone();
        for id in &line {
            if self.reaches(&id.0, &request.onto.0)? == Some(true) {
                moved.insert(id.clone(), id.clone()); // the new base has it
                continue;
            }
            let original = self.commit(id)?;
            let tree = match self.pick(&original, id, &tip)? {
                Merged::Tree(tree) => tree,
                Merged::Conflict(paths) => {
                    let member = self.owner(request, &line, id);
                    return self.unless_moved(request, RebaseResult::Conflict(member, paths));
                }
            };
            let mut parents = vec![tip];
            parents.extend(original.parents.iter().skip(1).cloned());
            tip = self.make_commit(&Commit { tree, parents, ..original })?;
            moved.insert(id.clone(), tip.clone());
        }
        let landed = request.landed.iter().map(|(member, commit)| {
            let at = moved.get(commit).cloned();
            at.map(|at| (member.clone(), at)).ok_or_else(|| GitError::Failed {
                command: "rev-list".into(),
                message: format!("`{commit}` is not on `{}`", request.branch),
            })
        });
        let landed = landed.collect::<Result<Vec<_>, _>>()?;
        self.publish_rebase(request, tip, landed)
    }

    fn publish_rebase(
        &self,
        request: &RebaseRequest,
        tip: CommitId,
        landed: Vec<(IssueId, CommitId)>,
    ) -> Result<RebaseResult, GitError> {
        let judged = match &request.judged {
            Some(work) => Some(self.onto(work, &tip)?.unwrap_or(Merge::Commit(work.clone()))),
            None => None,
        };
        match self.swap(&branch_ref(&request.branch), &tip, Some(&request.tip))? {
            Swap::Done => Ok(RebaseResult::Rebased { tip, landed, judged }),
            Swap::Lost(Some(now)) => Ok(RebaseResult::Moved(now)),
            Swap::Lost(None) => Err(GitError::Missing { name: branch_ref(&request.branch) }),
        }
    }

    fn unless_moved(
        &self,
        request: &RebaseRequest,
        result: RebaseResult,
    ) -> Result<RebaseResult, GitError> {
        let name = branch_ref(&request.branch);
        match self.resolve(&name)? {
            Some(at) if at == request.tip => Ok(result),
            Some(at) => Ok(RebaseResult::Moved(at)),
            None => Err(GitError::Missing { name }),
        }
    }

    /// The member that a commit belongs to: the first whose landing is that commit or comes
    /// after it.
    fn owner(&self, request: &RebaseRequest, line: &[CommitId], commit: &CommitId) -> IssueId {
        let place = |c: &CommitId| line.iter().position(|l| l == c);
        let here = place(commit);
        let after = request.landed.iter().find(|(_, landed)| place(landed) >= here);
        let member = after.or(request.landed.last()).map(|(member, _)| member.clone());
        member.unwrap_or_else(|| IssueId(commit.short().to_owned()))
    }

    /// The commits after `from` up to `to` on the first-parent line, oldest first.
    fn first_parents(&self, from: &CommitId, to: &CommitId) -> Result<Vec<CommitId>, GitError> {
        let call = self.git("rev-list").args(["--reverse", "--first-parent"]);
        let text = call.args([&to.0, "--not", &from.0]).line()?;
        Ok(text.lines().map(|l| CommitId(l.to_owned())).collect())
    }

    /// Landings of a batch after `since`, by trailers. Only the first-parent line is read: what
    /// a member wrote into its own commits is nobody's landing.
    pub(super) fn landings(
        &self,
        branch: &str,
        batch: &BatchId,
        since: &CommitId,
    ) -> Result<Option<Vec<FoundLanding>>, GitError> {
        let Some(tip) = self.resolve(&branch_ref(branch))? else { return Ok(None) };
        let key = |key: &str| format!("%(trailers:key={key},valueonly,separator=%x01)");
        let format =
            format!("--format=%H%x00{}%x00{}%x00", key("Sched-Batch"), key("Sched-Member"));
        let call = self.git("rev-list").config("trailer.separators=:").arg("--no-commit-header");
        let call = call.args(["--reverse", "--first-parent", &format, &tip.0, "--not", &since.0]);
        let bytes = call.bytes()?;
        let fields: Vec<&[u8]> = bytes.split(|b| *b == 0).map(<[u8]>::trim_ascii).collect();
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let found = fields.chunks_exact(3).filter(|f| f[1] == batch.as_str().as_bytes());
        let landings = found
            .map(|f| FoundLanding { commit: CommitId(text(f[0])), member: IssueId(text(f[2])) });
        Ok(Some(landings.filter(|l| !l.member.0.is_empty()).collect()))
    }
}
