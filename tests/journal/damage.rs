//! Damage to what was written: each kind is noticed by `verify` and by reading.

use crate::support::{Bench, event, hashed, kinds, lines, made};
use sched::journal::{Category, JournalError, Repair};
use std::os::unix::fs::FileExt;
use std::process::Command;

fn rearranged(order: &[usize]) -> Bench {
    let bench = Bench::of(6);
    let texts = lines(&bench.bytes());
    Bench::with(&order.iter().flat_map(|at| texts[at - 1].clone()).collect::<Vec<_>>(), None)
}

fn corrupt_at(bench: &Bench) -> u64 {
    assert!(bench.read().is_err());
    match bench.refused() {
        JournalError::Corrupt { seq, .. } => seq,
        other => panic!("{other}"),
    }
}

#[test]
fn every_flip_of_a_low_bit_is_noticed_by_verify_and_by_reading() {
    every_flip_is_noticed(0..4);
}

#[test]
fn every_flip_of_a_high_bit_is_noticed_by_verify_and_by_reading() {
    every_flip_is_noticed(4..8);
}

fn every_flip_is_noticed(bits: std::ops::Range<u8>) {
    let bench = Bench::of(6);
    let whole = bench.bytes();
    let file = std::fs::File::options().write(true).open(bench.path()).unwrap();
    for at in 0..whole.len() {
        for bit in bits.clone() {
            file.write_all_at(&[whole[at] ^ (1 << bit)], at as u64).unwrap();
            assert!(bench.read().is_err(), "byte {at}, bit {bit}: read");
            assert!(!bench.verify().ok(), "byte {at}, bit {bit}: verified");
        }
        file.write_all_at(&whole[at..=at], at as u64).unwrap();
    }
}

#[test]
fn an_independent_program_agrees_about_the_format() {
    let bench = Bench::of(6);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/verify.py");
    assert!(std::fs::read_to_string(script).unwrap().lines().count() <= 10);
    let run = || Command::new("python3").arg(script).arg(bench.path()).output().unwrap();
    let said = run();
    assert!(said.status.success());
    let expected = format!("6 {}\n", bench.head_at(6).hash);
    assert_eq!(String::from_utf8(said.stdout).unwrap(), expected);
    let mut edited = bench.bytes();
    let at = edited.len() / 2;
    edited[at] ^= 1;
    bench.write(&edited);
    assert!(!run().status.success());
}

#[test]
fn removed_lines_are_a_gap() {
    for (order, seq) in [(&[1, 2, 4, 5, 6][..], 3), (&[2, 3, 4][..], 1), (&[1, 5, 6][..], 2)] {
        let bench = rearranged(order);
        assert_eq!(corrupt_at(&bench), seq);
        assert_eq!(kinds(&bench.verify()), ["GAP"]);
    }
}

#[test]
fn moved_lines_are_reordered_and_nothing_is_missing() {
    for order in [[1, 2, 4, 3, 5, 6], [1, 2, 3, 4, 6, 5], [2, 1, 3, 4, 5, 6], [1, 3, 4, 5, 2, 6]] {
        let bench = rearranged(&order);
        corrupt_at(&bench);
        assert_eq!(kinds(&bench.verify()), ["REORDER"], "{order:?}");
        assert_eq!(bench.verify().entries, 6);
    }
}

#[test]
fn a_repeated_line_follows_the_same_line_twice() {
    for order in [&[1, 2, 3, 3, 4, 5, 6][..], &[1, 2, 3, 4, 5, 6, 3], &[1, 1, 2], &[1, 2, 2]] {
        let bench = rearranged(order);
        corrupt_at(&bench);
        assert_eq!(kinds(&bench.verify()), ["FORK"], "{order:?}");
    }
}

#[test]
fn two_writers_make_a_fork_and_it_is_named_once() {
    let bench = Bench::of(6);
    let (four, hash) = made(4, &bench.head_at(3).hash, vec![event(9)]);
    let (five, _) = made(5, &hash, vec![event(8)]);
    bench.write(&[bench.bytes(), four, five].concat());
    assert_eq!(corrupt_at(&bench), 7);
    let report = bench.verify();
    assert_eq!(kinds(&report), ["FORK"]);
    assert_eq!(report.damage.len(), 1);
}

#[test]
fn a_broken_line_excuses_no_fork() {
    let bench = Bench::of(6);
    let mut texts = lines(&bench.bytes());
    let other = made(3, &bench.head_at(2).hash, vec![event(9)]).0;
    texts[4][20] ^= 1;
    texts.insert(5, other);
    bench.write(&texts.concat());
    assert!(kinds(&bench.verify()).contains(&"FORK"));
    assert!(kinds(&bench.verify()).contains(&"EDIT"));
}

#[test]
fn glued_lines_are_an_edit() {
    let bench = Bench::of(6);
    let mut texts = lines(&bench.bytes());
    texts[2].pop();
    let bench = Bench::with(&texts.concat(), None);
    assert_eq!(corrupt_at(&bench), 3);
    assert_eq!(kinds(&bench.verify()), ["EDIT"]);
}

#[test]
fn a_line_that_was_made_anew_with_its_hash_breaks_the_chain_behind_it() {
    for at in [2, 4] {
        let bench = Bench::of(6);
        let mut texts = lines(&bench.bytes());
        texts[at - 1] = made(at as u64, &bench.head_at(at as u64 - 1).hash, vec![event(9)]).0;
        let bench = Bench::with(&texts.concat(), None);
        assert_eq!(corrupt_at(&bench), at as u64 + 1);
        assert!(!bench.verify().damage.is_empty());
    }
}

