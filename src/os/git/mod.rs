//! Git through its plumbing: never the operator's checkout, index or HEAD, except where a clean
//! checkout of the base branch goes along when a batch ships.

mod ground;
mod land;
mod rebase;
mod refs;
mod rescue;
mod run;
mod ship;
mod trees;

pub use run::{SystemGit, common_dir, main_worktree, version};

use crate::domain::effect::Land;
use crate::domain::event::{Ground, Reclaim, Reclaimed, Tree};
use crate::domain::fact::{BranchResult, LandResult, RebaseResult, Seen, ShipResult};
use crate::domain::ids::{CommitId, Unit};
use crate::engine::ports::{Found, Git, GitFailure, RebaseRequest, TreeFailure, Trees};
use std::collections::BTreeMap;

impl Git for SystemGit {
    fn reference(&self, branch: &str) -> Seen<CommitId> {
        refs::reference(self, branch)
    }

    fn references(&self, prefix: &str) -> Seen<BTreeMap<String, CommitId>> {
        refs::references(self, prefix)
    }

    fn create_branch(&self, branch: &str, commit: &CommitId) -> Result<BranchResult, GitFailure> {
        refs::create_branch(self, branch, commit)
    }

    fn land(&self, land: &Land) -> Result<LandResult, GitFailure> {
        land::land(self, land)
    }

    fn landings(&self, branch: &str, since: &CommitId) -> Result<Vec<Found>, GitFailure> {
        refs::landings(self, branch, since)
    }

    fn rebase(&self, request: &RebaseRequest) -> Result<RebaseResult, GitFailure> {
        rebase::rebase(self, request)
    }

    fn ship(&self, base: &str, old: &CommitId, new: &CommitId) -> Result<ShipResult, GitFailure> {
        ship::ship(self, base, old, new)
    }
}

impl Trees for SystemGit {
    fn make(&self, tree: &Tree) -> Result<(), TreeFailure> {
        trees::make(self, tree)
    }

    fn ground(&self, tree: &Tree, integration: &str) -> Option<Ground> {
        ground::ground(self, tree, integration)
    }

    fn reclaim(&self, reclaim: &Reclaim, unit: &Unit) -> Vec<Reclaimed> {
        rescue::reclaim(self, reclaim, unit)
    }
}
