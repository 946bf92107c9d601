//! Landing: a member's gated tip becomes commits of the integration branch.
//!
//! The request fixes parent, dates and trailers, so there is one possible commit. It is made
//! first (again, where it was made before: the same object) and only then is the branch looked
//! at:
//!
//! | the branch is at | then |
//! |---|---|
//! | the parent | compare-and-swap |
//! | the commit, or beyond it | landed: the swap had happened before a crash |
//! | anywhere else, or the swap was lost | moved: look again, plan again |

use super::commit::{Commit, Person};
use super::merge::Merged;
use super::message::{subject, with_trailers, without_ours};
use super::refs::{Swap, branch_ref};
use super::run::Launcher;
use crate::domain::event::Landing;
use crate::domain::fact::LandResult;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{GitError, LandRequest};

impl Launcher {
    pub(super) fn land(&self, request: &LandRequest) -> Result<LandResult, GitError> {
        let tree = match self.merge(None, &request.parent, &request.tip)? {
            Merged::Conflict(paths) => {
                return self.if_still_there(request, LandResult::Conflict(paths));
            }
            Merged::Tree(tree) => tree,
        };
        if tree == self.commit(&request.parent)?.tree {
            return self.if_still_there(request, LandResult::AlreadyLanded);
        }
        let commit = match request.landing {
            Landing::Squash => self.whole(request, tree, Vec::new())?,
            Landing::Merge => self.whole(request, tree, vec![request.tip.clone()])?,
            Landing::Rebase => self.one_by_one(request, tree)?,
        };
        self.publish(request, commit)
    }

    /// The member's work as one commit, with `more` parents.
    fn whole(
        &self,
        request: &LandRequest,
        tree: String,
        more: Vec<CommitId>,
    ) -> Result<CommitId, GitError> {
        let subject = subject(&request.title, request.issue.as_str());
        let mut parents = vec![request.parent.clone()];
        parents.extend(more);
        self.make_commit(&Commit {
            tree,
            parents,
            author: self.author(request)?,
            committer: Person::sched(request.time),
            encoding: None,
            message: with_trailers(subject.as_bytes(), &request.trailers),
        })
    }

    /// Whoever made the member's last own commit, at the time of the landing.
    fn author(&self, request: &LandRequest) -> Result<Person, GitError> {
        let own = self.own_commits(request)?;
        match own.last() {
            Some(last) => Ok(self.commit(last)?.author.at(request.time)),
            None => Ok(Person::sched(request.time)),
        }
    }

    /// The member's commits that the parent does not have, oldest first, without merges.
    fn own_commits(&self, request: &LandRequest) -> Result<Vec<CommitId>, GitError> {
        let call = self.git("rev-list").args(["--reverse", "--topo-order", "--no-merges"]);
        let text = call.args([&request.tip.0, "--not", &request.parent.0]).line()?;
        Ok(text.lines().map(|l| CommitId(l.to_owned())).collect())
    }

    /// One commit per member commit, the last with the trailers. What was gated is what lands:
    /// where replaying them one by one does not give exactly the merged tree (a conflict that
    /// the member's own merge resolved), the member lands as one commit.
    fn one_by_one(&self, request: &LandRequest, tree: String) -> Result<CommitId, GitError> {
        let mut steps: Vec<Commit> = Vec::new();
        let (mut tip, mut at) = (request.parent.clone(), self.commit(&request.parent)?.tree);
        for id in self.own_commits(request)? {
            let original = self.commit(&id)?;
            let Merged::Tree(picked) = self.pick(&original, &id, &tip)? else {
                return self.whole(request, tree, Vec::new());
            };
            if picked == at {
                continue;
            }
            let step = Commit {
                tree: picked.clone(),
                parents: vec![tip],
                author: original.author.at(request.time),
                committer: Person::sched(request.time),
                encoding: original.encoding,
                message: with_trailers(&without_ours(&original.message), &[]),
            };
            tip = self.make_commit(&step)?;
            at = picked;
            steps.push(step);
        }
        match steps.pop() {
            Some(mut last) if last.tree == tree => {
                last.message = with_trailers(&last.message, &request.trailers);
                self.make_commit(&last)
            }
            _ => self.whole(request, tree, Vec::new()),
        }
    }

    fn publish(&self, request: &LandRequest, commit: CommitId) -> Result<LandResult, GitError> {
        let name = branch_ref(&request.branch);
        let now = match self.resolve(&name)? {
            Some(at) if at == request.parent => {
                crate::crash::point("land-made");
                match self.swap(&name, &commit, Some(&request.parent))? {
                    Swap::Done => return Ok(LandResult::Landed(commit)),
                    Swap::Lost(now) => now,
                }
            }
            now => now,
        };
        let Some(now) = now else { return Err(GitError::Missing { name }) };
        if self.reaches(&commit.0, &now.0)? == Some(true) {
            return Ok(LandResult::Landed(commit));
        }
        Ok(LandResult::Moved(now))
    }

    /// An answer about a parent that the branch has left is no answer: plan again.
    fn if_still_there(
        &self,
        request: &LandRequest,
        result: LandResult,
    ) -> Result<LandResult, GitError> {
        let name = branch_ref(&request.branch);
        match self.resolve(&name)? {
            Some(at) if at == request.parent => Ok(result),
            Some(at) => Ok(LandResult::Moved(at)),
            None => Err(GitError::Missing { name }),
        }
    }

    /// The tree of `tip` with one commit's change.
    pub(super) fn pick(
        &self,
        original: &Commit,
        id: &CommitId,
        tip: &CommitId,
    ) -> Result<Merged, GitError> {
        match original.parents.first() {
            Some(parent) if parent == tip => Ok(Merged::Tree(original.tree.clone())),
            parent => self.merge(parent, tip, id),
        }
    }
}
