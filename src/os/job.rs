//! One command under supervision: its process, its signals, and what it leaves behind.
//!
//! The end of a job is its leader reaped, never end-of-file: a grandchild may hold the output
//! open for ever. Output goes to a file.

use super::child::Executed;
use super::identity::{all, environment, own_process, process, stat};
use super::junit;
use super::runs::SystemRuns;
use crate::domain::event::{DispatchStarted, Exit, SuiteReport};
use crate::domain::ids::DispatchId;
use crate::engine::ports::{Job, JobPlan, Woken};
use crate::journal::disk::open_or_create;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, kill_process_group, waitid,
    waitpid,
};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long what a command left behind has between TERM and KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// A real command.
pub struct SystemJob {
    runs: SystemRuns,
    program: PathBuf,
    dispatch: DispatchId,
    woken: UnixStream,
    told: Arc<AtomicBool>,
    said_told: bool,
    child: Option<Child>,
    go: Option<ChildStdin>,
    started: Option<DispatchStarted>,
    begun: Option<Instant>,
    peak_kib: u64,
}

impl SystemJob {
    /// Prepares for one dispatch: from here on signals to this process are noticed, and what
    /// the command's children leave is inherited.
    ///
    /// # Errors
    /// Why signals cannot be noticed.
    pub fn new(state_dir: &Path, program: &Path, dispatch: DispatchId) -> std::io::Result<Self> {
        use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&told))?;
            signal_hook::low_level::pipe::register(signal, wakes.try_clone()?)?;
        }
        signal_hook::low_level::pipe::register(SIGCHLD, wakes)?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        Ok(Self {
            runs: SystemRuns::new(state_dir),
            program: program.to_owned(),
            dispatch,
            woken,
            told,
            said_told: false,
            child: None,
            go: None,
            started: None,
            begun: None,
            peak_kib: 0,
        })
    }

    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.child.as_ref()?.id()).ok()?)
    }

    /// Whether the leader has ended; it is not reaped yet, so its numbers are still its own.
    fn has_ended(&self) -> bool {
        let Some(pid) = self.pid() else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        waitid(WaitId::Pid(pid), options).map_or(true, |status| status.is_some())
    }

    fn note_peak(&mut self) {
        let Some(pid) = self.child.as_ref().map(Child::id) else { return };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|text| text.trim().split(' ').next()?.parse().ok());
        self.peak_kib = self.peak_kib.max(kib.unwrap_or(0));
    }

    /// What is left of the command: its session and group, and whatever was inherited from it,
    /// except what belongs to another dispatch or is a supervisor, and what descends from those.
    fn leftovers(&self) -> Vec<u32> {
        let Some(leader) = self.child.as_ref().map(Child::id) else { return Vec::new() };
        let us = std::process::id();
        let everybody: Vec<_> = all().into_iter().filter_map(|p| Some((p, stat(p)?))).collect();
        let mut ours: BTreeSet<u32> = BTreeSet::from([us]);
        let mut spared: BTreeSet<u32> = BTreeSet::new();
        loop {
            let before = (ours.len(), spared.len());
            for (pid, stat) in &everybody {
                let foreign = spared.contains(&stat.parent)
                    || (*pid != leader && *pid != us && self.is_foreign(*pid));
                let here =
                    stat.group == leader || stat.session == leader || ours.contains(&stat.parent);
                if foreign {
                    spared.insert(*pid);
                } else if here {
                    ours.insert(*pid);
                }
            }
            if before == (ours.len(), spared.len()) {
                break;
            }
        }
        let dead =
            |pid: &u32| everybody.iter().any(|(p, s)| p == pid && matches!(s.state, 'Z' | 'X'));
        ours.into_iter()
            .filter(|pid| *pid != us && *pid != leader && !spared.contains(pid) && !dead(pid))
            .collect()
    }

    fn is_foreign(&self, pid: u32) -> bool {
        let named = environment(pid, "SCHED_DISPATCH");
        if named.is_some_and(|named| named != self.dispatch.to_string()) {
            return true;
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|b| *b == 0);
        let program = words.next().unwrap_or_default();
        let ours = program.ends_with(b"sched") || program.ends_with(b"/sched");
        ours && words.next() == Some(b"supervise")
    }

    fn signal_all(&self, pids: &[u32], signal: Signal) {
        for pid in pids.iter().filter_map(|p| Pid::from_raw(i32::try_from(*p).ok()?)) {
            let _ = kill_process(pid, signal); // gone already is what was wanted
        }
    }

    /// Reaps whatever was inherited and has ended, except the leader.
    fn reap_inherited(&self) {
        let leader = self.child.as_ref().map(Child::id);
        for (pid, stat) in all().into_iter().filter_map(|p| Some((p, stat(p)?))) {
            let inherited = stat.parent == std::process::id() && stat.state == 'Z';
            if inherited && Some(pid) != leader {
                let raw = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let _ = waitpid(raw, WaitOptions::NOHANG);
            }
        }
    }

    fn end_leftovers(&self) -> u32 {
        let mut count = 0;
        for signal in [Signal::TERM, Signal::KILL] {
            let begun = Instant::now();
            loop {
                self.reap_inherited();
                let left = self.leftovers();
                if left.is_empty() {
                    return count;
                }
                count = count.max(u32::try_from(left.len()).unwrap_or(u32::MAX));
                self.signal_all(&left, signal);
                if begun.elapsed() > GRACE {
                    break;
                }
                std::thread::sleep(LOOK);
            }
        }
        count
    }

    fn exec_error(&self) -> Option<String> {
        std::fs::read_to_string(self.runs.dir(self.dispatch).join("exec-error")).ok()
    }
}

