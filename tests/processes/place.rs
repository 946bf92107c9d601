//! A place of its own for each test: a state directory, and an agent that is a shell script
//! without a tree, so that its exit code alone decides.

use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(60);

/// The program under test.
pub const SCHED: &str = env!("CARGO_BIN_EXE_sched");

/// A temporary place with one queued issue.
pub struct Place {
    place: TempDir,
}

impl Place {
    /// With an agent that runs this script; `$PLACE` is the place.
    pub fn new(script: &str) -> Self {
        Self::with(script, "", "")
    }

    /// With more settings for the scheduler and for the agent.
    pub fn with(script: &str, scheduler: &str, agent: &str) -> Self {
        let place = Self { place: TempDir::with_prefix("sched-processes-").unwrap() };
        fs::write(place.path("agent"), format!("set -e\n{script}")).unwrap();
        place.configure(&["sh", &place.path("agent").display().to_string()], scheduler, agent);
        let made = place.sched(&["init"]);
        assert!(made.status.success(), "{made:?}");
        assert!(place.sched(&["enqueue", "--issues", "1"]).status.success());
        place
    }

    /// Writes the configuration.
    pub fn configure(&self, command: &[&str], scheduler: &str, agent: &str) {
        let root = self.path("");
        let text = format!(
            "schema = 1\n[scheduler]\nmax_slots = 2\nspawn_grace = \"1s\"\n{scheduler}\n\
             [agent]\ncommand = {command:?}\nworkdir = \"none\"\ntimeout = \"50s\"\n\
             env = {{ PLACE = {root:?} }}\n{agent}\n"
        );
        fs::write(self.path("sched.toml"), text).unwrap();
    }

    /// A path in the place.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// What a file of the place holds; empty while it is not there.
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default().trim().to_owned()
    }

    /// The pid that the script wrote to a file.
    pub fn pid(&self, name: &str) -> u32 {
        wait_for(name, || self.text(name).parse::<u32>().is_ok());
        self.text(name).parse().unwrap()
    }

    /// The program, not yet started, as cron would start it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(SCHED);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").current_dir(self.path(""));
        command.args(args).arg("--state-dir").arg(self.path("state"));
        command
    }

    /// Runs the program.
    pub fn sched(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Ticks.
    pub fn tick(&self) {
        let said = self.sched(&["tick"]);
        assert!(said.status.success(), "{said:?}");
    }

    /// The data of every event of a type, in order.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path("state/journal.jsonl")).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let events = entries.flat_map(|e| e["events"].as_array().cloned().unwrap_or_default());
        events.filter(|event| event["type"] == name).map(|event| event["data"].clone()).collect()
    }

    /// Waits for the `count`-th event of a type.
    pub fn event(&self, name: &str, count: usize) -> Value {
        wait_for(name, || self.events(name).len() >= count);
        self.events(name)[count - 1].clone()
    }

    /// Ticks and waits for the first exit.
    pub fn exit(&self) -> Value {
        self.tick();
        self.event("dispatch-exited", 1)
    }

    /// The directory of the `n`-th dispatch, from 1.
    pub fn run(&self, n: usize) -> PathBuf {
        let planned = self.event("dispatch-planned", n);
        self.path("state/runs").join(planned["dispatch"].as_str().unwrap())
    }
}

impl Place {
    /// What the agent started, by its environment, and still lives.
    pub fn left(&self) -> Vec<String> {
        let mark = format!("PLACE={}", self.path("").display());
        let mut left = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let read = |name: &str| {
                let bytes = fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            if read("environ").contains(&mark) && lives(pid) {
                left.push(format!("{pid}: {}", read("cmdline")));
            }
        }
        left
    }
}

impl Drop for Place {
    /// Whatever a failed test left running is known by this place's path.
    fn drop(&mut self) {
        let place = self.path("").display().to_string();
        let names = |pid: u32, file: &str| {
            let bytes = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(place.trim_end_matches('/'))
        };
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            if pid != std::process::id() && (names(pid, "environ") || names(pid, "cmdline")) {
                signal(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// Waits until a condition holds.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The fields of `/proc/<pid>/stat` from the third on; absent when nobody is there.
pub fn stat(pid: u32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    Some(fields.split_ascii_whitespace().map(str::to_owned).collect())
}

/// Whether a process is there and no zombie.
pub fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields[0] != "Z" && fields[0] != "X")
}

/// Sends a signal to one process that a test started.
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}
