//! What a crash leaves at the end, and what the next writer makes of it.

use crate::support::{Bench, commit, hashed, kinds, lines, positions};
use sched::domain::event::Event;
use sched::journal::head::{self, Head};
use sched::journal::{Category, JournalError, line};

fn says_quarantined(events: &[Event], bytes: usize) -> bool {
    let [Event::TailQuarantined(tail)] = events else { return false };
    tail.bytes == bytes as u64
}

fn head_of(bench: &Bench) -> Head {
    let file = std::fs::File::open(bench.dir.join("head")).unwrap();
    head::read(Some(&file)).unwrap()
}

#[test]
fn every_cut_of_the_last_entry_that_a_crash_can_leave_goes_to_quarantine() {
    let bench = Bench::of(6);
    let (whole, five) = (bench.bytes(), bench.head_at(5));
    let cut_off = usize::try_from(five.length).unwrap();
    for length in cut_off + 1..whole.len() - 1 {
        let bench = Bench::with(&whole[..length], Some(&five));
        assert_eq!(bench.read().unwrap().hash, five.hash, "a reader ignores it, cut {length}");
        assert_eq!(kinds(&bench.verify()), ["TORN-TAIL"], "cut {length}");
        assert!(bench.verify().ok());
        let (mut locked, position, notices) = bench.catch_up().unwrap();
        assert_eq!(position.hash, five.hash);
        assert!(says_quarantined(&notices, length - cut_off), "cut {length}: {notices:?}");
        let kept = std::fs::read_dir(bench.dir.join("quarantine")).unwrap().next().unwrap();
        assert_eq!(std::fs::read(kept.unwrap().path()).unwrap(), whole[cut_off..length]);
        commit(&mut locked, 6).unwrap();
        drop(locked);
        assert_eq!(bench.bytes(), whole, "the same entry again: the same bytes, cut {length}");
        assert!(bench.verify().damage.is_empty());
    }
}

#[test]
fn every_cut_of_an_acknowledged_entry_is_refused_and_changes_nothing() {
    let bench = Bench::of(6);
    let whole = bench.bytes();
    let five = usize::try_from(bench.head_at(5).length).unwrap();
    for length in (0..whole.len() - 1).filter(|n| *n >= five || n % 97 == 0) {
        bench.write(&whole[..length]);
        let error = bench.refused();
        assert!(matches!(error, JournalError::Truncated { acknowledged: 6, .. }), "{error}");
        assert_eq!(error.category(), Category::Damaged);
        assert!(matches!(bench.read(), Err(JournalError::Truncated { .. })));
        assert_eq!(kinds(&bench.verify()), ["TRUNCATED"], "cut {length}");
    }
}

#[test]
fn a_whole_last_line_without_its_newline_counts_and_is_ended_by_the_next_writer() {
    let bench = Bench::of(6);
    let (whole, six) = (bench.bytes(), bench.head_at(6));
    for head in [bench.head_at(5), six.clone()] {
        let bench = Bench::with(&whole[..whole.len() - 1], Some(&head));
        assert_eq!(bench.read().unwrap().seq, 6);
        assert!(bench.verify().damage.is_empty());
        let (mut locked, position, notices) = bench.catch_up().unwrap();
        assert!(notices.is_empty());
        assert_eq!((position.seq, position.offset), (6, six.length));
        assert_eq!(bench.bytes(), whole);
        assert_eq!(head_of(&bench), Head::At(six.clone()));
        commit(&mut locked, 7).unwrap();
        assert_eq!(bench.read().unwrap().seq, 7);
    }
}

#[test]
fn who_has_read_a_line_without_its_newline_ends_it_before_it_appends() {
    let bench = Bench::of(6);
    let whole = bench.bytes();
    bench.write(&whole[..whole.len() - 1]);
    let seen = bench.read().unwrap();
    let journal = sched::journal::Journal::open(&bench.dir).unwrap();
    let mut locked = journal.lock(crate::support::WAIT, "the test").unwrap();
    locked.catch_up(&seen, |_, _, _| panic!("nothing is new")).unwrap();
    commit(&mut locked, 7).unwrap();
    drop(locked);
    assert!(bench.verify().damage.is_empty());
    let from_there = journal.read(&seen, |_, _, _| Ok(())).unwrap();
    assert_eq!(from_there.seq, 7, "and a reader goes on from before that newline");
}

