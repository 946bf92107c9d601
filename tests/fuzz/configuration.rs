//! Bytes → `sched.toml`. What is accepted keeps its promises, means the same to the fold, and
//! reads back the same from the checkpoint and from the same TOML written in another way; what is
//! refused is refused with a place and in one line.

use sched::domain::config::{Config, ConfigError};
use sched::domain::event::Tier;
use std::collections::BTreeSet;
use std::time::Duration;

/// The longest that is read, in bytes.
const LONGEST: usize = 48 << 10;

/// Checks everything about these bytes.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let strict = Config::parse(text);
    let lenient = Config::parse_lenient(text);
    assert_eq!(strict, Config::parse(text), "another answer the second time");
    assert_eq!(lenient, Config::parse_lenient(text), "another answer the second time");
    match &strict {
        Ok(config) => {
            assert_eq!(lenient.as_ref(), Ok(config), "the fold understands something else");
            rewritten(text, config);
        }
        Err(error) => refused(text, error),
    }
    match &lenient {
        Ok(config) => accepted(config),
        Err(error) => refused(text, error),
    }
}

/// How it is laid out makes no difference.
fn rewritten(text: &str, config: &Config) {
    let table: toml::Table = toml::from_str(text).expect("what was accepted is TOML");
    for written in [toml::to_string(&table), toml::to_string_pretty(&table)] {
        let written = written.expect("what was read can be written");
        if written.len() <= LONGEST {
            assert_eq!(Config::parse(&written).as_ref(), Ok(config), "{written}");
        }
    }
}

fn accepted(config: &Config) {
    let json = serde_json::to_string(config).unwrap();
    assert_eq!(&serde_json::from_str::<Config>(&json).unwrap(), config, "{json}");
    assert!((1..=256).contains(&config.max_slots()) && (1..=256).contains(&config.max_tasks()));
    let bounds = [config.kill_escalation(), config.spawn_grace(), config.tick_gap()];
    assert!(bounds.iter().all(|bound| *bound >= Duration::from_millis(1)), "{bounds:?}");
    assert!((0.0..=1.0).contains(&config.dissolve_spec().fraction));
    for repository in ["/a/tool", "/"] {
        let root = config.worktree_root(repository);
        assert!(root.starts_with('/') && !root.contains("//"), "{root}");
        assert!(root.split('/').all(|part| part != "." && part != ".."), "{root}");
    }
    let gates = config.gate_specs();
    let names: BTreeSet<_> = gates.iter().map(|gate| gate.id.as_str()).collect();
    assert_eq!(names.len(), gates.len(), "two gates have one name");
    assert!(gates.iter().all(|gate| is_command(&gate.command) && gate.timeout_ms > 0));
    let suite = config.suite_spec();
    assert!(suite.is_none_or(|suite| is_command(&suite.command) && suite.timeout_ms > 0));
    assert!(config.profile("agent").is_some());
    for (name, profile) in config.profiles() {
        for tier in [Tier::Mechanical, Tier::Mid, Tier::Strong] {
            assert!(is_command(profile.command(tier)), "{name}");
            assert!(!profile.model(tier).trim().is_empty(), "{name}");
        }
        assert!(!profile.timeout.is_zero() && !profile.stall_timeout.is_zero(), "{name}");
    }
}

fn is_command(words: &[String]) -> bool {
    words.first().is_some_and(|program| !program.trim().is_empty())
        && words.iter().all(|word| !word.contains('\0'))
}

fn refused(text: &str, error: &ConfigError) {
    let said = error.to_string();
    assert!(!said.chars().any(char::is_control), "not one line: {said:?}");
    let line = match error {
        ConfigError::TooLong { found, .. } => return assert_eq!(*found, text.len()),
        ConfigError::Syntax { line, .. }
        | ConfigError::UnknownKey { line, .. }
        | ConfigError::Unavailable { line, .. }
        | ConfigError::Wrong { line, .. }
        | ConfigError::Missing { line, .. }
        | ConfigError::Secret { line, .. } => *line,
    };
    let lines = 1 + text.bytes().filter(|byte| *byte == b'\n').count();
    assert!((1..=lines).contains(&line), "line {line} of {lines}: {said}");
}
