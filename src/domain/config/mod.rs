//! `sched.toml`: what an operator decides, as data.
//!
//! The text is read strictly where a person can still correct it ([`Config::parse`]) and
//! leniently where it comes from the journal ([`Config::parse_lenient`]), since a fold must not
//! fail over what was accepted once. Nothing here reads a file. Read on in `scheduler`, `profile`
//! and `judge`, one per kind of section; `table` and `value` know paths, lines and ranges.

mod error;
mod judge;
mod profile;
mod root;
mod scheduler;
mod secret;
mod table;
mod template;
mod value;

pub use error::ConfigError;
pub use profile::{Completion, Profile, Workdir};
pub use template::{Placeholders, expand};

use crate::domain::command::LONGEST_FILE;
use crate::domain::event::{DissolveSpec, GateSpec, Landing, ShipMode, SuiteSpec};
use crate::domain::ids::IssueId;
use judge::Dissolve;
use scheduler::Scheduler;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use table::{Source, Table};

const SECTIONS: &[&str] =
    &["schema", "scheduler", "agent", "profile", "gate", "suite", "dissolve", "ship", "procedures"];

/// What the design has and this version cannot do, wherever it is asked for.
const LATER: &[&str] = &[
    "lifecycle",
    "build",
    "journal",
    "watch",
    "price",
    "retention",
    "budget",
    "lease",
    "needs",
    "lane",
    "precheck",
    "outcome_policy",
];

/// A configuration; by default that of an empty file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Config {
    scheduler: Scheduler,
    profiles: BTreeMap<String, Profile>,
    gates: Vec<GateSpec>,
    suite: Option<SuiteSpec>,
    dissolve: Dissolve,
    ship: ShipMode,
    member_phases: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            scheduler: Scheduler::default(),
            profiles: BTreeMap::from([(profile::DEFAULT.to_owned(), Profile::default())]),
            gates: Vec::new(),
            suite: None,
            dissolve: Dissolve::default(),
            ship: ShipMode::Merge,
            member_phases: judge::default_phases(),
        }
    }
}

impl Config {
    /// Reads a configuration as an operator wrote it: what is unknown is an error.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        if text.len() > LONGEST_FILE {
            return Err(ConfigError::TooLong { expected: LONGEST_FILE, found: text.len() });
        }
        read(&Source::new(text, false))
    }

    /// Reads a configuration that was accepted once: what is unknown is passed over.
    pub fn parse_lenient(text: &str) -> Result<Config, ConfigError> {
        read(&Source::new(text, true))
    }

    /// Agents at a time, 1 to 256.
    pub fn max_slots(&self) -> u16 {
        self.scheduler.max_slots
    }

    /// Gates, suites and other work without a slot at a time, 1 to 256.
    pub fn max_tasks(&self) -> u16 {
        self.scheduler.max_tasks
    }

    /// The base branch, without `refs/heads/`.
    pub fn base_branch(&self) -> &str {
        &self.scheduler.base_branch
    }

    /// Where working trees are, absolute and without `.` and `..`; `repository` is absolute.
    pub fn worktree_root(&self, repository: &str) -> String {
        root::worktree_root(&self.scheduler.worktree_root, repository)
    }

    /// How long a stopped process may live until it is killed.
    pub fn kill_escalation(&self) -> Duration {
        self.scheduler.kill_escalation
    }

    /// How long a planned dispatch may take to start.
    pub fn spawn_grace(&self) -> Duration {
        self.scheduler.spawn_grace
    }

    /// How long no tick may come until that is worth an entry.
    pub fn tick_gap(&self) -> Duration {
        self.scheduler.tick_gap
    }

    /// Bytes on disk below which no agent starts.
    pub fn min_free(&self) -> u64 {
        self.scheduler.min_free
    }

    /// Bytes of output over which a dispatch is stopped.
    pub fn output_limit(&self) -> u64 {
        self.scheduler.output_limit
    }

    /// How a member's work becomes commits of the integration branch.
    pub fn landing(&self) -> Landing {
        self.scheduler.landing
    }

    /// The gates, in order.
    pub fn gate_specs(&self) -> Vec<GateSpec> {
        self.gates.clone()
    }

    /// The suite, if there is one.
    pub fn suite_spec(&self) -> Option<SuiteSpec> {
        self.suite.clone()
    }

    /// When a batch dissolves, and how.
    pub fn dissolve_spec(&self) -> DissolveSpec {
        let Dissolve { fraction, min_evictions, strategy } = self.dissolve;
        DissolveSpec { fraction, min_evictions, strategy }
    }

    /// How a batch ships.
    pub fn ship_mode(&self) -> ShipMode {
        self.ship
    }

    /// Whether a member's milestone may be of this phase.
    pub fn allows_member_phase(&self, phase: &str) -> bool {
        self.member_phases.iter().any(|allowed| allowed == phase)
    }

    /// A profile by its name; `agent` is the default one and always there.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(name)
    }

    /// All profiles, in the order of their names.
    pub fn profiles(&self) -> impl Iterator<Item = (&str, &Profile)> {
        self.profiles.iter().map(|(name, profile)| (name.as_str(), profile))
    }
}

fn read(source: &Source<'_>) -> Result<Config, ConfigError> {
    let keys = source.parse()?;
    let file = Table { source, path: String::new(), at: 0, keys: &keys };
    if let Some(schema) = file.get("schema") {
        schema.number(1..=1).map_err(|_: ConfigError| schema.wrong("1"))?;
    }
    file.check(SECTIONS, LATER)?;
    Ok(Config {
        scheduler: scheduler::read(&file)?,
        profiles: profile::read_all(&file)?,
        gates: judge::gates(&file)?,
        suite: judge::suite(&file)?,
        dissolve: judge::dissolve(&file)?,
        ship: judge::ship(&file)?,
        member_phases: judge::member_phases(&file)?,
    })
}

/// Whether a text is of the grammar of ids.
fn is_name(text: &str) -> bool {
    IssueId::parse(text).is_ok()
}

#[cfg(test)]
mod tests;
