//! A journal that is only shown: what cannot be read ends it, and is said after all that can.

use super::errors::CliError;
use crate::domain::event::Entry;
use crate::engine::Session;
use crate::journal::{JournalError, Position};
use std::cell::RefCell;

/// A session of a command that writes nothing.
pub struct Reading<'a> {
    /// The state before the damage, where there is any.
    pub session: Session<'a>,
    damage: RefCell<Option<JournalError>>,
}

impl<'a> Reading<'a> {
    /// Of a session, and what ended it.
    pub fn new(session: Session<'a>, damage: Option<JournalError>) -> Self {
        Self { session, damage: RefCell::new(damage) }
    }

    /// Hands over every entry that can be read.
    pub fn entries(&self, mut each: impl FnMut(&Entry, &Position)) {
        let read = self.session.journal().show(&Position::start(), |entry, at, _| {
            each(entry, at);
            Ok(())
        });
        if let Err(damage) = read {
            self.damage.replace(Some(damage));
        }
    }

    /// Shows something, and then says what could not be read: what is missing may stand there.
    ///
    /// # Errors
    /// The damage, or what the showing came to.
    pub fn show(
        mut self,
        show: impl FnOnce(&mut Self) -> Result<u8, CliError>,
    ) -> Result<u8, CliError> {
        let shown = show(&mut self);
        match self.damage.into_inner() {
            Some(damage) if shown.as_ref().map_or_else(|e| e.code != 141, |_| true) => {
                Err(damage.into())
            }
            _ => shown,
        }
    }
}
