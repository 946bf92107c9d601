//! The command's process before and while it is the command: held back by a pipe, let go by one
//! byte.

use crate::domain::event::Process;
use crate::os::child::READY;
use crate::os::process::identity::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Error, PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long the process may take to say that it waits.
const COMING_UP: Duration = Duration::from_secs(20);

/// The command's process.
pub(super) struct Held {
    child: Child,
    /// Dropped without a byte it means: do not run.
    go: Option<ChildStdin>,
    report: PipeReader,
    /// Who it is; its group and session have its number.
    pub(super) process: Process,
}

impl Held {
    /// Starts it; when this returns it waits, in a session of its own.
    ///
    /// # Errors
    /// Whatever the system says; then nothing is left of it.
    pub(super) fn start(
        program: &Path,
        run_dir: &Path,
        environment: &BTreeMap<String, String>,
        log: File,
    ) -> io::Result<Self> {
        let (mut report, said) = io::pipe()?;
        let mut command = Command::new(program);
        command.arg0("sched").arg("exec-child").arg(run_dir);
        command.current_dir("/").env_clear().envs(environment).envs(crate::crash::environment());
        command.stdin(Stdio::piped()).stdout(said).stderr(log);
        let mut child = command.spawn()?;
        drop(command); // our end of what it says
        let go = child.stdin.take();
        let found = wait_until_ready(&mut report).and_then(|()| {
            process(child.id()).ok_or_else(|| Error::other("the process is gone already"))
        });
        match found {
            Ok(process) => Ok(Self { child, go, report, process }),
            Err(error) => {
                drop(go);
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Lets it become the command. One that is gone by now is noticed as ended.
    pub(super) fn go(&mut self) {
        if let Some(mut go) = self.go.take() {
            let _ = go.write_all(b"g");
        }
    }

    /// Lets it end without ever running the command.
    pub(super) fn let_go(&mut self) {
        self.go = None;
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill(); // not reaped yet, so the number is its own
    }

    /// Reaps it. Until then its number, and that of its group, is nobody else's.
    pub(super) fn reap(&mut self) -> Option<ExitStatus> {
        self.child.wait().ok()
    }

    /// Why it did not become the command, if it said so.
    pub(super) fn report(&mut self) -> Option<String> {
        let mut bytes = [0; 4096];
        if !is_readable(&self.report, Duration::ZERO) {
            return None;
        }
        let read = self.report.read(&mut bytes).ok().filter(|n| *n > 0)?;
        Some(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }
}

fn wait_until_ready(report: &mut PipeReader) -> io::Result<()> {
    let begun = Instant::now();
    while !is_readable(report, COMING_UP.saturating_sub(begun.elapsed())) {
        if begun.elapsed() >= COMING_UP {
            return Err(Error::other("the process does not come up"));
        }
    }
    let mut byte = [0];
    match report.read(&mut byte)? {
        1 if byte[0] == READY => Ok(()),
        _ => Err(Error::other("the process ended before it was ready")),
    }
}

fn is_readable(report: &PipeReader, bound: Duration) -> bool {
    let bound = Timespec::try_from(bound).ok();
    let mut fds = [PollFd::new(report, PollFlags::IN)];
    poll(&mut fds, bound.as_ref()).is_ok_and(|ready| ready > 0)
}