#[test]
fn a_tail_of_zeros_is_a_write_that_never_finished() {
    for zeros in [1, 511, 4096, 4 << 20] {
        let bench = Bench::of(6);
        let whole = bench.bytes();
        bench.write(&[whole.clone(), vec![0; zeros]].concat());
        assert_eq!(kinds(&bench.verify()), ["TORN-TAIL"]);
        assert!(bench.verify().ok());
        let (_, position, notices) = bench.catch_up().unwrap();
        assert_eq!(position.seq, 6);
        assert!(says_quarantined(&notices, zeros));
        assert_eq!(bench.bytes(), whole);
    }
}

#[test]
fn a_block_that_never_reached_the_disk_is_torn_although_a_newline_ends_the_line() {
    let bench = Bench::of(5);
    let whole = bench.bytes();
    let tail = [vec![b'x'; 100], vec![0; 1100], b"rest\"}\n".to_vec()].concat();
    bench.write(&[whole.clone(), tail.clone()].concat());
    assert_eq!(kinds(&bench.verify()), ["TORN-TAIL"]);
    let (_, _, notices) = bench.catch_up().unwrap();
    assert!(says_quarantined(&notices, tail.len()));
    assert_eq!(bench.bytes(), whole);
}

#[test]
fn zeros_before_good_records_are_corruption() {
    let bench = Bench::of(6);
    let texts = lines(&bench.bytes());
    let zeros = vec![0; 4096];
    bench.write(&[texts[..3].concat(), zeros, texts[3..].concat()].concat());
    assert!(matches!(bench.refused(), JournalError::Rewritten { .. }));
    assert!(!bench.verify().ok());
    let bench = Bench::with(&bench.bytes(), Some(&Bench::of(3).head_at(3)));
    let error = bench.refused();
    assert!(matches!(error, JournalError::Corrupt { seq: 4, .. }), "{error}");
    assert_eq!(kinds(&bench.verify()), ["EDIT"]);
}

#[test]
fn a_whole_line_without_newline_that_does_not_belong_there_is_no_torn_write() {
    let bench = Bench::of(6);
    let texts = lines(&bench.bytes());
    let third = texts[2].trim_ascii_end();
    bench.write(&[&bench.bytes()[..], third].concat());
    assert!(matches!(bench.refused(), JournalError::Corrupt { seq: 7, .. }));
    assert!(!bench.verify().ok());
}

