//! `sched log`: entries, one line of prose for each event.

use crate::cli::about::About;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::{output, prose};
use crate::domain::event::{Entry, Event};
use crate::domain::ids::Unit;
use crate::domain::time::Timestamp;
use crate::journal::{Journal, Position};
use std::cell::RefCell;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(200);

/// From this likeness on a name is worth a guess.
const CLOSE: f64 = 0.8;

/// Which events are wanted.
struct Filter {
    unit: Option<RefCell<About>>,
    since: Option<Timestamp>,
    kind: Option<String>,
}

impl Filter {
    fn new(unit: Option<&str>, since: Option<&str>, kind: Option<&str>) -> Result<Self, CliError> {
        let usage = |e: &dyn std::fmt::Display| CliError::usage(e.to_string());
        let unit = unit.map(str::parse::<Unit>).transpose().map_err(|e| usage(&e))?;
        let since = since.map(str::parse::<Timestamp>).transpose().map_err(|e| usage(&e))?;
        if let Some(kind) = kind.filter(|kind| !Event::NAMES.contains(kind)) {
            let error = CliError::usage(format!("there is no event `{kind}`"));
            return Err(match nearest(kind) {
                Some(near) => error.detail(format!("did you mean `{near}`?")),
                None => error.detail("see the names in journal-schema/, or in:  sched log --json"),
            });
        }
        let unit = unit.map(|unit| RefCell::new(About::new(vec![unit])));
        Ok(Self { unit, since, kind: kind.map(str::to_owned) })
    }

    fn wants(&self, entry: &Entry, event: &Event) -> bool {
        let about = self.unit.as_ref().is_none_or(|unit| unit.borrow_mut().takes(event));
        self.since.is_none_or(|since| entry.at >= since)
            && self.kind.as_deref().is_none_or(|kind| kind == event.name())
            && about
    }
}

/// The event's name that was probably meant.
fn nearest(kind: &str) -> Option<&'static str> {
    let likeness = |name: &str| strsim::jaro_winkler(name, kind);
    let near = Event::NAMES.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(near) >= CLOSE).then_some(near)
}

pub(super) fn run(
    context: &Context,
    unit: Option<&str>,
    since: Option<&str>,
    kind: Option<&str>,
    follow: bool,
) -> Result<u8, CliError> {
    let filter = Filter::new(unit, since, kind)?;
    let journal = Journal::open(&context.state_dir()?)?;
    let mut position = Position::start();
    loop {
        let failed: RefCell<Option<CliError>> = RefCell::new(None);
        position = journal.show(&position, |entry, _, raw| {
            if failed.borrow().is_none()
                && let Err(error) = say(context, &filter, entry, raw)
            {
                failed.replace(Some(error));
            }
            Ok(())
        })?;
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        if !follow {
            return Ok(0);
        }
        while journal.length()? == position.offset {
            std::thread::sleep(LOOK);
        }
    }
}

fn say(context: &Context, filter: &Filter, entry: &Entry, raw: &[u8]) -> Result<(), CliError> {
    let mut wanted = entry.events.iter().filter(|event| filter.wants(entry, event)).peekable();
    if context.global.json {
        if wanted.peek().is_some() {
            output::raw(raw)?;
            output::raw(b"\n")?;
        }
        return Ok(());
    }
    for event in wanted {
        let text = format!("{:>6}  {}  {}", entry.seq, entry.at, prose::event(event));
        output::line(&text, &context.global)?;
    }
    Ok(())
}
