//! A journal with the state it amounts to, and the only way to change either:
//! [`Session::transact`].

use super::error::EngineError;
use super::home::Home;
use super::past::past;
use super::ports::Clock;
use crate::domain::apply::{fold, retire};
use crate::domain::command::Command;
use crate::domain::event::{Entry, Event, JournalRepaired, Place, SCHEMA_DIGEST, VERSION, Writer};
use crate::domain::fact::Input;
use crate::domain::ids::{IssueId, JournalId};
use crate::domain::rules::{Ids, decide, named_in};
use crate::domain::state::{Settled, State};
use crate::journal::{Journal, JournalError, Locked, Position, Repair};
use crate::projection::Rest;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a command waits for the journal's lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A journal that is followed.
pub struct Session<'a> {
    home: Home<'a>,
    journal: Journal,
    role: Writer,
    holder: String,
    /// The state behind the last entry that was read.
    pub state: State,
    position: Position,
    saved: u64,
    /// How long to wait for the lock.
    pub lock_wait: Duration,
}

impl<'a> Session<'a> {
    /// Opens a state directory: the checkpoint, and what came after it.
    ///
    /// # Errors
    /// [`EngineError`] when there is no journal, or it is damaged.
    pub fn open(dir: &Path, clock: &'a dyn Clock, role: Writer) -> Result<Self, EngineError> {
        Home::at(dir, clock).open(role)
    }

    pub(super) fn open_in(home: Home<'a>, role: Writer) -> Result<Self, EngineError> {
        let mut session = Self::at_checkpoint(home, role)?;
        session.refresh()?;
        session.check_begun()?;
        Ok(session)
    }

    /// Opens a state directory to show what is in it: the state before whatever cannot be read,
    /// and what that is.
    ///
    /// # Errors
    /// [`EngineError`] when there is nothing to show.
    pub fn open_to_show(
        dir: &Path,
        clock: &'a dyn Clock,
    ) -> Result<(Self, Option<JournalError>), EngineError> {
        let mut session = Self::at_checkpoint(Home::at(dir, clock), Writer::Operator)?;
        let from = session.position.clone();
        let path = session.journal.path().to_owned();
        let (state, position) = (&mut session.state, &mut session.position);
        let read = session.journal.show(&from, following(state, position, &path));
        let damage = match read {
            Ok(end) => {
                *position = end;
                None
            }
            Err(damage) => Some(damage),
        };
        session.check_draft()?;
        if let Some(JournalError::Illegal { seq, .. }) = damage {
            // the state is of no use behind what cannot have happened
            let past = past(&session.journal, &|_, at| at.seq < seq);
            (session.state, session.position) = (past.state, past.position);
        }
        match damage {
            Some(damage) if session.position.seq == 0 => Err(damage.into()),
            damage => session.check_begun().map(|()| (session, damage)),
        }
    }

    /// A journal without a whole entry is none: its maker was killed before it had said that
    /// there is one, and there is nothing to build on.
    fn check_begun(&self) -> Result<(), EngineError> {
        match self.position.seq {
            0 => Err(JournalError::Missing { dir: self.dir() }.into()),
            _ => Ok(()),
        }
    }

    fn at_checkpoint(home: Home<'a>, role: Writer) -> Result<Self, EngineError> {
        let journal = Journal::open_in(Arc::clone(&home.files))?;
        let loaded = home.cache.load(&journal);
        let (state, position) = loaded.unwrap_or_else(|| (State::default(), Position::start()));
        let saved = position.seq;
        let by = home.clock.by(role, &home.clock.now());
        Ok(Self {
            home,
            journal,
            role,
            holder: format!("{} (pid {})", role_name(role), by.pid),
            state,
            position,
            saved,
            lock_wait: LOCK_WAIT,
        })
    }

    /// The state directory.
    pub fn dir(&self) -> PathBuf {
        self.journal.dir().to_owned()
    }

