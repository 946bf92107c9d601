//! What stands in place of the files.

use crate::support::{Bench, WAIT, read};
use sched::audit::verify;
use sched::journal::{FileLock, Journal, JournalError, Locked, place};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn fifo(path: &Path) {
    let done = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(done.success());
}

fn reason(error: &JournalError) -> String {
    assert_eq!(error.category(), sched::journal::Category::Damaged, "{error}");
    match error {
        JournalError::NotOurs { found, .. } => found.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_no_ordinary_file_is_refused_with_its_reason_and_never_waited_for() {
    for name in ["journal.jsonl", "head"] {
        for (kind, make) in [
            ("a FIFO", (|path| fifo(path)) as fn(&Path)),
            ("a symbolic link", |path| symlink("/dev/null", path).unwrap()),
            ("a directory", |path| std::fs::create_dir(path).unwrap()),
        ] {
            let bench = Bench::of(2);
            let path = bench.dir.join(name);
            std::fs::remove_file(&path).unwrap();
            make(&path);
            assert_eq!(reason(&bench.read().unwrap_err()), kind, "{name}");
            assert_eq!(reason(&Locked::create(&bench.dir, "x").err().unwrap()), kind, "{name}");
            assert_eq!(reason(&verify::state_dir(&bench.dir).unwrap_err()), kind, "{name}");
            assert_eq!(reason(&verify::files(&[path]).unwrap_err()), kind, "{name}");
        }
    }
}

#[test]
fn a_lock_that_is_no_ordinary_file_is_refused_and_never_waited_for() {
    let bench = Bench::of(2);
    let path = bench.dir.join("lock");
    std::fs::remove_file(&path).unwrap();
    fifo(&path);
    assert_eq!(reason(&FileLock::take(&path, WAIT, "x").unwrap_err()), "a FIFO");
    assert_eq!(FileLock::holder(&path), None);
}

#[test]
fn files_are_for_their_owner_only() {
    let bench = Bench::of(2);
    for name in ["journal.jsonl", "head", "lock"] {
        let mode = std::fs::metadata(bench.dir.join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn reading_writes_nothing() {
    let bench = Bench::of(3);
    std::fs::remove_file(bench.dir.join("lock")).unwrap();
    std::fs::remove_file(bench.dir.join("head")).unwrap();
    bench.write(&[bench.bytes(), b"frag".to_vec()].concat());
    assert_eq!(bench.read().unwrap().seq, 3);
    assert!(bench.verify().ok());
    assert_eq!(std::fs::read_dir(&bench.dir).unwrap().count(), 1);
}

#[test]
fn a_copied_directory_is_another_place_and_a_renamed_one_is_not() {
    let bench = Bench::of(2);
    let here = place::place(&bench.dir).unwrap();
    let (copy, renamed) = (bench.dir.with_extension("copy"), bench.dir.with_extension("new"));
    std::fs::create_dir(&copy).unwrap();
    for name in ["journal.jsonl", "head"] {
        std::fs::copy(bench.dir.join(name), copy.join(name)).unwrap();
    }
    assert_ne!(place::place(&copy).unwrap(), here);
    assert_eq!(read(&copy).unwrap(), bench.read().unwrap(), "readers do not care");
    std::fs::rename(&bench.dir, &renamed).unwrap();
    assert_eq!(place::place(&renamed).unwrap(), here);
}

#[test]
fn there_is_at_most_one_journal_in_a_directory() {
    let bench = Bench::of(1);
    assert!(matches!(Locked::create(&bench.dir, "x"), Err(JournalError::Exists { .. })));
    let empty = Bench::empty();
    assert!(matches!(Journal::open(&empty.dir), Err(JournalError::Missing { .. })));
}
