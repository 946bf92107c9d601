//! `sched audit`: did the scheduler keep its promises?

use crate::audit::invariants::Finding;
use crate::audit::read;
use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::output;
use std::path::PathBuf;

pub(super) fn run(context: &Context, files: &[PathBuf]) -> Result<u8, CliError> {
    let audited = match files {
        [] => read::state_dir(&context.state_dir()?)?,
        files => read::files(files).map_err(CliError::of_file)?,
    };
    if context.global.json {
        output::json(&audited.document())?;
    } else {
        for finding in &audited.findings {
            output::line(&line(finding), &context.global)?;
        }
        let (found, entries) = (audited.findings.len(), audited.entries);
        let what = match found {
            0 => "no findings".into(),
            1 => "1 finding".into(),
            found => format!("{found} findings"),
        };
        let rest = match audited.rest {
            0 => String::new(),
            rest => format!("; {rest} bytes behind them are of a write that never finished"),
        };
        output::line(&format!("{what} in {entries} entries{rest}"), &context.global)?;
    }
    match audited.damage {
        Some(damage) if files.is_empty() => Err(damage.into()),
        Some(damage) => Err(CliError::of_file(damage)),
        None => Ok(u8::from(!audited.findings.is_empty())),
    }
}

fn line(finding: &Finding) -> String {
    let entries: Vec<String> = finding.entries.iter().map(u64::to_string).collect();
    let word = if entries.len() == 1 { "entry" } else { "entries" };
    let unit = finding.unit.as_deref().unwrap_or("-");
    let (rule, entries) = (finding.rule, entries.join(", "));
    format!("rule {rule}  {word} {entries}  {unit}  {}", finding.message)
}
