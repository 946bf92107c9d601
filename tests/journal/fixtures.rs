//! `fixtures/journals/damaged`: one journal for each kind of damage.

use crate::support::{event, hashed, kinds, made};
use sched::audit::verify;
use sched::journal::line::GENESIS;
use std::path::{Path, PathBuf};

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/damaged")
}

/// Each kind and its bytes, always the same.
fn damaged() -> Vec<(&'static str, Vec<u8>)> {
    let mut prev = GENESIS.to_owned();
    let mut hashes = Vec::new();
    let mut texts = Vec::new();
    for seq in 1..=4 {
        let (text, hash) = made(seq, &prev, vec![event(seq)]);
        prev.clone_from(&hash);
        texts.push(text);
        hashes.push(hash);
    }
    let other = made(4, &hashes[2], vec![event(9)]).0;
    let edited = String::from_utf8(texts[1].clone()).unwrap().replace("config-2", "config-3");
    let newer = hashed(&format!(r#"{{"v":2,"seq":5,"prev":"{prev}""#));
    let of = |order: &[usize]| order.iter().flat_map(|at| texts[*at].clone()).collect::<Vec<_>>();
    let three = of(&[0, 1, 2]);
    vec![
        ("EDIT", [of(&[0]), edited.into_bytes(), of(&[2, 3])].concat()),
        ("GAP", of(&[0, 2, 3])),
        ("FORK", [of(&[0, 1, 2, 3]), other.clone()].concat()),
        ("REORDER", of(&[0, 2, 1, 3])),
        (
            "CONFLICT-MARKERS",
            [&three[..], b"<<<<<<< ours\n", &texts[3], b"=======\n", &other, b">>>>>>> theirs\n"]
                .concat(),
        ),
        ("VERSION", [of(&[0, 1, 2, 3]), newer].concat()),
        ("TORN-TAIL", [three, texts[3][..100].to_vec()].concat()),
    ]
}

#[test]
#[ignore = "writes the fixtures anew"]
fn write_the_damaged_journals() {
    for (kind, bytes) in damaged() {
        std::fs::create_dir_all(dir().join(kind)).unwrap();
        std::fs::write(dir().join(kind).join("journal.jsonl"), bytes).unwrap();
    }
}

#[test]
fn every_damaged_journal_is_what_its_name_says() {
    for (kind, bytes) in damaged() {
        let path = dir().join(kind).join("journal.jsonl");
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{kind}: run with --ignored");
        let report = verify::files(&[path]).unwrap();
        assert_eq!(kinds(&report), [kind], "{:?}", report.damage);
        assert_eq!(report.ok(), kind == "TORN-TAIL");
    }
}
