//! What the README claims: its verifier runs, its map is complete, its test command is CI's.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// The first code block of a language.
fn block(language: &str) -> String {
    let text = read("README.md");
    let begun = text.split_once(&format!("```{language}\n")).unwrap().1;
    begun.split_once("```").unwrap().0.to_owned()
}

/// A journal of some entries, in a directory without git.
fn journal(dir: &Path) -> Vec<u8> {
    let sched = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(dir);
        let output = command.args(["--state-dir", "state"]).args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
    };
    sched(&["init"]);
    sched(&["pause", "--reason", r#"a text with ,"hash":" in it"#]);
    sched(&["resume"]);
    fs::read(dir.join("state/journal.jsonl")).unwrap()
}

fn verify(script: &Path, bytes: &[u8]) -> Output {
    let file = script.with_extension("jsonl");
    fs::write(&file, bytes).unwrap();
    let output = Command::new("python3").arg(script).arg(&file).output();
    output.expect("python3 is needed: .ci/test installs it")
}

#[test]
fn the_verifier_accepts_a_journal_and_notices_any_change() {
    let dir = tempfile::TempDir::new().unwrap();
    let script = dir.path().join("verify.py");
    fs::write(&script, block("python")).unwrap();
    let bytes = journal(dir.path());
    let good = verify(&script, &bytes);
    assert!(good.status.success(), "{good:?}");
    let entries = bytes.iter().filter(|byte| **byte == b'\n').count();
    let said = String::from_utf8(good.stdout).unwrap();
    assert!(entries == 3 && said.starts_with("3 "), "{said}");

    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let mut flipped = bytes.clone();
    flipped[lines[0].len() + 80] ^= 1;
    for (what, changed) in [
        ("a flipped bit", flipped),
        ("a missing line", [lines[0], lines[2]].concat()),
        ("a repeated line", [lines[0], lines[1], lines[1]].concat()),
        ("swapped lines", [lines[1], lines[0], lines[2]].concat()),
        ("a cut line", bytes[..bytes.len() - 3].to_vec()),
    ] {
        assert!(!verify(&script, &changed).status.success(), "{what} went unnoticed");
    }
}

#[test]
fn the_verifier_in_the_readme_is_the_one_that_is_tested() {
    assert_eq!(block("python"), read("fixtures/verify.py"));
}

#[test]
fn the_test_command_is_the_one_that_ci_runs() {
    assert!(block("sh").lines().any(|line| line.starts_with("./.ci/test ")));
    assert!(read(".ci/run").lines().any(|line| line == ".ci/test"));
}

#[test]
fn the_map_names_every_module() {
    let text = read("README.md");
    for entry in fs::read_dir(root().join("src")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = match entry.file_type().unwrap().is_dir() {
            true => format!("| `{name}/` |"),
            false if ["main.rs", "lib.rs"].contains(&name.as_str()) => continue,
            false => format!("| `{name}` |"),
        };
        assert!(text.contains(&path), "README.md does not explain {path}");
    }
}
