//! A real repository beside the simulated one, and its commits under the names of the other.

use super::repo::{Commit, Files, PROGRAM};
use sched::domain::ids::CommitId;
use sched::os::git::GitCommand;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A real repository.
pub struct Real {
    directory: TempDir,
    pub repo: PathBuf,
    pub git: GitCommand,
    reader: Reader,
    simulated: BTreeMap<CommitId, CommitId>,
    real: BTreeMap<CommitId, CommitId>,
    blobs: BTreeMap<String, String>,
}

fn bare(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_NOSYSTEM", "1");
    command
}

impl Real {
    /// A repository with the first commit of [`super::Repo::new`].
    pub fn new() -> Self {
        let memory = Path::new("/dev/shm"); // nothing here is about what a disk keeps
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let directory = tempfile::tempdir_in(place).unwrap();
        let repo = directory.path().canonicalize().unwrap().join("repo");
        fs::create_dir(&repo).unwrap();
        let git = GitCommand::new(&repo).with_variable("GIT_CONFIG_NOSYSTEM", "1");
        let git = git.with_variable("HOME", directory.path());
        let mut init = bare("git");
        init.args(["init", "--quiet", "--initial-branch=main"]).arg(&repo);
        assert!(init.status().unwrap().success());
        let reader = Reader::new(&repo);
        let (simulated, real) = (BTreeMap::new(), BTreeMap::new());
        let real = Real { directory, repo, git, reader, simulated, real, blobs: BTreeMap::new() };
        write(&real.repo.join("README"), "first\n");
        let add = ["update-index", "--add", "README"];
        real.run(&real.repo, "Operator", 0, &add).unwrap();
        real.run(&real.repo, "Operator", 1_790_000_000, &["commit", "-qm", "First"]).unwrap();
        real
    }

