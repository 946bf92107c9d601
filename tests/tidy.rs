//! Reads the sources and enforces the house: who may import whom, which calls are banned where,
//! and how long lines, functions and files may be.

use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

const LONGEST_LINE: usize = 100;
const LONGEST_FUNCTION: usize = 70;
const LONGEST_FILE: usize = 500;

/// One arm for each event, and nothing else.
const LONG_FUNCTIONS: &[&str] = &["src/domain/apply/mod.rs"];

/// Which modules of ours each module may use. `crash` is one comparison and stands everywhere
/// but in the domain.
const IMPORTS: &[(&str, &[&str])] = &[
    ("domain", &["domain"]),
    ("journal", &["journal", "domain", "crash"]),
    ("projection", &["projection", "domain", "journal"]),
    ("engine", &["engine", "domain", "journal", "projection", "crash"]),
    ("os", &["os", "domain", "engine::ports", "crash"]),
    ("audit", &["audit", "domain", "journal"]),
    ("import", &["import", "domain", "journal"]),
];

/// What the table would forbid, and why it may stay: bytes and places, never the journal itself.
const IMPORTS_TOO: &[(&str, &str)] =
    &[("os", "journal::disk"), ("os", "journal::line"), ("os", "journal::place")];

/// What a module must not name, and what to do instead.
const BANNED: &[(&str, &str, &str)] = &[
    ("domain", "std::fs", "pass the data in"),
    ("domain", "std::process", "return an effect"),
    ("domain", "std::env", "pass the data in"),
    ("domain", "std::thread", "return an effect"),
    ("domain", "std::io", "pass the data in"),
    ("domain", "std::time::SystemTime", "take `now` as an argument"),
    ("domain", "Instant::now", "take `now` as an argument"),
    ("domain", "Utc::now", "take `now` as an argument"),
    ("domain", "Uuid::now_v7", "draw from `Ids`"),
    ("domain", "Uuid::new_v4", "draw from `Ids`"),
    ("domain", "HashMap", "use BTreeMap: same input, same bytes"),
    ("domain", "HashSet", "use BTreeSet: same input, same bytes"),
    ("domain", "async fn", "the domain waits for nothing"),
    ("domain", "println!", "return the text"),
    ("domain", "tracing::", "return the text"),
    ("domain", "rustix", "pass the data in"),
    ("journal", "domain::state", "the journal knows bytes, not scheduling"),
    ("journal", "domain::rules", "the journal knows bytes, not scheduling"),
    ("journal", "domain::apply", "the journal knows bytes, not scheduling"),
    ("journal", "rusqlite", "that belongs into projection"),
    ("journal", "std::process::Command", "that belongs into os"),
    ("journal", "println!", "only cli prints"),
    ("projection", "Locked", "a cache never appends"),
    ("projection", "println!", "only cli prints"),
    ("engine", "println!", "only cli prints"),
    ("engine", "std::process", "use a port"),
    ("engine", "rustix", "use a port"),
    ("os", "println!", "only cli prints"),
    ("os", "domain::rules", "os decides nothing"),
    ("os", "domain::apply", "os decides nothing"),
    ("audit", "domain::apply", "audit shares no logic with what it checks"),
    ("audit", "domain::rules", "audit shares no logic with what it checks"),
    ("audit", "println!", "only cli prints"),
    ("import", "domain::apply", "append through the journal"),
    ("import", "domain::rules", "append through the journal"),
];

/// One source file.
struct Source {
    path: String,
    module: String,
    lines: Vec<String>,
}

impl Source {
    /// Lines of production code with their numbers: without comments, up to the tests. A single
    /// method for tests, which is indented, does not end it.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let only_tests = self.path.starts_with("tests/")
            || self.path.starts_with("benches/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs");
        let lines = self.lines.iter().take_while(|line| line.trim_end() != "#[cfg(test)]");
        let lines = lines.enumerate().filter(move |_| !only_tests);
        lines
            .map(|(index, line)| (index + 1, line.split(" // ").next().unwrap_or(line)))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files_under(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let ours = !["target", ".git"].contains(&name.as_str());
            if ours {
                files_under(&path, found);
            }
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_string_lossy().into_owned()
}

fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    ["src", "tests", "benches", "fuzz"]
        .iter()
        .for_each(|dir| files_under(&root().join(dir), &mut files));
    let rust = files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let path = relative(path);
        let module = path.strip_prefix("src/").unwrap_or_default();
        let module = module.split(['/', '.']).next().unwrap_or_default().to_owned();
        Source { path, module, lines: text.lines().map(str::to_owned).collect() }
    };
    rust.map(read).collect()
}

fn report(failures: &[String]) {
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

/// Whether `path` is `allowed` or inside of it.
fn is_inside(path: &str, allowed: &str) -> bool {
    path.strip_prefix(allowed).is_some_and(|rest| rest.is_empty() || !starts_a_word(rest))
}

fn starts_a_word(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The paths behind each `crate::` of a line.
fn crate_paths(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        rest[..end.unwrap_or(rest.len())].trim_end_matches(':')
    })
}

#[test]
fn each_module_imports_only_what_the_table_allows() {
    let mut failures = Vec::new();
    for source in sources() {
        let row = IMPORTS.iter().find(|(module, _)| *module == source.module);
        let Some((module, allowed)) = row else { continue };
        for (number, line) in source.code() {
            for path in crate_paths(line) {
                let more = IMPORTS_TOO.iter().filter(|(m, _)| m == module).map(|(_, p)| p);
                if !allowed.iter().chain(more).any(|allowed| is_inside(path, allowed)) {
                    let at = format!("{}:{number}", source.path);
                    failures.push(format!("{at}: {module} must not use crate::{path}"));
                }
            }
        }
    }
    report(&failures);
}

