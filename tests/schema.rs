//! The checked-in JSON Schemas are what the types say, and real journals of released versions are
//! valid by them and fold to the states they folded to when they were written.

use sched::audit::schema;
use sched::domain::apply::{fold, retire};
use sched::domain::state::State;
use sched::journal::{Journal, Position};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn checked_in_schemas_are_the_generated_ones() {
    let dir = root().join("journal-schema/v1");
    let files = schema::files();
    if std::env::var_os("SCHED_UPDATE_SCHEMAS").is_some() {
        for (name, text) in &files {
            std::fs::write(dir.join(name), text).unwrap();
        }
        std::fs::write(dir.join("DIGEST"), format!("{}\n", schema::digest(&files))).unwrap();
    }
    let mut found: Vec<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "DIGEST")
        .collect();
    found.sort();
    assert_eq!(found, files.keys().cloned().collect::<Vec<_>>(), "run with SCHED_UPDATE_SCHEMAS=1");
    for (name, text) in &files {
        let checked_in = std::fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(&checked_in, text, "{name} differs: run with SCHED_UPDATE_SCHEMAS=1");
    }
    let digest = std::fs::read_to_string(dir.join("DIGEST")).unwrap();
    assert_eq!(digest.trim(), schema::digest(&files), "run with SCHED_UPDATE_SCHEMAS=1");
}

/// Every journal of a released version: its version, and its directory.
fn released() -> Vec<(String, PathBuf)> {
    let names = |dir: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let version = |dir: &Path| dir.file_name().unwrap().to_str().unwrap().to_owned();
    let versions = names(&root().join("fixtures/journals"));
    let versions = versions.into_iter().filter(|dir| version(dir).starts_with('v'));
    versions.flat_map(|dir| names(&dir).into_iter().map(move |j| (version(&dir), j))).collect()
}

#[test]
fn each_line_of_a_released_journal_is_valid_by_the_schemas_of_its_version() {
    for (version, dir) in released() {
        let schemas = root().join("journal-schema").join(version);
        let mut validators = BTreeMap::new();
        let mut check = |name: &str, value: &Value| {
            let validator = validators.entry(name.to_owned()).or_insert_with(|| {
                let text = std::fs::read_to_string(schemas.join(format!("{name}.json"))).unwrap();
                jsonschema::validator_for(&serde_json::from_str(&text).unwrap()).unwrap()
            });
            let errors: Vec<String> = validator.iter_errors(value).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?} in {value}");
        };
        let text = std::fs::read_to_string(dir.join("journal.jsonl")).unwrap();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            check("entry", &entry);
            for event in entry["events"].as_array().unwrap() {
                check(event["type"].as_str().unwrap(), &event["data"]);
            }
        }
    }
}

/// A state may get new fields: then `SCHED_UPDATE_STATES=1` writes the states anew, and the
/// difference is looked at before it is committed.
#[test]
fn released_journals_fold_to_the_states_they_had() {
    let found = released();
    assert!(!found.is_empty());
    for (_, dir) in found {
        let journal = Journal::open_file(&dir.join("journal.jsonl")).unwrap();
        let mut state = State::default();
        let fold = |entry: &_, at: &Position, _: &[u8]| {
            fold(&mut state, entry, &at.hash).unwrap();
            retire(&mut state);
            Ok(())
        };
        journal.read(&Position::start(), fold).unwrap();
        let text = serde_json::to_string_pretty(&state).unwrap() + "\n";
        let path = root().join("fixtures/states").join(dir.file_name().unwrap());
        let path = path.with_extension("json");
        if std::env::var_os("SCHED_UPDATE_STATES").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{}", path.display());
    }
}

/// What a released journal is there for stands in it.
#[test]
fn a_released_journal_has_an_eviction_a_kill_and_a_crash() {
    for (_, dir) in released() {
        let text = std::fs::read_to_string(dir.join("journal.jsonl")).unwrap();
        for event in ["member-evicted", "kill-escalated", "supervision-lost"] {
            assert!(text.contains(&format!("\"type\":\"{event}\"")), "{event}");
        }
    }
}
