//! The command line: the only place that prints. Holds no rule about units.

mod about;
pub mod args;
pub mod commands;
mod context;
mod errors;
mod home;
mod named;
pub mod output;
pub mod prose;
mod reading;
pub mod status;
mod text;

pub use context::Context;
pub use errors::CliError;

use clap::{CommandFactory, FromArgMatches};
use std::path::Path;
use std::process::ExitCode;

/// signal(7): a write would make a file larger than its limit.
const SIGXFSZ: std::ffi::c_int = 25;

/// Runs the program.
pub fn main() -> ExitCode {
    // what our caller has open (the lock of `flock FILE sched tick`, a pipe) is not for those who
    // we start: a supervisor would hold it for as long as its command runs
    close_fds::set_fds_cloexec(3, &[]);
    if let Some(code) = hidden() {
        return ExitCode::from(code);
    }
    // a file that may not grow is an error of the write, not the end of the process
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let _ = signal_hook::flag::register(SIGXFSZ, seen);
    let matches = args::Cli::command().get_matches();
    let cli = match args::Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    std::panic::set_hook(Box::new(errors::say_panic));
    let global = cli.global.clone();
    ExitCode::from(errors::guarded(|| match commands::run(cli) {
        Ok(code) => code,
        Err(error) => errors::say(&error, &global),
    }))
}

/// The processes that stand between us and a command; they come before any parsing, which costs
/// more than they do.
fn hidden() -> Option<u8> {
    let mut args = std::env::args_os().skip(1);
    let verb = args.next()?;
    match verb.to_str()? {
        "exec-child" => Some(crate::os::child::run(Path::new(&args.next()?))),
        "supervise" => {
            // out of whatever session started us: a cron job's end must not be ours
            let _ = rustix::process::setsid();
            None
        }
        _ => None,
    }
}
