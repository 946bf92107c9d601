//! Operator verbs: each commits one line, and pays only the signals that line owes.

use crate::cli::args::TargetArgs;
use crate::cli::context::{Context, Surroundings};
use crate::cli::errors::CliError;
use crate::cli::{output, prose};
use crate::domain::command::{Command, Target};
use crate::domain::event::{Event, Writer};
use crate::domain::fact::Input;
use crate::domain::ids::{BatchId, IssueId};
use crate::engine::tick::pay_signals;

pub(super) fn pause(context: &Context, reason: Option<String>) -> Result<u8, CliError> {
    commit(context, "pause", Command::Pause { reason })
}

pub(super) fn abandon(
    context: &Context,
    target: &TargetArgs,
    reason: Option<String>,
) -> Result<u8, CliError> {
    let target = self::target(target.issue.as_deref(), target.batch.as_deref())?;
    commit(context, "abandon", Command::Abandon { target, reason })
}

pub(super) fn stop(
    context: &Context,
    target: &TargetArgs,
    reason: Option<String>,
) -> Result<u8, CliError> {
    let target = self::target(target.issue.as_deref(), target.batch.as_deref())?;
    commit(context, "stop", Command::Stop { target, reason })
}

pub(super) fn requeue(
    context: &Context,
    issue: &str,
    reason: Option<String>,
) -> Result<u8, CliError> {
    let issue = IssueId::parse(issue).map_err(|e| CliError::usage(e.to_string()))?;
    commit(context, "requeue", Command::Requeue { issue, reason })
}

pub(super) fn reprioritize(
    context: &Context,
    target: &TargetArgs,
    priority: i32,
    reason: Option<String>,
) -> Result<u8, CliError> {
    let target = self::target(target.issue.as_deref(), target.batch.as_deref())?;
    commit(context, "reprioritize", Command::Reprioritize { target, priority, reason })
}

/// What was named: clap has seen to it that it is exactly one.
pub(super) fn target(issue: Option<&str>, batch: Option<&str>) -> Result<Target, CliError> {
    let invalid = |e: crate::domain::ids::InvalidId| CliError::usage(e.to_string());
    match (issue, batch) {
        (Some(issue), _) => IssueId::parse(issue).map(Target::Issue).map_err(invalid),
        (None, Some(batch)) => BatchId::parse(batch).map(Target::Batch).map_err(invalid),
        (None, None) => Err(CliError::usage("name an issue or a batch")),
    }
}

/// Commits one command and says what it did.
pub(super) fn commit(context: &Context, verb: &str, command: Command) -> Result<u8, CliError> {
    context.refuse_inside(verb)?;
    let mut session = context.session(Writer::Operator)?;
    let events = session.transact(&Input::Command(command))?;
    let around = Surroundings::of(&session, &context.global, None);
    pay_signals(&session, &around.processes);
    session.save();
    say(context, verb, session.state.head.seq, &events)?;
    Ok(0)
}

pub(super) fn say(
    context: &Context,
    verb: &str,
    seq: u64,
    events: &[Event],
) -> Result<(), CliError> {
    if context.global.json {
        return output::json(&serde_json::json!({
            "schema": format!("sched.{verb}/v1"), "seq": seq, "events": events,
        }));
    }
    for event in events.iter().filter(|_| !context.global.quiet) {
        output::line(&prose::event(event), &context.global)?;
    }
    Ok(())
}
