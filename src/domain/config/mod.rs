//! `sched.toml`: what it may say, and what follows for the rules.
//!
//! Read strictly when it comes from a person ([`Config::parse`]): an unknown key is an error that
//! names the nearest one. Read leniently when it comes out of the journal
//! ([`Config::parse_lenient`]): a later program may have known more.

mod check;
mod expand;
mod profile;

pub use expand::{Placeholders, expand};
pub use profile::{Completion, Profile, TierSettings, Workdir};

use crate::domain::event::{
    DissolveSpec, GateSpec, Landing, ReportSpec, ShipMode, Strategy, SuiteSpec,
};
use crate::domain::ids::GateId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    /// One or more lines: the key, what was found, what was expected.
    pub message: String,
}

impl ConfigError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// A duration as people write it: `"2h"`, `"120s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_duration(&text).map(Span).map_err(|error| {
            serde::de::Error::custom(format!(
                "`{text}` is not a duration ({error}): expected e.g. `90s`, `10m`, `2h`"
            ))
        })
    }
}

/// A number of bytes as people write it: `"256MiB"`, or a plain number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl Serialize for Size {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(bytes) => Ok(Size(bytes)),
            Written::Text(text) => parse_size(&text).map(Size).ok_or_else(|| {
                serde::de::Error::custom(format!(
                    "`{text}` is not a size: expected e.g. `256MiB`, `1GiB` or a number of bytes"
                ))
            }),
        }
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text.get(..digits)?.parse().ok()?;
    let shift = match text.get(digits..)?.trim() {
        "" | "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        "TiB" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// `[scheduler]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Scheduler {
    /// Agents at a time.
    pub max_slots: u16,
    /// Gates, suites, reclaims at a time.
    pub max_tasks: u16,
    /// What batches start from and ship to.
    pub base_branch: String,
    /// Where trees are made; `{repo}` is the repository's name.
    pub worktree_root: String,
    /// From SIGTERM to SIGKILL.
    pub kill_escalation: Span,
    /// From plan to start.
    pub spawn_grace: Span,
    /// A silence of ticks longer than this is journaled.
    pub tick_gap: Span,
    /// How members become commits.
    pub landing: Landing,
    /// Below this much free disk nothing new starts.
    pub min_free: Size,
    /// More output than this stops its dispatch.
    pub output_limit: Size,
    /// Members of a parallel batch at work at a time.
    pub member_parallelism: Option<u16>,
    /// Whether integration branches are pushed.
    pub push: bool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            max_slots: 3,
            max_tasks: 2,
            base_branch: "main".into(),
            worktree_root: "../{repo}.worktrees".into(),
            kill_escalation: Span(Duration::from_secs(120)),
            spawn_grace: Span(Duration::from_secs(30)),
            tick_gap: Span(Duration::from_secs(300)),
            landing: Landing::Squash,
            min_free: Size(256 << 20),
            output_limit: Size(1 << 30),
            member_parallelism: None,
            push: false,
        }
    }
}

/// One `[[gate]]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    /// Its name.
    pub id: String,
    /// Its command.
    pub command: Vec<String>,
    /// Its bound.
    #[serde(default = "ten_minutes")]
    pub timeout: Span,
    /// Exit codes that mean "cannot tell".
    #[serde(default)]
    pub inconclusive_codes: Vec<i32>,
    /// How often a failure is asked again on the same commit.
    #[serde(default = "one")]
    pub retries: u32,
}

fn ten_minutes() -> Span {
    Span(Duration::from_secs(600))
}

fn half_an_hour() -> Span {
    Span(Duration::from_secs(1800))
}

fn one() -> u32 {
    1
}

/// `[suite]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Its command.
    pub command: Vec<String>,
    /// Its bound.
    #[serde(default = "half_an_hour")]
    pub timeout: Span,
    /// How its result is read.
    #[serde(default)]
    pub report: Option<ReportSpec>,
}

/// `[dissolve]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dissolve {
    /// Share of the members that may be evicted.
    pub fraction: f64,
    /// How many evictions are always tolerated.
    pub min_evictions: u32,
    /// What happens with the rest.
    pub strategy: Strategy,
}

impl Default for Dissolve {
    fn default() -> Self {
        Self { fraction: 1.0 / 3.0, min_evictions: 1, strategy: Strategy::Full }
    }
}

/// `[ship]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ship {
    /// How.
    pub mode: ShipMode,
}

impl Default for Ship {
    fn default() -> Self {
        Self { mode: ShipMode::Merge }
    }
}

/// `[procedures]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Procedures {
    /// The phases a member's agent may report.
    pub member: Vec<String>,
}

