//! A place of its own for each test: a real git repository without any identity, a home, a
//! pinned environment, and agents that are shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a test waits for a condition.
const DEADLINE: Duration = Duration::from_secs(30);

/// Replaces what differs from run to run.
const FILTERS: &[(&str, &str)] = &[
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", "[uuid]"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}", "[dispatch]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[time]"),
    (r"(?m)^\d\d:\d\d:\d\d  ", "[clock]  "),
    (r"\b[0-9a-f]{64}\b", "[hash]"),
    (r"\b[0-9a-f]{40}\b", "[commit]"),
    (r"\b[0-9a-f]{12}\b", "[short]"),
    (r"pid \d+", "pid [pid]"),
    (r"after \d+\.\d s", "after [seconds] s"),
    (r"\d+ MiB free", "[free] MiB free"),
    (r"git \d+\.\d+(\.\d+)?", "git [version]"),
    (r"(?m)^(ok|warning) +cron .*\n( +cure: .*\n)?", "[cron]\n"),
    (r"byte \d+", "byte [offset]"),
    (r#""offset":\d+"#, r#""offset":"[offset]""#),
    (r"repaired: \d+ bytes", "repaired: [bytes] bytes"),
];

/// What a run of the program said, as one text.
pub struct Said {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

impl Said {
    /// Everything, in the form that snapshots have.
    pub fn text(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, part) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !part.is_empty() {
                text += &format!("--- {name}\n{part}");
            }
        }
        text
    }
}

/// A temporary place with a repository in it.
pub struct TestEnvironment {
    place: TempDir,
}

impl TestEnvironment {
    /// A repository with one commit, and no state directory.
    pub fn new() -> Self {
        let place = TempDir::with_prefix("sched-cli-").unwrap();
        let environment = Self { place };
        for dir in ["home", "repo", "bin"] {
            fs::create_dir(environment.path(dir)).unwrap();
        }
        environment.git(&["init", "--quiet", "--initial-branch=main"]);
        fs::write(environment.path("repo/README"), "a program\n").unwrap();
        environment.commit_all("base");
        environment
    }

    /// With a state directory, and a configuration whose agent commits one file for its issue.
    pub fn initialized() -> Self {
        let environment = Self::new();
        environment.agent("agent", WORKER);
        environment.configure("");
        environment.sched(&["init"]);
        environment
    }

    /// A path below the temporary place.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// A file of the state directory.
    pub fn state(&self, name: &str) -> PathBuf {
        self.path("repo/.git/sched").join(name)
    }

    /// Writes a script that can be an agent.
    pub fn agent(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\nset -e\n{text}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Writes `sched.toml` with more text behind it, and commits it.
    pub fn configure(&self, more: &str) {
        let agent = self.path("bin/agent");
        let text = format!("schema = 1\n[agent]\ncommand = [{:?}]\n{more}", agent.display());
        fs::write(self.path("repo/sched.toml"), text.replace("\\\"", "\"")).unwrap();
        self.commit_all("configure");
    }

    /// Git in the repository, with an identity for this call only.
    pub fn git(&self, args: &[&str]) -> String {
        let mut command = self.command("git", &self.path("repo"));
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.com"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(dir);
        command
    }

    /// The program in the repository, not yet started.
    pub fn sched_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_sched"), &self.path("repo"));
        command.args(args);
        command
    }

    /// Runs the program in the repository.
    pub fn sched(&self, args: &[&str]) -> Said {
        self.said(self.sched_command(args).output().unwrap())
    }

    /// Runs the program in the repository, with one more variable.
    pub fn sched_with(&self, name: &str, value: &str, args: &[&str]) -> Said {
        self.said(self.sched_command(args).env(name, value).output().unwrap())
    }

    /// Runs the program in a directory of the temporary place.
    pub fn sched_in(&self, dir: &str, args: &[&str]) -> Said {
        let mut command = self.command(env!("CARGO_BIN_EXE_sched"), &self.path(dir));
        self.said(command.args(args).output().unwrap())
    }

    fn said(&self, output: Output) -> Said {
        let place = self.place.path().canonicalize().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(&*place.to_string_lossy(), "[place]")
        };
        let code = output.status.code().unwrap_or(-1);
        Said { stdout: text(output.stdout), stderr: text(output.stderr), code }
    }

    /// The one JSON document that a command prints.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let said = self.sched(args);
        serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {}", said.text()))
    }
}

/// What a good agent does.
const WORKER: &str = r#"echo "working on $SCHED_ISSUE"
echo "$SCHED_ISSUE" > "file-$SCHED_ISSUE"
git add --all
git -c user.name=Agent -c user.email=agent@example.com commit --quiet -m "issue $SCHED_ISSUE"
"#;

/// Waits until a condition holds.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

/// Compares with the snapshot of that name.
pub fn snapshot(name: &str, said: &Said) {
    snapshot_text(name, &said.text());
}

/// Compares a text with the snapshot of that name.
pub fn snapshot_text(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    FILTERS.iter().for_each(|(pattern, with)| settings.add_filter(pattern, *with));
    settings.bind(|| insta::assert_snapshot!(name, text));
}