#[test]
fn an_edited_line_is_named_and_what_follows_is_sound() {
    for at in [0, 2, 4, 5] {
        let bench = Bench::of(6);
        let mut texts = lines(&bench.bytes());
        let place = texts[at].windows(3).position(|w| w == b"\"up").unwrap() + 5;
        texts[at][place] = b'7';
        let bench = Bench::with(&texts.concat(), None);
        assert_eq!(corrupt_at(&bench), at as u64 + 1);
        let report = bench.verify();
        assert_eq!(kinds(&report), ["EDIT"]);
        assert_eq!((report.damage.len(), report.damage[0].seq), (1, at as u64 + 1));
        assert_eq!(report.entries, 5);
    }
}

#[test]
fn conflict_markers_are_named_wherever_they_stand() {
    let texts = lines(&Bench::of(6).bytes());
    let (hash, marks) = (Bench::of(4).head_at(4).hash, ["<<<<<<< a\n", "=======\n", ">>>>>>> b\n"]);
    let other = made(5, &hash, vec![event(9)]).0;
    let mark = |at: usize| marks[at].as_bytes().to_vec();
    let first = [mark(0), texts[..2].concat(), mark(1), mark(2), texts[2..].concat()].concat();
    let ours = [texts[..4].concat(), mark(0), texts[4].clone(), mark(1), other.clone()].concat();
    let middle = [ours.clone(), mark(2), texts[5].clone()].concat();
    let last = [ours, mark(2)].concat();
    for (bytes, seq) in [(first, 1), (middle, 5), (last, 5)] {
        let bench = Bench::with(&bytes, None);
        assert_eq!(corrupt_at(&bench), seq);
        let report = bench.verify();
        assert_eq!(kinds(&report), ["CONFLICT-MARKERS"], "{:?}", report.damage);
        assert_eq!(report.damage.len(), 3);
        assert!(report.damage.iter().all(|damage| damage.message.starts_with("line ")));
    }
}

#[test]
fn a_newer_version_is_no_damage_and_nothing_is_written() {
    let bench = Bench::of(6);
    let six = bench.head_at(6);
    let same = format!(r#"{{"v":2,"seq":7,"new":[],"prev":"{}""#, six.hash);
    let ended_otherwise = format!("{{\"v\":9,\"seq\":7,\"sum\":\"{}\"}}\n", six.hash);
    for newer in [hashed(&same), ended_otherwise.into_bytes()] {
        for head in [
            six.clone(),
            sched::journal::head::Acknowledged {
                seq: 7,
                length: six.length + newer.len() as u64,
                hash: "a".repeat(64),
            },
        ] {
            let bench = Bench::with(&[&bench.bytes()[..], &newer].concat(), Some(&head));
            let error = bench.refused();
            assert!(matches!(error, JournalError::TooNew { seq: 7, .. }), "{error}");
            assert_eq!(error.category(), Category::TooOld);
            assert!(kinds(&bench.verify()).contains(&"VERSION"));
            let cut = Repair::begin(&bench.dir, 7, "the test", |_, _| Ok(())).err();
            assert!(matches!(cut, Some(JournalError::TooNew { .. })));
        }
    }
}

/// The last line with something else in its text, hashed anew.
fn last_line_with(from: &str, to: &str) -> Bench {
    let bench = Bench::of(6);
    let mut texts = lines(&bench.bytes());
    let text = String::from_utf8(texts[5].clone()).unwrap();
    assert!(text.contains(from));
    let body = text.split(",\"hash\":\"").next().unwrap().replace(from, to);
    texts[5] = hashed(&body);
    Bench::with(&texts.concat(), Some(&bench.head_at(5)))
}

#[test]
fn an_unknown_event_of_a_known_version_is_corruption() {
    let bench = last_line_with("environment-recorded", "environment-unheard-of");
    assert_eq!(corrupt_at(&bench), 6);
    assert_eq!(kinds(&bench.verify()), ["EDIT"]);
    assert_eq!(corrupt_at(&last_line_with("\"v\":1", "\"v\":0")), 6);
}

#[test]
fn unknown_fields_are_accepted_and_stay_in_the_line() {
    for to in ["\"config\":\"c\",\"unheard\":{\"of\":1}", "\"config\":\"\",\"x\":null"] {
        let bench = last_line_with("\"config\":\"config-6.toml\"", to);
        let before = bench.bytes();
        assert_eq!(bench.catch_up().unwrap().1.seq, 6);
        assert!(bench.verify().damage.is_empty());
        assert_eq!(bench.bytes(), before);
    }
    assert_eq!(last_line_with("\"by\":{", "\"extra\":[],\"by\":{\"x\":1,").read().unwrap().seq, 6);
}

#[test]
fn a_line_over_64_mib_is_corruption_and_one_of_64_mib_is_not() {
    let prev = Bench::of(5).head_at(5);
    let text = String::from_utf8(lines(&Bench::of(6).bytes()).remove(5)).unwrap();
    let body = text.split(",\"hash\":\"").next().unwrap();
    let start = Bench::of(5).bytes();
    for over in [0, 1] {
        let spaces = (64 << 20) + over - text.len();
        let long = hashed(&body.replacen(":1", &format!(":{}1", " ".repeat(spaces)), 1));
        assert_eq!(long.len(), (64 << 20) + over);
        let bench = Bench::with(&[&start[..], &long].concat(), Some(&prev));
        let report = bench.verify();
        if over == 0 {
            assert_eq!(bench.read().unwrap().seq, 6);
            assert!(report.damage.is_empty());
        } else {
            assert!(matches!(bench.read(), Err(JournalError::Corrupt { seq: 6, .. })));
            assert_eq!((kinds(&report), report.damage.len()), (vec!["EDIT"], 1));
        }
    }
}
