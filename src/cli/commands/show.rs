//! `sched show` and `sched why`: everything about one thing, and how it came about.

use crate::cli::about::About;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::reading::Reading;
use crate::cli::{output, prose};
use crate::domain::event::{Entry, Event};
use crate::domain::ids::{BatchId, DispatchId, IssueId, Unit};
use crate::engine::Session;
use serde_json::{Value, json};

pub(super) fn run(context: &Context, what: &str) -> Result<u8, CliError> {
    context.reading()?.show(|reading| show(context, reading, what))
}

fn show(context: &Context, reading: &Reading<'_>, what: &str) -> Result<u8, CliError> {
    let session = &reading.session;
    let document = match what.parse::<Unit>() {
        Ok(unit) => unit_document(session, &unit)?,
        Err(_) => match what.parse::<u64>() {
            Ok(seq) if what.len() < 6 || seq <= session.state.head.seq => {
                entry_document(reading, seq)?
            }
            _ => dispatch_document(reading, find_dispatch(reading, what)?)?,
        },
    };
    if context.global.json {
        return output::json(&document).map(|()| 0);
    }
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    output::line(&text, &context.global).map(|()| 0)
}

fn unit_document(session: &Session<'_>, unit: &Unit) -> Result<Value, CliError> {
    let missing = || {
        CliError::no_such(format!("there is no {unit}")).remedy("see what there is:  sched status")
    };
    let state = &session.state;
    let found = match unit {
        Unit::Issue(id) => state.issue(id).map(|issue| {
            let batch = issue.batch.as_ref().and_then(|b| state.batch(b));
            json!({"issue": issue, "run": batch})
        }),
        Unit::Batch(id) => state.batch(id).map(|batch| json!({"batch": batch})),
        Unit::Member(batch, id) => {
            let member = state.batch(batch).and_then(|b| b.member(id));
            member.map(|member| json!({"member": member, "issue": state.issue(id)}))
        }
    };
    let dispatches: Vec<_> = state.dispatches_of(unit).collect();
    let mut document = json!({"schema": "sched.show/v1", "unit": unit, "dispatches": dispatches});
    merge(&mut document, found.ok_or_else(missing)?);
    Ok(document)
}

fn merge(document: &mut Value, more: Value) {
    if let (Value::Object(document), Value::Object(more)) = (document, more) {
        document.extend(more);
    }
}

fn entry_document(reading: &Reading<'_>, seq: u64) -> Result<Value, CliError> {
    let mut found = None;
    reading.entries(|entry, at| {
        if at.seq == seq {
            found = Some((entry.clone(), at.hash.clone()));
        }
    });
    let Some((entry, hash)) = found else {
        let last = reading.session.state.head.seq;
        return Err(CliError::no_such(format!("there is no entry {seq}: the last is {last}")));
    };
    Ok(json!({"schema": "sched.show/v1", "entry": entry, "hash": hash}))
}

/// The dispatch whose id begins like this: 6 characters or more, and only one.
pub(super) fn find_dispatch(reading: &Reading<'_>, text: &str) -> Result<DispatchId, CliError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let hex = text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if text.len() < 6 || !hex {
        return Err(CliError::usage(format!("`{text}` is not a unit, a dispatch or an entry"))
            .detail(
                "expected `issue:101`, `batch:b1`, `batch:b1/103`, 6 or more characters of a \
                     dispatch id, or an entry's number",
            ));
    }
    let mut found: Vec<DispatchId> = Vec::new();
    reading.entries(|entry, _| {
        for event in &entry.events {
            if let Event::DispatchPlanned(plan) = event
                && plan.dispatch.to_string().starts_with(text)
            {
                found.push(plan.dispatch);
            }
        }
    });
    match found.as_slice() {
        [one] => Ok(*one),
        [] => Err(CliError::no_such(format!("there is no dispatch `{text}`"))),
        many => Err(CliError::usage(format!("`{text}` could be any of {}", many.len()))
            .detail(many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
    }
}

fn dispatch_document(reading: &Reading<'_>, id: DispatchId) -> Result<Value, CliError> {
    let mut chain: Vec<Value> = Vec::new();
    reading.entries(|entry, _| {
        let about = entry.events.iter().filter(|event| prose::dispatch_of(event) == Some(id));
        chain.extend(about.map(|event| json!({"seq": entry.seq, "at": entry.at, "event": event})));
    });
    if chain.is_empty() {
        return Err(CliError::no_such(format!("there is no dispatch {id}")));
    }
    let session = &reading.session;
    Ok(json!({
        "schema": "sched.show/v1",
        "dispatch": id,
        "open": session.state.dispatch(&id),
        "events": chain,
        "evidence": format!("{}/runs/{id}", session.dir().display()),
    }))
}

pub(super) fn why(context: &Context, unit: &str) -> Result<u8, CliError> {
    let unit: Unit =
        unit.parse().map_err(|e: crate::domain::ids::InvalidId| CliError::usage(e.to_string()))?;
    context.reading()?.show(|reading| say_why(context, reading, &unit))
}

fn say_why(context: &Context, reading: &Reading<'_>, unit: &Unit) -> Result<u8, CliError> {
    let mut chain: Vec<(Entry, Vec<Event>)> = Vec::new();
    let mut about = About::new(names(&reading.session, unit));
    reading.entries(|entry, _| {
        let taken = entry.events.iter().filter(|event| about.takes(event));
        let taken: Vec<Event> = taken.cloned().collect();
        if !taken.is_empty() {
            chain.push((entry.clone(), taken));
        }
    });
    if chain.is_empty() {
        return Err(CliError::no_such(format!("there is no {unit}"))
            .remedy("see what there is:  sched status"));
    }
    if context.global.json {
        let entries: Vec<Value> = chain
            .iter()
            .map(|(entry, events)| {
                json!({"seq": entry.seq, "at": entry.at, "by": entry.by, "events": events})
            })
            .collect();
        let document = json!({"schema": "sched.why/v1", "unit": unit, "entries": entries});
        return output::json(&document).map(|()| 0);
    }
    for (entry, events) in &chain {
        for event in events {
            let text = format!("{:>6}  {}  {}", entry.seq, entry.at, prose::event(event));
            output::line(&text, &context.global)?;
            for line in prose::evidence(event) {
                output::line(&format!("{:34}{line}", ""), &context.global)?;
            }
        }
    }
    Ok(0)
}

/// An issue is also known by its implicit batches, and as a member of its batch.
fn names(session: &Session<'_>, unit: &Unit) -> Vec<Unit> {
    let mut names = vec![unit.clone()];
    let Unit::Issue(id) = unit else { return names };
    let Some(issue) = session.state.issue(id) else { return names };
    names.extend((1..=issue.runs).map(|run| Unit::Batch(BatchId::implicit(id, run))));
    let member = |batch: &BatchId, id: &IssueId| Unit::Member(batch.clone(), id.clone());
    let batches = session.state.batches.values().filter(|b| b.member(id).is_some());
    names.extend(batches.map(|b| member(&b.id, id)));
    names
}
