//! A journal with the state it amounts to, and the only way to change either:
//! [`Session::transact`].

use super::error::EngineError;
use super::ports::Clock;
use crate::domain::apply::{fold, retire};
use crate::domain::command::Command;
use crate::domain::event::{Entry, Event, JournalRepaired, SCHEMA_DIGEST, VERSION, Writer};
use crate::domain::fact::Input;
use crate::domain::ids::{IssueId, JournalId};
use crate::domain::rules::{Ids, decide, named_in};
use crate::domain::state::{Settled, State};
use crate::journal::{Journal, JournalError, Locked, Position, Repair, place};
use crate::projection::{Projection, Rest};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

/// How long a command waits for the journal's lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A journal that is followed.
pub struct Session<'a> {
    journal: Journal,
    projection: Projection,
    clock: &'a dyn Clock,
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
        let journal = Journal::open(dir)?;
        let projection = Projection::of(dir);
        let loaded = projection.load(&journal);
        let (state, position) = loaded.unwrap_or_else(|| (State::default(), Position::start()));
        let saved = position.seq;
        let by = clock.by(role, &clock.now());
        let mut session = Self {
            journal,
            projection,
            clock,
            role,
            holder: format!("{} (pid {})", role_name(role), by.pid),
            state,
            position,
            saved,
            lock_wait: LOCK_WAIT,
        };
        session.refresh()?;
        if session.position.seq == 0 {
            // its maker was killed before it had said that there is one: nothing to build on
            return Err(JournalError::Missing { dir: dir.to_owned() }.into());
        }
        Ok(session)
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
        self.clock
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
        let (state, path) = (&mut self.state, self.journal.path().to_owned());
        let position = self
            .journal
            .read(&self.position, |entry, at, line| follow(state, entry, at, line.len(), &path))?;
        self.position = position;
        self.check_draft()
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

    /// Makes a new journal with its first entry.
    ///
    /// # Errors
    /// [`EngineError`] when there is one already, or it cannot be written.
    pub fn create(dir: &Path, clock: &'a dyn Clock, first: &Command) -> Result<Self, EngineError> {
        let now = clock.now();
        let by = clock.by(Writer::Operator, &now);
        let mut locked = Locked::create(dir, &format!("sched (pid {})", by.pid))?;
        let mut ids = Ids::new(Uuid::now_v7());
        let input = Input::Command(first.clone());
        let mut events = decide(&State::default(), &input, &now, &mut ids)?;
        events.extend(locked.notices()); // that there is a journal comes first
        locked.commit(by, now.wall, now.wall, Uuid::now_v7(), events)?;
        drop(locked);
        Self::open(dir, clock, Writer::Operator)
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
        let events = decide(&state, &input, &now, &mut Ids::new(Uuid::now_v7()))?;
        let not_before = state.head.stamp.at;
        repair.finish(by, now.wall, not_before, Uuid::now_v7(), events.clone())?;
        Ok((Self::open(dir, clock, Writer::Operator)?, events))
    }

    fn catch_up(&mut self, locked: &mut Locked) -> Result<(), EngineError> {
        let (state, path) = (&mut self.state, self.journal.path().to_owned());
        let position = locked.catch_up(&self.position, |entry, at, line| {
            follow(state, entry, at, line.len(), &path)
        })?;
        self.position = position;
        Ok(())
    }

    fn decide(&mut self, locked: &mut Locked, input: &Input) -> Result<Vec<Event>, EngineError> {
        let now = self.clock.now();
        let mut ids = Ids::new(Uuid::now_v7());
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
            let by = self.clock.by(self.role, &now);
            let not_before = self.state.head.stamp.at;
            let id = Uuid::now_v7();
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
        let here = place::place(self.journal.dir())?;
        let known = self.state.journal.as_ref().map(|j| j.place.clone());
        if known.is_none_or(|known| known == here) {
            return Ok(());
        }
        let journal = JournalId(Uuid::now_v7());
        let adopt = Command::Adopt { journal, place: here, insist: false };
        self.decide(locked, &Input::Command(adopt)).map(drop)
    }

    /// What is remembered of an issue that left the working state.
    pub fn settled(&self, issue: &IssueId) -> Option<Settled> {
        self.state.settled.get(issue).cloned().or_else(|| self.projection.settled(issue))
    }

    /// Leaves the note that nothing can happen for now; best effort.
    pub fn note_rest(&self) {
        if let Some(rest) = Rest::of(&self.state, &self.position) {
            rest.write(self.journal.dir());
        }
    }

    /// Remembers the state for the next command; best effort.
    pub fn save(&mut self) {
        if self.position.seq > self.saved {
            self.projection.save(&self.state, &self.position);
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

/// Folds one entry; what cannot have happened is damage, with its place.
fn follow(
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
