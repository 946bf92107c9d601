//! Ground truth: what a member's tree and branch show.

use super::refs::{full, reference, tree_of};
use super::run::SystemGit;
use super::trees::{Standing, standing};
use crate::domain::event::{Ground, Tree};
use crate::domain::fact::Seen;
use std::path::Path;

/// `None` when nobody can tell now: then nothing is concluded.
pub(super) fn ground(git: &SystemGit, tree: &Tree, integration: &str) -> Option<Ground> {
    let Tree::Member { path, branch, commit, .. } = tree else { return None };
    let path = Path::new(path);
    let tip = match reference(git, branch) {
        Seen::Value(tip) => Some(tip),
        Seen::Absent => None,
        Seen::Unreachable(_) => return None,
    };
    let base = match reference(git, integration) {
        Seen::Value(base) => base,
        Seen::Absent => commit.clone(),
        Seen::Unreachable(_) => return None,
    };
    let there = standing(git, path).ok()? == Standing::Ours;
    let (mut commits, mut no_change) = (0, true);
    if let Some(tip) = &tip {
        let range = format!("{base}..{tip}");
        commits = git.must(&["rev-list", "--count", &range]).ok()?.parse().ok()?;
        no_change = tree_of(git, tip).ok()? == tree_of(git, &base).ok()?;
    }
    let mut ground =
        Ground { tip, commits, dirty: false, tree: there, on_branch: false, no_change };
    if !there {
        return Some(ground);
    }
    let status = git.ask_in(path, &["status", "--porcelain", "-z"], &[]).ok()?;
    if status.code != 0 {
        return None;
    }
    let head = git.ask_in(path, &["symbolic-ref", "--quiet", "HEAD"], &[]).ok()?;
    ground.dirty = !status.out.is_empty();
    ground.on_branch = head.text() == full(branch);
    Some(ground)
}
