//! What fuzzing found is read again: each file of `fixtures/fuzz/<target>` goes through the same
//! function as the bytes of a fuzzer do (`fuzz/run`).
//!
//! The targets are the journal reader, the configuration and the JUnit reader. There is no
//! manifest reader and no importer yet; each becomes a target when it comes.

mod configuration;
mod journal;
mod junit;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// How many bytes the largest file may have.
const LARGEST: usize = 16 << 10;

fn files(dir: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(dir);
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn replay(target: &str, more: &[&str], check: fn(&[u8])) {
    let found = files(&format!("fuzz/{target}"));
    assert!(found.len() >= 10, "{} files in fixtures/fuzz/{target}", found.len());
    let small = |path: &PathBuf| fs::metadata(path).unwrap().len() <= LARGEST as u64;
    assert!(found.iter().all(small), "fixtures/fuzz/{target}: a file over {LARGEST} bytes");
    let mut failed = Vec::new();
    for path in found.into_iter().chain(more.iter().flat_map(|dir| files(dir))) {
        let bytes = fs::read(&path).unwrap();
        if catch_unwind(AssertUnwindSafe(|| check(&bytes))).is_err() {
            failed.push(path.display().to_string());
        }
    }
    assert!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
}

#[test]
fn every_journal_that_fuzzing_found_is_read_safely() {
    replay("journal", &[], journal::check);
}

#[test]
fn every_configuration_that_fuzzing_found_is_read_safely() {
    replay("configuration", &["config/valid", "config/invalid"], configuration::check);
}

#[test]
fn every_junit_report_that_fuzzing_found_is_read_safely() {
    replay("junit", &[], junit::check);
}
