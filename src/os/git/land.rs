//! Landing without a tree: one possible commit, compare-and-swap.
//!
//! Crash story: killed before the commit is made → it is made now; made and the branch not
//! moved → the same object, because parent, dates and trailers were fixed by the plan; the
//! branch moved → the ancestor check finds it. In each case the answer is `Landed` with that
//! commit.

use super::refs::{is_ancestor, reference, swap, tree_of};
use super::run::SystemGit;
use crate::domain::effect::Land;
use crate::domain::event::Landing;
use crate::domain::fact::{LandResult, Seen};
use crate::domain::ids::CommitId;
use crate::engine::ports::GitFailure;
use std::ffi::OsStr;

/// The result of merging two commits without a tree.
pub(super) enum Merged {
    /// The tree's id.
    Tree(String),
    /// Paths in conflict.
    Conflict(Vec<String>),
}

/// Merges two commits in memory.
pub(super) fn merge(
    git: &SystemGit,
    ours: &CommitId,
    theirs: &CommitId,
) -> Result<Merged, GitFailure> {
    let args = [
        "merge-tree",
        "--write-tree",
        "-z",
        "--name-only",
        "--no-messages",
        ours.as_str(),
        theirs.as_str(),
    ];
    let said = git.ask(&args)?;
    let mut records = said.records();
    match said.code {
        0 => records.next().map(Merged::Tree).ok_or_else(|| said.failure("merge-tree")),
        1 => Ok(Merged::Conflict(records.skip(1).collect())),
        _ => Err(said.failure("merge-tree")),
    }
}

/// Who wrote a commit, and when.
pub(super) struct Author {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) date: String,
}

pub(super) fn author(git: &SystemGit, commit: &CommitId) -> Result<Author, GitFailure> {
    let text =
        git.must(&["show", "-s", "--format=%an%x00%ae%x00%ad", "--date=raw", commit.as_str()])?;
    let mut fields = text.split('\0').map(str::to_owned);
    let mut field = || fields.next().unwrap_or_default();
    Ok(Author { name: field(), email: field(), date: field() })
}

/// Makes a commit whose id depends on nothing but what is given here.
pub(super) fn commit(
    git: &SystemGit,
    tree: &str,
    parents: &[&CommitId],
    message: &str,
    author: &Author,
    committed: &str,
) -> Result<CommitId, GitFailure> {
    let mut args = vec!["commit-tree", tree];
    for parent in parents {
        args.extend(["-p", parent.as_str()]);
    }
    args.extend(["-m", message]);
    let more: [(&str, &OsStr); 4] = [
        ("GIT_AUTHOR_NAME", author.name.as_ref()),
        ("GIT_AUTHOR_EMAIL", author.email.as_ref()),
        ("GIT_AUTHOR_DATE", author.date.as_ref()),
        ("GIT_COMMITTER_DATE", committed.as_ref()),
    ];
    let said = git.ask_in(&git.repository, &args, &more)?;
    if said.code == 0 { Ok(CommitId(said.text())) } else { Err(said.failure("commit-tree")) }
}

pub(super) fn land(git: &SystemGit, land: &Land) -> Result<LandResult, GitFailure> {
    let branch = &land.pinned.branch;
    let (parent, tip) = (&land.plan.parent, &land.plan.tip);
    let now = match reference(git, branch) {
        Seen::Value(now) => now,
        Seen::Absent => return Err(GitFailure::Failed(format!("branch `{branch}` is gone"))),
        Seen::Unreachable(why) => return Err(GitFailure::Failed(why)),
    };
    let made = match make(git, land)? {
        Ok(made) => made,
        Err(other) if now == *parent => return Ok(other),
        Err(_) => return Ok(LandResult::Moved(now)),
    };
    crate::crash::point("land-made");
    if now == *parent {
        if swap(git, branch, &made, Some(parent))? {
            return Ok(LandResult::Landed(made));
        }
        return Err(GitFailure::Busy(format!("`{branch}` moved while {tip} landed")));
    }
    if is_ancestor(git, &made, &now)? {
        return Ok(LandResult::Landed(made));
    }
    Ok(LandResult::Moved(now))
}

