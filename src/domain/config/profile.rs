//! A profile: which command does the work, and what counts as done.

use super::Span;
use crate::domain::event::Tier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What proves that an agent is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// Exit code 0 and, for a member, a commit of its own.
    #[default]
    Exit,
    /// That, and its terminal milestone.
    Milestone,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workdir {
    /// In a git worktree of its own.
    #[default]
    Worktree,
    /// In an empty run directory; exit code 0 is done.
    None,
}

/// What a tier changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TierSettings {
    /// The model's name.
    pub model: Option<String>,
    /// Another command.
    pub command: Option<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Tiers {
    mechanical: TierSettings,
    mid: TierSettings,
    strong: TierSettings,
}

/// `[agent]`, or a `[profile.<name>]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    command: Vec<String>,
    model: String,
    tier: Tiers,
    /// What goes to its standard input, with placeholders.
    pub prompt: String,
    #[serde(rename = "timeout")]
    timeout_span: Span,
    #[serde(rename = "stall_timeout")]
    stall_span: Span,
    /// What proves that it is done.
    pub completion: Completion,
    /// Where it works.
    pub workdir: Workdir,
    /// Whether a member may finish without a commit.
    pub allow_empty: bool,
    /// Exit codes that hand the work back.
    pub handed_back_codes: Vec<i32>,
    /// Variables that are added to its environment.
    pub env: BTreeMap<String, String>,
    /// Variables that are passed on to it.
    pub inherit: Vec<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            command: ["claude", "-p", "--model", "{model}"].map(String::from).to_vec(),
            model: "sonnet".into(),
            tier: Tiers::default(),
            prompt: "Work on issue {issue}: {title}".into(),
            timeout_span: Span(Duration::from_secs(2 * 3600)),
            stall_span: Span(Duration::from_secs(30 * 60)),
            completion: Completion::Exit,
            workdir: Workdir::Worktree,
            allow_empty: false,
            handed_back_codes: vec![20],
            env: BTreeMap::new(),
            inherit: vec!["PATH".into(), "HOME".into()],
        }
    }
}

impl Profile {
    fn tier(&self, tier: Tier) -> &TierSettings {
        match tier {
            Tier::Mechanical => &self.tier.mechanical,
            Tier::Mid => &self.tier.mid,
            Tier::Strong => &self.tier.strong,
        }
    }

    /// The command of a tier, with placeholders.
    pub fn command(&self, tier: Tier) -> &[String] {
        self.tier(tier).command.as_deref().unwrap_or(&self.command)
    }

    /// The model of a tier.
    pub fn model(&self, tier: Tier) -> &str {
        self.tier(tier).model.as_deref().unwrap_or(&self.model)
    }

    /// The hard bound.
    pub fn timeout(&self) -> Duration {
        self.timeout_span.0
    }

    /// How long it may show no activity.
    pub fn stall_timeout(&self) -> Duration {
        self.stall_span.0
    }
}