    /// Git as an agent or operator runs it, at a time.
    pub fn run(&self, at: &Path, who: &str, time: i64, args: &[&str]) -> Result<String, String> {
        let mut git = bare("git");
        git.current_dir(at).env("HOME", self.directory.path());
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), who);
            git.env(format!("GIT_{role}_EMAIL"), "who@localhost");
            git.env(format!("GIT_{role}_DATE"), format!("@{time} +0000"));
        }
        let output = git.args(["-c", "maintenance.auto=false"]).args(args).output().unwrap();
        let text = if output.status.success() { &output.stdout } else { &output.stderr };
        let text = String::from_utf8_lossy(text).trim_end().to_owned();
        if output.status.success() { Ok(text) } else { Err(text) }
    }

    /// A real commit by its simulated id.
    pub fn real(&self, simulated: &CommitId) -> CommitId {
        self.real.get(simulated).cloned().unwrap_or_else(|| simulated.clone())
    }

    /// The simulated id of a real commit: that of its content.
    pub fn simulated(&mut self, real: &CommitId) -> CommitId {
        if let Some(known) = self.simulated.get(real) {
            return known.clone();
        }
        let raw = String::from_utf8(self.reader.read(real.as_str())).unwrap();
        let (head, message) = raw.split_once("\n\n").unwrap();
        let values = |key: &str| -> Vec<&str> {
            head.lines().filter_map(|l| l.strip_prefix(key)?.strip_prefix(' ')).collect()
        };
        let (author, author_time) = person(values("author")[0]);
        let (committer, time) = person(values("committer")[0]);
        let parents: Vec<CommitId> =
            values("parent").into_iter().map(|id| self.simulated(&id.into())).collect();
        let mut message = message.to_owned();
        if message.starts_with("Merge the integration tip ") {
            message = format!("Merge the integration tip {}\n", parents[1].short());
        }
        let files = self.tree(values("tree")[0]);
        let commit = Commit { parents, files, author, author_time, committer, time, message };
        let id = commit.id();
        self.simulated.insert(real.clone(), id.clone());
        self.real.insert(id.clone(), real.clone());
        id
    }

    fn tree(&mut self, id: &str) -> Files {
        let raw = self.reader.read(id);
        let mut files = Files::new();
        let mut rest = raw.as_slice();
        while let Some(end) = rest.iter().position(|b| *b == 0) {
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            let (mode, name) = name.split_once(' ').unwrap();
            let blob: String = rest[end + 1..end + 21].iter().map(|b| format!("{b:02x}")).collect();
            let content = self.blob(&blob);
            assert_eq!(mode == "100755", content.starts_with(PROGRAM), "{name}");
            files.insert(name.to_owned(), content);
            rest = &rest[end + 21..];
        }
        files
    }

    fn blob(&mut self, id: &str) -> String {
        if !self.blobs.contains_key(id) {
            let content = String::from_utf8(self.reader.read(id)).unwrap();
            self.blobs.insert(id.to_owned(), content);
        }
        self.blobs[id].clone()
    }

    /// Every ref, by simulated ids.
    pub fn refs(&mut self) -> BTreeMap<String, CommitId> {
        let text = self.run(
            &self.repo.clone(),
            "Operator",
            0,
            &["for-each-ref", "--format=%(objectname) %(refname)"],
        );
        let text = text.unwrap();
        let pairs = text.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(id, name)| (name.to_owned(), self.simulated(&id.into()))).collect()
    }

    /// The index of the main tree.
    pub fn index(&mut self) -> Files {
        let text = self.run(&self.repo.clone(), "Operator", 0, &["ls-files", "--stage"]).unwrap();
        let entries = text.lines().filter_map(|line| line.split_once('\t'));
        entries
            .map(|(entry, path)| {
                let id = entry.split(' ').nth(1).unwrap();
                (path.to_owned(), self.blob(id))
            })
            .collect()
    }

    /// The administration of a tree, if it is registered.
    pub fn admin(&self, path: &str) -> Option<PathBuf> {
        let all = fs::read_dir(self.repo.join(".git/worktrees")).ok()?;
        let named = |admin: &PathBuf| {
            let link = fs::read_to_string(admin.join("gitdir")).unwrap_or_default();
            link.trim_end() == format!("{path}/.git")
        };
        all.map(|entry| entry.unwrap().path()).find(named)
    }
}

/// Writes a file as the model has it: one that begins as a program can be executed.
pub fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    let mode = if content.starts_with(PROGRAM) { 0o755 } else { 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The files in a directory, if that is there.
pub fn files_in(directory: &Path) -> Option<Files> {
    let entries = fs::read_dir(directory).ok()?.map(|entry| entry.unwrap());
    let plain = entries.filter(|entry| entry.file_name() != ".git");
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, fs::read_to_string(entry.path()).unwrap())
    };
    Some(plain.map(read).collect())
}

fn person(line: &str) -> (String, i64) {
    let name = line.split(" <").next().unwrap().to_owned();
    let time = line.split("> ").nth(1).unwrap().split(' ').next().unwrap();
    (name, time.parse().unwrap())
}

/// A git that reads objects for as long as it lives.
struct Reader {
    child: Child,
    ask: ChildStdin,
    answer: BufReader<ChildStdout>,
}

impl Reader {
    fn new(repo: &Path) -> Self {
        let mut git = bare("git");
        git.current_dir(repo).args(["cat-file", "--batch"]);
        let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let ask = child.stdin.take().unwrap();
        let answer = BufReader::new(child.stdout.take().unwrap());
        Reader { child, ask, answer }
    }

    fn read(&mut self, id: &str) -> Vec<u8> {
        writeln!(self.ask, "{id}").unwrap();
        let mut head = String::new();
        self.answer.read_line(&mut head).unwrap();
        let size: usize = head.trim_end().rsplit(' ').next().unwrap().parse().unwrap();
        let mut content = vec![0; size + 1];
        self.answer.read_exact(&mut content).unwrap();
        content.pop();
        content
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
