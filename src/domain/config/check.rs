//! What a person may not have meant: unknown keys, values out of range, secrets, and what this
//! version cannot do yet.

use super::{Config, ConfigError, Profile};
use crate::domain::event::{ShipMode, Strategy};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The largest file: it is one event of the journal.
const LARGEST: usize = 60 * 1024;

const TOP: &[&str] =
    &["schema", "scheduler", "agent", "profile", "gate", "suite", "dissolve", "ship", "procedures"];
const LATER: &[&str] = &[
    "lifecycle",
    "build",
    "watch",
    "price",
    "budget",
    "lease",
    "retention",
    "outcome_policy",
    "needs",
    "lane",
    "precheck",
    "journal",
    "redact",
];
const SCHEDULER: &[&str] = &[
    "max_slots",
    "max_tasks",
    "base_branch",
    "worktree_root",
    "kill_escalation",
    "spawn_grace",
    "tick_gap",
    "landing",
    "min_free",
    "output_limit",
    "member_parallelism",
    "push",
];
const PROFILE: &[&str] = &[
    "command",
    "model",
    "tier",
    "prompt",
    "timeout",
    "stall_timeout",
    "completion",
    "workdir",
    "allow_empty",
    "handed_back_codes",
    "env",
    "inherit",
];
const TIERS: &[&str] = &["mechanical", "mid", "strong"];
const TIER: &[&str] = &["model", "command"];
const GATE: &[&str] = &["id", "command", "timeout", "inconclusive_codes", "retries"];
const SUITE: &[&str] = &["command", "timeout", "report"];
const REPORT: &[&str] = &["format", "path"];
const DISSOLVE: &[&str] = &["fraction", "min_evictions", "strategy"];
const SHIP: &[&str] = &["mode"];
const PROCEDURES: &[&str] = &["member"];

/// Refuses every key that no part of the program reads.
pub(super) fn known_keys(text: &str) -> Result<(), ConfigError> {
    if text.len() > LARGEST {
        let found = text.len();
        return Err(ConfigError::new(format!("{found} bytes: expected at most {LARGEST}")));
    }
    let table: Table =
        toml::from_str(text).map_err(|error| ConfigError::new(error.to_string().trim_end()))?;
    keys(&table, "", TOP)?;
    nested(&table, "scheduler", SCHEDULER)?;
    nested(&table, "suite", SUITE)?;
    nested(&table, "dissolve", DISSOLVE)?;
    nested(&table, "ship", SHIP)?;
    nested(&table, "procedures", PROCEDURES)?;
    if let Some(suite) = table.get("suite").and_then(Value::as_table) {
        nested(suite, "report", REPORT)?;
    }
    if let Some(agent) = table.get("agent").and_then(Value::as_table) {
        profile(agent, "agent")?;
    }
    for (name, one) in table.get("profile").and_then(Value::as_table).into_iter().flatten() {
        if let Some(one) = one.as_table() {
            profile(one, &format!("profile.{name}"))?;
        }
    }
    for gate in table.get("gate").and_then(Value::as_array).into_iter().flatten() {
        if let Some(gate) = gate.as_table() {
            keys(gate, "gate", GATE)?;
        }
    }
    Ok(())
}

fn profile(table: &Table, path: &str) -> Result<(), ConfigError> {
    keys(table, path, PROFILE)?;
    let Some(tiers) = table.get("tier").and_then(Value::as_table) else { return Ok(()) };
    keys(tiers, &format!("{path}.tier"), TIERS)?;
    for (name, tier) in tiers {
        if let Some(tier) = tier.as_table() {
            keys(tier, &format!("{path}.tier.{name}"), TIER)?;
        }
    }
    Ok(())
}

fn nested(table: &Table, name: &str, known: &[&str]) -> Result<(), ConfigError> {
    table.get(name).and_then(Value::as_table).map_or(Ok(()), |inner| keys(inner, name, known))
}

fn keys(table: &Table, path: &str, known: &[&str]) -> Result<(), ConfigError> {
    let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) else {
        return Ok(());
    };
    let at = if path.is_empty() { unknown.clone() } else { format!("{path}.{unknown}") };
    if LATER.contains(&unknown.as_str()) {
        return Err(ConfigError::new(format!("`{at}` is not available in this version")));
    }
    let near = known
        .iter()
        .map(|key| (strsim::jaro_winkler(key, unknown), key))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(score, _)| *score > 0.7);
    Err(ConfigError::new(match near {
        Some((_, key)) => format!("unknown key `{at}`: did you mean `{key}`?"),
        None => format!("unknown key `{at}`: expected one of {}", known.join(", ")),
    }))
}

