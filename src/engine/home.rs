//! What stands behind a state directory: its files, what is remembered beside them, and time.

use super::error::EngineError;
use super::ports::Clock;
use super::session::Session;
use crate::domain::command::Command;
use crate::domain::event::Writer;
use crate::domain::fact::Input;
use crate::domain::rules::{Ids, decide};
use crate::domain::state::State;
use crate::journal::{Directory, Files, Held, Journal, JournalError, Locked, TICK_LOCK};
use crate::projection::{Cache, Projection, Rest};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Where a scheduler lives.
#[derive(Clone)]
pub struct Home<'a> {
    /// Its files and locks.
    pub files: Arc<dyn Files>,
    /// What is remembered to be quicker.
    pub cache: Arc<dyn Cache>,
    /// Clocks, and who we are.
    pub clock: &'a dyn Clock,
}

impl<'a> Home<'a> {
    /// In a directory of the machine.
    pub fn at(dir: &Path, clock: &'a dyn Clock) -> Self {
        let files = Arc::new(Directory::new(dir));
        Self { files, cache: Arc::new(Projection::of(dir)), clock }
    }

    /// Opens the journal: the checkpoint, and what came after it.
    ///
    /// # Errors
    /// [`EngineError`] when there is no journal, or it is damaged.
    pub fn open(&self, role: Writer) -> Result<Session<'a>, EngineError> {
        Session::open_in(self.clone(), role)
    }

    /// Makes a new journal with its first entry.
    ///
    /// # Errors
    /// [`EngineError`] when there is one already, or it cannot be written.
    pub fn create(&self, first: &Command) -> Result<Session<'a>, EngineError> {
        let now = self.clock.now();
        let by = self.clock.by(Writer::Operator, &now);
        let holder = format!("sched (pid {})", by.pid);
        let mut locked = Locked::create_in(Arc::clone(&self.files), &holder)?;
        let mut ids = Ids::new(self.clock.unique());
        let input = Input::Command(first.clone());
        let mut events = decide(&State::default(), &input, &now, &mut ids)?;
        events.extend(locked.notices()); // that there is a journal comes first
        locked.commit(by, now.wall, now.wall, self.clock.unique(), events)?;
        drop(locked);
        self.open(Writer::Operator)
    }

    /// Takes `tick.lock`. `None`: somebody else ticks.
    ///
    /// # Errors
    /// [`JournalError`] when the lock file cannot be used.
    pub fn tick_lock(&self, wait: Duration) -> Result<Option<Box<dyn Held>>, JournalError> {
        let now = self.clock.now();
        let by = self.clock.by(Writer::Tick, &now);
        let holder = format!("sched tick (pid {}, since {})", by.pid, now.wall);
        match self.files.lock(TICK_LOCK, wait, &holder) {
            Ok(lock) => Ok(Some(lock)),
            Err(JournalError::Locked { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The note of a tick that found nothing to do, where nothing has happened since: neither in
    /// the journal nor in what `still` looks at.
    ///
    /// # Errors
    /// [`EngineError`] when the journal cannot be looked at.
    pub fn at_rest(&self, still: impl FnOnce(&Rest) -> bool) -> Result<Option<Rest>, EngineError> {
        // whatever is wrong with the journal is said by the tick that reads it
        let Ok(journal) = Journal::open_in(Arc::clone(&self.files)) else { return Ok(None) };
        let rest = self.cache.rest().filter(|rest| rest.is_confirmed_by(&journal));
        let here = |rest: &Rest| self.files.place().is_ok_and(|place| place == rest.place);
        let Some(rest) = rest.filter(|rest| here(rest) && still(rest)) else { return Ok(None) };
        let Some(_lock) = self.tick_lock(Duration::ZERO)? else { return Ok(None) };
        let grown = journal.length()? != rest.position.offset; // meanwhile
        Ok((!grown).then_some(rest))
    }
}
