//! Plans one dispatch: this command, for this unit, in this role, permit, attempt and commit.

use super::draft::Draft;
use super::fill::free_slot;
use super::needs::profile_of;
use crate::domain::config::{Placeholders, Profile, expand};
use crate::domain::event::{
    DispatchPlanned, GateSpec, Reclaim, ReclaimTree, Role, SuiteSpec, Tier, Tree,
};
use crate::domain::ids::{BatchId, CommitId, GateId, IssueId, Unit};
use crate::domain::state::{Batch, Issue, Member};
use std::time::Duration;

/// How long a rescue or the removal of trees may take.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(600);

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn blank(draft: &mut Draft<'_>, unit: Unit, role: Role, timeout_ms: u64) -> DispatchPlanned {
    DispatchPlanned {
        dispatch: draft.ids.dispatch(),
        unit,
        role,
        slot: None,
        attempt: 1,
        tier: None,
        profile: None,
        command: Vec::new(),
        tree: Tree::None,
        timeout_ms,
        stall_timeout_ms: None,
        gate: None,
        recheck: false,
        baseline: false,
        reclaim: None,
        delay_ms: 0,
        replaces: None,
    }
}

/// The agent of a stand-alone issue without a tree.
pub(super) fn run_issue(draft: &mut Draft<'_>, id: &IssueId) {
    let Some(issue) = draft.issue(id) else { return };
    let unit = issue.unit();
    agent_of(draft, &issue, unit, issue.tally.attempts, Tree::None, None);
}

/// The current member's agent, in its tree, from the integration branch's tip.
pub(super) fn agent(draft: &mut Draft<'_>, batch: &BatchId, id: &IssueId) {
    let found = draft.batch(batch).zip(draft.issue(id));
    let Some((batch, issue)) = found else { return };
    let Some(member) = batch.member(id).cloned() else { return };
    let Some(commit) = batch.integration.clone().or(batch.base_commit.clone()) else { return };
    let tree = Tree::Member {
        path: batch.tree_of(&member),
        branch: batch.branch_of(&member),
        commit,
        exact: false,
    };
    let unit = batch.member_unit(id);
    agent_of(draft, &issue, unit, member.tally.attempts, tree, Some(&batch));
}

fn agent_of(
    draft: &mut Draft<'_>,
    issue: &Issue,
    unit: Unit,
    attempts: u32,
    tree: Tree,
    batch: Option<&Batch>,
) {
    let config = draft.state.config();
    let name = batch.map_or(issue.profile(), |b| profile_of(&config, b, issue)).to_owned();
    let Some(profile) = config.profile(&name).cloned() else { return };
    let slot = free_slot(&draft.state);
    let tier = issue.requested_tier();
    let mut plan = blank(draft, unit, Role::Agent, millis(profile.timeout));
    plan.slot = slot;
    plan.attempt = attempts + 1;
    plan.tier = Some(tier);
    plan.profile = Some(name);
    plan.command = command(&profile, issue, tier, &tree, batch);
    plan.stall_timeout_ms = Some(millis(profile.stall_timeout));
    plan.tree = tree;
    draft.push(plan);
}

fn command(
    profile: &Profile,
    issue: &Issue,
    tier: Tier,
    tree: &Tree,
    batch: Option<&Batch>,
) -> Vec<String> {
    let (worktree, branch) = match tree {
        Tree::Member { path, branch, .. } => (path.as_str(), branch.as_str()),
        Tree::Check { path, .. } => (path.as_str(), ""),
        Tree::None => ("", ""),
    };
    let named = batch.filter(|b| b.issue.is_none()).map_or("", |b| b.id.as_str());
    let places = Placeholders {
        issue: issue.id.as_str(),
        batch: named,
        title: issue.title(),
        worktree,
        branch,
        model: profile.model(tier),
        tier,
    };
    profile.command(tier).iter().map(|word| expand(word, &places)).collect()
}

