//! The help texts are the documentation.

use crate::environment::{TestEnvironment, snapshot, snapshot_text};

const COMMANDS: &[&[&str]] = &[
    &["demo"],
    &["init"],
    &["enqueue"],
    &["tick"],
    &["run"],
    &["status"],
    &["show"],
    &["logs"],
    &["why"],
    &["log"],
    &["pause"],
    &["resume"],
    &["abandon"],
    &["stop"],
    &["requeue"],
    &["reprioritize"],
    &["post"],
    &["journal"],
    &["journal", "verify"],
    &["journal", "replay"],
    &["journal", "repair"],
    &["audit"],
    &["doctor"],
    &["completions"],
    &["man"],
];

#[test]
fn the_help_of_each_command_has_an_example() {
    let environment = TestEnvironment::new();
    for words in COMMANDS {
        let said = environment.sched(&[words, &["--help"][..]].concat());
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{words:?}");
        assert!(said.stdout.contains("Example"), "{words:?} has no example:\n{}", said.stdout);
        assert!(said.stdout.contains("\n  sched") || said.stdout.contains("&& sched"), "{words:?}");
    }
    snapshot("help", &environment.sched(&["--help"]));
    snapshot("help_audit", &environment.sched(&["audit", "--help"]));
    snapshot("help_enqueue", &environment.sched(&["enqueue", "--help"]));
}

#[test]
fn every_command_that_is_shown_has_its_help_checked() {
    let said = TestEnvironment::new().sched(&["--help"]);
    let list = said.stdout.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let named = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    for name in named.filter_map(|line| line.split_whitespace().next()) {
        assert!(name == "help" || COMMANDS.iter().any(|words| words[0] == name), "{name}");
    }
}

#[test]
fn completions_and_the_manual_page_name_the_commands() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = environment.sched(&["completions", shell]);
        assert_eq!((said.code, said.stderr.as_str()), (0, ""));
        assert!(said.stdout.contains("reprioritize") && !said.stdout.contains("reclaim-trees"));
    }
    let said = environment.sched(&["man"]);
    assert!(said.code == 0 && said.stdout.contains(".TH sched 1"), "{}", said.text());
    snapshot("completions_of_no_shell", &environment.sched(&["completions", "foo"]));
}

#[test]
fn an_unknown_flag_or_command_is_refused_with_the_nearest_match() {
    let environment = TestEnvironment::new();
    let cases: &[&[&str]] =
        &[&["enqueue", "--isues", "1"], &["statsu"], &["status", "--color", "alwys"], &["stop"]];
    let said: Vec<String> = cases.iter().map(|args| environment.sched(args).text()).collect();
    snapshot_text("unknown_flags", &said.join("\n"));
}
