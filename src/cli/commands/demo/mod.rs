//! `sched demo`: the main job on a real example, with a crash on the way.
//!
//! A small repository with a program and its tests, a batch of five members whose agents are
//! real scripts, run to the end by the installed program itself. The first process that has
//! moved the integration branch is killed before it can write that down: what comes after finds
//! the commit and goes on.

use crate::cli::context::Context;
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::os::installed_program;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The files of the example.
const FILES: &[(&str, &str, bool)] = &[
    ("greet.sh", include_str!("greet.sh"), true),
    ("test.sh", include_str!("test.sh"), true),
    ("agent.sh", include_str!("agent.sh"), true),
    ("sched.toml", include_str!("sched.toml"), false),
];

/// The members: issue, title, what it depends on.
const MEMBERS: &[(&str, &str, Option<&str>)] = &[
    ("101", "greet in French", None),
    ("102", "greet in French by default", Some("101")),
    ("103", "break the greeting", None),
    ("104", "hang and ignore SIGTERM", None),
    ("105", "do nothing", None),
];

pub(super) fn run(context: &Context, dir: Option<PathBuf>) -> Result<u8, CliError> {
    context.refuse_inside("demo")?;
    let dir = empty_dir(context, dir)?;
    let repository = dir.join("repo");
    let demo = Demo { context, program: installed_program(), repository };
    demo.make_repository()?;
    demo.say(&format!("A small git repository: {}", demo.repository.display()))?;
    demo.sched(&["init"])?;
    demo.enqueue()?;
    demo.say("\nThe batch runs; the first process that lands a member is killed on the way:")?;
    let killed = demo.work(&dir)?;
    demo.say("")?;
    if killed {
        demo.say("One process was killed with SIGKILL between moving the integration branch")?;
        demo.say("and writing that down; the next one found the commit and went on.\n")?;
    }
    demo.sched(&["status"])?;
    demo.say("\nWhat is on main now:")?;
    demo.git(&["log", "--oneline", "-4"], true)?;
    demo.say("\nIs every byte of the journal as it was written?")?;
    demo.sched(&["journal", "verify"])?;
    demo.say(&format!("\nLook around:  cd {}", demo.repository.display()))?;
    for (command, what) in [
        ("sched why batch:demo/103", "why a member was evicted, with its evidence"),
        ("sched log", "every event"),
        ("sched show batch:demo", "everything about the batch"),
        ("git log --format=full", "the landings with their trailers"),
    ] {
        demo.say(&format!("  {command:<26} {what}"))?;
    }
    Ok(0)
}

fn empty_dir(context: &Context, dir: Option<PathBuf>) -> Result<PathBuf, CliError> {
    let Some(dir) = dir else {
        let made = tempfile::Builder::new().prefix("sched-demo-").tempdir()?;
        return Ok(made.keep());
    };
    let dir = context.current.join(dir);
    let used = std::fs::read_dir(&dir).is_ok_and(|mut entries| entries.next().is_some());
    if used {
        return Err(CliError::usage(format!("`{}` is not empty", dir.display()))
            .remedy("name an empty or new directory:  sched demo DIR"));
    }
    std::fs::create_dir_all(&dir)?;
    Ok(dir.canonicalize()?)
}

struct Demo<'a> {
    context: &'a Context,
    program: PathBuf,
    repository: PathBuf,
}

impl Demo<'_> {
    fn say(&self, text: &str) -> Result<(), CliError> {
        if self.context.global.quiet { Ok(()) } else { output::line(text, &self.context.global) }
    }

    fn make_repository(&self) -> Result<(), CliError> {
        std::fs::create_dir_all(&self.repository)?;
        for (name, text, executable) in FILES {
            let path = self.repository.join(name);
            std::fs::write(&path, text)?;
            let mode = if *executable { 0o755 } else { 0o644 };
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
        }
        self.git(&["init", "--quiet", "--initial-branch=main"], false)?;
        self.git(&["add", "-A"], false)?;
        self.git(&["commit", "--quiet", "-m", "a greeting, and its test"], false)
    }

    fn git(&self, args: &[&str], shown: bool) -> Result<(), CliError> {
        let mut command = Command::new("git");
        command.current_dir(&self.repository).args(args);
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "sched demo");
            command.env(format!("GIT_{who}_EMAIL"), "demo@localhost");
        }
        let said = command
            .stdin(Stdio::null())
            .output()
            .map_err(|e| CliError::failed(format!("git cannot be run: {e}")))?;
        if !said.status.success() {
            let error = String::from_utf8_lossy(&said.stderr).trim().to_owned();
            return Err(CliError::failed(format!("git {}: {error}", args[0])));
        }
        if shown { output::raw(&said.stdout) } else { Ok(()) }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.repository).args(args).env_remove("SCHED_STATE_DIR");
        command
    }

    fn sched(&self, args: &[&str]) -> Result<(), CliError> {
        self.say(&format!("\n$ sched {}", shown(args)))?;
        let status = self.command(args).status()?;
        if status.success() {
            return Ok(());
        }
        Err(CliError::failed(format!("`sched {}` ended with {status}", args.join(" "))))
    }

    fn enqueue(&self) -> Result<(), CliError> {
        for (index, (issue, title, dep)) in MEMBERS.iter().enumerate() {
            let mut args = vec!["enqueue", "--batch", "demo", "--issues", issue, "--title", title];
            args.extend(dep.iter().flat_map(|dep| ["--deps", dep]));
            if index + 1 < MEMBERS.len() {
                args.push("--more");
            }
            self.sched(&args)?;
        }
        Ok(())
    }

    /// Runs until all is quiet, again after a kill. Whether there was one.
    fn work(&self, dir: &Path) -> Result<bool, CliError> {
        let once = dir.join("killed-once");
        for _ in 0..3 {
            let status = self
                .command(&["run", "--until-idle", "--interval", "200ms"])
                .env("SCHED_CRASH_AT", "paid-land")
                .env("SCHED_CRASH_SUPERVISOR", "paid-land")
                .env("SCHED_CRASH_ONCE", &once)
                .status()?;
            if status.signal().is_none() {
                break;
            }
            self.say("(killed; the same command again)")?;
        }
        Ok(once.exists())
    }
}

/// Arguments as one would type them.
fn shown(args: &[&str]) -> String {
    let word = |arg: &&str| match arg.contains(' ') {
        true => format!("{arg:?}"),
        false => (*arg).to_owned(),
    };
    args.iter().map(word).collect::<Vec<_>>().join(" ")
}
