//! A simulated and a real repository that everything is done to alike.

use super::random::Random;
use super::real::{Real, files_in};
use super::repo::{BASE, Head, Repo};
use super::{Between, SimGit};
use sched::domain::fact::FoundLanding;
use sched::domain::ids::CommitId;
use sched::domain::time::Timestamp;
use sched::engine::ports::Seen;
use sched::engine::ports::git::{Git, GitError};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// The integration branch.
pub const INTEGRATION: &str = "sched/b1/integration";

/// Nobody comes in between.
pub struct Nobody;

impl Between for Nobody {
    fn between(&self, _: &'static str) -> Result<(), GitError> {
        Ok(())
    }
}

/// Both repositories, and what has been done to them.
pub struct Pair {
    pub seed: u64,
    pub random: Random,
    pub real: Real,
    pub sim: SimGit<Nobody>,
    pub root: String,
    /// Counts contents, so that no two files are alike.
    pub written: usize,
    pub time: Timestamp,
    /// What was done, for the report of a difference.
    pub done: Vec<String>,
}

impl Pair {
    pub fn new(seed: u64) -> Self {
        let mut real = Real::new();
        let mut repo = Repo::new();
        repo.main = real.repo.to_str().unwrap().to_owned();
        let root = format!("{}.worktrees", repo.main);
        assert_eq!(real.refs(), repo.refs(""));
        let sim = SimGit { repo: Arc::new(Mutex::new(repo)), between: Nobody };
        let time = Timestamp::from_millis(1_796_000_000_123);
        let random = Random::new(seed);
        Pair { seed, random, real, sim, root, written: 0, time, done: Vec::new() }
    }

    pub fn repo(&self) -> MutexGuard<'_, Repo> {
        self.sim.repo.lock().unwrap()
    }

    /// Compares two answers.
    pub fn same<T: Debug + PartialEq>(&self, simulated: T, real: T) {
        assert_eq!(simulated, real, "the model is left, git is right");
    }

    /// Compares two answers with errors by their kind.
    pub fn same_kind<T: Debug + PartialEq>(
        &mut self,
        simulated: Result<T, GitError>,
        real: Result<T, GitError>,
    ) {
        let last = self.done.last_mut().unwrap();
        *last += &format!(" -> {simulated:?} / {real:?}");
        self.same(simulated.map_err(kind), real.map_err(kind));
    }

    /// Compares what was seen, as values or as the lack of one.
    pub fn same_seen<T: Debug + PartialEq>(&self, simulated: Seen<T>, real: Seen<T>) {
        let plain = |seen| match seen {
            Seen::Unreachable(_) => Seen::Unreachable(String::new()),
            other => other,
        };
        self.same(plain(simulated), plain(real));
    }

    pub fn real_of(&self, id: &CommitId) -> CommitId {
        self.real.real(id)
    }

    pub fn sim_of(&mut self, id: &CommitId) -> CommitId {
        self.real.simulated(id)
    }

    pub fn landings(&self) -> Vec<FoundLanding> {
        match self.sim.landings(INTEGRATION, &"b1".into(), &self.first()) {
            Seen::Value(landings) => landings,
            _ => Vec::new(),
        }
    }

    /// The first commit of all.
    pub fn first(&self) -> CommitId {
        self.repo().history(BASE).last().unwrap().0.clone()
    }

    /// Any commit that a ref is at or that is just before one.
    pub fn any(&mut self) -> CommitId {
        let tips: Vec<CommitId> = self.repo().refs("").into_values().collect();
        let tip = self.random.one(&tips).clone();
        if self.random.one_in(3) {
            let parents = self.repo().commits[&tip].parents.clone();
            return parents.first().cloned().unwrap_or(tip);
        }
        tip
    }

    /// The path of the n-th member's tree; of the check tree for 0.
    pub fn path(&self, n: usize) -> String {
        let name = if n == 0 { "check-1".to_owned() } else { format!("{n}-10{n}") };
        format!("{}/b1/{name}", self.root)
    }

    /// Judges what was done: all of it was right.
    pub fn judge(&self) {
        assert_eq!(self.repo().judge(), Ok(()));
        let there: Vec<String> =
            (0..4).map(|n| self.path(n)).filter(|path| Path::new(path).is_dir()).collect();
        let mut known = self.repo().trees();
        known.sort_by_key(|path| !path.contains("check"));
        self.same(known, there);
    }

    /// Checks that both repositories hold the same.
    pub fn compare(&mut self) {
        let real = self.real.refs();
        let repo = self.repo().clone();
        self.same(repo.refs(""), real);
        for n in 0..4 {
            let path = self.path(n);
            self.same(repo.files_in(&path), files_in(Path::new(&path)));
            let tree = repo.trees.get(&path);
            let registration = tree.and_then(|tree| tree.registration.clone());
            let admin = self.real.admin(&path);
            self.same(registration.is_some(), admin.is_some());
            if let (Some(registration), Some(admin)) = (registration, admin) {
                let head = fs::read_to_string(admin.join("HEAD")).unwrap();
                let head = match head.trim_end().strip_prefix("ref: refs/heads/") {
                    _ if registration.wrecked => continue,
                    Some(branch) => Head::Branch(branch.to_owned()),
                    None => Head::Detached(self.sim_of(&head.trim_end().into())),
                };
                self.same(registration.head, head);
            }
        }
        let main = files_in(&self.real.repo).unwrap();
        let index = self.real.index();
        match repo.base {
            Some(base) => self.same((base.index, base.files), (index, main)),
            None => {
                let aside = repo.files_of(&repo.aside);
                self.same((aside.clone(), aside), (index, main));
            }
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (seed, done) = (self.seed, self.done.join("\n"));
            eprintln!("SCHED_SIM_GIT_SEED={seed} SCHED_SIM_GIT_SEEDS=1 fails after\n{done}");
        }
    }
}

fn kind(error: GitError) -> &'static str {
    match error {
        GitError::Locked { .. } => "locked",
        GitError::TimedOut { .. } => "timed out",
        GitError::Killed { .. } => "killed",
        GitError::Failed { .. } => "failed",
        GitError::System { .. } => "system",
        GitError::Missing { .. } => "missing",
        GitError::Refused { .. } => "refused",
    }
}

/// The same map with other ids.
pub fn mapped(
    refs: BTreeMap<String, CommitId>,
    mut id: impl FnMut(&CommitId) -> CommitId,
) -> BTreeMap<String, CommitId> {
    refs.into_iter().map(|(name, commit)| (name, id(&commit))).collect()
}
