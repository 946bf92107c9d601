//! The list of deliberate breakages (`mutants.md`) agrees with the tree: every row has its patch,
//! every patch still applies, every test that is to catch one exists. `.ci/mutants` runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// One row of the table.
struct Row {
    number: String,
    broken: String,
    design: String,
    binary: String,
    test: String,
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/mutants.md")).unwrap();
    let table = text.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    let rows = table.map(cells).filter(|cells| cells[0].parse::<u32>().is_ok());
    let row = |cells: Vec<String>| match cells.as_slice() {
        [number, broken, design, binary, test, ..] => Row {
            number: number.clone(),
            broken: broken.clone(),
            design: design.clone(),
            binary: binary.clone(),
            test: test.clone(),
        },
        other => panic!("a row has five cells and more: {other:?}"),
    };
    rows.map(row).collect()
}

/// The patches by the number that their names begin with.
fn patches() -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root().join("tests/mutants")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let number = name.split('-').next().unwrap().to_owned();
        assert!(name.ends_with(".patch") && number.parse::<u32>().is_ok(), "{name}");
        assert!(found.insert(number, path).is_none(), "{name}: its number is another one's too");
    }
    found
}

#[test]
fn each_mutant_has_its_row_and_its_patch() {
    let rows = rows();
    let listed: BTreeSet<String> = rows.iter().map(|row| row.number.clone()).collect();
    assert_eq!(listed.len(), rows.len(), "a number is listed twice");
    assert_eq!(listed, patches().into_keys().collect(), "rows and patches");
    assert!(rows.len() >= 24, "{} mutants", rows.len());
    for row in &rows {
        let told = !row.broken.is_empty() && row.design.starts_with(|c: char| c.is_ascii_digit());
        assert!(told, "mutant {}: what is broken, and where the design says so", row.number);
    }
    let by = |binary: &str| rows.iter().filter(|row| row.binary == binary).count();
    assert!(by("simulation") >= 5, "the simulation catches {} of them", by("simulation"));
}

#[test]
fn every_patch_applies_to_the_sources_as_they_are() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("SKIPPED: `git` is not installed: whether the mutants apply was not looked at");
        return;
    }
    for patch in patches().values() {
        let text = fs::read_to_string(patch).unwrap();
        let headers = text.lines().filter(|line| line.starts_with("+++ "));
        let outside: Vec<&str> = headers.filter(|line| !line.starts_with("+++ b/src/")).collect();
        assert!(outside.is_empty() && text.contains("\n+++ "), "{patch:?}: {outside:?}");
        let mut git = Command::new("git");
        let checked = git.args(["apply", "--check"]).arg(patch).current_dir(root()).output();
        let checked = checked.unwrap();
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{patch:?} is to be made anew:\n{said}");
    }
}

#[test]
fn every_test_that_is_to_catch_a_mutant_exists() {
    for Row { number, binary, test, .. } in rows() {
        let mut parts: Vec<&str> = test.split("::").collect();
        if parts.last().is_some_and(|part| part.starts_with("case_")) {
            parts.pop(); // a case of a table
        }
        let head = format!("fn {}(", parts.pop().unwrap_or_default());
        let found = files_of(&binary, &parts).iter().any(|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.contains(&head)
        });
        assert!(found, "mutant {number}: `{binary}` has no test {test}");
    }
}

/// Where a module of a test binary may stand.
fn files_of(binary: &str, module: &[&str]) -> Vec<PathBuf> {
    let base = match binary {
        "lib" => root().join("src"),
        other => root().join("tests").join(other),
    };
    let mut files = vec![base.with_extension("rs")];
    let inline = module.strip_suffix(&["tests"]).unwrap_or(module);
    for module in [module, inline] {
        let path = base.join(module.join("/"));
        files.extend([path.with_extension("rs"), path.join("mod.rs"), path.join("main.rs")]);
    }
    files
}
