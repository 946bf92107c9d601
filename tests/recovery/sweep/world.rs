//! One batch in which everything happens, with each process of it under a name of its own: the
//! first tick is `tick-1`, the third supervisor `supervise-3`, what becomes its command
//! `supervise-3.child`, and its fourth git child `supervise-3.git-4-update-ref`.

use super::point::{CALLS, Case, Names, Point, Way, points};
use crate::bench::{Bench, GATE};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const WRAP: &str = include_str!("wrap.sh");

/// Where the repository lies: a disk of its own when there is to be a power cut.
const REPOSITORY: &str = "disk/repository";

/// How long a held process is held: longer than anybody needs to notice.
const HELD_MICROSECONDS: u64 = 600_000_000;

/// How long the batch may take until the point is met, and after it until all is quiet: git's
/// locks that nobody holds are waited for, a minute at the longest.
const PATIENCE: Duration = Duration::from_secs(120);

/// The agent of all members: one ignores that it is asked to stop.
const AGENT: &str = "test $SCHED_ISSUE != hang || { trap '' TERM; while :; do sleep 0.2; done; }\n\
     echo $SCHED_ISSUE >work-$SCHED_ISSUE; git add -A; git commit -qm work";
/// The suite.
const SUITE: &str = "test -e work-good";

/// The batch's members, and how each is queued.
const MEMBERS: &[&[&str]] =
    &[&["good", "--more"], &["bad", "--more"], &["hang", "--profile", "hangs"]];

/// The scheduler, its repository and its disk.
pub struct World {
    /// Everything but the names.
    pub bench: Bench,
}

/// What came of the wait for a point.
pub enum Met {
    /// It was met, and the process is dead.
    Dead,
    /// The process is held before the call.
    Held,
    /// The batch came to its end without it.
    Never,
}

fn found(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&path).map(|dir| dir.join(program));
    all.into_iter().find(|file| file.is_file()).expect("it is installed")
}

