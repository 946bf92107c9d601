//! `sched init`: state directory, a commented `sched.toml`, first journal entry.

use crate::audit::schema;
use crate::cli::context::{Context, checked_config, repository};
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::domain::command::Command;
use crate::domain::event::{EnvironmentRecorded, JournalCreated, Writer};
use crate::domain::fact::Input;
use crate::domain::ids::JournalId;
use crate::engine::Session;
use crate::journal::place;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// What a new `sched.toml` says.
pub(super) const TEMPLATE: &str = include_str!("sched.toml");

pub(super) fn run(context: &Context, adopt: bool) -> Result<u8, CliError> {
    context.refuse_inside("init")?;
    if adopt {
        return self::adopt(context);
    }
    let found = repository(&context.current).and_then(|found| found.main_tree);
    let repository = found.map(PathBuf::from);
    let dir = match context.state_dir() {
        Ok(dir) => dir,
        Err(error) if error.code == 4 => context.current.join(".sched"),
        Err(error) => return Err(error),
    };
    let config = config_path(context, repository.as_deref());
    let made = prepare_config(&config, repository.as_deref())?;
    place::make_dir(&dir)?;
    let dir = dir.canonicalize()?;
    let created = JournalCreated {
        journal: JournalId(Uuid::now_v7()),
        place: place::place(&dir)?,
        draft: schema::draft(),
    };
    let journal = created.journal;
    let environment = EnvironmentRecorded {
        path: std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
        repository: repository.as_ref().map(|path| path.to_string_lossy().into_owned()),
        config: config.to_string_lossy().into_owned(),
    };
    let session = Session::create(&dir, &context.clock, &Command::Create(created, environment));
    if session.is_err() && made {
        let _ = std::fs::remove_file(&config); // nothing is left of an init that failed
    }
    session?;
    if context.global.json {
        output::json(&serde_json::json!({
            "schema": "sched.init/v1", "state_dir": dir, "config": config, "journal": journal,
        }))?;
    } else {
        output::line(&format!("state directory  {}", dir.display()), &context.global)?;
        let kept = if made { "written" } else { "kept as it is" };
        output::line(&format!("configuration    {} ({kept})", config.display()), &context.global)?;
        output::line("next:  sched enqueue --issues 101 && sched tick", &context.global)?;
    }
    Ok(0)
}

fn config_path(context: &Context, repository: Option<&Path>) -> PathBuf {
    match &context.global.config {
        Some(path) => context.current.join(path),
        None => repository.unwrap_or(&context.current).join("sched.toml"),
    }
}

/// Writes the template, or checks what is there. Whether it was written.
fn prepare_config(path: &Path, repository: Option<&Path>) -> Result<bool, CliError> {
    let repository = repository.map(|path| path.to_string_lossy().into_owned());
    match std::fs::read_to_string(path) {
        Ok(text) => {
            checked_config(&text, repository.as_deref()).map_err(|error| {
                CliError::usage(format!("`{}`: {error}", path.display()))
                    .remedy("mend it, or move it away, then:  sched init")
            })?;
            Ok(false)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            std::fs::write(path, TEMPLATE).map_err(|error| {
                CliError::failed(format!("cannot write `{}`: {error}", path.display()))
            })?;
            Ok(true)
        }
        Err(error) => Err(CliError::failed(format!("cannot read `{}`: {error}", path.display()))),
    }
}

fn adopt(context: &Context) -> Result<u8, CliError> {
    let mut session = context.session(Writer::Operator)?;
    let journal = JournalId(Uuid::now_v7());
    let place = place::place(&session.dir())?;
    let events =
        session.transact(&Input::Command(Command::Adopt { journal, place, insist: true }))?;
    session.save();
    if context.global.json {
        output::json(&serde_json::json!({"schema": "sched.init/v1", "journal": journal,
            "events": events}))?;
    } else {
        for event in &events {
            output::line(&crate::cli::prose::event(event), &context.global)?;
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::config::Config;

    #[test]
    fn the_template_is_a_valid_configuration() {
        Config::parse(TEMPLATE).unwrap();
    }
}
