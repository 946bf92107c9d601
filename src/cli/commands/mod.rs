//! One file per command.

mod audit;
mod demo;
mod doctor;
mod enqueue;
mod init;
mod journal;
mod log;
mod logs;
mod operator;
mod post;
mod resume;
mod run;
mod show;
mod supervise;
pub mod tick;

use super::args::{Cli, Command, JournalCommand};
use super::context::Context;
use super::errors::CliError;
use super::output;
use clap::CommandFactory;

/// Runs a command; the exit code when it is no error.
///
/// # Errors
/// [`CliError`].
pub fn run(cli: Cli) -> Result<u8, CliError> {
    let context = Context::new(cli.global)?;
    // `init` makes the file, and `doctor` says what is wrong with it
    if !matches!(cli.command, Command::Init { .. } | Command::Doctor) {
        context.check_config(None)?;
    }
    match cli.command {
        Command::Demo { dir } => demo::run(&context, dir),
        Command::Init { adopt } => init::run(&context, adopt),
        Command::Enqueue(args) => enqueue::run(&context, &args),
        Command::Tick => tick::run(&context),
        Command::Run { until_idle, interval } => run::run(&context, until_idle, &interval),
        Command::Status => super::status::run(&context),
        Command::Show { what } => show::run(&context, &what),
        Command::Logs { dispatch, follow } => logs::run(&context, &dispatch, follow),
        Command::Why { unit } => show::why(&context, &unit),
        Command::Log { unit, since, r#type, follow } => {
            log::run(&context, unit.as_deref(), since.as_deref(), r#type.as_deref(), follow)
        }
        Command::Pause { reason } => operator::pause(&context, reason),
        Command::Resume { target, reason } => resume::run(&context, &target, reason),
        Command::Abandon { target, reason } => operator::abandon(&context, &target, reason),
        Command::Stop { target, reason } => operator::stop(&context, &target, reason),
        Command::Requeue { issue, reason } => operator::requeue(&context, &issue, reason),
        Command::Reprioritize { target, priority, reason } => {
            operator::reprioritize(&context, &target, priority, reason)
        }
        Command::Post(args) => post::run(&context, &args),
        Command::Journal(JournalCommand::Verify { files }) => journal::verify(&context, &files),
        Command::Journal(JournalCommand::Replay { at, file }) => {
            journal::replay(&context, at.as_deref(), file.as_deref())
        }
        Command::Journal(JournalCommand::Repair { from_seq, yes }) => {
            journal::repair(&context, from_seq, yes)
        }
        Command::Audit { files } => audit::run(&context, &files),
        Command::Doctor => doctor::run(&context),
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut visible(), "sched", &mut text);
            output::raw(&text).map(|()| 0)
        }
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut text)?;
            output::raw(&text).map(|()| 0)
        }
        Command::Supervise { dispatch } => supervise::run(&context, &dispatch),
        Command::ReclaimTrees { dispatch, dir } => supervise::reclaim(&context, &dispatch, &dir),
    }
}

/// The command line without what is hidden: a shell would complete that too.
fn visible() -> clap::Command {
    let whole = Cli::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("sched").args(whole.get_arguments()).subcommands(shown)
}
