//! The points: the calls by which a process changes something outside of itself.

use std::fmt;

/// Calls that write, sync, make, rename, link, remove, truncate, fork, execute or signal.
pub const CALLS: &[&str] = &[
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "copy_file_range",
    "sendfile",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "msync",
    "open",
    "openat",
    "creat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "truncate",
    "ftruncate",
    "fallocate",
    "chmod",
    "fchmod",
    "fchmodat",
    "utimensat",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "execve",
    "kill",
    "tkill",
    "tgkill",
    "pidfd_send_signal",
];

/// One call of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// The name of the process.
    pub role: String,
    /// The call.
    pub call: String,
    /// Which of them: of all by that name in that process, or, with a file, of those with it.
    pub nth: usize,
    /// For calls that open: the file, as it is named there.
    pub file: Option<String>,
}

/// How something is killed at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The process alone, by SIGKILL.
    Kill,
    /// A git child and the process that waits for it.
    Both,
    /// Everything, with all that was not synced.
    Power,
}

/// A point, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// How.
    pub way: Way,
    /// Where.
    pub point: Point,
}

impl Point {
    /// Whether it is the one before the process becomes what it is to be.
    pub fn is_first(&self) -> bool {
        self.call == "execve" && self.nth == 1
    }

    /// What kind of process it is in.
    pub fn kind(&self) -> &'static str {
        match self.role.as_str() {
            role if role.contains(".git-") => "git",
            role if role.ends_with(".child") => "child",
            role if role.starts_with("tick") => "tick",
            _ => "supervisor",
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Point { role, call, nth, file } = &self.point;
        let way = match self.way {
            Way::Kill => "kill",
            Way::Both => "both",
            Way::Power => "power",
        };
        write!(f, "{way}:{role}:{call}:{nth}")?;
        file.iter().try_for_each(|file| write!(f, ":{file}"))
    }
}

impl Case {
    /// Reads what was displayed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(5, ':');
        let way = match words.next()? {
            "kill" => Way::Kill,
            "both" => Way::Both,
            "power" => Way::Power,
            _ => return None,
        };
        let (role, call) = (words.next()?.to_owned(), words.next()?.to_owned());
        let nth = words.next()?.parse().ok()?;
        let file = words.next().map(str::to_owned);
        Some(Self { way, point: Point { role, call, nth, file } })
    }
}

/// What the names of files hold that is another one in each run.
pub struct Names {
    /// The directory that everything is in.
    pub root: String,
    /// The process.
    pub pid: String,
    /// The dispatch that it is about.
    pub dispatch: Option<String>,
}

impl Names {
    fn general(&self, file: &str) -> String {
        let file = file.replace(&self.root, "{root}");
        let file = match file.strip_suffix(&self.pid) {
            Some(before) => format!("{before}{{pid}}"),
            None => file,
        };
        self.dispatch.as_ref().map_or(file.clone(), |id| file.replace(id, "{dispatch}"))
    }
}

/// The points of one process, from what was written down of its calls.
pub fn points(role: &str, trace: &str, names: &Names) -> Vec<Point> {
    let point = |call: &str, nth, file| Point { role: role.into(), call: call.into(), nth, file };
    let mut found = vec![point("execve", 1, None)];
    let mut seen: Vec<(&str, Option<&str>)> = Vec::new();
    for line in trace.lines() {
        let called = line.split_once('(').filter(|(call, _)| CALLS.contains(call));
        let Some((call, arguments)) = called else { continue };
        let opens = ["open", "openat", "creat"].contains(&call);
        let file = arguments.split('"').nth(1).filter(|_| opens);
        seen.push((call, file));
        let nth = seen.iter().filter(|one| **one == (call, file)).count();
        let file = file.map(|file| names.general(file));
        if !(call == "execve" && nth == 1) && counts(call, arguments, file.as_deref()) {
            found.push(point(call, nth, file));
        }
        if role.ends_with(".child") && call == "execve" && nth == 2 {
            break; // from here on it is the command
        }
    }
    found
}

/// Whether a call changes something that anybody can see. One that failed does not; what an open
/// makes under a name that nobody foresees is met by the calls behind it.
fn counts(call: &str, arguments: &str, file: Option<&str>) -> bool {
    let nowhere = ["</dev/null>", "</memfd:", "<anon_inode:"];
    match call {
        _ if arguments.contains(") = -1 ") => false,
        "open" | "openat" | "creat" => {
            let file = file.unwrap_or_default();
            let makes = arguments.contains("O_EXCL")
                || (arguments.contains("O_CREAT") && file.contains("/runs/"));
            makes
                && !file.contains("tmp_obj_")
                && !file.contains("/.tmp")
                && !file.contains("/runs/0")
        }
        "clone" | "clone3" => !arguments.contains("CLONE_THREAD"),
        "write" | "writev" => !nowhere.iter().any(|end| arguments.contains(end)),
        "kill" => !arguments.contains(", 0)"),
        _ => true,
    }
}