impl Default for Procedures {
    fn default() -> Self {
        Self { member: ["plan", "implement", "review"].map(String::from).to_vec() }
    }
}

/// A whole `sched.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    schema: u32,
    scheduler: Scheduler,
    agent: Profile,
    profile: BTreeMap<String, Profile>,
    gate: Vec<Gate>,
    suite: Option<Suite>,
    dissolve: Dissolve,
    ship: Ship,
    procedures: Procedures,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            schema: 1,
            scheduler: Scheduler::default(),
            agent: Profile::default(),
            profile: BTreeMap::new(),
            gate: Vec::new(),
            suite: None,
            dissolve: Dissolve::default(),
            ship: Ship::default(),
            procedures: Procedures::default(),
        }
    }
}

fn millis(span: Span) -> u64 {
    u64::try_from(span.0.as_millis()).unwrap_or(u64::MAX)
}

impl Config {
    /// Reads what a person wrote.
    ///
    /// # Errors
    /// [`ConfigError`] naming the key, what was found and what was expected.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        check::known_keys(text)?;
        let config = Self::parse_lenient(text)?;
        check::values(&config)?;
        Ok(config)
    }

    /// Reads what stood in force once; unknown keys are left alone.
    ///
    /// # Errors
    /// [`ConfigError`] when it is not TOML, or a known key has another type.
    pub fn parse_lenient(text: &str) -> Result<Config, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::new(error.to_string().trim_end()))
    }

    /// Agents at a time.
    pub fn max_slots(&self) -> u16 {
        self.scheduler.max_slots
    }

    /// Gates, suites, reclaims at a time.
    pub fn max_tasks(&self) -> u16 {
        self.scheduler.max_tasks
    }

    /// What batches start from and ship to.
    pub fn base_branch(&self) -> &str {
        &self.scheduler.base_branch
    }

    /// Where trees are made, absolute, for a repository's main worktree.
    pub fn worktree_root(&self, repository: &str) -> String {
        expand::worktree_root(&self.scheduler.worktree_root, repository)
    }

    /// From SIGTERM to SIGKILL.
    pub fn kill_escalation(&self) -> Duration {
        self.scheduler.kill_escalation.0
    }

    /// From plan to start.
    pub fn spawn_grace(&self) -> Duration {
        self.scheduler.spawn_grace.0
    }

    /// A silence of ticks longer than this is journaled.
    pub fn tick_gap(&self) -> Duration {
        self.scheduler.tick_gap.0
    }

    /// Below this many free bytes nothing new starts.
    pub fn min_free(&self) -> u64 {
        self.scheduler.min_free.0
    }

    /// More bytes of output than this stop a dispatch.
    pub fn output_limit(&self) -> u64 {
        self.scheduler.output_limit.0
    }

    /// How members become commits.
    pub fn landing(&self) -> Landing {
        self.scheduler.landing
    }

    /// The gates as a batch pins them.
    pub fn gate_specs(&self) -> Vec<GateSpec> {
        let spec = |gate: &Gate| GateSpec {
            id: GateId(gate.id.clone()),
            command: gate.command.clone(),
            timeout_ms: millis(gate.timeout),
            inconclusive_codes: gate.inconclusive_codes.clone(),
            retries: gate.retries,
        };
        self.gate.iter().map(spec).collect()
    }

    /// The suite as a batch pins it.
    pub fn suite_spec(&self) -> Option<SuiteSpec> {
        self.suite.as_ref().map(|suite| SuiteSpec {
            command: suite.command.clone(),
            timeout_ms: millis(suite.timeout),
            report: suite.report.clone().unwrap_or(ReportSpec::ExitCode),
        })
    }

    /// When a batch dissolves, as it pins it.
    pub fn dissolve_spec(&self) -> DissolveSpec {
        DissolveSpec {
            fraction: self.dissolve.fraction,
            min_evictions: self.dissolve.min_evictions,
            strategy: self.dissolve.strategy,
        }
    }

    /// How a batch ships.
    pub fn ship_mode(&self) -> ShipMode {
        self.ship.mode
    }

    /// Whether a member's agent may report this phase.
    pub fn allows_member_phase(&self, phase: &str) -> bool {
        self.procedures.member.iter().any(|allowed| allowed == phase)
    }

    /// A profile by name; `agent` is the default one and always there.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        if name == "agent" { Some(&self.agent) } else { self.profile.get(name) }
    }

    /// All profiles.
    pub fn profiles(&self) -> impl Iterator<Item = (&str, &Profile)> {
        let others = self.profile.iter().map(|(name, profile)| (name.as_str(), profile));
        std::iter::once(("agent", &self.agent)).chain(others)
    }
}
