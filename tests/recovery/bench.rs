//! A repository, a scheduler in it, and agents and gates that are scripts which write down each
//! of their runs outside.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What every wait gives up after.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An agent that commits a file named after its issue.
pub const WORKS: &str = "echo $SCHED_ISSUE >work-$SCHED_ISSUE; git add -A; git commit -qm work";
/// A gate that only the issue `bad` fails.
pub const GATE: &str = "test ! -e work-bad || { echo bad; exit 1; }";

/// One scheduler with a repository of its own.
pub struct Bench {
    root: tempfile::TempDir,
    repository: &'static str,
}

/// What is compared between a disturbed and an undisturbed run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Issue, status, reason.
    pub issues: Vec<(String, String, String)>,
    /// Batch, status.
    pub batches: Vec<(String, String)>,
    /// Subjects on the base branch, newest first.
    pub base: String,
    /// Role and issue of each run of an agent.
    pub agents: Vec<String>,
}

impl Bench {
    /// With this agent and this gate.
    pub fn new(agent: &str, gate: &str) -> Self {
        Self::with_settings(agent, gate, "", |_| {})
    }

    /// With more settings for the scheduler, and something done before `sched init`.
    pub fn with_settings(
        agent: &str,
        gate: &str,
        settings: &str,
        before: impl FnOnce(&Self),
    ) -> Self {
        let bench = Self::empty("repository");
        fs::create_dir(bench.repository()).unwrap();
        let agent = bench.script("agent", agent);
        let gate = bench.script("gate", gate);
        let config = format!(
            "schema = 1\n[scheduler]\nkill_escalation = \"1s\"\nspawn_grace = \"1s\"\n\
             {settings}\n[agent]\ncommand = [{agent:?}]\ntimeout = \"60s\"\n\
             [[gate]]\nid = \"unit\"\ncommand = [{gate:?}]\ntimeout = \"20s\"\n\
             [ship]\nmode = \"merge\"\n"
        );
        fs::write(bench.repository().join("sched.toml"), config).unwrap();
        bench.first_commit("first");
        before(&bench);
        bench.ok(&["init"]);
        bench
    }

    /// A place of its own, where the repository will be made at this path.
    pub fn empty(repository: &'static str) -> Self {
        Self { root: tempfile::tempdir().unwrap(), repository }
    }

    /// Makes the repository's first commit of all that is in its directory.
    pub fn first_commit(&self, subject: &str) {
        self.git(&["init", "--quiet", "--initial-branch", "main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
    }

    /// The repository.
    pub fn repository(&self) -> PathBuf {
        self.root.path().join(self.repository)
    }

    /// A file of the state directory.
    pub fn state(&self, name: &str) -> PathBuf {
        self.repository().join(".git/sched").join(name)
    }

    /// The data of every event of a type, in order.
    pub fn events(&self, name: &str) -> Vec<serde_json::Value> {
        let text = fs::read_to_string(self.state("journal.jsonl")).unwrap();
        let entries = text.lines().filter_map(|l| serde_json::from_str(l).ok());
        let events = entries.flat_map(|e: serde_json::Value| e["events"].as_array().cloned());
        let named = events.flatten().filter(|event| event["type"] == name);
        named.map(|event| event["data"].clone()).collect()
    }

    /// A path beside the repository.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// A script beside the repository, which writes down that it ran.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.beside(name);
        let runs = self.beside("runs");
        let text = format!(
            "#!/bin/sh\necho \"$SCHED_ROLE $SCHED_ISSUE $SCHED_DISPATCH\" >>'{}'\n\
             export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org\n\
             export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org\n{body}\n",
            runs.display()
        );
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Runs git in the repository; its output.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
        let output = command.current_dir(self.repository()).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The program, ready to be run.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
        command.args(arguments).current_dir(self.repository()).stdin(Stdio::null());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.path());
        command
    }

