//! `sched init`: state directory, a commented `sched.toml`, first journal entry.

use crate::audit::schema;
use crate::cli::context::{Context, checked_config, repository};
use crate::cli::errors::CliError;
use crate::cli::home::{away, belongs, home};
use crate::cli::{named, output};
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
    let found = repository(&context.current);
    let branch = found.as_ref().and_then(|found| found.head.clone());
    let repository = found.and_then(|found| found.main_tree).map(PathBuf::from);
    let dir = match context.state_dir() {
        Ok(dir) => dir,
        Err(error) if error.code == 4 => context.current.join(".sched"),
        Err(error) => return Err(error),
    };
    if let Some(moved) = Moved::find(context, &dir, repository.as_deref()) {
        return moved.record(context, &dir, repository.as_deref());
    }
    let config = config_path(context, repository.as_deref());
    let made = prepare_config(&config, repository.as_deref(), branch.as_deref())?;
    place::make_dir(&dir)?;
    let dir = dir.canonicalize()?;
    let created = JournalCreated {
        journal: JournalId(Uuid::now_v7()),
        place: place::place(&dir)?,
        draft: schema::draft(),
    };
    let journal = created.journal;
    let environment = environment(repository.as_deref(), &config);
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

fn environment(repository: Option<&Path>, config: &Path) -> EnvironmentRecorded {
    EnvironmentRecorded {
        path: std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into()),
        repository: repository.map(|path| path.to_string_lossy().into_owned()),
        config: config.to_string_lossy().into_owned(),
    }
}

/// A scheduler whose repository was renamed: the state directory is in its own place, and what
/// was recorded is not there.
struct Moved<'a> {
    session: Session<'a>,
    recorded: EnvironmentRecorded,
    why: String,
}

impl<'a> Moved<'a> {
    fn find(context: &'a Context, dir: &Path, repository: Option<&Path>) -> Option<Self> {
        let dir = dir.canonicalize().ok()?;
        let session = Session::open(&dir, &context.clock, Writer::Operator).ok()?;
        let recorded = session.state.environment.clone()?;
        let in_place = session.elsewhere().ok()?.is_none();
        let alike = recorded.repository.is_some() == repository.is_some()
            && repository.is_none_or(|here| belongs(&dir, here));
        let why = away(&recorded, &dir).filter(|_| in_place && alike)?;
        Some(Self { session, recorded, why })
    }

    /// Where the configuration is now: it was renamed with what it lies in.
    fn config(&self, context: &Context, dir: &Path, repository: Option<&Path>) -> PathBuf {
        let recorded = Path::new(&self.recorded.config);
        match recorded.strip_prefix(home(&self.recorded)) {
            _ if context.global.config.is_some() => config_path(context, repository),
            Err(_) => recorded.to_owned(),
            Ok(inside) => {
                let beside = dir.parent().filter(|_| dir.ends_with(".sched"));
                repository.or(beside).unwrap_or(&context.current).join(inside)
            }
        }
    }

    fn record(
        mut self,
        context: &Context,
        dir: &Path,
        repository: Option<&Path>,
    ) -> Result<u8, CliError> {
        let config = self.config(context, dir, repository);
        prepare_config(&config, repository, None)?;
        let environment = environment(repository, &config);
        self.session.transact(&Input::Command(Command::Record(environment)))?;
        self.session.save();
        if context.global.json {
            let (dir, journal) = (self.session.dir(), &self.session.state.journal);
            let journal = journal.as_ref().map(|known| known.journal);
            output::json(&serde_json::json!({
                "schema": "sched.init/v1", "state_dir": dir, "config": config, "journal": journal,
                "was": self.recorded,
            }))?;
            return Ok(0);
        }
        let here = repository.unwrap_or(&context.current).display();
        output::line(&format!("{}: recorded anew", self.why), &context.global)?;
        output::line(&format!("repository       {here}"), &context.global)?;
        output::line(&format!("configuration    {}", config.display()), &context.global)?;
        output::line("next:  sched doctor && sched tick", &context.global)?;
        Ok(0)
    }
}

fn config_path(context: &Context, repository: Option<&Path>) -> PathBuf {
    match &context.global.config {
        Some(path) => context.current.join(path),
        None => repository.unwrap_or(&context.current).join("sched.toml"),
    }
}

/// The template as it suits the place: without a repository agents have no trees, and batches
/// start from the branch that is checked out.
fn template(in_repository: bool, branch: Option<&str>) -> String {
    if !in_repository {
        return TEMPLATE.replace("# workdir = \"none\" ", "workdir = \"none\"   ");
    }
    let named = format!("{:<30}", format!("base_branch = \"{}\"", branch.unwrap_or("main")));
    TEMPLATE.replace(&format!("{:<30}", "base_branch = \"main\""), &named)
}

/// Writes the template, or checks what is there. Whether it was written.
fn prepare_config(
    path: &Path,
    repository: Option<&Path>,
    branch: Option<&str>,
) -> Result<bool, CliError> {
    let repository = repository.map(|path| path.to_string_lossy().into_owned());
    if std::fs::symlink_metadata(path).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return std::fs::write(path, template(repository.is_some(), branch))
            .map(|()| true)
            .map_err(|error| {
                CliError::failed(format!("cannot write `{}`: {error}", path.display()))
            });
    }
    let text = named::read(path).map_err(CliError::failed)?;
    checked_config(&text, repository.as_deref()).map_err(|error| {
        CliError::usage(format!("`{}`: {error}", path.display()))
            .remedy("mend it, or move it away, then:  sched init")
    })?;
    Ok(false)
}

fn adopt(context: &Context) -> Result<u8, CliError> {
    let mut session = Session::open(&context.absolute_dir()?, &context.clock, Writer::Operator)?;
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
    use crate::domain::config::{Config, Workdir};

    #[test]
    fn the_template_is_a_valid_configuration_and_so_is_what_it_shows() {
        Config::parse(TEMPLATE).unwrap();
        let shown =
            |line: &str| line.starts_with("# ") && (line.contains(" = ") || line.contains('['));
        let lines = TEMPLATE.lines().map(|line| match line.strip_prefix("# ") {
            Some(example)
                if shown(line)
                    && !line.contains("workdir")
                    && !line.contains("{issue}")
                    && !line.contains("profile.<name>") =>
            {
                example
            }
            _ => line,
        });
        let all = lines.collect::<Vec<_>>().join("\n");
        let config = Config::parse(&all).unwrap();
        assert_eq!(config.gate_specs().len(), 1);
        assert!(config.suite_spec().is_some() && all.contains("\n[dissolve]"));
    }

    #[test]
    fn the_template_suits_the_branch_that_is_checked_out_and_a_place_without_git() {
        let config = Config::parse(&template(true, Some("master"))).unwrap();
        assert_eq!(config.base_branch(), "master");
        let config = Config::parse(&template(false, None)).unwrap();
        assert_eq!(config.profile("agent").unwrap().workdir, Workdir::None);
    }
}
