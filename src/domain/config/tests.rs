//! Tests of whole configurations; those of `fixtures/config` are in `tests/config.rs`.

use super::*;
use crate::domain::event::{ReportSpec, Strategy, Tier};

#[test]
fn an_empty_file_is_the_default() {
    let config = Config::parse("").unwrap();
    assert_eq!(config, Config::default());
    assert_eq!((config.max_slots(), config.max_tasks()), (3, 2));
    assert_eq!((config.base_branch(), config.landing()), ("main", Landing::Squash));
    assert_eq!(config.worktree_root("/home/a/tool"), "/home/a/tool.worktrees");
    assert_eq!(config.kill_escalation(), Duration::from_secs(120));
    assert_eq!((config.min_free(), config.output_limit()), (268_435_456, 1_073_741_824));
    assert_eq!((config.gate_specs(), config.suite_spec()), (Vec::new(), None));
    assert_eq!(config.dissolve_spec().fraction, 1.0 / 3.0);
    assert_eq!(config.profile("agent"), Some(&Profile::default()));
    assert!(config.allows_member_phase("review") && !config.allows_member_phase("ship"));
}

#[test]
fn the_sections_of_the_design_are_read() {
    let config = Config::parse(include_str!("../../../fixtures/config/valid/design.toml")).unwrap();
    let gate = &config.gate_specs()[0];
    assert_eq!((gate.id.as_str(), gate.timeout_ms, gate.retries), ("typecheck", 600_000, 1));
    assert_eq!(gate.inconclusive_codes, [75]);
    let suite = config.suite_spec().unwrap();
    assert_eq!(suite.report, ReportSpec::Junit { path: "target/nextest/ci/junit.xml".into() });
    let dissolve = config.dissolve_spec();
    assert_eq!((dissolve.fraction, dissolve.strategy), (0.3333, Strategy::Full));
    let agent = config.profile("agent").unwrap();
    assert_eq!(agent.env["CARGO_TERM_COLOR"], "never");
    let models = [Tier::Mechanical, Tier::Mid, Tier::Strong].map(|tier| agent.model(tier));
    assert_eq!(models, ["haiku", "sonnet", "opus"]);
}

#[test]
fn a_tier_overrides_the_command_of_its_profile_alone() {
    let text = include_str!("../../../fixtures/config/valid/profiles.toml");
    let config = Config::parse(text).unwrap();
    let agent = config.profile("agent").unwrap();
    assert_eq!(agent.command(Tier::Mid), ["./mid.sh"]);
    assert_eq!(agent.command(Tier::Strong), ["./agent.sh", "{issue}", "{prompt_file}"]);
    assert_eq!(agent.model(Tier::Mid), "small");
    let job = config.profile("job").unwrap();
    assert_eq!((job.workdir, job.completion), (Workdir::None, Completion::Milestone));
    assert_eq!(job.model(Tier::Strong), "large");
    let names: Vec<&str> = config.profiles().map(|(name, _)| name).collect();
    assert_eq!(names, ["agent", "job"]);
}

#[test]
fn a_file_too_long_for_one_entry_is_refused_but_folded() {
    let text = format!("#{}", " ".repeat(48 * 1024));
    let error = Config::parse(&text).unwrap_err().to_string();
    assert_eq!(error, "the configuration is 49153 bytes long: expected at most 49152");
    assert!(Config::parse_lenient(&text).is_ok());
}

#[test]
fn an_error_never_shows_a_value_of_the_environment() {
    for value in ["Bearer hunter2", "hunter2\\u0000", "https://a:hunter2@b"] {
        let text = format!("[agent.env]\nHEADER = \"{value}\"\n");
        let error = Config::parse(&text).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}
