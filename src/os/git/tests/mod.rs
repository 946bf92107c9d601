//! Against real git in temporary directories: no HOME, no identity, no configuration.

mod landing;
mod mending;
mod rebasing;
mod refs;
mod repository;
mod rescuing;
mod running;
mod shipping;
mod trees;

use super::GitCommand;
use crate::domain::event::{Landing, Tree};
use crate::domain::ids::{CommitId, Unit};
use crate::domain::time::Timestamp;
use crate::engine::ports::git::{LandRequest, RescueRequest, ShipRequest, TreeRequest};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A repository `repo` with one commit on `main`, and beside it the root of its trees.
pub(super) struct Fixture {
    directory: TempDir,
    pub(super) git: GitCommand,
}

pub(super) const TIME: Timestamp = Timestamp::from_millis(1_796_000_000_123);

impl Fixture {
    pub(super) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("repo");
        fs::create_dir(&path).unwrap();
        let passed = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
        let launcher = super::run::Launcher::new(path, passed);
        let git = GitCommand { launcher }.with_variable("GIT_CONFIG_NOSYSTEM", "1");
        let fixture = Fixture { directory, git };
        fixture.run(["init", "--quiet", "--initial-branch=main"]);
        fixture.commit("main", &[("a", "one\ntwo\nthree\nfour\nfive\n"), ("b", "b\n")]);
        fixture.run(["reset", "--quiet", "--hard", "main"]);
        fixture
    }

    pub(super) fn repo(&self) -> PathBuf {
        self.directory.path().join("repo")
    }

    pub(super) fn root(&self) -> PathBuf {
        self.directory.path().join("repo.worktrees")
    }

    pub(super) fn in_root(&self, name: &str) -> String {
        self.root().join(name).to_str().unwrap().to_owned()
    }

    /// Git as an agent or operator runs it, in the repository.
    pub(super) fn run<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> String {
        self.run_in(&self.repo(), arguments)
    }

    pub(super) fn run_in<I: AsRef<OsStr>>(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = I>,
    ) -> String {
        let (ok, said) = self.try_in(directory, arguments);
        assert!(ok, "{said}");
        said
    }

    pub(super) fn try_in<I: AsRef<OsStr>>(
        &self,
        directory: &Path,
        arguments: impl IntoIterator<Item = I>,
    ) -> (bool, String) {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        git.env("GIT_CONFIG_NOSYSTEM", "1").current_dir(directory);
        git.args(["-c", "user.name=Agent", "-c", "user.email=agent@example.org"]);
        git.args(["-c", "protocol.file.allow=always"]);
        let output = git.args(arguments).output().unwrap();
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
    }

    /// A commit on a branch (made where it is absent, on `main`) without any checkout.
    pub(super) fn commit(&self, branch: &str, files: &[(&str, &str)]) -> CommitId {
        self.commit_on(branch, "main", "change", files)
    }

    pub(super) fn commit_on(
        &self,
        branch: &str,
        start: &str,
        message: &str,
        files: &[(&str, &str)],
    ) -> CommitId {
        let name = format!("refs/heads/{branch}");
        let known = |name: &str| {
            let (ok, id) = self.try_in(&self.repo(), ["rev-parse", "--verify", "--quiet", name]);
            ok.then_some(id)
        };
        let data = |text: &str| format!("data {}\n{text}\n", text.len());
        let from = known(&name).or_else(|| known(start));
        let from = from.map_or_else(String::new, |id| format!("from {id}\n"));
        let who = "committer Agent <agent@example.org> 1790000000 +0000";
        let mut stream = format!("commit {name}\n{who}\n{}{from}", data(message));
        for (path, content) in files {
            let path = path.replace('"', "\\\"").replace('\n', "\\n");
            stream += &format!("M 100644 inline \"{path}\"\n{}", data(content));
        }
        let file = self.directory.path().join("stream");
        fs::write(&file, stream + "done\n").unwrap();
        let mut import = Command::new("git");
        import.args(["fast-import", "--quiet", "--done", "--force"]);
        import.current_dir(self.repo()).stdin(fs::File::open(file).unwrap());
        assert!(import.status().unwrap().success());
        self.at(&name)
    }

    pub(super) fn at(&self, revision: &str) -> CommitId {
        CommitId(self.run(["rev-parse", revision]))
    }

    pub(super) fn show(&self, revision: &str) -> String {
        self.run(["show", revision])
    }

    /// Everything of the operator's own checkout that must not change.
    pub(super) fn operators_own(&self) -> (String, Vec<u8>, String) {
        let head = fs::read_to_string(self.repo().join(".git/HEAD")).unwrap();
        let index = fs::read(self.repo().join(".git/index")).unwrap();
        let status = self.run(["--no-optional-locks", "status", "--porcelain", "--ignored"]);
        (head, index, status)
    }

    pub(super) fn landing(&self, tip: &CommitId, landing: Landing) -> LandRequest {
        LandRequest {
            branch: "sched/b1/integration".into(),
            tip: tip.clone(),
            parent: self.at("sched/b1/integration"),
            time: TIME,
            landing,
            issue: "101".into(),
            title: "Fix it".into(),
            trailers: vec![
                ("Sched-Batch".into(), "b1".into()),
                ("Sched-Member".into(), "101".into()),
            ],
        }
    }

    pub(super) fn member(&self, commit: &CommitId, exact: bool) -> TreeRequest {
        let path = self.in_root("b1/1-101");
        let branch = "sched/b1/1-101".to_owned();
        self.tree(Tree::Member { path, branch, commit: commit.clone(), exact })
    }

    pub(super) fn check(&self, commit: &CommitId) -> TreeRequest {
        self.tree(Tree::Check { path: self.in_root("b1/check-1"), commit: commit.clone() })
    }

    pub(super) fn tree(&self, tree: Tree) -> TreeRequest {
        let root = self.root().to_str().unwrap().to_owned();
        TreeRequest { tree, root, unit: unit(), time: TIME }
    }

    pub(super) fn rescue_of(&self, path: &str, branch: Option<&str>) -> RescueRequest {
        RescueRequest {
            unit: unit(),
            path: path.to_owned(),
            root: self.root().to_str().unwrap().to_owned(),
            branch: branch.map(str::to_owned),
            time: TIME,
        }
    }

    pub(super) fn shipping(&self, old: &CommitId, new: &CommitId) -> ShipRequest {
        ShipRequest { base: "main".into(), old: old.clone(), new: new.clone() }
    }
}

pub(super) fn unit() -> Unit {
    "batch:b1/101".parse().unwrap()
}

pub(super) fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(super) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