    /// Runs the program with these variables.
    pub fn with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
        self.command(arguments).envs(variables.iter().copied()).output().unwrap()
    }

    /// Runs the program, which must succeed; its standard output.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.with(&[], arguments);
        assert!(output.status.success(), "sched {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// `status --json`.
    pub fn status(&self) -> serde_json::Value {
        serde_json::from_str(&self.ok(&["status", "--json"])).unwrap()
    }

    /// Whether nothing runs, nothing is owed, and each batch and issue has come to its end or
    /// waits for a person.
    pub fn is_quiet(&self) -> bool {
        let status = self.status();
        let none = |key: &str| status[key].as_array().is_none_or(Vec::is_empty);
        let ended = |row: &serde_json::Value| {
            let name = row["status"].as_str().unwrap();
            ["done", "blocked", "dissolved", "failed", "stopped"].contains(&name)
        };
        let batches = status["batches"].as_array().unwrap();
        let issues = status["issues"].as_array().unwrap();
        // its batch of one is not listed: between two lines it holds no slot and owes nothing
        let alone = |row: &&serde_json::Value| row["batch"].is_null() && !ended(row);
        none("slots")
            && none("owed")
            && batches.iter().all(ended)
            && !issues.iter().any(|row| alone(&row))
    }

    /// Ticks, with these variables, until all is quiet.
    pub fn settle(&self, variables: &[(&str, &str)]) {
        self.until("all is quiet", || {
            self.with(variables, &["tick"]);
            self.is_quiet()
        });
    }

    /// Waits for a condition, with a deadline.
    pub fn until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !condition() {
            let log = || String::from_utf8(self.with(&[], &["log"]).stdout).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "in vain waited until {what}:\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Each run of a script: role, issue, dispatch.
    pub fn runs(&self) -> Vec<String> {
        let text = fs::read_to_string(self.beside("runs")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What came of everything.
    pub fn outcome(&self) -> Outcome {
        let status = self.status();
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let rows = |key: &str| status[key].as_array().unwrap().clone();
        let issue = |row: &serde_json::Value| {
            (text(&row["id"]), text(&row["status"]), text(&row["reason"]))
        };
        let agents = self.runs();
        let agents = agents.iter().filter(|run| run.starts_with("agent "));
        Outcome {
            issues: rows("issues").iter().map(issue).collect(),
            batches: rows("batches").iter().map(|b| (text(&b["id"]), text(&b["status"]))).collect(),
            base: self.git(&["log", "--format=%s", "main"]),
            agents: agents.map(|run| run.rsplit_once(' ').unwrap().0.to_owned()).collect(),
        }
    }

    /// What holds after every recovery: no dispatch ran twice, the journal is sound, every promise
    /// was kept, and the operator's checkout shows no change.
    pub fn check(&self, what: &str) {
        let mut runs = self.runs();
        let all = runs.len();
        runs.sort();
        runs.dedup();
        assert_eq!(all, runs.len(), "{what}: a dispatch ran twice: {:?}", self.runs());
        self.ok(&["journal", "verify"]);
        let audit = self.with(&[], &["audit"]);
        assert!(audit.status.success(), "{what}: {}", String::from_utf8_lossy(&audit.stdout));
        let untidy = self.git(&["status", "--porcelain"]);
        assert_eq!(untidy, "", "{what}: the checkout was left with changes");
    }

    /// Processes that belong to this bench, by what they were called with or by their
    /// environment, and whose command line holds `text`.
    pub fn processes(&self, text: &str) -> Vec<i32> {
        let root = self.root.path().to_str().unwrap();
        let numbers = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let ours = |pid: &i32| {
            let read = |name: &str| fs::read(Path::new("/proc").join(format!("{pid}/{name}")));
            let words = |name: &str| {
                let bytes = read(name).unwrap_or_default();
                String::from_utf8_lossy(&bytes).replace('\0', " ")
            };
            let line = words("cmdline");
            line.contains(text) && (line.contains(root) || words("environ").contains(root))
        };
        numbers.filter(ours).collect()
    }
}

impl Drop for Bench {
    /// Whatever a failed test left running is known by this bench's path.
    fn drop(&mut self) {
        signal(9, &self.processes(""));
    }
}

/// Sends a signal, by number, to processes.
pub fn signal(number: i32, processes: &[i32]) {
    let signal = rustix::process::Signal::from_named_raw(number).unwrap();
    for pid in processes {
        let pid = rustix::process::Pid::from_raw(*pid).unwrap();
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// Does something with each case, several at a time; what failed is said at the end.
pub fn each<C: Send + std::fmt::Display>(cases: Vec<C>, threads: usize, act: impl Fn(&C) + Sync) {
    let left = Mutex::new(cases.into_iter());
    let failed = Mutex::new(Vec::new());
    let next = || left.lock().unwrap().next();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = next() {
                    if catch_unwind(AssertUnwindSafe(|| act(&case))).is_err() {
                        failed.lock().unwrap().push(case.to_string());
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "failed:\n{}", failed.join("\n"));
}
