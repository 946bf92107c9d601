//! `sched tick`: one pass until quiet.

use crate::cli::context::{Context, Surroundings, last_tick, still_rests};
use crate::cli::errors::CliError;
use crate::cli::{output, prose};
use crate::domain::event::{Event, Severity, Writer};
use crate::domain::time::Timestamp;
use crate::engine::ports::Clock;
use crate::engine::tick::{Report, tick};
use crate::engine::{Home, Session};
use crate::journal::{FileLock, Position, TICK_LOCK};
use std::sync::Arc;
use std::time::Duration;

/// How long a second tick waits before it leaves quietly.
const BRIEFLY: Duration = Duration::from_millis(100);
/// A holder that has ticked for longer than this without a new entry is worth a word.
const STUCK: Duration = Duration::from_secs(60);

pub(super) fn run(context: &Context) -> Result<u8, CliError> {
    context.refuse_inside("tick")?;
    if let Some(head) = nothing_to_do(context)? {
        return say(context, &head, &Report::default()).map(|()| 0);
    }
    let begun = context.clock.now().wall;
    let mut session = context.session(Writer::Tick)?;
    let Some(report) = locked_tick(context, &mut session, BRIEFLY)? else {
        return busy(context, &session);
    };
    say(context, session.position(), &report)?;
    Ok(u8::from(
        !report.later.is_empty() || report.lines.iter().flatten().any(|e| is_news(e, begun)),
    ))
}

/// What cron's mail is to tell, once: something began to be wrong.
fn is_news(event: &Event, begun: Timestamp) -> bool {
    match event {
        Event::ConditionRaised(e) => e.severity == Severity::Error && e.since >= begun,
        Event::ProfileSuspended(_) | Event::SpawnFailing(_) | Event::DispatchUnhealthy(_) => true,
        Event::BatchBlocked(e) => e.reason == "reconcile-error",
        Event::IssueBlocked(e) => e.reason == "reconcile-error",
        _ => false,
    }
}

/// The head of a journal over which a tick has nothing to do, as an earlier one noted.
fn nothing_to_do(context: &Context) -> Result<Option<Position>, CliError> {
    if context.global.config.is_some() {
        return Ok(None);
    }
    let dir = context.absolute_dir()?;
    let rest = Home::at(&dir, &context.clock).at_rest(|rest| still_rests(rest, &dir))?;
    Ok(rest.map(|rest| rest.position))
}

/// Ticks under `tick.lock`. `None`: somebody else ticks.
///
/// # Errors
/// [`CliError`].
pub fn locked_tick(
    context: &Context,
    session: &mut Session<'_>,
    wait: Duration,
) -> Result<Option<Report>, CliError> {
    let before = last_tick(&session.dir());
    let Some(lock) = session.home().tick_lock(wait)? else { return Ok(None) };
    let lock = lock.descriptor();
    let around = Surroundings::of(session, &context.global, lock).after(before);
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        // without the handler a signal ends the tick at once, which is safe too
        let _ = signal_hook::flag::register(signal, Arc::clone(&around.told));
    }
    Ok(Some(around.with(|world| tick(session, world))?))
}

/// Another tick is running: fine, unless it has been stuck for long.
fn busy(context: &Context, session: &Session<'_>) -> Result<u8, CliError> {
    let dir = session.dir();
    let now = session.clock().now().wall;
    let held = last_tick(&dir).map_or(Duration::ZERO, |since| now.since(since));
    let silent = now.since(session.state.head.stamp.at);
    if held < STUCK || silent < STUCK {
        if context.global.json {
            output::json(&serde_json::json!({
                "schema": "sched.tick/v1", "busy": true, "lines": []
            }))?;
        }
        return Ok(0);
    }
    let holder = FileLock::held_by(&dir.join(TICK_LOCK)).unwrap_or_else(|| "another tick".into());
    Err(CliError::new(6, format!("{holder} holds the tick lock and has written nothing since"))
        .detail(format!("it has been silent for {} s", silent.as_secs()))
        .remedy("see what it does, end that process, then:  sched tick"))
}

fn say(context: &Context, head: &Position, report: &Report) -> Result<(), CliError> {
    if context.global.json {
        return output::json(&serde_json::json!({
            "schema": "sched.tick/v1",
            "busy": false,
            "head": {"seq": head.seq, "hash": head.hash},
            "lines": report.lines,
            "later": report.later,
        }));
    }
    for event in report.lines.iter().flatten() {
        if !context.global.quiet {
            output::line(&prose::event(event), &context.global)?;
        }
    }
    for why in &report.later {
        output::error_line(&format!("warning: {why}; a later tick tries again"), &context.global);
    }
    Ok(())
}
