//! Writers, one after the other, and repair.

use crate::support::{Bench, START, WAIT, by, commit, event, kinds, lines};
use sched::domain::time::Timestamp;
use sched::journal::head::{self, Head};
use sched::journal::{Category, Journal, JournalError, Position, Repair};
use std::time::Duration;
use uuid::Uuid;

#[test]
fn the_second_writer_sees_the_entry_of_the_first() {
    let bench = Bench::of(2);
    let (one, other) = (Journal::open(&bench.dir).unwrap(), Journal::open(&bench.dir).unwrap());
    let seen = bench.read().unwrap();
    let mut locked = one.lock(WAIT, "one").unwrap();
    locked.catch_up(&seen, |_, _, _| Ok(())).unwrap();
    commit(&mut locked, 3).unwrap();
    drop(locked);
    let mut locked = other.lock(WAIT, "other").unwrap();
    let mut entries = Vec::new();
    let caught_up = locked.catch_up(&seen, |entry, at, _| {
        entries.push((entry.seq, at.seq, entry.events.clone()));
        Ok(())
    });
    assert_eq!(entries, [(3, 3, vec![event(3)])]);
    assert_eq!(caught_up.unwrap().seq, 3);
    commit(&mut locked, 4).unwrap();
    assert!(bench.verify().damage.is_empty());
}

#[test]
fn a_lock_that_is_not_obtained_names_its_holder() {
    let bench = Bench::of(1);
    let journal = Journal::open(&bench.dir).unwrap();
    let us = std::process::id();
    let signed = [format!("sched tick (pid {us}, h)"), format!("(pid {us}){}", "é".repeat(90))];
    for holder in signed {
        let said = holder.floor_char_boundary(95);
        let held = journal.lock(WAIT, &holder).unwrap();
        let error = journal.lock(Duration::ZERO, "me").err().unwrap();
        assert_eq!(error.category(), Category::Locked);
        let JournalError::Locked { holder: named, .. } = error else { panic!("{error}") };
        assert_eq!(named, holder[..said]);
        drop(held);
        journal.lock(Duration::ZERO, "me").unwrap();
    }
}

#[test]
fn time_never_goes_back_and_wall_says_what_the_clock_said() {
    let bench = Bench::of(1);
    let (mut locked, _, _) = bench.catch_up().unwrap();
    let at = |millis| Timestamp::from_millis(START + millis);
    let mut go = |clock, not_before, id| {
        let id = Uuid::from_u128(id);
        locked.commit(by(), clock, not_before, id, vec![event(2)]).unwrap().entry
    };
    let behind = go(at(500), at(1000), 1);
    assert_eq!((behind.at, behind.wall), (at(1000), Some(at(500))));
    let ahead = go(at(2000), at(1000), 2);
    assert_eq!((ahead.at, ahead.wall), (at(2000), None));
    let texts = lines(&bench.bytes());
    let text = String::from_utf8(texts[1].clone()).unwrap();
    assert!(text.contains(&format!("\"at\":\"{}\",\"wall\":\"{}\",\"id\"", at(1000), at(500))));
    assert!(!String::from_utf8(texts[2].clone()).unwrap().contains("\"wall\""));
    assert!(bench.verify().damage.is_empty());
}

#[test]
fn head_alternates_between_its_slots_and_survives_one() {
    let bench = Bench::of(6);
    for (slot, seq) in [(0, 5), (1, 6)] {
        let mut bytes = bench.head_bytes();
        bytes[slot * 128 + 10] ^= 1;
        let file = bench.dir.join("damaged-head");
        std::fs::write(&file, bytes).unwrap();
        let read = head::read(Some(&std::fs::File::open(&file).unwrap())).unwrap();
        assert_eq!(read, Head::At(bench.head_at(seq)));
    }
}

fn begin(bench: &Bench, from_seq: u64) -> Result<Repair, JournalError> {
    Repair::begin(&bench.dir, from_seq, "the test", |_, _| Ok(()))
}

/// The repair, with an entry that says so.
fn repair(bench: &Bench, from_seq: u64) {
    let at = Timestamp::from_millis(START + i64::try_from(from_seq).unwrap() * 1000);
    let id = Uuid::from_u128(1);
    let repair = begin(bench, from_seq).unwrap();
    repair.finish(by(), at, at, id, vec![event(from_seq)]).unwrap();
}

#[test]
fn repair_keeps_the_bytes_and_what_it_says_stands_in_their_place() {
    let bench = Bench::of(6);
    let whole = bench.bytes();
    let mut texts = lines(&whole);
    texts[3][20] ^= 1;
    bench.write(&texts.concat());
    let three = Bench::of(3).head_at(3);
    let begun = begin(&bench, 4).unwrap();
    assert_eq!((begun.position.seq, &begun.position.hash), (3, &three.hash));
    let kept = std::fs::read_dir(bench.dir.join("quarantine")).unwrap().next().unwrap().unwrap();
    let bytes = std::fs::read(kept.path()).unwrap();
    assert_eq!(bytes, texts[3..].concat());
    assert_eq!(begun.sha256, sched::journal::line::sha256_hex(&bytes));
    assert_eq!((begun.bytes, begun.text.as_bytes()), (bytes.len() as u64, &bytes[..]));
    assert_eq!(bench.bytes(), texts.concat(), "nothing is changed before it is said");
    drop(begun);
    repair(&bench, 4);
    assert!(bench.verify().damage.is_empty());
    let (mut locked, position, notices) = bench.catch_up().unwrap();
    assert!(position.seq == 4 && notices.is_empty());
    commit(&mut locked, 5).unwrap();
    assert_eq!(kinds(&bench.verify()), [""; 0]);
}

#[test]
fn a_repair_that_is_done_again_still_knows_what_the_first_one_gave_up() {
    let bench = Bench::of(6);
    let mut texts = lines(&bench.bytes());
    texts[5][20] ^= 1;
    bench.write(&texts.concat());
    let first = begin(&bench, 6).unwrap().text;
    texts[5].fill(b'x'); // its own entry, half written over the old bytes
    bench.write(&texts.concat());
    assert!(begin(&bench, 6).unwrap().text.contains(&first));
}

#[test]
fn repair_gives_up_acknowledged_entries_that_are_gone() {
    let bench = Bench::of(6);
    bench.write(&lines(&bench.bytes())[..4].concat());
    assert!(matches!(bench.refused(), JournalError::Truncated { .. }));
    assert_eq!(begin(&bench, 5).unwrap().bytes, 0);
    repair(&bench, 5);
    assert_eq!(bench.catch_up().unwrap().1.seq, 5);
}

#[test]
fn repair_refuses_what_is_no_place_to_cut() {
    let bench = Bench::of(6);
    let before = bench.bytes();
    for from_seq in [0, 7, 8] {
        let refused = begin(&bench, from_seq).err();
        assert!(matches!(refused, Some(JournalError::Corrupt { .. })), "{from_seq}: {refused:?}");
    }
    assert_eq!(bench.bytes(), before);
}

#[test]
fn a_position_matches_only_its_own_line() {
    let bench = Bench::of(3);
    let journal = Journal::open(&bench.dir).unwrap();
    let end = bench.read().unwrap();
    assert!(journal.matches(&end).unwrap() && journal.matches(&Position::start()).unwrap());
    assert!(!journal.matches(&Position { offset: end.offset - 2, ..end.clone() }).unwrap());
    assert!(!journal.matches(&Position { offset: end.offset + 1, ..end.clone() }).unwrap());
    assert!(!journal.matches(&Position { hash: "a".repeat(64), ..end }).unwrap());
}
