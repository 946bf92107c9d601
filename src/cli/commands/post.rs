//! `sched post`: an agent reports.

use crate::cli::args::PostArgs;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::domain::command::{Command, Post};
use crate::domain::event::Writer;
use crate::domain::fact::Input;
use crate::domain::rules::may_post;
use std::collections::BTreeMap;

pub(super) fn run(context: &Context, args: &PostArgs) -> Result<u8, CliError> {
    let Some(dispatch) = context.dispatch else {
        if let Some(text) = std::env::var_os("SCHED_DISPATCH") {
            let text = text.to_string_lossy().into_owned();
            return Err(CliError::usage(format!("SCHED_DISPATCH is `{text}`, which is no id"))
                .detail("expected the UUID of a dispatch, as sched sets it"));
        }
        return Err(CliError::usage("`sched post` is for agents: there is no SCHED_DISPATCH here")
            .detail("it is set in the environment of whatever sched runs"));
    };
    let mut session = context.session(Writer::Agent)?;
    if args.check {
        may_post(&session.state, dispatch)?;
        return answer(context, "fine").map(|()| 0);
    }
    let post = Post {
        dispatch,
        phase: args.phase.clone().unwrap_or_default(),
        status: args.status.clone().unwrap_or_default(),
        keys: pairs(args.key.iter().map(String::as_str))?,
        usage: pairs(args.usage.iter().flat_map(|u| u.split(',')))?,
        detail: args.detail.clone(),
    };
    session.transact(&Input::Command(Command::Post(post)))?;
    session.save();
    answer(context, "posted").map(|()| 0)
}

fn answer(context: &Context, word: &str) -> Result<(), CliError> {
    if context.global.json {
        output::json(&serde_json::json!({"schema": "sched.post/v1", "answer": word}))?;
    }
    Ok(())
}

fn pairs<'a>(words: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, String>, CliError> {
    words
        .map(|word| match word.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
            _ => Err(CliError::usage(format!("`{word}` is not a pair: expected `key=value`"))),
        })
        .collect()
}