#[test]
fn a_whole_line_that_is_no_entry_is_no_torn_write_whatever_follows_it() {
    let bench = Bench::of(6);
    let whole = bench.bytes();
    let unknown = hashed(r#"{"v":1,"seq":7,"events":[{"type":"unheard-of"}]"#);
    let foreign = lines(&whole)[3].clone();
    for line in [unknown, foreign] {
        for after in [&b""[..], b"{\"v\":1,\"se", &[0; 2048]] {
            bench.write(&[&whole, &line[..], after].concat());
            let error = bench.refused();
            let at = whole.len() as u64;
            assert!(matches!(error, JournalError::Corrupt { offset, .. } if offset == at));
            assert!(!bench.verify().ok(), "{:?}", bench.verify().damage);
        }
    }
}

#[test]
fn entries_in_doubt_are_acknowledged_also_when_there_is_no_event() {
    let bench = Bench::of(6);
    let (whole, six) = (bench.bytes(), bench.head_at(6));
    for seen in 1..6 {
        bench.set_head(&bench.head_at(seen));
        let (_, position, notices) = bench.catch_up().unwrap();
        assert!(position.seq == 6 && notices.is_empty());
        assert_eq!(head_of(&bench), Head::At(six.clone()), "head was at {seen}");
        assert_eq!(bench.bytes(), whole);
    }
}

#[test]
fn the_first_entry_counts_when_its_writer_was_killed_before_it_acknowledged_it() {
    let bench = Bench::of(1);
    std::fs::write(bench.dir.join("head"), b"").unwrap();
    let (_, position, notices) = bench.catch_up().unwrap();
    assert!(position.seq == 1 && notices.is_empty());
    assert_eq!(head_of(&bench), Head::At(bench.head_at(1)));
}

#[test]
fn an_unreadable_head_is_said_and_work_goes_on() {
    for damaged in [vec![b'x'; 256], vec![0; 256], vec![b'x'; 7], Vec::new()] {
        let bench = Bench::of(6);
        std::fs::write(bench.dir.join("head"), &damaged).unwrap();
        let (_, position, notices) = bench.catch_up().unwrap();
        assert_eq!(position.seq, 6);
        let [Event::HeadUnreadable(said)] = notices.as_slice() else { panic!("{notices:?}") };
        assert_eq!(said.entries, 6);
        assert_eq!(head_of(&bench), Head::At(bench.head_at(6)));
    }
}

#[test]
fn an_empty_journal_under_a_head_that_was_written_is_refused() {
    let bench = Bench::of(6);
    bench.write(b"");
    assert!(matches!(bench.refused(), JournalError::Truncated { acknowledged: 6, .. }));
    std::fs::write(bench.dir.join("head"), [b'x'; 256]).unwrap();
    assert!(matches!(bench.refused(), JournalError::Truncated { .. }));
}

#[test]
fn a_journal_that_is_gone_though_acknowledged_is_refused_and_not_missing() {
    let bench = Bench::of(6);
    std::fs::remove_file(bench.path()).unwrap();
    assert!(matches!(bench.read(), Err(JournalError::Truncated { acknowledged: 6, .. })));
    assert_eq!(kinds(&bench.verify()), ["TRUNCATED"]);
    let made = sched::journal::Locked::create(&bench.dir, "the test");
    assert!(matches!(made, Err(JournalError::Exists { .. })));
    std::fs::write(bench.dir.join("head"), [b'x'; 256]).unwrap();
    assert!(matches!(bench.read(), Err(JournalError::Truncated { .. })));
    std::fs::remove_file(bench.dir.join("head")).unwrap();
    assert!(matches!(bench.read(), Err(JournalError::Missing { .. })));
}

#[test]
fn an_acknowledged_entry_that_is_another_one_now_is_rewritten() {
    let bench = Bench::of(6);
    let (five, texts) = (bench.head_at(5).hash, lines(&bench.bytes()));
    let short = crate::support::made(6, &five, vec![crate::support::event(2)]).0;
    let forged = String::from_utf8(texts[5].clone()).unwrap().replace("config-6", "config-7");
    let forged = hashed(forged.split(",\"hash\":\"").next().unwrap());
    let longer = [forged.clone(), short.clone()].concat();
    for last in [forged, hashed(&String::from_utf8_lossy(&short[..short.len() - 76])), longer] {
        bench.write(&[texts[..5].concat(), last].concat());
        let error = bench.refused();
        assert!(matches!(error, JournalError::Rewritten { seq: 6, .. }), "{error}");
        assert!(kinds(&bench.verify()).contains(&"REWRITTEN"));
    }
}

#[test]
fn a_shorter_forgery_of_an_acknowledged_entry_is_rewritten() {
    let bench = Bench::of(6);
    let (five, texts) = (bench.head_at(5).hash, lines(&bench.bytes()));
    let tiny = sched::domain::event::HeadUnreadable { entries: 1 }.into();
    let forged = crate::support::made(6, &five, vec![tiny]).0;
    bench.write(&[texts[..5].concat(), forged].concat());
    assert!(matches!(bench.refused(), JournalError::Rewritten { seq: 6, .. }));
    assert_eq!(kinds(&bench.verify()), ["REWRITTEN"]);
}

#[test]
fn a_position_that_is_gone_is_never_built_on() {
    let bench = Bench::of(6);
    let seen = bench.read().unwrap();
    let texts = lines(&bench.bytes());
    bench.write(&texts[..5].concat());
    let five = positions(&bench.bytes()).pop().unwrap();
    assert_eq!(five.hash, line::verified_hash(texts[4].trim_ascii_end()).unwrap());
    bench.set_head(&bench.head_at(5));
    let before = bench.bytes();
    let journal = sched::journal::Journal::open(&bench.dir).unwrap();
    let mut locked = journal.lock(crate::support::WAIT, "the test").unwrap();
    let caught_up = locked.catch_up(&seen, |_, _, _| Ok(()));
    assert!(matches!(caught_up, Err(JournalError::Rewritten { seq: 6, .. })), "{caught_up:?}");
    assert_eq!(bench.bytes(), before);
}