/// Checks what types cannot.
pub(super) fn values(config: &Config) -> Result<(), ConfigError> {
    let scheduler = &config.scheduler;
    if config.schema != 1 {
        let found = config.schema;
        return Err(ConfigError::new(format!("`schema` is {found}: expected 1")));
    }
    range("scheduler.max_slots", scheduler.max_slots)?;
    range("scheduler.max_tasks", scheduler.max_tasks)?;
    if !(0.0..=1.0).contains(&config.dissolve.fraction) {
        let found = config.dissolve.fraction;
        return Err(ConfigError::new(format!("`dissolve.fraction` is {found}: expected 0 to 1")));
    }
    if scheduler.push {
        return Err(later("scheduler.push = true"));
    }
    if matches!(config.ship.mode, ShipMode::Push | ShipMode::Command) {
        return Err(later("ship.mode other than \"merge\" and \"none\""));
    }
    if config.dissolve.strategy != Strategy::Full {
        return Err(later("dissolve.strategy other than \"full\""));
    }
    gates(config)?;
    if config.suite.as_ref().is_some_and(|s| s.command.is_empty()) {
        return Err(empty("suite.command"));
    }
    config.profiles().try_for_each(|(name, profile)| one_profile(name, profile))
}

fn later(what: &str) -> ConfigError {
    ConfigError::new(format!("`{what}` is not available in this version"))
}

fn empty(key: &str) -> ConfigError {
    ConfigError::new(format!("`{key}` is empty: expected a program and its arguments"))
}

fn range(key: &str, value: u16) -> Result<(), ConfigError> {
    if (1..=256).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(format!("`{key}` is {value}: expected 1 to 256")))
}

fn gates(config: &Config) -> Result<(), ConfigError> {
    let mut ids = BTreeSet::new();
    for gate in &config.gate {
        let id = &gate.id;
        if let Err(error) = crate::domain::ids::IssueId::parse(id) {
            let expected = error.expected;
            return Err(ConfigError::new(format!("gate id `{id}` is not an id: {expected}")));
        }
        if !ids.insert(id) {
            return Err(ConfigError::new(format!("gate `{id}` is there twice: expected once")));
        }
        if gate.command.is_empty() {
            return Err(empty(&format!("gate.{id}.command")));
        }
    }
    Ok(())
}

fn one_profile(name: &str, profile: &Profile) -> Result<(), ConfigError> {
    use crate::domain::event::Tier;
    for tier in [Tier::Mechanical, Tier::Mid, Tier::Strong] {
        if profile.command(tier).is_empty() {
            return Err(empty(&format!("{name}.command")));
        }
    }
    for (key, value) in &profile.env {
        if looks_secret(key, value) {
            return Err(ConfigError::new(format!(
                "`{name}.env.{key}` looks like a secret: put its name in `{name}.inherit`"
            )));
        }
    }
    Ok(())
}

/// Whether a variable holds something that must not stand in a journal.
fn looks_secret(key: &str, value: &str) -> bool {
    let key = key.to_ascii_uppercase();
    let by_name = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "PRIVATE_KEY"]
        .iter()
        .any(|word| key.contains(word))
        || key.ends_with("_KEY");
    let in_url = value
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .and_then(|host| host.split_once('@'))
        .is_some_and(|(user, _)| user.contains(':'));
    by_name || value.contains("Bearer ") || value.contains("--token") || in_url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::parse(text).unwrap_err().message
    }

    #[test]
    fn an_unknown_key_names_the_nearest_one() {
        let message = error("[scheduler]\nmax_slot = 3");
        assert_eq!(message, "unknown key `scheduler.max_slot`: did you mean `max_slots`?");
        assert!(error("[agent.tier.medium]\nmodel = \"x\"").contains("agent.tier.medium"));
    }

    #[test]
    fn what_is_not_there_yet_says_so() {
        for text in ["[lifecycle.x]", "[scheduler]\npush = true", "[ship]\nmode = \"command\""] {
            assert!(error(text).contains("not available in this version"), "{text}");
        }
    }

    #[test]
    fn a_secret_in_the_environment_is_refused() {
        for (key, value) in [("GH_TOKEN", "x"), ("A", "Bearer x"), ("U", "https://a:b@h/x")] {
            let text = format!("[agent]\nenv = {{ {key} = \"{value}\" }}");
            assert!(error(&text).contains("looks like a secret"), "{text}");
        }
        assert!(Config::parse("[agent]\nenv = { CARGO_TERM_COLOR = \"never\" }").is_ok());
    }

    #[test]
    fn values_out_of_range_are_refused() {
        for (text, part) in [
            ("[scheduler]\nmax_slots = 0", "expected 1 to 256"),
            ("[dissolve]\nfraction = 1.5", "expected 0 to 1"),
            ("schema = 2", "expected 1"),
            ("[agent]\ncommand = []", "expected a program"),
            ("[agent]\ntimeout = \"soon\"", "is not a duration"),
            ("[[gate]]\nid = \"a b\"\ncommand = [\"x\"]", "is not an id"),
        ] {
            assert!(error(text).contains(part), "{text}: {}", error(text));
        }
    }

    #[test]
    fn an_empty_file_is_the_defaults() {
        assert_eq!(Config::parse("").unwrap(), Config::default());
    }
}
