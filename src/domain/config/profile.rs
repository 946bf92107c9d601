//! Profiles: how an agent is run, and what counts as its success.

use super::error::ConfigError;
use super::secret::looks_secret;
use super::table::Table;
use super::template::tier_name;
use super::value::Value;
use super::{LATER, is_name};
use crate::domain::event::Tier;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The profile of issues that name none.
pub(super) const DEFAULT: &str = "agent";

const KEYS: &[&str] = &[
    "command",
    "model",
    "prompt",
    "timeout",
    "stall_timeout",
    "completion",
    "workdir",
    "allow_empty",
    "handed_back_codes",
    "env",
    "inherit",
    "tier",
];

const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/// What says that an agent has succeeded, besides its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// Exit code 0.
    Exit,
    /// Exit code 0 and the terminal milestone.
    Milestone,
}

/// Where an agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workdir {
    /// In a working tree of its own.
    Worktree,
    /// In an empty run directory; exit code 0 is done, there is nothing to land.
    None,
}

/// How an agent is run: `[agent]`, or `[profile.<name>]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    command: Vec<String>,
    model: String,
    tiers: BTreeMap<Tier, Override>,
    /// The hard bound of a dispatch.
    pub timeout: Duration,
    /// How long nothing may be seen of it.
    pub stall_timeout: Duration,
    /// What says that it has succeeded.
    pub completion: Completion,
    /// Where it works.
    pub workdir: Workdir,
    /// Whether a member may finish without a commit.
    pub allow_empty: bool,
    /// Exit codes by which a member hands its work back.
    pub handed_back_codes: Vec<i32>,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// Names of variables that are passed on to it.
    pub inherit: Vec<String>,
    /// What it reads from stdin, with placeholders; see [`super::expand`].
    pub prompt: String,
}

/// What a tier does differently.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Override {
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            command: ["claude", "-p", "--model", "{model}"].map(str::to_owned).to_vec(),
            model: "sonnet".to_owned(),
            tiers: BTreeMap::new(),
            timeout: Duration::from_secs(2 * 60 * 60),
            stall_timeout: Duration::from_secs(30 * 60),
            completion: Completion::Exit,
            workdir: Workdir::Worktree,
            allow_empty: false,
            handed_back_codes: vec![20],
            env: BTreeMap::new(),
            inherit: INHERITED.iter().map(|name| (*name).to_owned()).collect(),
            prompt: "Work on issue {issue}: {title}".to_owned(),
        }
    }
}

impl Profile {
    /// The command at a tier, with placeholders; never empty.
    pub fn command(&self, tier: Tier) -> &[String] {
        let own = self.tiers.get(&tier).and_then(|tier| tier.command.as_deref());
        own.unwrap_or(&self.command)
    }

    /// The programs of all tiers.
    pub fn programs(&self) -> impl Iterator<Item = &String> {
        let own = self.tiers.values().filter_map(|tier| tier.command.as_deref());
        std::iter::once(self.command.as_slice()).chain(own).filter_map(<[String]>::first)
    }

    /// The model at a tier.
    pub fn model(&self, tier: Tier) -> &str {
        let own = self.tiers.get(&tier).and_then(|tier| tier.model.as_deref());
        own.unwrap_or(&self.model)
    }
}

/// Reads `[agent]` and all `[profile.<name>]`.
pub(super) fn read_all(file: &Table<'_>) -> Result<BTreeMap<String, Profile>, ConfigError> {
    let mut profiles = BTreeMap::from([(DEFAULT.to_owned(), Profile::default())]);
    if let Some(agent) = file.table(DEFAULT)? {
        profiles.insert(DEFAULT.to_owned(), read(&agent)?);
    }
    if let Some(named) = file.table("profile")? {
        for (name, value) in named.entries() {
            if name == DEFAULT {
                return Err(value.wrong("`[agent]`, which is that profile"));
            }
            if !is_name(name) {
                return Err(value.wrong("a name of A-Z a-z 0-9 . _ -"));
            }
            let table = value.table()?;
            table.need("command", "a program and its arguments")?;
            profiles.insert(name.to_owned(), read(&table)?);
        }
    }
    Ok(profiles)
}

fn read(table: &Table<'_>) -> Result<Profile, ConfigError> {
    table.check(KEYS, LATER)?;
    let mut profile = Profile::default();
    table.set(&mut profile.command, "command", Value::command)?;
    table.set(&mut profile.model, "model", model)?;
    table.set(&mut profile.prompt, "prompt", |v| v.text("a string").map(str::to_owned))?;
    table.set(&mut profile.timeout, "timeout", Value::duration)?;
    table.set(&mut profile.stall_timeout, "stall_timeout", Value::duration)?;
    table.set(&mut profile.completion, "completion", |v| {
        v.one_of(&[("exit", Completion::Exit), ("milestone", Completion::Milestone)])
    })?;
    table.set(&mut profile.workdir, "workdir", |v| {
        v.one_of(&[("worktree", Workdir::Worktree), ("none", Workdir::None)])
    })?;
    table.set(&mut profile.allow_empty, "allow_empty", Value::boolean)?;
    table.set(&mut profile.handed_back_codes, "handed_back_codes", Value::codes)?;
    table.set(&mut profile.env, "env", environment)?;
    table.set(&mut profile.inherit, "inherit", inherited)?;
    table.set(&mut profile.tiers, "tier", tiers)?;
    Ok(profile)
}

fn model(value: &Value<'_>) -> Result<String, ConfigError> {
    let text = value.text("a model's name")?;
    if text.trim().is_empty() || value.has_nul() {
        return Err(value.wrong("a model's name"));
    }
    Ok(text.to_owned())
}

fn tiers(value: &Value<'_>) -> Result<BTreeMap<Tier, Override>, ConfigError> {
    let table = value.table()?;
    let all = [Tier::Mechanical, Tier::Mid, Tier::Strong];
    table.check(&all.map(tier_name), &[])?;
    let mut tiers = BTreeMap::new();
    for tier in all {
        let Some(table) = table.table(tier_name(tier))? else { continue };
        table.check(&["command", "model"], LATER)?;
        let mut own = Override::default();
        table.set(&mut own.command, "command", |v| v.command().map(Some))?;
        table.set(&mut own.model, "model", |v| model(v).map(Some))?;
        tiers.insert(tier, own);
    }
    Ok(tiers)
}

fn environment(value: &Value<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut env = BTreeMap::new();
    for (name, value) in value.table()?.entries() {
        let text = value.text("a string")?;
        let lenient = value.source.lenient;
        if !lenient && looks_secret(name, text) {
            return Err(ConfigError::Secret { line: value.line(), key: value.path });
        }
        if !lenient && (!is_variable(name) || value.has_nul()) {
            return Err(ConfigError::Wrong {
                line: value.line(),
                key: value.path,
                expected: VARIABLE.to_owned(),
                found: format!("{name:?}"),
            });
        }
        env.insert(name.to_owned(), text.to_owned());
    }
    Ok(env)
}

fn inherited(value: &Value<'_>) -> Result<Vec<String>, ConfigError> {
    for name in value.list("a list of names, like [\"PATH\", \"HOME\"]")? {
        if !value.source.lenient && !is_variable(name.text(VARIABLE)?) {
            return Err(name.wrong(VARIABLE));
        }
    }
    value.texts("a list of names")
}

const VARIABLE: &str = "a variable's name of A-Z a-z 0-9 _, not beginning with SCHED_, and a \
     value without a null character";

fn is_variable(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty()
        && name.bytes().all(word)
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.starts_with("SCHED_")
}