/// The one possible commit; or why there is none.
fn make(git: &SystemGit, land: &Land) -> Result<Result<CommitId, LandResult>, GitFailure> {
    let (parent, tip) = (&land.plan.parent, &land.plan.tip);
    let tree = match merge(git, parent, tip)? {
        Merged::Tree(tree) => tree,
        Merged::Conflict(paths) => return Ok(Err(LandResult::Conflict(paths))),
    };
    if tree == tree_of(git, parent)? {
        return Ok(Err(LandResult::AlreadyLanded));
    }
    let date = format!("{} +0000", land.plan.time.seconds());
    let mut who = author(git, tip)?;
    who.date.clone_from(&date);
    let message = format!("{}\n\n{}", subject(land), trailers(land));
    let made = match land.landing {
        Landing::Squash => commit(git, &tree, &[parent], &message, &who, &date)?,
        Landing::Merge => commit(git, &tree, &[parent, tip], &message, &who, &date)?,
        Landing::Rebase => match replay(git, land, &date)? {
            Ok(made) => made,
            Err(conflict) => return Ok(Err(conflict)),
        },
    };
    Ok(Ok(made))
}

/// `<title or id> (#<issue>)`, on one line.
fn subject(land: &Land) -> String {
    let line: String = land.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("{} (#{})", line.trim(), land.member)
}

fn trailers(land: &Land) -> String {
    let (seq, hash) = &land.plan.planned_by;
    format!(
        "Sched-Batch: {}\nSched-Member: {}\nSched-Dispatch: {}\nSched-Journal: {seq}:{hash}",
        land.batch, land.member, land.plan.dispatch
    )
}

/// A message without `Sched-` trailers: they are ours alone.
fn stripped(message: &str) -> String {
    let kept: Vec<&str> = message.lines().filter(|line| !line.starts_with("Sched-")).collect();
    kept.join("\n").trim_end().to_owned()
}

/// One commit per commit of the member; the last one has the trailers.
fn replay(
    git: &SystemGit,
    land: &Land,
    date: &str,
) -> Result<Result<CommitId, LandResult>, GitFailure> {
    let range = format!("{}..{}", land.plan.parent, land.plan.tip);
    let listed = git.must(&["rev-list", "--reverse", "--topo-order", "--no-merges", &range])?;
    let commits: Vec<CommitId> = listed.lines().map(CommitId::from).collect();
    let mut onto = land.plan.parent.clone();
    for (index, picked) in commits.iter().enumerate() {
        let tree = match pick(git, &onto, picked)? {
            Merged::Tree(tree) => tree,
            Merged::Conflict(paths) => return Ok(Err(LandResult::Conflict(paths))),
        };
        let body = git.must(&["show", "-s", "--format=%B", picked.as_str()])?;
        let mut message = stripped(&body);
        if index + 1 == commits.len() {
            message = format!("{message}\n\n{}", trailers(land));
        }
        let who = author(git, picked)?;
        onto = commit(git, &tree, &[&onto], &message, &who, date)?;
    }
    Ok(Ok(onto))
}

/// What a commit changed, on top of another one. Git's own merge does it: a helper commit with
/// the target's tree and the picked commit's parent makes that parent the merge base.
pub(super) fn pick(
    git: &SystemGit,
    onto: &CommitId,
    picked: &CommitId,
) -> Result<Merged, GitFailure> {
    let said = git.ask(&["rev-parse", "--verify", "--quiet", &format!("{picked}^1")])?;
    if said.code != 0 {
        return merge(git, onto, picked); // a root commit has no parent to take as the base
    }
    let parent = CommitId(said.text());
    let helper_author =
        Author { name: "sched".into(), email: "sched@localhost".into(), date: "0 +0000".into() };
    let tree = tree_of(git, onto)?;
    let ours = commit(git, &tree, &[&parent], "helper", &helper_author, "0 +0000")?;
    merge(git, &ours, picked)
}
