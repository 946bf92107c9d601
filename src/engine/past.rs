//! The state as it was, folded from the first entry. For showing only: nothing is decided on it.

use super::session::follow;
use crate::domain::event::Entry;
use crate::domain::state::State;
use crate::journal::{Journal, JournalError, Position};

/// What a journal amounted to.
#[derive(Debug)]
pub struct Past {
    /// The state behind the last entry that was wanted and could be read.
    pub state: State,
    /// Where that is.
    pub position: Position,
    /// Whether an entry that was not wanted follows.
    pub goes_on: bool,
    /// Why the rest cannot be read.
    pub damage: Option<JournalError>,
}

/// Folds what is wanted of a journal, up to where it can be read.
pub fn past(journal: &Journal, wanted: &dyn Fn(&Entry, &Position) -> bool) -> Past {
    let mut past =
        Past { state: State::default(), position: Position::start(), goes_on: false, damage: None };
    let read = journal.show(&Position::start(), |entry, at, line| {
        past.goes_on |= !wanted(entry, at);
        if !past.goes_on {
            follow(&mut past.state, entry, at, line.len(), journal.path())?;
            past.position.clone_from(at);
        }
        Ok(())
    });
    past.damage = read.err();
    if let Some(JournalError::Illegal { seq, .. }) = past.damage {
        // the state is of no use behind what cannot have happened
        let before = |entry: &Entry, at: &Position| at.seq < seq && wanted(entry, at);
        return Past { damage: past.damage, goes_on: false, ..self::past(journal, &before) };
    }
    past
}
