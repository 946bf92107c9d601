//! Checkpoints are a cache: one is believed only where the journal has its very line, and only
//! when this program folds as the one that made it.

use crate::support::{Bench, WAIT, commit, positions};
use sched::domain::state::State;
use sched::journal::{Journal, Position};
use sched::projection::{Cache, Projection};

/// A journal of three entries with a checkpoint behind the third.
fn saved() -> (Bench, Projection) {
    let bench = Bench::of(3);
    let position = positions(&bench.bytes())[2].clone();
    let mut state = State::default();
    (state.head.seq, state.head.hash) = (position.seq, position.hash.clone());
    let projection = Projection::of(&bench.dir);
    projection.save(&state, &position);
    (bench, projection)
}

fn loaded(bench: &Bench, projection: &Projection) -> Option<Position> {
    projection.load(&Journal::open(&bench.dir).unwrap()).map(|(_, position)| position)
}

#[test]
fn a_checkpoint_is_believed_only_where_its_line_is() {
    let (bench, projection) = saved();
    let third = positions(&bench.bytes())[2].clone();
    assert_eq!(loaded(&bench, &projection), Some(third.clone()));
    bench.write(&bench.bytes()[..usize::try_from(third.offset).unwrap() - 10]);
    assert_eq!(loaded(&bench, &projection), None, "a line that is cut off");

    let other = Bench::of(2);
    let mut locked = Journal::open(&other.dir).unwrap().lock(WAIT, "the test").unwrap();
    locked.catch_up(&Position::start(), |_, _, _| Ok(())).unwrap();
    let another = commit(&mut locked, 7).unwrap();
    assert_eq!((another.seq, another.hash == third.hash), (3, false));
    bench.write(&other.bytes());
    assert_eq!(loaded(&bench, &projection), None, "another third entry");
}

#[test]
fn a_checkpoint_of_a_program_that_folds_otherwise_is_thrown_away() {
    let (bench, projection) = saved();
    let cache = rusqlite::Connection::open(bench.dir.join("projection.sqlite")).unwrap();
    let changed = cache.execute("UPDATE checkpoint SET fold_version = 'another'", []).unwrap();
    assert_eq!((changed, loaded(&bench, &projection)), (1, None));
}
