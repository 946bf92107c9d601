//! One git child: scrubbed, bounded, and holding the scheduler's lock on purpose.
//!
//! * The environment is built anew: no `GIT_*` of the caller reaches git; author and committer
//!   are sched's own (cron has none), and no HOME is needed.
//! * Hooks, automatic maintenance and the file-system monitor are off: nothing outlives the call.
//! * The child leads a process group of its own. When its bound is over the group gets TERM, so
//!   that git removes its lock files, and a second later KILL.
//! * Its standard input is the lock that the caller holds (or /dev/null): while a child of a
//!   killed tick still writes, the lock is taken and no other tick begins. No child here reads
//!   its standard input.
//! * Its output goes to files in memory, never to pipes: the end of the call is the leader
//!   reaped, not end-of-file, and a process that escaped cannot hold it up.

use crate::engine::ports::git::GitError;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long a child may take unless it is told otherwise.
const BOUND: Duration = Duration::from_secs(10);
/// How long git has to remove its lock files after TERM.
const GRACE: Duration = Duration::from_secs(1);
/// The name that sched's own commits carry.
pub(super) const NAME: &str = "sched";
/// The address that sched's own commits carry.
pub(super) const EMAIL: &str = "sched@localhost";

const CONFIG: &[&str] = &[
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "core.fsmonitor=false",
    "core.fsync=objects,reference",
    "submodule.recurse=false",
];

/// How git is started: found by which path, with which home, holding which lock.
#[derive(Debug)]
pub(super) struct Launcher {
    pub(super) repository: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) lock: Option<OwnedFd>,
    /// The common directory, once it was asked for.
    pub(super) common: OnceLock<PathBuf>,
}

/// A call of git that is being put together.
#[derive(Debug)]
pub(super) struct Call<'a> {
    launcher: &'a Launcher,
    options: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    directory: Option<PathBuf>,
    bound: Option<Duration>,
}

/// What a git child left.
#[derive(Debug)]
pub(super) struct Output {
    /// Its exit code; absent when a signal ended it.
    pub(super) code: Option<i32>,
    /// What it wrote.
    pub(super) stdout: Vec<u8>,
    /// What it complained of.
    pub(super) stderr: String,
    command: String,
}

impl Launcher {
    pub(super) fn new(repository: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        Launcher { repository, environment, lock: None, common: OnceLock::new() }
    }

    /// A call of a subcommand, in the repository.
    pub(super) fn git(&self, subcommand: &str) -> Call<'_> {
        Call {
            launcher: self,
            options: Vec::new(),
            arguments: vec![subcommand.into()],
            environment: Vec::new(),
            directory: None,
            bound: Some(BOUND),
        }
    }
}

impl Call<'_> {
    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(super) fn args<I: AsRef<OsStr>>(mut self, all: impl IntoIterator<Item = I>) -> Self {
        self.arguments.extend(all.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// An option of git itself, before the subcommand.
    pub(super) fn option(mut self, option: impl AsRef<OsStr>) -> Self {
        self.options.push(option.as_ref().to_owned());
        self
    }

    /// One setting for this call only.
    pub(super) fn config(self, setting: impl AsRef<OsStr>) -> Self {
        self.option("-c").option(setting)
    }

    pub(super) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    /// Runs in another directory than the repository.
    pub(super) fn at(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Takes as long as it takes: checking files out, adding them.
    pub(super) fn unbounded(mut self) -> Self {
        self.bound = None;
        self
    }

    #[cfg(test)]
    pub(super) fn within(mut self, bound: Duration) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Runs to the end, whatever the exit code; an error only when a lock was in the way, time
    /// ran out or git could not be started. A lock that a killed git left behind is removed.
    pub(super) fn output(self) -> Result<Output, GitError> {
        match self.once() {
            Err(GitError::Locked { path })
                if self.launcher.drop_left_lock(&self.resolved(&path)) =>
            {
                self.once()
            }
            done => done,
        }
    }

    fn once(&self) -> Result<Output, GitError> {
        let command = self.arguments[0].to_string_lossy().into_owned();
        let system = |what: &str, error: std::io::Error| GitError::System {
            path: what.to_owned(),
            message: error.to_string(),
        };
        let mut stdout = memory("stdout").map_err(|e| system("memfd", e))?;
        let mut stderr = memory("stderr").map_err(|e| system("memfd", e))?;
        let mut process = self.command();
        process.stdout(stdout.try_clone().map_err(|e| system("memfd", e))?);
        process.stderr(stderr.try_clone().map_err(|e| system("memfd", e))?);
        process.stdin(self.stdin().map_err(|e| system("lock", e))?);
        let child = process.spawn().map_err(|e| system("git", e))?;
        let (code, expired) = finish(child, self.bound).map_err(|e| system("git", e))?;
        if expired {
            let seconds = self.bound.map_or(0, |b| b.as_secs());
            return Err(GitError::TimedOut { command, seconds });
        }
        if code.is_none() {
            return Err(GitError::Killed { command });
        }
        let stdout = contents(&mut stdout).map_err(|e| system("memfd", e))?;
        let stderr = contents(&mut stderr).map_err(|e| system("memfd", e))?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        if let Some(path) = lock_in_the_way(&stderr).filter(|_| code != Some(0)) {
            return Err(GitError::Locked { path });
        }
        Ok(Output { code, stdout, stderr, command })
    }

    /// Where git works, and what a path that it names means there.
    fn resolved(&self, path: &str) -> PathBuf {
        self.directory().join(path)
    }

    fn directory(&self) -> &PathBuf {
        self.directory.as_ref().unwrap_or(&self.launcher.repository)
    }

    /// Runs to exit code 0 and gives what was written.
    pub(super) fn bytes(self) -> Result<Vec<u8>, GitError> {
        let output = self.output()?;
        if output.code == Some(0) { Ok(output.stdout) } else { Err(output.failure()) }
    }

    /// Runs to exit code 0 and gives what was written, without the line end.
    pub(super) fn line(self) -> Result<String, GitError> {
        let bytes = self.bytes()?;
        Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned())
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir("/").process_group(0);
        command.envs(self.launcher.environment.iter().map(|(k, v)| (k, v)));
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", ":"),
            ("GIT_AUTHOR_NAME", NAME),
            ("GIT_AUTHOR_EMAIL", EMAIL),
            ("GIT_COMMITTER_NAME", NAME),
            ("GIT_COMMITTER_EMAIL", EMAIL),
        ]);
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        command.arg("-C").arg(self.directory()).arg("--no-replace-objects");
        command.args(CONFIG.iter().flat_map(|setting| ["-c", setting]));
        command.args(&self.options).args(&self.arguments);
        command
    }

    fn stdin(&self) -> std::io::Result<Stdio> {
        match &self.launcher.lock {
            Some(lock) => lock.try_clone().map(Stdio::from),
            None => Ok(Stdio::null()),
        }
    }
}

