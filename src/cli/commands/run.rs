//! `sched run`: the same tick in a loop, for people who want a foreground process.

use super::tick::locked_tick;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::{output, prose, status};
use crate::domain::event::Writer;
use crate::domain::owed;
use crate::domain::rules::{is_held, needs, next_due};
use crate::engine::Session;
use crate::journal::Position;
use crate::os::reap_supervisors;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);

pub(super) fn run(context: &Context, until_idle: bool, interval: &str) -> Result<u8, CliError> {
    context.refuse_inside("run")?;
    let interval = humantime::parse_duration(interval)
        .map_err(|error| CliError::usage(format!("`{interval}` is not a duration: {error}")))?;
    let told = Arc::new(AtomicUsize::new(0));
    for signal in [SIGTERM, SIGINT] {
        let number = usize::try_from(signal).unwrap_or_default();
        signal_hook::flag::register_usize(signal, Arc::clone(&told), number)?;
    }
    let mut session = context.session(Writer::Tick)?;
    let mut said = session.position().clone();
    loop {
        let ticked = locked_tick(context, &mut session, Duration::from_millis(100))?.is_some();
        reap_supervisors();
        let quiet = ticked && !session.has_grown();
        session.refresh()?;
        said = say_new(context, &session, &said)?;
        let signal = told.load(Ordering::Relaxed);
        if signal != 0 {
            let text = "ticking has ended; the work goes on (see: sched status)";
            output::error_line(text, &context.global);
            return Ok(u8::try_from(128 + signal).unwrap_or(130));
        }
        if until_idle && quiet && is_idle(&session) {
            let attention = status::attention(&session.state);
            if !context.global.json {
                for row in &attention {
                    let text = format!("{}: {}", row.unit, row.message);
                    output::error_line(&text, &context.global);
                }
            }
            return Ok(u8::from(!attention.is_empty()));
        }
        said = wait(context, &mut session, &said, interval, &told)?;
    }
}

/// Waits for the interval, the next bound, or a signal, and says what others commit meanwhile.
fn wait(
    context: &Context,
    session: &mut Session<'_>,
    said: &Position,
    interval: Duration,
    told: &AtomicUsize,
) -> Result<Position, CliError> {
    let begun = Instant::now();
    let due = next_due(&session.state, &session.clock().now()).unwrap_or(interval);
    let time = due.clamp(LOOK, interval.max(LOOK));
    let mut said = said.clone();
    while begun.elapsed() < time && told.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(LOOK);
        reap_supervisors();
        if session.has_grown() {
            session.refresh()?;
            said = say_new(context, session, &said)?;
            if session.state.dispatches.is_empty() {
                break;
            }
        }
    }
    Ok(said)
}

/// Whether nothing runs, nothing is owed, and nothing becomes due by itself, right after a tick
/// that found nothing more to do.
fn is_idle(session: &Session<'_>) -> bool {
    let now = session.clock().now();
    let state = &session.state;
    state.dispatches.is_empty()
        && owed(state, &now).is_empty()
        && needs(state, &now).iter().all(|need| is_held(state, need))
        && next_due(state, &now).is_none()
}

fn say_new(
    context: &Context,
    session: &Session<'_>,
    said: &Position,
) -> Result<Position, CliError> {
    let failed: RefCell<Option<CliError>> = RefCell::new(None);
    let position = session.journal().read(said, |entry, _, raw| {
        if failed.borrow().is_some() {
            return Ok(());
        }
        let done = if context.global.json {
            output::raw(raw).and_then(|()| output::raw(b"\n"))
        } else {
            entry.events.iter().filter(|_| !context.global.quiet).try_for_each(|event| {
                let time = entry.at.to_string();
                let clock = time.get(11..19).unwrap_or_default().to_owned();
                output::line(&format!("{clock}  {}", prose::event(event)), &context.global)
            })
        };
        if let Err(error) = done {
            failed.replace(Some(error));
        }
        Ok(())
    })?;
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(position),
    }
}
