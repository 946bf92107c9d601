//! Every configuration in `fixtures/config` is accepted, or refused with the words it expects.

use sched::domain::config::Config;
use std::fs;
use std::path::{Path, PathBuf};

fn fixtures(kind: &str) -> Vec<(PathBuf, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/config").join(kind);
    let mut files: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}", dir.display());
    files
}

#[test]
fn each_valid_configuration_is_accepted_and_reads_back_from_json() {
    for (path, text) in fixtures("valid") {
        let config = Config::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!(Config::parse_lenient(&text).as_ref(), Ok(&config), "{}", path.display());
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<Config>(&json).unwrap(), config, "{json}");
    }
}

#[test]
fn each_invalid_configuration_is_refused_with_the_words_it_expects() {
    let mut failures = Vec::new();
    for (path, text) in fixtures("invalid") {
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: "));
        let expected = expected.unwrap_or_else(|| panic!("{}: no `# expect: `", path.display()));
        match Config::parse(&text) {
            Err(error) if error.to_string().contains(expected) => {}
            other => failures.push(format!("{}:\n  {expected}\n  {other:?}", path.display())),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_unknown_or_not_available_does_not_disturb_a_fold() {
    for (path, text) in fixtures("invalid") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if ["unknown-", "later-", "secret-"].iter().any(|kind| name.starts_with(kind)) {
            let config = Config::parse_lenient(&text);
            // A report's path is needed whatever else is there.
            assert!(config.is_ok() || name == "unknown-report-key", "{name}: {config:?}");
        }
    }
}