impl Output {
    /// The error that this end is, where it was not expected.
    pub(super) fn failure(self) -> GitError {
        let said = if self.stderr.trim().is_empty() {
            String::from_utf8_lossy(&self.stdout).into_owned()
        } else {
            self.stderr
        };
        let mut message = one_line(&said);
        if message.is_empty() {
            message = match self.code {
                Some(code) => format!("exit code {code}"),
                None => "ended by a signal".to_owned(),
            };
        }
        GitError::Failed { command: self.command, message }
    }
}

/// Text from outside as one bounded line.
pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    lines.join("; ").chars().filter(|c| !c.is_control()).take(500).collect()
}

fn memory(name: &str) -> std::io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

fn contents(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Waits for the leader; whether its bound ended it. The child is reaped only after nobody can
/// signal it any more, so no signal ever meets a process that has taken over its number.
fn finish(mut child: Child, bound: Option<Duration>) -> std::io::Result<(Option<i32>, bool)> {
    let group = Pid::from_child(&child);
    let (ended, end) = channel::<()>();
    let watchdog = bound.map(|bound| thread::spawn(move || watch(&end, bound, group)));
    let flags = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let waited = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(group), flags));
    drop(ended);
    let expired = watchdog.is_some_and(|w| w.join().unwrap_or(false));
    let status = child.wait()?;
    waited?;
    Ok((status.code(), expired))
}

fn watch(end: &Receiver<()>, bound: Duration, group: Pid) -> bool {
    if end.recv_timeout(bound) != Err(RecvTimeoutError::Timeout) {
        return false;
    }
    let _ = kill_process_group(group, Signal::TERM);
    let _ = end.recv_timeout(GRACE);
    let _ = kill_process_group(group, Signal::KILL);
    true
}

/// The lock file that a complaint of git names, if that is what it complains of.
fn lock_in_the_way(stderr: &str) -> Option<String> {
    let line = stderr.lines().find(|l| l.contains(": File exists"))?;
    let before = line.split(": File exists").next()?;
    let quoted = before.rsplit('\'').nth(1).filter(|path| path.ends_with(".lock"));
    let config = before.rsplit("could not lock config file ").next().filter(|p| *p != before);
    quoted.map(str::to_owned).or_else(|| config.map(|path| format!("{path}.lock")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_about_a_lock_file_names_it() {
        let said = "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git";
        assert_eq!(lock_in_the_way(said).as_deref(), Some("/r/.git/index.lock"));
        let said = "error: cannot lock ref 'refs/heads/a': Unable to create \
                    '/r/.git/refs/heads/a.lock': File exists.";
        assert_eq!(lock_in_the_way(said).as_deref(), Some("/r/.git/refs/heads/a.lock"));
        let said = "error: could not lock config file .git/config: File exists";
        assert_eq!(lock_in_the_way(said).as_deref(), Some(".git/config.lock"));
        assert_eq!(lock_in_the_way("fatal: could not create '/x': File exists"), None);
    }
}