impl Job for SystemJob {
    fn spawn(&mut self, plan: &JobPlan) -> Result<(), String> {
        let say = |what: &str, error: std::io::Error| format!("cannot {what}: {error}");
        let dir = self.runs.dir(self.dispatch);
        self.runs.claim(self.dispatch).map_err(|e| say("claim the dispatch", e))?;
        crate::crash::point("supervise-claimed");
        let directory = match &plan.directory {
            Some(directory) => directory.clone(),
            None => {
                let work = dir.join("work");
                crate::journal::place::make_dir(&work).map_err(|e| say("make a directory", e))?;
                work.to_string_lossy().into_owned()
            }
        };
        if let Some(input) = &plan.input {
            std::fs::write(dir.join("prompt"), input).map_err(|e| say("write the prompt", e))?;
        }
        let command = plan.command.clone();
        let executed = Executed { command, directory, input: plan.input.is_some() };
        let text = serde_json::to_string(&executed).map_err(|e| e.to_string())?;
        std::fs::write(dir.join("command.json"), text).map_err(|e| say("write the command", e))?;
        let log = open_or_create(&self.runs.log(self.dispatch)).map_err(|e| say("open log", e))?;
        let end = log.metadata().map_or(0, |meta| meta.len());
        let _ = log.write_all_at(&[], end);
        let log = std::fs::OpenOptions::new()
            .append(true)
            .open(self.runs.log(self.dispatch))
            .map_err(|e| say("open the log", e))?;
        let errors = log.try_clone().map_err(|e| say("open the log", e))?;
        let mut child = Command::new(&self.program)
            .arg("exec-child")
            .arg(&dir)
            .current_dir("/")
            .env_clear()
            .envs(&plan.environment)
            .envs(crate::crash::environment())
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|e| say("start the command's process", e))?;
        self.go = child.stdin.take();
        let found = process(child.id());
        self.child = Some(child);
        let Some(found) = found else { return Err("the command's process is gone".into()) };
        self.started = Some(DispatchStarted {
            dispatch: self.dispatch,
            process_group: found.pid,
            process: found,
            supervisor: own_process(),
        });
        Ok(())
    }

    fn started(&self) -> Option<DispatchStarted> {
        self.started.clone()
    }

    fn go(&mut self) {
        use std::io::Write;
        self.begun = Some(Instant::now());
        if let Some(mut go) = self.go.take() {
            // a process that is gone by now is noticed as ended
            let _ = go.write_all(b"g");
        }
    }

    fn drop_unused(&mut self) {
        self.go = None;
        if let Some(child) = &mut self.child {
            let _ = child.wait();
        }
    }

    fn wait(&mut self, time: Duration) -> Woken {
        let deadline = Instant::now() + time;
        loop {
            self.note_peak();
            let mut drained = [0; 64];
            while matches!(self.woken.read(&mut drained), Ok(n) if n > 0) {}
            if self.has_ended() {
                return Woken::Ended;
            }
            self.reap_inherited();
            if self.told.load(Ordering::Relaxed) && !self.said_told {
                self.said_told = true;
                return Woken::Told;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Woken::Time;
            }
            let bound = left.min(Duration::from_secs(1));
            let bound = Timespec::try_from(bound).ok();
            let mut fds = [PollFd::new(&self.woken, PollFlags::IN)];
            let _ = poll(&mut fds, bound.as_ref()); // an interrupted wait is looked at again
        }
    }

    fn output_bytes(&self) -> u64 {
        std::fs::metadata(self.runs.log(self.dispatch)).map_or(0, |meta| meta.len())
    }

    fn end(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            let Some(pid) = self.pid().filter(|_| !self.has_ended()) else { return };
            let _ = kill_process_group(pid, signal);
            let _ = kill_process_group(pid, Signal::CONT);
            let begun = Instant::now();
            while !self.has_ended() && begun.elapsed() < GRACE {
                std::thread::sleep(LOOK);
            }
        }
    }

    fn finish(&mut self) -> Exit {
        let leader = self.child.as_ref().map(Child::id);
        let ticks = leader.and_then(stat).map_or(0, |stat| stat.cpu_ticks);
        let left_behind = self.end_leftovers();
        let status = self.child.as_mut().and_then(|child| child.wait().ok());
        let (output, output_tail) = self.runs.output(self.dispatch);
        use crate::engine::ports::Runs;
        use std::os::unix::process::ExitStatusExt;
        let ran = self.runs.ran(self.dispatch);
        let per_second = rustix::param::clock_ticks_per_second().max(1);
        Exit {
            ran,
            code: status.and_then(|s| s.code()),
            signal: status.and_then(|s| s.signal()),
            duration_ms: self
                .begun
                .map_or(0, |at| u64::try_from(at.elapsed().as_millis()).unwrap_or(u64::MAX)),
            cpu_ms: ticks * 1000 / per_second,
            max_rss_kib: self.peak_kib,
            output,
            output_tail,
            exec_failed: self.exec_error().filter(|_| ran),
            left_behind,
            ..Exit::default()
        }
    }

    fn report(&self, plan: &JobPlan) -> Option<SuiteReport> {
        let path = Path::new(plan.directory.as_ref()?).join(plan.report.as_ref()?);
        Some(junit::read(&path))
    }

    fn write_receipt(&mut self, exit: &Exit) -> Result<(), String> {
        self.runs.write_receipt(self.dispatch, exit).map_err(|error| error.to_string())
    }
}