    /// The journal.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The clock.
    pub fn clock(&self) -> &'a dyn Clock {
        self.home.clock
    }

    /// What stands behind the state directory.
    pub fn home(&self) -> &Home<'a> {
        &self.home
    }

    /// Behind the last entry that was read.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Whether the journal has grown since it was read last: one look at its length.
    pub fn has_grown(&self) -> bool {
        self.journal.length().is_ok_and(|length| length != self.position.offset)
    }

    /// Reads what others have appended since. Never writes.
    ///
    /// # Errors
    /// [`EngineError`] when the journal is damaged.
    pub fn refresh(&mut self) -> Result<(), EngineError> {
        let (from, path) = (self.position.clone(), self.journal.path().to_owned());
        let (state, position) = (&mut self.state, &mut self.position);
        let read = self.journal.read(&from, following(state, position, &path));
        self.check_draft()?; // what its words mean is unknown: no damage
        self.position = read?;
        Ok(())
    }

    /// A journal of another draft of the open version is somebody else's.
    fn check_draft(&self) -> Result<(), EngineError> {
        let found = self.state.journal.as_ref().and_then(|j| j.draft.clone());
        match found {
            Some(found) if found != SCHEMA_DIGEST.trim() => Err(JournalError::OtherDraft {
                path: self.journal.path().to_owned(),
                version: VERSION,
                found,
            }
            .into()),
            _ => Ok(()),
        }
    }

    /// Decides on the state as it is at the commit, and commits what follows as one line. No
    /// events: nothing follows.
    ///
    /// # Errors
    /// [`EngineError`]: a refusal, or the journal could not be written; nothing was committed.
    pub fn transact(&mut self, input: &Input) -> Result<Vec<Event>, EngineError> {
        let mut locked = self.journal.lock(self.lock_wait, &self.holder)?;
        self.catch_up(&mut locked)?;
        self.check_draft()?;
        let anywhere =
            |command: &Command| matches!(command, Command::Create(..) | Command::Adopt { .. });
        if !matches!(input, Input::Command(command) if anywhere(command)) {
            self.check_place(&mut locked)?;
        }
        self.decide(&mut locked, input)
    }

    /// Makes a new journal in a state directory, with its first entry.
    ///
    /// # Errors
    /// As [`Home::create`].
    pub fn create(dir: &Path, clock: &'a dyn Clock, first: &Command) -> Result<Self, EngineError> {
        Home::at(dir, clock).create(first)
    }

    /// Gives up everything from one entry on; the entry that says so blocks what it named.
    ///
    /// # Errors
    /// [`EngineError`] when that is no place to cut, or the journal cannot be written.
    pub fn repair(
        dir: &Path,
        clock: &'a dyn Clock,
        from_seq: u64,
    ) -> Result<(Self, Vec<Event>), EngineError> {
        let now = clock.now();
        let by = clock.by(Writer::Operator, &now);
        let holder = format!("sched journal repair (pid {})", by.pid);
        let mut state = State::default();
        let path = dir.to_owned();
        let repair = Repair::begin(dir, from_seq, &holder, |entry, at| {
            follow(&mut state, entry, at, 0, &path)
        })?;
        let repaired = JournalRepaired {
            from_seq,
            offset: repair.position.offset,
            bytes: repair.bytes,
            sha256: repair.sha256.clone(),
            units: named_in(&repair.text, repair.missing, &state),
        };
        let input = Input::Command(Command::Repaired(repaired));
        let events = decide(&state, &input, &now, &mut Ids::new(clock.unique()))?;
        let not_before = state.head.stamp.at;
        repair.finish(by, now.wall, not_before, clock.unique(), events.clone())?;
        Ok((Self::open(dir, clock, Writer::Operator)?, events))
    }

    fn catch_up(&mut self, locked: &mut Locked) -> Result<(), EngineError> {
        let (from, path) = (self.position.clone(), self.journal.path().to_owned());
        let (state, position) = (&mut self.state, &mut self.position);
        self.position = locked.catch_up(&from, following(state, position, &path))?;
        Ok(())
    }

    fn decide(&mut self, locked: &mut Locked, input: &Input) -> Result<Vec<Event>, EngineError> {
        let clock = self.home.clock;
        let now = clock.now();
        let mut ids = Ids::new(clock.unique());
        let mut events = locked.notices();
        let decided = decide(&self.state, input, &now, &mut ids);
        let refusal = match decided {
            Ok(decided) => {
                events.extend(decided);
                None
            }
            Err(refusal) => Some(refusal),
        };
        if !events.is_empty() {
            let by = clock.by(self.role, &now);
            let not_before = self.state.head.stamp.at;
            let id = clock.unique();
            let done = locked.commit(by, now.wall, not_before, id, events.clone())?;
            self.take(&done.entry, &done.position)?;
        }
        match refusal {
            Some(refusal) => Err(refusal.into()),
            None => Ok(events),
        }
    }

    fn take(&mut self, entry: &Entry, position: &Position) -> Result<(), EngineError> {
        let path = self.journal.path().to_owned();
        follow(&mut self.state, entry, position, 0, &path)?;
        self.position = position.clone();
        Ok(())
    }

    /// A writer that finds itself in another place holds a copy, or a restored backup.
    fn check_place(&mut self, locked: &mut Locked) -> Result<(), EngineError> {
        let Some(place) = self.elsewhere()? else { return Ok(()) };
        let journal = JournalId(self.home.clock.unique());
        let adopt = Command::Adopt { journal, place, insist: false };
        self.decide(locked, &Input::Command(adopt)).map(drop)
    }

    /// Where the state directory is, when that is not where its journal was made or adopted: it
    /// is a copy.
    ///
    /// # Errors
    /// [`EngineError`] when the place cannot be looked at.
    pub fn elsewhere(&self) -> Result<Option<Place>, EngineError> {
        let here = self.home.files.place()?;
        let home = self.state.journal.as_ref().map(|journal| &journal.place);
        Ok(Some(here).filter(|here| home.is_some_and(|home| home != here)))
    }

    /// What is remembered of an issue that left the working state.
    pub fn settled(&self, issue: &IssueId) -> Option<Settled> {
        self.state.settled.get(issue).cloned().or_else(|| self.home.cache.settled(issue))
    }

    /// Leaves the note that nothing can happen for now; best effort.
    pub fn note_rest(&self) {
        if let Some(rest) = Rest::of(&self.state, &self.position) {
            self.home.cache.note_rest(&rest);
        }
    }

    /// Remembers the state for the next command; best effort.
    pub fn save(&mut self) {
        if self.position.seq > self.saved {
            self.home.cache.save(&self.state, &self.position);
            self.saved = self.position.seq;
        }
    }
}

fn role_name(role: Writer) -> &'static str {
    match role {
        Writer::Tick => "sched tick",
        Writer::Supervisor => "sched supervise",
        Writer::Operator => "sched",
        Writer::Agent => "sched post",
        Writer::Import => "sched import",
        Writer::Migrate => "sched migrate",
    }
}

/// Folds entry after entry; state and position go on together, whatever ends it.
fn following<'s>(
    state: &'s mut State,
    position: &'s mut Position,
    path: &'s Path,
) -> impl FnMut(&Entry, &Position, &[u8]) -> Result<(), JournalError> + 's {
    |entry, at, line| {
        follow(state, entry, at, line.len(), path)?;
        position.clone_from(at);
        Ok(())
    }
}

/// Folds one entry; what cannot have happened is damage, with its place.
pub(super) fn follow(
    state: &mut State,
    entry: &Entry,
    at: &Position,
    length: usize,
    path: &Path,
) -> Result<(), JournalError> {
    fold(state, entry, &at.hash).map_err(|illegal| JournalError::Illegal {
        path: path.to_owned(),
        seq: at.seq,
        offset: at.offset.saturating_sub(length as u64),
        message: illegal.to_string(),
    })?;
    retire(state);
    Ok(())
}
