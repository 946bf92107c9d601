//! `sched doctor`: what may go wrong here, each finding with its cure.

use crate::cli::context::{Context, Surroundings};
use crate::cli::errors::CliError;
use crate::cli::output;
use crate::domain::config::Config;
use crate::domain::event::{Tier, Writer};
use crate::engine::Session;
use crate::engine::ports::Processes;
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, GitVersion};
use crate::journal::place;
use crate::os::git::GitCommand;
use serde::Serialize;
use std::path::Path;

#[derive(Debug, Serialize)]
struct Finding {
    code: &'static str,
    severity: &'static str,
    message: String,
    cure: Option<String>,
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn fine(&mut self, code: &'static str, message: impl Into<String>) {
        let message = message.into();
        self.0.push(Finding { code, severity: "ok", message, cure: None });
    }

    fn bad(
        &mut self,
        code: &'static str,
        severity: &'static str,
        message: impl Into<String>,
        cure: impl Into<String>,
    ) {
        let (message, cure) = (message.into(), Some(cure.into()));
        self.0.push(Finding { code, severity, message, cure });
    }
}

pub(super) fn run(context: &Context) -> Result<u8, CliError> {
    let mut findings = Findings::default();
    git_version(&mut findings);
    shell(&mut findings);
    match context.state_dir() {
        Ok(dir) if dir.exists() => state_dir(context, &mut findings, &dir),
        Ok(dir) => {
            let message = format!("there is no state directory `{}`", dir.display());
            findings.bad("state-directory", "warning", message, "sched init");
        }
        Err(error) => findings.bad("state-directory", "warning", error.message, "sched init"),
    }
    let bad = findings.0.iter().any(|f| f.severity == "error");
    if context.global.json {
        let document = serde_json::json!({"schema": "sched.doctor/v1", "findings": findings.0});
        output::json(&document)?;
        return Ok(u8::from(bad));
    }
    for finding in &findings.0 {
        let text = format!("{:<8} {:<16} {}", finding.severity, finding.code, finding.message);
        output::line(&text, &context.global)?;
        if let Some(cure) = &finding.cure {
            output::line(&format!("{:<25} cure: {cure}", ""), &context.global)?;
        }
    }
    Ok(u8::from(bad))
}

fn git_version(findings: &mut Findings) {
    let oldest = GitVersion::OLDEST;
    match GitCommand::new("/").version() {
        Seen::Value(found) if found >= oldest => findings.fine("git", format!("git {found}")),
        Seen::Value(found) => {
            let message = format!("git {found} cannot merge without a tree");
            findings.bad("git", "error", message, format!("install git {oldest} or newer"));
        }
        _ => findings.bad("git", "error", "git cannot be run", "install git"),
    }
}

fn shell(findings: &mut Findings) {
    if Path::new("/bin/sh").exists() {
        findings.fine("shell", "/bin/sh");
    } else {
        findings.bad("shell", "warning", "there is no /bin/sh", "install a POSIX shell");
    }
}

fn state_dir(context: &Context, findings: &mut Findings, dir: &Path) {
    match place::refused_filesystem(dir) {
        Ok(None) => findings.fine("filesystem", format!("`{}` is local", dir.display())),
        Ok(Some(name)) => {
            let message = format!("`{}` is on a {name} file system", dir.display());
            findings.bad("filesystem", "error", message, "choose a local one with --state-dir");
        }
        Err(error) => findings.bad("filesystem", "error", error.to_string(), "check the mount"),
    }
    let session = match Session::open(dir, &context.clock, Writer::Operator) {
        Ok(session) => session,
        Err(error) => {
            let error = CliError::from(error);
            let cure = error.remedy.unwrap_or_else(|| "sched journal verify".into());
            return findings.bad("journal", "error", error.message, cure);
        }
    };
    findings.fine("journal", format!("ends with entry {}", session.state.head.seq));
    if matches!(session.journal().head(), Ok(crate::journal::head::Head::Unreadable)) {
        let message = "both slots of `head` are unreadable: how much was acknowledged is unknown";
        findings.bad("head", "warning", message, "the next entry says so and goes on");
    }
    clock(findings, &session);
    disk(findings, &session);
    configuration(context, findings, &session);
}

fn clock(findings: &mut Findings, session: &Session<'_>) {
    let now = session.clock().now().wall;
    let newest = session.state.head.stamp.at;
    if newest > now {
        let ahead = newest.since(now).as_secs();
        let message = format!("the clock is {ahead} s behind the journal's newest entry");
        findings.bad("clock", "warning", message, "set the clock");
    } else {
        findings.fine("clock", "not behind the journal");
    }
}

fn disk(findings: &mut Findings, session: &Session<'_>) {
    let least = session.state.config().min_free();
    match fs4::available_space(session.dir()) {
        Ok(free) if free >= least => findings.fine("disk", format!("{} MiB free", free >> 20)),
        Ok(free) => {
            let message = format!("{} MiB free, less than min_free", free >> 20);
            findings.bad("disk", "error", message, "make room, or lower scheduler.min_free");
        }
        Err(error) => findings.bad("disk", "warning", error.to_string(), "check the mount"),
    }
}

fn configuration(context: &Context, findings: &mut Findings, session: &Session<'_>) {
    let Some(recorded) = session.state.environment.clone() else { return };
    let file = context.global.config.clone().unwrap_or_else(|| recorded.config.clone().into());
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("cannot read `{}`: {error}", file.display());
            return findings.bad("configuration", "error", message, "name it with --config");
        }
    };
    let config = match Config::parse(&text) {
        Ok(config) => config,
        Err(error) => {
            let message = format!("`{}`: {error}", file.display());
            return findings.bad("configuration", "error", message, "mend the file");
        }
    };
    findings.fine("configuration", file.display().to_string());
    let around = Surroundings::of(session, &context.global, None);
    for (name, profile) in config.profiles() {
        let program = profile.command(Tier::Mid).first().cloned().unwrap_or_default();
        if around.processes.can_execute(&program, &recorded.path) {
            findings.fine("program", format!("`{program}` of profile `{name}`"));
        } else {
            let message = format!("`{program}` of profile `{name}`: not in the recorded PATH");
            let cure = "install it, or give its full path in sched.toml";
            findings.bad("program", "error", message, cure);
        }
    }
}