#[test]
fn nothing_but_main_uses_the_command_line() {
    let inside = |source: &Source| ["cli", "main", "lib"].contains(&source.module.as_str());
    let mut failures = Vec::new();
    for source in sources().iter().filter(|s| s.path.starts_with("src/") && !inside(s)) {
        for (number, line) in source.code() {
            if crate_paths(line).any(|path| is_inside(path, "cli")) {
                failures.push(format!("{}:{number}: only main may use cli", source.path));
            }
        }
    }
    report(&failures);
}

#[test]
fn no_module_makes_a_banned_call() {
    let mut failures = Vec::new();
    for source in sources() {
        for (module, word, instead) in BANNED.iter().filter(|(m, ..)| *m == source.module) {
            for (number, line) in source.code().filter(|(_, line)| line.contains(word)) {
                let rest = &line[line.find(word).unwrap_or(0) + word.len()..];
                if !starts_a_word(rest) || word.ends_with(':') {
                    let at = format!("{}:{number}", source.path);
                    failures.push(format!("{at}: {module} must not use {word}: {instead}"));
                }
            }
        }
    }
    report(&failures);
}

#[test]
fn nothing_outside_tests_unwraps_or_hides_dead_code() {
    let unwrap = [".unwrap()", ".expect("];
    let mut failures = Vec::new();
    for source in sources().iter().filter(|s| s.path != "tests/tidy.rs") {
        for (number, line) in source.code() {
            for word in unwrap.iter().filter(|word| line.contains(*word)) {
                failures.push(format!("{}:{number}: `{word}` is for tests only", source.path));
            }
        }
        for (index, line) in source.lines.iter().enumerate() {
            if line.contains("allow(dead_code)") || line.contains("allow(unused") {
                failures.push(format!("{}:{}: remove what is dead", source.path, index + 1));
            }
        }
    }
    report(&failures);
}

#[test]
fn every_module_says_what_it_is_for() {
    let silent = |s: &&Source| !s.lines.first().is_some_and(|line| line.starts_with("//! "));
    let failures: Vec<_> = sources()
        .iter()
        .filter(silent)
        .map(|s| format!("{}:1: a module starts with `//!` and what it is for", s.path))
        .collect();
    report(&failures);
}

#[test]
fn lines_and_files_are_short() {
    let mut failures = Vec::new();
    for source in sources() {
        for (index, line) in source.lines.iter().enumerate() {
            let columns = line.chars().count();
            if columns > LONGEST_LINE {
                failures.push(format!("{}:{}: {columns} columns", source.path, index + 1));
            }
        }
        let lines = source.lines.len();
        if lines > LONGEST_FILE {
            failures.push(format!("{}: {lines} lines: split it", source.path));
        }
    }
    report(&failures);
}

#[test]
fn functions_are_short() {
    let mut failures = Vec::new();
    for source in sources() {
        let mut begun: Option<(usize, usize)> = None;
        for (index, line) in source.lines.iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let code = line.trim_start();
            let head = code.split_once("fn ").map(|(before, _)| before);
            let is_head = head.is_some_and(|before| {
                let modifiers = ["pub", "const", "async", "extern", "unsafe"];
                before
                    .split_whitespace()
                    .all(|word| modifiers.iter().any(|modifier| word.starts_with(modifier)))
            });
            match begun {
                None if is_head && !line.trim_end().ends_with(['}', ';']) => {
                    begun = Some((index, indent));
                }
                Some((start, outer)) if indent == outer && code.starts_with('}') => {
                    let lines = index - start + 1;
                    if lines > LONGEST_FUNCTION && !LONG_FUNCTIONS.contains(&source.path.as_str()) {
                        let at = format!("{}:{}", source.path, start + 1);
                        failures.push(format!("{at}: a function of {lines} lines: split it"));
                    }
                    begun = None;
                }
                Some((_, outer)) if indent == outer && code.ends_with(';') => begun = None,
                _ => {}
            }
        }
    }
    report(&failures);
}

#[test]
fn the_repository_names_no_place_or_maker_of_its_own() {
    let words = [["/", "work/"], ["assis", "tant"], ["helper", " session"]].map(|w| w.concat());
    let mut files = Vec::new();
    files_under(root(), &mut files);
    let mut failures = Vec::new();
    for path in &files {
        let Ok(text) = fs::read_to_string(path) else { continue };
        for (index, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for word in words.iter().filter(|word| line.contains(word.as_str())) {
                failures.push(format!("{}:{}: names `{word}`", relative(path), index + 1));
            }
        }
    }
    report(&failures);
}

/// `FROZEN` lists each file of the released versions with its digest, as `sha256sum` does: the
/// schemas, and the journals that every later program must fold to the same state.
#[test]
fn what_was_released_is_never_edited() {
    let frozen = fs::read_to_string(root().join("journal-schema/FROZEN")).unwrap();
    let mut listed = Vec::new();
    for line in frozen.lines() {
        let (expected, name) = line.split_once("  ").unwrap();
        let found = Sha256::digest(fs::read(root().join(name)).unwrap());
        let found: String = found.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(found, expected, "{name} was released: add a version");
        listed.push(root().join(name));
    }
    let versions = frozen.lines().filter_map(|line| line.split("/v").nth(1)?.split('/').next());
    for version in versions.collect::<std::collections::BTreeSet<_>>() {
        for dir in [format!("journal-schema/v{version}"), format!("fixtures/journals/v{version}")] {
            let mut files = Vec::new();
            files_under(&root().join(dir), &mut files);
            for file in files.iter().filter(|file| !file.ends_with("DIGEST")) {
                assert!(listed.contains(file), "{} is not in FROZEN", file.display());
            }
        }
    }
}
