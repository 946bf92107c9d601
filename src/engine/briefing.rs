//! What a dispatch's process gets: command, directory, environment, prompt.

use super::ports::JobPlan;
use crate::domain::config::{Placeholders, Profile, expand};
use crate::domain::event::{DispatchPlanned, ReportSpec, Role, Tier, Tree};
use crate::domain::state::{Dispatch, Issue, State};
use std::collections::BTreeMap;
use std::path::Path;

/// Where things are for a job.
pub struct Surroundings<'a> {
    /// The state directory.
    pub state_dir: &'a Path,
    /// The installed path of this program.
    pub program: &'a Path,
    /// Variables that may be passed on, by name.
    pub inherited: &'a dyn Fn(&str) -> Option<String>,
}

/// Everything that a dispatch's process needs.
pub fn job_plan(state: &State, dispatch: &Dispatch, around: &Surroundings<'_>) -> JobPlan {
    let plan = dispatch.plan.clone();
    let config = state.config();
    let profile = plan.profile.as_deref().and_then(|name| config.profile(name));
    let issue = dispatch.unit.issue_id().and_then(|id| state.issue(id));
    let prompt_file = around.state_dir.join("runs").join(plan.dispatch.to_string()).join("prompt");
    let prompt_file = prompt_file.to_string_lossy();
    let command = match &plan.reclaim {
        Some(_) => vec![
            around.program.to_string_lossy().into_owned(),
            "reclaim-trees".into(),
            plan.dispatch.to_string(),
            around.state_dir.to_string_lossy().into_owned(),
        ],
        None => plan.command.iter().map(|w| w.replace("{prompt_file}", &prompt_file)).collect(),
    };
    let directory = match (&plan.tree, &plan.reclaim) {
        (_, Some(_)) => Some("/".to_owned()),
        (Tree::Member { path, .. } | Tree::Check { path, .. }, None) => Some(path.clone()),
        (Tree::None, None) => None,
    };
    let input = profile.zip(issue).map(|(profile, issue)| prompt(state, &plan, profile, issue));
    let report = match state.batch_of(&dispatch.unit).and_then(|b| b.pinned.as_ref()?.suite.clone())
    {
        Some(suite) if plan.role == Role::Suite => match suite.report {
            ReportSpec::Junit { path } => Some(path),
            ReportSpec::ExitCode => None,
        },
        _ => None,
    };
    let environment = environment(state, dispatch, profile, around);
    JobPlan { plan, command, directory, environment, input, report }
}

/// What an agent is told. A takeover says that it is one; a re-prompt says what was wrong.
fn prompt(state: &State, plan: &DispatchPlanned, profile: &Profile, issue: &Issue) -> String {
    let (worktree, branch) = match &plan.tree {
        Tree::Member { path, branch, .. } => (path.as_str(), branch.as_str()),
        _ => ("", ""),
    };
    let batch = state.batch_of(&plan.unit);
    let tier = plan.tier.unwrap_or(Tier::Mid);
    let places = Placeholders {
        issue: issue.id.as_str(),
        batch: batch.filter(|b| b.issue.is_none()).map_or("", |b| b.id.as_str()),
        title: issue.title(),
        worktree,
        branch,
        model: profile.model(tier),
        tier,
    };
    let mut text = match &issue.prompt {
        Some(prompt) => prompt.clone(),
        None => expand(&profile.prompt, &places),
    };
    let member = batch.and_then(|b| b.member(&issue.id));
    if let Some(wrong) = member.and_then(|m| m.reprompted.as_deref()) {
        text.push_str(&format!(
            "\n\nAn earlier run of this work reported `{wrong}`, which is not part of it. Do only \
             the work of this issue in {worktree}; do not ship or report it yourself.\n"
        ));
    } else if member.is_some_and(|m| m.tally.attempts > 0) {
        text.push_str(&format!(
            "\n\nThis is a takeover: an earlier run ended without finishing. Its commits are on \
             branch {branch} in {worktree}; files that it had not committed, if there were any, \
             are on a ref below refs/sched/rescue.\n"
        ));
    }
    text
}

fn environment(
    state: &State,
    dispatch: &Dispatch,
    profile: Option<&Profile>,
    around: &Surroundings<'_>,
) -> BTreeMap<String, String> {
    let plan = &dispatch.plan;
    let mut environment = BTreeMap::new();
    let basic = ["HOME", "LANG", "TZ", "USER", "TMPDIR"].map(String::from);
    let named = profile.map_or(&[] as &[String], |p| p.inherit.as_slice());
    for name in basic.iter().chain(named) {
        if let Some(value) = (around.inherited)(name) {
            environment.insert(name.clone(), value);
        }
    }
    if let Some(recorded) = &state.environment {
        environment.insert("PATH".into(), recorded.path.clone());
    }
    environment.extend(profile.into_iter().flat_map(|p| p.env.clone()));
    let batch = state.batch_of(&dispatch.unit);
    let (worktree, branch) = match &plan.tree {
        Tree::Member { path, branch, .. } => (path.clone(), branch.clone()),
        Tree::Check { path, .. } => (path.clone(), String::new()),
        Tree::None => (String::new(), String::new()),
    };
    let tier = plan.tier.map_or("", |tier| match tier {
        Tier::Mechanical => "mechanical",
        Tier::Mid => "mid",
        Tier::Strong => "strong",
    });
    let issue = dispatch.unit.issue_id().map(ToString::to_string).unwrap_or_default();
    let named = batch.filter(|b| b.issue.is_none()).map(|b| b.id.to_string()).unwrap_or_default();
    let base = batch.and_then(|b| b.base_commit.as_ref()).map(ToString::to_string);
    let journal = state.journal.as_ref().map(|j| j.journal.to_string()).unwrap_or_default();
    for (name, value) in [
        ("SCHED_STATE_DIR", around.state_dir.to_string_lossy().into_owned()),
        ("SCHED_JOURNAL", journal),
        ("SCHED_DISPATCH", plan.dispatch.to_string()),
        ("SCHED_ROLE", plan.role.name().to_owned()),
        ("SCHED_UNIT", dispatch.unit.to_string()),
        ("SCHED_ISSUE", issue),
        ("SCHED_BATCH", named),
        ("SCHED_WORKTREE", worktree),
        ("SCHED_BRANCH", branch),
        ("SCHED_BASE", base.unwrap_or_default()),
        ("SCHED_ATTEMPT", plan.attempt.to_string()),
        ("SCHED_TIER", tier.to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    if plan.role == Role::Suite {
        let members = batch.map_or_else(String::new, |b| {
            b.members.iter().map(|m| m.issue.to_string()).collect::<Vec<_>>().join(",")
        });
        environment.insert("SCHED_MEMBERS".into(), members);
    }
    environment
}
