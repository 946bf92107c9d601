//! A tick: look, decide, commit, pay, until nothing changes.
//!
//! A tick never waits for long work: whatever can take longer than a second is a dispatch.

use super::error::EngineError;
use super::look::Eyes;
use super::pay::{Hands, Paid};
use super::ports::git::Git;
use super::ports::{Processes, Runs};
use super::session::Session;
use crate::crash;
use crate::domain::effect::{Effect, Probe};
use crate::domain::event::Event;
use crate::domain::fact::{Fact, Input, TickSeen};
use crate::domain::ids::DispatchId;
use crate::domain::rules::is_overdue;
use crate::domain::state::State;
use crate::domain::{owed, rests, wants};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The world as a tick needs it.
pub struct World<'a> {
    /// Processes that others started.
    pub processes: &'a dyn Processes,
    /// The evidence of dispatches.
    pub runs: &'a dyn Runs,
    /// The repository, where there is one.
    pub git: Option<&'a dyn Git>,
    /// What stands in the configuration file and on the disk now.
    pub seen: &'a dyn Fn(&Session<'_>) -> TickSeen,
    /// Whether somebody told us to leave.
    pub told_to_leave: &'a dyn Fn() -> bool,
}

/// What a tick did.
#[derive(Debug, Default)]
pub struct Report {
    /// The events it committed, line by line.
    pub lines: Vec<Vec<Event>>,
    /// What could not be paid and is left to a later tick.
    pub later: Vec<String>,
}

/// A bound on rounds: more than this means that two rules undo each other.
const ROUNDS: u32 = 100_000;

/// Runs one tick. The caller holds `tick.lock`.
///
/// # Errors
/// [`EngineError`] when the journal cannot be read or written; what was committed stays.
pub fn tick(session: &mut Session<'_>, world: &World<'_>) -> Result<Report, EngineError> {
    let mut report = Report::default();
    crash::point("tick-locked");
    let mut seen = (world.seen)(session);
    seen.waited = look_at_overdue(session, world, &mut report)?;
    commit(session, &mut report, Fact::Tick(seen))?;
    let mut paid = BTreeSet::new();
    let mut looked = BTreeSet::new();
    for _ in 0..ROUNDS {
        let before = report.lines.len();
        look(session, world, &mut report, &mut looked)?;
        crash::point("tick-looked");
        let fresh = pay(session, world, &mut report, &mut paid)?;
        let quiet = report.lines.len() == before && !fresh;
        if quiet || (world.told_to_leave)() {
            break;
        }
    }
    crash::point("tick-quiet");
    session.save();
    if rests(&session.state, &session.clock().now()) {
        session.note_rest();
    }
    Ok(report)
}

fn commit(session: &mut Session<'_>, report: &mut Report, fact: Fact) -> Result<(), EngineError> {
    match session.transact(&Input::Fact(fact)) {
        Ok(events) if events.is_empty() => Ok(()),
        Ok(events) => {
            report.lines.push(events);
            crash::point("tick-decided");
            Ok(())
        }
        // a fact that the rules refuse has become stale
        Err(EngineError::Refused(refusal))
            if refusal.kind != crate::domain::refusal::RefusalKind::Place =>
        {
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Before bounds count, those whose bound has come are looked at. Crash story: a supervisor is
/// killed behind its receipt, nobody ticks for longer than the timeout, and the next tick must
/// not stop for its time what has long been done. How long they waited for their trees is told.
fn look_at_overdue(
    session: &mut Session<'_>,
    world: &World<'_>,
    report: &mut Report,
) -> Result<BTreeMap<DispatchId, Duration>, EngineError> {
    let eyes = Eyes { processes: world.processes, runs: world.runs, git: world.git };
    let (state, now) = (&session.state, session.clock().now());
    let overdue = state.dispatches.values().filter(|d| is_overdue(state, d, &now));
    let overdue: Vec<DispatchId> = overdue.map(|d| d.id).collect();
    let mut all = BTreeMap::new();
    for id in overdue {
        match eyes.look(&session.state, &Probe::Alive(id)) {
            Some(fact) => commit(session, report, fact)?,
            None => drop(all.insert(id, waited(&session.state, world.runs, id))),
        }
    }
    Ok(all)
}

/// How long the command of a dispatch was kept from running once that had started.
fn waited(state: &State, runs: &dyn Runs, id: DispatchId) -> Duration {
    if !runs.ran(id) {
        return Duration::MAX;
    }
    let started = state.dispatch(&id).and_then(|dispatch| dispatch.started_at.as_ref());
    let between = runs.ran_up(id).zip(started).map(|(ran, at)| ran.saturating_sub(at.up));
    Duration::from_millis(between.unwrap_or_default())
}

fn look(
    session: &mut Session<'_>,
    world: &World<'_>,
    report: &mut Report,
    looked: &mut BTreeSet<Probe>,
) -> Result<(), EngineError> {
    let eyes = Eyes { processes: world.processes, runs: world.runs, git: world.git };
    for probe in wants(&session.state, &session.clock().now()) {
        if matches!(probe, Probe::Integration(_)) && !looked.insert(probe.clone()) {
            continue; // once per tick: it costs a process
        }
        if (world.told_to_leave)() {
            break;
        }
        if let Some(fact) = eyes.look(&session.state, &probe) {
            commit(session, report, fact)?;
        }
    }
    Ok(())
}

/// Pays each effect that has not been paid by this tick. Whether there was any.
fn pay(
    session: &mut Session<'_>,
    world: &World<'_>,
    report: &mut Report,
    paid: &mut BTreeSet<String>,
) -> Result<bool, EngineError> {
    let clock = session.clock();
    let hands = Hands { clock, processes: world.processes, runs: world.runs, git: world.git };
    let mut any = false;
    let due: Vec<Effect> = owed(&session.state, &session.clock().now());
    for effect in due {
        if (world.told_to_leave)() {
            break;
        }
        if !paid.insert(effect.key()) || !still_owed(session, &effect) {
            continue;
        }
        any = true;
        match hands.pay(&effect) {
            Paid::Done => {}
            Paid::Fact(fact) => commit(session, report, *fact)?,
            Paid::Later(why) => report.later.push(why),
        }
    }
    Ok(any)
}

/// Paying one effect may have changed what the others are worth.
fn still_owed(session: &Session<'_>, effect: &Effect) -> bool {
    match effect {
        Effect::Start { dispatch } => {
            session.state.dispatch(dispatch).is_some_and(|d| !d.is_started())
        }
        Effect::Signal { dispatch, .. } => session.state.dispatch(dispatch).is_some(),
        _ => true,
    }
}

/// Pays only the signals that the state owes: what an operator's own line may do at once.
pub fn pay_signals(session: &Session<'_>, processes: &dyn Processes) {
    for effect in owed(&session.state, &session.clock().now()) {
        if let Effect::Signal { process, kill, .. } = effect {
            crash::point("pay-signal");
            processes.signal(&process, kill);
        }
    }
}

/// Starts one planned dispatch: a recheck, which is the one thing an operator's command starts.
///
/// # Errors
/// Why its supervisor could not be started.
pub fn start_one(
    runs: &dyn Runs,
    processes: &dyn Processes,
    dispatch: crate::domain::ids::DispatchId,
) -> Result<(), String> {
    runs.prepare(dispatch)?;
    processes.start_supervisor(dispatch)
}
