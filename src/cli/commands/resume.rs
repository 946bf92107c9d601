//! `sched resume`: lifts a pause, or lets a blocked unit go on; waits for a recheck.

use super::operator::{commit, say, target};
use crate::cli::args::OptionalTarget;
use crate::cli::context::{Context, Surroundings};
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::domain::command::{Command, Target};
use crate::domain::event::{Event, Writer};
use crate::domain::fact::{Input, Seen};
use crate::domain::ids::{BatchId, IssueId};
use crate::domain::state::{BatchStatus, Outcome};
use crate::engine::Session;
use crate::engine::ports::git::Git;
use crate::engine::tick::start_one;
use std::time::Duration;

/// How often the journal is looked at while a recheck runs.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn run(
    context: &Context,
    named: &OptionalTarget,
    reason: Option<String>,
) -> Result<u8, CliError> {
    if named.issue.is_none() && named.batch.is_none() {
        return commit(context, "resume", Command::Resume { reason });
    }
    context.refuse_inside("resume")?;
    let target = target(named.issue.as_deref(), named.batch.as_deref())?;
    let mut session = context.session(Writer::Operator)?;
    let around = Surroundings::of(&session, &context.global, None);
    let base = base(&session, &around, &target);
    let command = Command::ResumeUnit { target: target.clone(), reason, base };
    let events = session.transact(&Input::Command(command))?;
    session.save();
    let recheck = events.iter().find_map(|event| match event {
        Event::RecheckPlanned(e) => Some((e.batch.clone(), e.member.clone())),
        _ => None,
    });
    let Some((batch, member)) = recheck else {
        say(context, "resume", session.state.head.seq, &events)?;
        if !context.global.json {
            output::line("resumed", &context.global)?;
        }
        return Ok(0);
    };
    let planned = events.iter().find_map(|event| match event {
        Event::DispatchPlanned(e) if e.recheck => Some(e.dispatch),
        _ => None,
    });
    if let Some(dispatch) = planned {
        start_one(&around.runs, &around.processes, dispatch).map_err(CliError::failed)?;
    }
    if !context.global.json {
        say(context, "resume", session.state.head.seq, &events)?;
    }
    wait(context, &mut session, &batch, &member)
}

/// Where the base of the unit's batch is now, when that can be read.
fn base(
    session: &Session<'_>,
    around: &Surroundings,
    target: &Target,
) -> Option<crate::domain::ids::CommitId> {
    let batch = match target {
        Target::Batch(batch) => session.state.batch(batch),
        Target::Issue(issue) => {
            session.state.issue(issue).and_then(|i| session.state.batch(i.batch.as_ref()?))
        }
    };
    let branch = &batch?.pinned.as_ref()?.base;
    match around.git.as_ref()?.reference(branch) {
        Seen::Value(commit) => Some(commit),
        _ => None,
    }
}

/// Reads the journal until the recheck has answered. Leaving ends the waiting, not the recheck.
fn wait(
    context: &Context,
    session: &mut Session<'_>,
    batch: &BatchId,
    member: &IssueId,
) -> Result<u8, CliError> {
    loop {
        session.refresh()?;
        let found = session.state.batch(batch);
        let under_way = found.and_then(|b| b.block.as_ref()).is_some_and(|b| b.recheck);
        if !under_way {
            break;
        }
        std::thread::sleep(LOOK);
    }
    let batch = session.state.batch(batch);
    let outcome = batch.and_then(|b| b.member(member)).and_then(|m| m.outcome);
    let word = match (outcome, batch.map(|b| b.status)) {
        (Some(Outcome::Evicted | Outcome::HandedBack), _) => "evicted",
        (_, Some(BatchStatus::Blocked)) => "still-blocked",
        _ => "completed",
    };
    if context.global.json {
        output::json(&serde_json::json!({"schema": "sched.resume/v1", "outcome": word}))?;
    } else {
        output::line(word, &context.global)?;
    }
    Ok(u8::from(word == "still-blocked"))
}