/// Rescues unsaved work out of a member's tree.
pub(super) fn rescue(draft: &mut Draft<'_>, batch: &BatchId, id: &IssueId) {
    let Some(batch) = draft.batch(batch) else { return };
    let Some(member) = batch.member(id) else { return };
    let (path, branch) = (batch.tree_of(member), batch.branch_of(member));
    let mut plan = blank(draft, batch.member_unit(id), Role::Reclaim, millis(RECLAIM_TIMEOUT));
    plan.reclaim = Some(Reclaim::Rescue { path, branch });
    draft.push(plan);
}

/// Removes the trees of a batch that is over.
pub(super) fn remove_trees(draft: &mut Draft<'_>, batch: &BatchId) {
    let Some(batch) = draft.batch(batch) else { return };
    let root = batch.pinned.as_ref().map_or_else(String::new, |p| p.worktree_root.clone());
    let trees = batch.trees.iter().map(|(path, record)| ReclaimTree {
        unit: record.unit.clone(),
        path: path.clone(),
        branch: record.branch.clone(),
    });
    let reclaim = Reclaim::Remove { root, trees: trees.collect() };
    let mut plan = blank(draft, batch.unit(), Role::Reclaim, millis(RECLAIM_TIMEOUT));
    plan.reclaim = Some(reclaim);
    plan.attempt = batch.reclaim_failures + 1;
    draft.push(plan);
}

/// The member's current gate, or the same gate asked of the integration tip (`baseline`).
pub(super) fn gate(
    draft: &mut Draft<'_>,
    batch: &BatchId,
    id: &IssueId,
    baseline: bool,
    recheck: bool,
) {
    let Some(batch) = draft.batch(batch) else { return };
    let Some(member) = batch.member(id).cloned() else { return };
    let Some((spec, tip, base)) = due_gate(&batch, &member) else { return };
    let tree = if baseline {
        Tree::Check { path: free_check_tree(draft, &batch), commit: base }
    } else {
        let (path, branch) = (batch.tree_of(&member), batch.branch_of(&member));
        Tree::Member { path, branch, commit: tip, exact: true }
    };
    let mut plan = blank(draft, batch.member_unit(id), Role::Gate, spec.timeout_ms);
    plan.attempt = member.judging.map_or(0, |j| j.failures + j.losses) + 1;
    plan.command = spec.command;
    plan.tree = tree;
    plan.gate = Some(spec.id);
    plan.baseline = baseline;
    plan.recheck = recheck;
    draft.push(plan);
}

fn due_gate(batch: &Batch, member: &Member) -> Option<(GateSpec, CommitId, CommitId)> {
    let judging = member.judging.as_ref()?;
    let gate: &GateId = judging.current()?;
    let spec = batch.pinned.as_ref()?.gates.iter().find(|g| g.id == *gate)?;
    Some((spec.clone(), judging.tip.clone(), judging.base.clone()))
}

/// The suite, on the integration tip.
pub(super) fn suite(draft: &mut Draft<'_>, batch: &BatchId) {
    let Some(batch) = draft.batch(batch) else { return };
    let spec: Option<SuiteSpec> = batch.pinned.as_ref().and_then(|p| p.suite.clone());
    let Some((spec, commit)) = spec.zip(batch.integration.clone()) else { return };
    let path = free_check_tree(draft, &batch);
    let mut plan = blank(draft, batch.unit(), Role::Suite, spec.timeout_ms);
    plan.attempt = batch.suite_losses + 1;
    plan.command = spec.command;
    plan.tree = Tree::Check { path, commit };
    draft.push(plan);
}

/// The check tree with the smallest number that no open dispatch of the batch uses.
fn free_check_tree(draft: &Draft<'_>, batch: &Batch) -> String {
    let used: Vec<&str> = draft
        .state
        .dispatches_in(batch)
        .filter_map(|d| match &d.plan.tree {
            Tree::Check { path, .. } => Some(path.as_str()),
            _ => None,
        })
        .collect();
    let free = (1..).map(|n| batch.check_tree(n)).find(|path| !used.contains(&path.as_str()));
    free.unwrap_or_else(|| batch.check_tree(1))
}
