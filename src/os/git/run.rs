//! One git child: bounded, scrubbed, and holding the caller's lock on purpose, so that nobody
//! else begins while a child of a killed process still writes.

use crate::engine::ports::GitFailure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one short child may take.
const BOUND: Duration = Duration::from_secs(10);

/// The repository.
#[derive(Debug)]
pub struct SystemGit {
    pub(super) repository: PathBuf,
    lock: Option<OwnedFd>,
    bound: Option<Duration>,
}

/// What a git child said.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

impl Said {
    /// Standard output as one trimmed text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).trim_end().to_owned()
    }

    /// NUL-terminated records.
    pub(super) fn records(&self) -> impl Iterator<Item = String> + '_ {
        let records = self.out.split(|b| *b == 0).filter(|r| !r.is_empty());
        records.map(|r| String::from_utf8_lossy(r).into_owned())
    }

    /// The failure that this is.
    pub(super) fn failure(&self, what: &str) -> GitFailure {
        let text = self.err.trim();
        let busy = [".lock': File exists", "Unable to create", "cannot lock ref"];
        let message = format!("git {what}: {text}");
        if busy.iter().any(|part| text.contains(part)) && text.contains("File exists") {
            GitFailure::Busy(message)
        } else {
            GitFailure::Failed(message)
        }
    }
}

impl SystemGit {
    /// The repository with this main worktree. `lock` is held by every child, on purpose.
    pub fn new(repository: &Path, lock: Option<&dyn AsFd>) -> Self {
        let lock = lock.and_then(|fd| fd.as_fd().try_clone_to_owned().ok());
        Self { repository: repository.to_owned(), lock, bound: Some(BOUND) }
    }

    /// Without the bound, for work that may take long: supervisors only.
    #[must_use]
    pub fn unbounded(mut self) -> Self {
        self.bound = None;
        self
    }

    /// Runs git in the repository; a non-zero code is an answer, not a failure.
    pub(super) fn ask<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Said, GitFailure> {
        self.run(&self.repository, args, &[], self.bound)
    }

    /// Runs git in a directory, with more environment.
    pub(super) fn ask_in<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: &[S],
        more: &[(&str, &OsStr)],
    ) -> Result<Said, GitFailure> {
        self.run(dir, args, more, self.bound)
    }

    /// Runs git in a directory for as long as it takes.
    pub(super) fn ask_long<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: &[S],
    ) -> Result<Said, GitFailure> {
        self.run(dir, args, &[], None)
    }

    /// Runs git in the repository and takes its output; a non-zero code is a failure.
    pub(super) fn must<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitFailure> {
        let said = self.ask(args)?;
        if said.code == 0 { Ok(said.text()) } else { Err(said.failure(&name(args))) }
    }

    fn run<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: &[S],
        more: &[(&str, &OsStr)],
        bound: Option<Duration>,
    ) -> Result<Said, GitFailure> {
        let mut command = scrubbed(dir);
        command.args(args).envs(more.iter().copied());
        let stdin = self.lock.as_ref().and_then(|fd| fd.try_clone().ok());
        command.stdin(stdin.map_or_else(Stdio::null, Stdio::from));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command
            .spawn()
            .map_err(|error| GitFailure::Failed(format!("git cannot be started: {error}")))?;
        let out = reader(child.stdout.take().map(OwnedFd::from));
        let err = reader(child.stderr.take().map(OwnedFd::from));
        let code = wait(&mut child, bound).ok_or_else(|| {
            GitFailure::Failed(format!("git {} took longer than {BOUND:?}", name(args)))
        })?;
        let out = out.join().unwrap_or_default();
        let err = String::from_utf8_lossy(&err.join().unwrap_or_default()).into_owned();
        Ok(Said { code, out, err })
    }
}

fn name<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.first().map_or_else(String::new, |a| a.as_ref().to_string_lossy().into_owned())
}

/// Git with nothing of the caller's environment that could turn it elsewhere.
fn scrubbed(dir: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(dir).env_clear();
    for kept in ["PATH", "HOME", "TMPDIR"] {
        if let Some(value) = std::env::var_os(kept) {
            command.env(kept, value);
        }
    }
    for (name, value) in [
        ("LC_ALL", "C"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("GIT_AUTHOR_NAME", "sched"),
        ("GIT_AUTHOR_EMAIL", "sched@localhost"),
        ("GIT_COMMITTER_NAME", "sched"),
        ("GIT_COMMITTER_EMAIL", "sched@localhost"),
    ] {
        command.env(name, value);
    }
    for setting in [
        "core.hooksPath=/dev/null",
        "gc.auto=0",
        "maintenance.auto=false",
        "core.fsmonitor=false",
        "commit.gpgSign=false",
        "safe.directory=*",
    ] {
        command.arg("-c").arg(setting);
    }
    command
}

fn reader(fd: Option<OwnedFd>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(fd) = fd {
            let _ = File::from(fd).read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the child; over its bound its whole group is killed and there is no answer.
fn wait(child: &mut Child, bound: Option<Duration>) -> Option<i32> {
    let begun = Instant::now();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let fd = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status.code().unwrap_or(128));
        }
        let left = bound.map(|b| b.saturating_sub(begun.elapsed()));
        if left.is_some_and(|l| l.is_zero()) {
            if let Some(pid) = pid {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            let _ = child.wait();
            return None;
        }
        let step = left.unwrap_or(Duration::from_secs(1));
        match &fd {
            Some(fd) => {
                let step = Timespec::try_from(step).ok();
                let _ = poll(&mut [PollFd::new(fd, PollFlags::IN)], step.as_ref());
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn short(dir: &Path, args: &[&str]) -> Option<String> {
    let said = SystemGit::new(dir, None).ask(args).ok()?;
    (said.code == 0).then(|| said.text())
}

/// The common git directory of the repository that a directory is in, absolute.
pub fn common_dir(dir: &Path) -> Option<PathBuf> {
    let text = short(dir, &["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    Some(PathBuf::from(text))
}

/// The main worktree of the repository that a directory is in, absolute.
pub fn main_worktree(dir: &Path) -> Option<PathBuf> {
    let said = SystemGit::new(dir, None).ask(&["worktree", "list", "--porcelain", "-z"]).ok()?;
    let first = said.records().next()?;
    first.strip_prefix("worktree ").map(PathBuf::from)
}

/// Git's version: major and minor.
pub fn version() -> Option<(u32, u32)> {
    let text = short(Path::new("/"), &["version"])?;
    let mut numbers = text.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