impl World {
    /// With the batch queued; `disk` makes the place for the repository.
    pub fn new(disk: impl FnOnce(&Path)) -> Self {
        let world = Self { bench: Bench::empty(REPOSITORY) };
        let bench = &world.bench;
        for dir in ["wrap/core", "roles", "numbers", "live", "dispatches", "traces", "disk"] {
            fs::create_dir_all(bench.beside(dir)).unwrap();
        }
        assert!(Command::new("mkfifo").arg(bench.beside("pause")).status().unwrap().success());
        disk(&bench.beside("disk"));
        fs::create_dir(bench.repository()).unwrap();
        let wrap = WRAP.replace("@SCHED@", env!("CARGO_BIN_EXE_sched"));
        let wrap = wrap.replace("@GIT@", found("git").to_str().unwrap());
        for (name, _) in world.wrapped_programs() {
            fs::write(bench.beside(name), &wrap).unwrap();
            fs::set_permissions(bench.beside(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(bench.beside("target"), "").unwrap();
        fs::write(bench.repository().join("sched.toml"), world.config()).unwrap();
        bench.first_commit("first");
        assert!(world.wrapped(&["init"]).status().unwrap().success());
        for member in MEMBERS {
            let enqueue = ["enqueue", "--batch", "b1", "--issues"];
            bench.ok(&[&enqueue, *member].concat());
        }
        world
    }

    fn config(&self) -> String {
        let agent = self.bench.script("agent", AGENT);
        let gate = self.bench.script("gate", GATE);
        let suite = self.bench.script("suite", SUITE);
        format!(
            "schema = 1\n[scheduler]\nkill_escalation = \"1s\"\nspawn_grace = \"1s\"\n\
             [agent]\ncommand = [{agent:?}]\ntimeout = \"60s\"\n\
             [profile.hangs]\ncommand = [{agent:?}]\ntimeout = \"1s\"\n\
             [[gate]]\nid = \"unit\"\ncommand = [{gate:?}]\ntimeout = \"60s\"\n\
             [suite]\ncommand = [{suite:?}]\ntimeout = \"60s\"\n[ship]\nmode = \"merge\"\n"
        )
    }

    /// What is found under the names of programs, and what they are.
    fn wrapped_programs(&self) -> [(&'static str, PathBuf); 3] {
        let sched = PathBuf::from(env!("CARGO_BIN_EXE_sched"));
        [("wrap/sched", sched), ("wrap/git", found("git")), ("wrap/core/git", found("git"))]
    }

    /// The program under its names, which finds itself and git under theirs.
    fn wrapped(&self, arguments: &[&str]) -> Command {
        let program = self.bench.beside("wrap/sched");
        let mut path = program.parent().unwrap().as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(self.bench.repository()).env_clear();
        command.env("PATH", path).env("HOME", self.bench.beside(""));
        command.env("SCHED_TEST_CHILD", program);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Every point that the batch passes, in the order of the processes' names.
    pub fn points(&self) -> Vec<Point> {
        let calls = CALLS.iter().map(|call| format!("?{call}")).collect::<Vec<_>>().join(",");
        let options = format!("-y\n-s\n300\n-e\nsignal=KILL\n-e\ntrace={calls}\n");
        fs::write(self.bench.beside("options"), options).unwrap();
        fs::write(self.bench.beside("all"), "").unwrap();
        assert!(matches!(self.run(None), Met::Never));
        let roles = fs::read_dir(self.bench.beside("traces")).unwrap();
        let roles = roles.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut roles: Vec<String> = roles.collect();
        roles.sort();
        let trace = |role: &String| self.trace(role);
        roles.iter().flat_map(|role| points(role, &trace(role), &self.names(role))).collect()
    }

    fn names(&self, role: &str) -> Names {
        let supervisor = role.split('.').next().unwrap();
        let dispatch = fs::read_to_string(self.bench.beside("dispatches").join(supervisor)).ok();
        Names {
            root: self.bench.beside("").to_str().unwrap().trim_end_matches('/').to_owned(),
            pid: self.process(role).unwrap().to_string(),
            dispatch: dispatch.map(|id| id.trim().to_owned()),
        }
    }

    /// Ticks, one at a time, each until no supervisor is left, until the point is met or all is
    /// quiet.
    pub fn run(&self, case: Option<&Case>) -> Met {
        if let Some(case) = case {
            fs::write(self.bench.beside("options"), options(case)).unwrap();
            fs::write(self.bench.beside("target"), &case.point.role).unwrap();
        }
        let begun = Instant::now();
        loop {
            let mut tick = self.wrapped(&["tick"]).spawn().unwrap();
            loop {
                if let Some(case) = case.filter(|case| case.way != Way::Kill)
                    && self.holds(&case.point)
                {
                    // it must not be waited for: it may be what is held
                    std::thread::spawn(move || tick.wait());
                    return Met::Held;
                }
                let ended = tick.try_wait().unwrap().is_some();
                if ended && !self.is_any_at_work() {
                    break;
                }
                assert!(begun.elapsed() < PATIENCE, "it does not come to an end");
                std::thread::sleep(Duration::from_millis(5));
            }
            if case.is_some_and(|case| case.way == Way::Kill && self.has_died(&case.point)) {
                return Met::Dead;
            }
            if self.bench.is_quiet() {
                return Met::Never;
            }
        }
    }

    /// Whether a supervisor is left. One that has a name is found without looking at every process.
    fn is_any_at_work(&self) -> bool {
        let mut named = fs::read_dir(self.bench.beside("live")).unwrap();
        let is_alive = |entry: io::Result<DirEntry>| {
            let stat = Path::new("/proc").join(entry.unwrap().file_name()).join("stat");
            fs::read_to_string(stat).is_ok_and(|stat| !stat.contains(") Z "))
        };
        named.any(is_alive) || !self.bench.processes(" supervise ").is_empty()
    }

    fn trace(&self, role: &str) -> String {
        let bytes = fs::read(self.bench.beside("traces").join(role)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn holds(&self, point: &Point) -> bool {
        let call = format!("{}(", point.call);
        let calls = self.trace(&point.role).lines().filter(|line| line.starts_with(&call)).count();
        calls == point.nth
    }

    /// Whether the wanted process was killed there. What traced it says so a little later.
    fn has_died(&self, point: &Point) -> bool {
        let trace = self.bench.beside("traces").join(&point.role);
        if !trace.exists() {
            return false;
        }
        self.bench.until("the trace is complete", || self.trace(&point.role).contains("+++ "));
        self.trace(&point.role).contains("+++ killed by SIGKILL")
    }

    /// The process with a name.
    pub fn process(&self, role: &str) -> Option<i32> {
        let roles = fs::read_dir(self.bench.beside("roles")).unwrap();
        let mut paths = roles.map(|entry| entry.unwrap().path());
        let named = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|r| r.trim() == role);
        paths.find(named)?.file_name()?.to_str()?.parse().ok()
    }

    /// From here on nobody is given a name.
    fn unwrap(&self) {
        for (name, real) in self.wrapped_programs() {
            let new = self.bench.beside("wrap/new");
            symlink(real, &new).unwrap();
            fs::rename(new, self.bench.beside(name)).unwrap();
        }
    }

    /// Ticks, under no names, until all is quiet.
    pub fn settle(&self, variables: &[(&str, &str)]) {
        self.unwrap();
        let begun = Instant::now();
        loop {
            self.bench.with(variables, &["tick"]);
            if self.bench.is_quiet() {
                break;
            }
            let log =
                || String::from_utf8_lossy(&self.bench.with(&[], &["log"]).stdout).into_owned();
            assert!(begun.elapsed() < PATIENCE, "it does not become quiet:\n{}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Lets a while go by for the locks of a git that was killed: one is a leftover when it is a
    /// minute old and nobody holds it.
    pub fn age_locks(&self) {
        let then = SystemTime::now() - Duration::from_secs(120);
        for lock in locks(&self.bench.repository().join(".git")) {
            let lock = fs::File::options().write(true).open(lock);
            // whoever is at work may just have removed it
            let _ = lock.and_then(|lock| lock.set_modified(then));
        }
    }

    /// What holds after every recovery.
    pub fn check(&self, what: &str) {
        self.bench.check(what);
        audit(&self.bench, what);
        self.bench.until("nothing of it is left", || self.bench.processes("").is_empty());
    }
}

/// Whether the scheduler kept its promises, as its own audit sees them.
fn audit(bench: &Bench, what: &str) {
    let output = bench.with(&[], &["audit"]);
    assert!(output.status.success(), "{what}: {output:?}");
}

/// Lock files of git's; those of the state directory are not.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with(".git/sched") {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}

/// How the wanted process is traced.
fn options(case: &Case) -> String {
    let Point { call, nth, file, .. } = &case.point;
    if call == "execve" && *nth == 1 {
        return "die\n".into(); // before it is what it is to become
    }
    let what = match case.way {
        Way::Kill => "signal=KILL".to_owned(),
        Way::Both | Way::Power => format!("delay_enter={HELD_MICROSECONDS}"),
    };
    // the call by which `strace` becomes the process is not counted
    let nth = if call == "execve" { nth - 1 } else { *nth };
    let path = file.as_ref().map_or_else(String::new, |file| format!("-P\n{file}\n"));
    format!("-e\nsignal=KILL\n-e\ntrace={call}\n-e\ninject={call}:{what}:when={nth}\n{path}")
}
