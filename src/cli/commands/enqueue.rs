//! `sched enqueue`: queues work, all of it or nothing.

use crate::cli::args::{EnqueueArgs, ModeArg, TierArg};
use crate::cli::context::{Context, Surroundings};
use crate::cli::errors::CliError;
use crate::cli::{named, output, prose};
use crate::domain::command::{Command, Enqueue, NewBatch, NewIssue};
use crate::domain::event::{Mode, Tier, Writer};
use crate::domain::fact::{Fact, Input, TickSeen};
use crate::domain::ids::{BatchId, IssueId};
use crate::engine::Session;

/// The largest range of issues.
const LARGEST_RANGE: u64 = 100_000;

pub(super) fn run(context: &Context, args: &EnqueueArgs) -> Result<u8, CliError> {
    context.refuse_inside("enqueue")?;
    if args.mode == Some(ModeArg::Parallel) {
        return Err(CliError::usage("`--mode parallel` is not available in this version")
            .detail("members of a batch work one at a time; several batches run side by side"));
    }
    let mut work = work(args)?;
    let mut session = context.session(Writer::Operator)?;
    for issue in &work.issues {
        for id in issue.deps.iter().chain([&issue.id]) {
            if session.state.issue(id).is_none()
                && let Some(settled) = session.settled(id)
            {
                work.settled.insert(id.clone(), settled);
            }
        }
    }
    apply_config(context, &mut session)?;
    let events = session.transact(&Input::Command(Command::Enqueue(work)))?;
    session.save();
    if context.global.json {
        return output::json(&serde_json::json!({
            "schema": "sched.enqueue/v1", "seq": session.state.head.seq, "events": events,
        }))
        .map(|()| 0);
    }
    for event in events.iter().filter(|_| !context.global.quiet) {
        output::line(&prose::event(event), &context.global)?;
    }
    Ok(0)
}

/// The configuration comes into force first, so that what is queued is checked against it.
fn apply_config(context: &Context, session: &mut Session<'_>) -> Result<(), CliError> {
    let around = Surroundings::of(session, &context.global, None);
    let seen = around.seen(session);
    if let Some((_, Err(message))) = &seen.config {
        return Err(CliError::usage(message.clone()).remedy("mend it, then queue again"));
    }
    let only_config = TickSeen { config: seen.config, ..TickSeen::default() };
    if only_config.config.is_some() {
        session.transact(&Input::Fact(Fact::Config(only_config)))?;
    }
    Ok(())
}

fn work(args: &EnqueueArgs) -> Result<Enqueue, CliError> {
    let ids = args.issues.as_deref().map_or(Ok(Vec::new()), issues)?;
    let deps = args.deps.as_deref().map_or(Ok(Vec::new()), issues)?;
    let batch = args.batch.as_deref().map(BatchId::parse).transpose();
    let batch = batch.map_err(|error| CliError::usage(error.to_string()))?;
    if args.title.is_some() && ids.len() > 1 {
        return Err(CliError::usage("`--title` is for a single issue")
            .remedy("queue them one by one, each with its title"));
    }
    let prompt = args.prompt_file.as_deref().map(named::read_once).transpose();
    let prompt = prompt.map_err(CliError::usage)?;
    let new = |id: &IssueId| NewIssue {
        id: id.clone(),
        title: args.title.as_ref().map(|t| t.replace(['\n', '\r'], " ")),
        prompt: prompt.clone(),
        profile: args.profile.clone(),
        tier: args.tier.map(tier),
        priority: args.priority.filter(|_| batch.is_none()),
        deps: deps.clone(),
        batch: batch.clone(),
    };
    let batches = batch.iter().map(|id| NewBatch {
        id: id.clone(),
        mode: args.mode.map(mode),
        priority: args.priority,
        more: args.more,
    });
    Ok(Enqueue {
        issues: ids.iter().map(new).collect(),
        batches: batches.collect(),
        ..Enqueue::default()
    })
}

fn tier(tier: TierArg) -> Tier {
    match tier {
        TierArg::Mechanical => Tier::Mechanical,
        TierArg::Mid => Tier::Mid,
        TierArg::Strong => Tier::Strong,
    }
}

fn mode(mode: ModeArg) -> Mode {
    match mode {
        ModeArg::Serial => Mode::Serial,
        ModeArg::Parallel => Mode::Parallel,
    }
}

/// `101,105..109`: ids, and inclusive ranges of numbers.
fn issues(list: &str) -> Result<Vec<IssueId>, CliError> {
    let mut ids = Vec::new();
    for word in list.split(',').map(str::trim) {
        match word.split_once("..") {
            Some((from, to)) => ids.extend(range(word, from, to)?),
            None => ids.push(parse(word)?),
        }
    }
    Ok(ids)
}

fn parse(word: &str) -> Result<IssueId, CliError> {
    IssueId::parse(word).map_err(|error| CliError::usage(error.to_string()))
}

fn range(word: &str, from: &str, to: &str) -> Result<Vec<IssueId>, CliError> {
    if [from, to].iter().any(|bound| bound.len() > 1 && bound.starts_with('0')) {
        let plain = |bound: &str| match bound.trim_start_matches('0') {
            "" => "0".to_owned(),
            digits => digits.to_owned(),
        };
        let (from, to) = (plain(from), plain(to));
        return Err(CliError::usage(format!("`{word}` is a range with leading zeros"))
            .detail("a range counts numbers, and `007` is another issue than `7`")
            .remedy(format!("write `{from}..{to}`, or name each:  --issues 007,008")));
    }
    let numbers = from.parse::<u64>().ok().zip(to.parse::<u64>().ok());
    let fits = numbers.filter(|(from, to)| from <= to && to - from < LARGEST_RANGE);
    let Some((from, to)) = fits else {
        return Err(CliError::usage(format!("`{word}` is not a range"))
            .detail("expected two numbers, the smaller first, as in `105..109`"));
    };
    (from..=to).map(|n| parse(&n.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_both_ends() {
        assert_eq!(issues("0..2").unwrap().len(), 3);
        let ids = issues("101, 105..106,x").unwrap();
        let ids: Vec<&str> = ids.iter().map(IssueId::as_str).collect();
        assert_eq!(ids, ["101", "105", "106", "x"]);
        for bad in ["9..3", "a..b", "1..", "1,,2", "", "1..999999999", "007..009", "1..09"] {
            assert!(issues(bad).is_err(), "{bad}");
        }
    }
}
