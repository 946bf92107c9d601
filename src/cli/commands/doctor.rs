//! `sched doctor`: what may go wrong here, each finding with its cure.

use crate::audit::{schema, verify};
use crate::cli::context::{Context, Surroundings};
use crate::cli::errors::CliError;
use crate::cli::home::away;
use crate::cli::{named, output};
use crate::domain::config::Config;
use crate::domain::event::{Tier, VERSION, Writer};
use crate::engine::ports::Seen;
use crate::engine::ports::git::{Git, GitVersion};
use crate::engine::{Session, can_execute};
use crate::journal::place;
use crate::os::git::GitCommand;
use crate::os::installed_program;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// What cron gives a job, unless the crontab says otherwise.
const CRON_PATH: &str = "/usr/bin:/bin";

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
    findings.fine("versions", versions());
    git_version(&mut findings);
    cron(&mut findings);
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

fn versions() -> String {
    let draft = schema::draft().map_or_else(
        || "frozen".to_owned(),
        |digest| format!("draft {}", digest.get(..12).unwrap_or_default()),
    );
    format!("sched {}, journal schema v{VERSION} ({draft})", env!("CARGO_PKG_VERSION"))
}

/// What a line of a crontab finds by its bare name.
fn cron(findings: &mut Findings) {
    let program = installed_program();
    let named = std::env::split_paths(CRON_PATH).any(|dir| dir.join("sched").exists());
    match GitCommand::new("/").with_variable("PATH", CRON_PATH).version() {
        Seen::Value(_) if !named => {
            let message = format!("git is in cron's PATH, {CRON_PATH}, and sched is not");
            let cure = format!("in the crontab write:  {} tick", program.display());
            findings.bad("cron", "warning", message, cure);
        }
        Seen::Value(_) => {
            findings.fine("cron", format!("git and sched are in cron's PATH, {CRON_PATH}"));
        }
        _ => {
            let message = format!("git is not in cron's PATH, {CRON_PATH}");
            let cure = "set PATH in the crontab, or tick with --state-dir";
            findings.bad("cron", "warning", message, cure);
        }
    }
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
    match session.journal().check_writable() {
        Ok(()) => findings.fine("writable", format!("`{}`", dir.display())),
        Err(error) => {
            let cure = error
                .hint()
                .unwrap_or_else(|| "mend the mount, the owner, the mode or the attributes".into());
            findings.bad("writable", "error", error.to_string(), cure);
        }
    }
    journal(findings, &session);
    if matches!(session.journal().head(), Ok(crate::journal::head::Head::Unreadable)) {
        let message = "both slots of `head` are unreadable: how much was acknowledged is unknown";
        findings.bad("head", "warning", message, "the next entry says so and goes on");
    }
    clock(findings, &session);
    disk(findings, &session);
    configuration(context, findings, &session);
}

/// Every byte of the journal, which other commands take from their checkpoint on, and its place.
fn journal(findings: &mut Findings, session: &Session<'_>) {
    let dir = session.dir();
    match verify::state_dir(&dir) {
        Ok(report) if report.ok() => {
            findings.fine("journal", format!("{} entries, as they were written", report.entries));
        }
        Ok(report) => {
            let first = report.damage.iter().find(|d| d.kind != "TORN-TAIL");
            let message = first.map_or_else(String::new, |d| {
                format!("{} at entry {}, byte {}: {}", d.kind, d.seq, d.offset, d.message)
            });
            findings.bad("journal", "error", message, "see all of it:  sched journal verify");
        }
        Err(error) => findings.bad("journal", "error", error.to_string(), "sched journal verify"),
    }
    if session.elsewhere().is_ok_and(|place| place.is_some()) {
        let message = format!("`{}` is a copy of another state directory", dir.display());
        findings.bad("place", "error", message, "to go on with it here:  sched init --adopt");
    }
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
    if let Some(away) = away(&recorded, &session.dir()) {
        findings.bad("repository", "error", away, "where it is now:  sched init");
    }
    let file = context.global.config.clone().unwrap_or_else(|| recorded.config.clone().into());
    let text = match named::read(&file) {
        Ok(text) => text,
        Err(why) => return findings.bad("configuration", "error", why, "name it with --config"),
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
    let there = |program: &str| {
        let git = around.git.as_ref().map(|git| git as &dyn Git);
        can_execute(program, &recorded, config.base_branch(), &around.processes, git)
    };
    programs(findings, &config, &there);
}

/// Whether what the configuration runs can be executed, each program of each user once.
fn programs(findings: &mut Findings, config: &Config, there: &dyn Fn(&str) -> bool) {
    for (program, user) in used(config) {
        let what = format!("`{program}` of {user}");
        let unknown_yet = program.contains('{');
        if unknown_yet || there(&program) {
            findings.fine("program", what);
            continue;
        }
        let (problem, cure) = if program.starts_with('/') {
            ("not executable".to_owned(), "install it, or mend its path")
        } else if program.contains('/') {
            let base = config.base_branch();
            let problem = format!("not an executable file of `{base}`, where its tree comes from");
            (problem, "commit it there, or give its full path in sched.toml")
        } else {
            (
                "not in the recorded PATH".to_owned(),
                "install it, or give its full path in sched.toml",
            )
        };
        findings.bad("program", "error", format!("{what}: {problem}"), cure);
    }
}

fn used(config: &Config) -> BTreeSet<(String, String)> {
    let mut used = BTreeSet::new();
    let mut add = |command: &[String], user: String| {
        used.extend(command.first().map(|program| (program.clone(), user)));
    };
    for (name, profile) in config.profiles() {
        for tier in [Tier::Mechanical, Tier::Mid, Tier::Strong] {
            add(profile.command(tier), format!("profile `{name}`"));
        }
    }
    for gate in config.gate_specs() {
        add(&gate.command, format!("gate `{}`", gate.id));
    }
    if let Some(suite) = config.suite_spec() {
        add(&suite.command, "the suite".to_owned());
    }
    used
}
