//! `sched journal verify | replay | repair`.

use crate::audit::verify::{self, Damage, Report};
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::{output, prose, status};
use crate::domain::time::Timestamp;
use crate::engine::{Session, past};
use crate::journal::{Journal, JournalError};
use std::path::{Path, PathBuf};

pub(super) fn verify(context: &Context, files: &[PathBuf]) -> Result<u8, CliError> {
    let mut report = if files.is_empty() {
        verify::state_dir(&context.state_dir()?)?
    } else {
        verify::files(files)?
    };
    let journal = match files {
        [] => Some(Journal::open(&context.state_dir()?)),
        [file] => Some(Journal::open_file(file)),
        _ => None, // parts of a journal begin in the middle of it
    };
    if let Some(Ok(journal)) = journal.filter(|_| report.ok()) {
        report.damage.extend(illegal(&journal));
    }
    if context.global.json {
        output::json(&report.document())?;
    } else {
        say(context, &report)?;
    }
    Ok(match (report.ok(), report.only_newer()) {
        (true, _) => 0,
        (false, true) => 7,
        (false, false) => 5,
    })
}

/// The first entry that cannot have happened after those before it, by folding.
fn illegal(journal: &Journal) -> Option<Damage> {
    match past(journal, &|_, _| true).damage? {
        JournalError::Illegal { path, seq, offset, message } => {
            let file = path.display().to_string();
            Some(Damage { kind: "ILLEGAL", file, offset, seq, message })
        }
        _ => None,
    }
}

fn say(context: &Context, report: &Report) -> Result<(), CliError> {
    for damage in &report.damage {
        let text = format!(
            "{}  {}  byte {}  entry {}  {}",
            damage.kind, damage.file, damage.offset, damage.seq, damage.message
        );
        output::line(&text, &context.global)?;
    }
    let head = report.head.as_ref().map_or_else(|| "none".into(), |h| format!("{}:{}", h.0, h.1));
    let word = match (report.ok(), report.only_newer()) {
        (true, _) => "ok",
        (false, true) => "NEWER than this program",
        (false, false) => "DAMAGED",
    };
    let text = format!("{word}: {} entries, {} events, head {head}", report.entries, report.events);
    output::line(&text, &context.global)?;
    if let Some((first, last)) = &report.span {
        output::line(&format!("from {first} to {last}"), &context.global)?;
    }
    Ok(())
}

/// Up to where the past is replayed.
enum Until {
    Seq(u64),
    Time(Timestamp),
    End,
}

pub(super) fn replay(
    context: &Context,
    at: Option<&str>,
    file: Option<&Path>,
) -> Result<u8, CliError> {
    let until = match at {
        None => Until::End,
        Some(text) => match (text.parse(), text.parse()) {
            (Ok(seq), _) => Until::Seq(seq),
            (_, Ok(time)) => Until::Time(time),
            _ => {
                return Err(CliError::usage(format!("`{text}` is neither an entry nor a time"))
                    .detail("expected a number, or UTC like 2026-11-30T01:30:53.123Z"));
            }
        },
    };
    let dir = match file {
        Some(file) => file.parent().map_or_else(|| PathBuf::from("."), Path::to_owned),
        None => context.state_dir()?,
    };
    let journal = match file {
        Some(file) => Journal::open_file(file).map_err(CliError::of_file)?,
        None => Journal::open(&dir)?,
    };
    let past = past(&journal, &|entry, at| match &until {
        Until::Seq(seq) => at.seq <= *seq,
        Until::Time(time) => entry.at <= *time,
        Until::End => true,
    });
    let last = past.state.head.seq;
    let reached = past.goes_on || matches!(until, Until::Seq(seq) if seq == last);
    let damage = past.damage.filter(|_| !reached);
    match (&damage, until) {
        (Some(_), _) if last == 0 => {} // nothing to show
        (None, Until::Seq(seq)) if last < seq => {
            return Err(CliError::no_such(format!("there is no entry {seq}: the last is {last}")));
        }
        _ => {
            status::print(context, &past.state, None)?;
        }
    }
    match damage {
        None => Ok(0),
        Some(damage) if file.is_none() => Err(damage.into()),
        Some(damage) => Err(CliError::of_file(damage)),
    }
}

pub(super) fn repair(context: &Context, from_seq: u64, yes: bool) -> Result<u8, CliError> {
    context.refuse_inside("journal repair")?;
    let dir = context.state_dir()?.canonicalize()?;
    if from_seq < 2 {
        return Err(CliError::usage("the first entry cannot be given up")
            .detail("a journal without it is no journal; make a new state directory instead"));
    }
    if !yes {
        return Err(CliError::usage(format!(
            "this would give up entry {from_seq} and all after it"
        ))
        .detail("their bytes go to quarantine, and the units they name are blocked")
        .remedy(format!("sched journal repair --from-seq {from_seq} --yes")));
    }
    let found = verify::state_dir(&dir)?;
    let last = found.head.as_ref().map_or(0, |head| head.0);
    if found.ok() && from_seq > last {
        return Err(CliError::no_such(format!("there is no entry {from_seq}: the last is {last}"))
            .detail("the journal is as it was written: there is nothing to repair"));
    }
    let (mut session, events) = Session::repair(&dir, &context.clock, from_seq)?;
    session.save();
    if context.global.json {
        output::json(&serde_json::json!({
            "schema": "sched.journal-repair/v1", "seq": session.state.head.seq, "events": events,
        }))?;
    } else {
        for event in &events {
            output::line(&prose::event(event), &context.global)?;
        }
    }
    Ok(0)
}
