//! What is done to both repositories of a [`Pair`]: agents, operators and others.

use super::pair::{INTEGRATION, Pair};
use super::real::write;
use super::repo::{BASE, INDEX, PROGRAM};
use sched::domain::ids::CommitId;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Changes<'a> = Vec<(&'a str, Option<&'a str>)>;

fn borrowed(changes: &[(String, Option<String>)]) -> Changes<'_> {
    changes.iter().map(|(name, content)| (name.as_str(), content.as_deref())).collect()
}

impl Pair {
    /// One random thing that is none of the port's.
    pub fn outside(&mut self, n: usize) {
        let tree = if self.random.one_in(8) { 0 } else { n };
        match self.random.below(24) {
            0..=7 => self.agent_commits(tree),
            8..=9 => self.agent_edits(tree),
            10 => self.agent_detaches(tree),
            11 => self.agent_merges(tree),
            12..=14 => self.base_moves(),
            15 => self.base_is_dirtied(),
            16..=17 => self.base_is_cleaned(),
            18 => self.lock(n),
            19..=20 => self.unlock(),
            _ => self.harm(tree),
        }
    }

    /// A new content that no file has.
    fn content(&mut self) -> String {
        self.written += 1;
        let program = if self.random.one_in(5) { "#!" } else { "" };
        format!("{program}content {}\n", self.written)
    }

    fn changes(&mut self) -> Vec<(String, Option<String>)> {
        let mut all = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let name = format!("p{}", self.random.below(5));
            let deleted = self.random.one_in(5);
            let content = if deleted { None } else { Some(self.content()) };
            all.retain(|(known, _)| *known != name);
            all.push((name, content));
        }
        all
    }

    /// Whether somebody can work there: never in a tree that was not finished.
    fn is_there(&self, path: &str) -> bool {
        let repo = self.repo();
        let registration = repo.trees.get(path).and_then(|tree| tree.registration.as_ref());
        let begun = registration.is_some_and(|registration| registration.initializing);
        !begun && repo.files_in(path).is_some()
    }

    /// Git in a tree, as the model allows it: with a `.git` that leads to a registration.
    fn agent(&self, path: &str, args: &[&str]) -> Result<String, String> {
        if self.real.admin(path).is_none() {
            return Err("no working tree".into());
        }
        let clock = self.repo().clock;
        self.real.run(Path::new(path), "Agent", clock, args)
    }

    fn put(&self, directory: &str, changes: &[(String, Option<String>)]) {
        for (name, content) in changes {
            let file = Path::new(directory).join(name);
            match content {
                Some(content) => write(&file, content),
                None => drop(fs::remove_file(file)),
            }
        }
    }

    pub fn agent_commits(&mut self, n: usize) {
        let (path, changes) = (self.path(n), self.changes());
        let forged = self.random.one_in(4);
        let mut subject = format!("Change {}", self.written);
        if forged {
            subject += &format!("\n\nSched-Batch: b1\nSched-Member: 9-{}", self.written);
        }
        let wrecked = self.is_wrecked(&path);
        if !self.is_there(&path) || wrecked || self.real.admin(&path).is_none() {
            return;
        }
        self.done.push(format!("commit_in {path} {changes:?} {subject:?}"));
        self.put(&path, &changes);
        let mut add = vec!["update-index", "--add", "--remove", "--"];
        add.extend(changes.iter().map(|(name, _)| name.as_str()));
        self.agent(&path, &add).unwrap();
        let real = self.agent(&path, &["commit", "-q", "-m", &subject]);
        let simulated = self.repo().commit_in(&path, &borrowed(&changes), &subject);
        *self.done.last_mut().unwrap() += &format!(" -> {simulated:?} / {real:?}");
        self.same(simulated.is_ok(), real.is_ok());
    }

    fn is_wrecked(&self, path: &str) -> bool {
        let repo = self.repo();
        let registration = repo.trees.get(path).and_then(|tree| tree.registration.as_ref());
        registration.is_some_and(|registration| registration.wrecked)
    }

    fn agent_edits(&mut self, n: usize) {
        let (path, content) = (self.path(n), self.content());
        let name = format!("p{}", self.random.below(6));
        self.done.push(format!("edit_in {path} {name} {content}"));
        if self.is_there(&path) {
            write(&Path::new(&path).join(&name), &content);
            self.repo().edit_in(&path, &name, &content);
        }
    }

    fn agent_detaches(&mut self, n: usize) {
        let path = self.path(n);
        if !self.is_there(&path) {
            return;
        }
        self.done.push(format!("detach_in {path}"));
        let real = self.agent(&path, &["checkout", "-q", "--detach"]);
        let simulated = self.repo().detach_in(&path);
        *self.done.last_mut().unwrap() += &format!(" -> {simulated:?} / {real:?}");
        self.same(simulated.is_ok(), real.is_ok());
    }

    fn agent_merges(&mut self, n: usize) {
        let path = self.path(n);
        let tip = self.repo().tip(INTEGRATION);
        let clean = self.repo().is_dirty(&path) == Ok(false);
        let Some(tip) = tip.filter(|_| clean && self.is_there(&path)) else { return };
        if !self.repo().locks.is_empty() {
            return;
        }
        self.done.push(format!("merge_in {path} {tip}"));
        let simulated = self.repo().clone().merge_in(&path, &tip);
        let real = self.real_of(&tip);
        if simulated.is_ok() {
            let args = ["merge", "-q", "--no-ff", "-m", "Merge", real.as_str()];
            self.agent(&path, &args).unwrap();
        } else {
            let tree = ["merge-tree", "--write-tree", "HEAD", real.as_str()];
            let there = ["merge-base", "--is-ancestor", real.as_str(), "HEAD"];
            let there = self.agent(&path, &there).is_ok();
            let conflict = self.agent(&path, &tree).is_err();
            self.same(true, there || conflict);
        }
        let _ = self.repo().merge_in(&path, &tip);
    }

    fn base_moves(&mut self) {
        let changes = self.changes();
        self.done.push(format!("move_base {changes:?}"));
        let (repo, clock) = (self.real.repo.clone(), self.repo().clock);
        if self.repo().unlocked(&format!("refs/heads/{BASE}")).is_err() {
            let refused = self.repo().move_base(&borrowed(&changes));
            return self.same(refused.is_err(), true);
        }
        let simulated = self.repo().move_base(&borrowed(&changes));
        let run = |args: &[&str]| self.real.run(&repo, "Operator", clock, args);
        let tip = run(&["rev-parse", BASE]).unwrap();
        let tree = self.tree_with(&tip, &changes);
        let commit = run(&["commit-tree", "-p", &tip, "-m", "Else", &tree]).unwrap();
        let checked_out = self.repo().base.is_some();
        let name = format!("refs/heads/{BASE}");
        let real = if checked_out {
            run(&["merge", "-q", "--ff-only", &commit])
        } else {
            run(&["update-ref", &name, &commit])
        };
        *self.done.last_mut().unwrap() += &format!(" -> {simulated:?} / {real:?}");
        self.same(simulated.is_ok(), real.is_ok());
    }

    /// A commit's tree with changes, made beside every checkout.
    fn tree_with(&self, commit: &str, changes: &[(String, Option<String>)]) -> String {
        let scratch = format!("{}.scratch", self.real.repo.display());
        fs::create_dir(&scratch).unwrap();
        self.put(&scratch, changes);
        let git_dir = format!("--git-dir={}/.git", self.real.repo.display());
        let index = format!("GIT_INDEX_FILE={scratch}/.index");
        let run = |args: &[&str]| {
            let mut env = Command::new("env");
            env.args([&index, "git", &git_dir, "--work-tree=."]).args(args);
            let output = env.current_dir(&scratch).output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        };
        run(&["read-tree", commit]);
        let mut update = vec!["update-index", "--add", "--remove", "--"];
        update.extend(changes.iter().map(|(name, _)| name.as_str()));
        run(&update);
        let tree = run(&["write-tree"]);
        fs::remove_dir_all(&scratch).unwrap();
        tree
    }

    fn base_is_dirtied(&mut self) {
        let name = format!("p{}", self.random.below(5));
        let content = self.content();
        if self.repo().base.is_none() {
            return;
        }
        self.done.push(format!("dirty_base {name} {content}"));
        write(&self.real.repo.join(&name), &content);
        self.repo().dirty_base(&name, &content);
    }

    /// What a ship that died, or an operator who knows what comes, leaves of a new commit.
    pub fn ships_half(&mut self, old: &CommitId, new: &CommitId) {
        let repo = self.repo().clone();
        let busy = !repo.locks.is_empty() || repo.base.is_none();
        let (before, after) = (repo.files_of(old), repo.files_of(new));
        let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
        paths.retain(|path| !busy && before.get(*path) != after.get(*path));
        for path in paths {
            let (file, index) = (self.random.one_in(2), self.random.one_in(3));
            self.done.push(format!("half {path}: file {file}, index {index}"));
            let content = after.get(path);
            if file {
                self.put(&repo.main, &[(path.clone(), content.cloned())]);
            }
            if index {
                let blob = format!("{}:{path}", self.real_of(new));
                let id = self.operator(&["rev-parse", &blob]).unwrap_or_default();
                let program = content.is_some_and(|content| content.starts_with(PROGRAM));
                let entry = format!("{},{id},{path}", if program { "100755" } else { "100644" });
                let update = match content {
                    Some(_) => ["update-index", "--add", "--cacheinfo", entry.as_str()],
                    None => ["update-index", "--force-remove", "--", path],
                };
                self.operator(&update).unwrap();
            }
            let mut repo = self.repo();
            let base = repo.base.as_mut().unwrap();
            base.dirtied.insert(path.clone());
            for (files, wanted) in [(&mut base.files, file), (&mut base.index, index)] {
                match content.filter(|_| wanted) {
                    Some(content) => drop(files.insert(path.clone(), content.clone())),
                    None if wanted => drop(files.remove(path)),
                    None => {}
                }
            }
        }
    }

    fn operator(&self, args: &[&str]) -> Result<String, String> {
        self.real.run(&self.real.repo, "Operator", 0, args)
    }

    fn base_is_cleaned(&mut self) {
        let locked = !self.repo().locks.is_empty();
        if locked || self.repo().base.is_none() {
            return;
        }
        if self.random.one_in(4) {
            self.done.push("leave_base".into());
            self.operator(&["checkout", "-q", "--detach"]).unwrap();
            self.repo().leave_base();
        }
        self.done.push("clean_base".into());
        self.operator(&["reset", "-q", "--hard"]).unwrap();
        self.operator(&["clean", "-fdq"]).unwrap();
        self.repo().clean_base();
    }

    fn lock_file(&self, name: &str) -> PathBuf {
        self.real.repo.join(".git").join(format!("{name}.lock"))
    }

    fn lock(&mut self, n: usize) {
        let names = [
            format!("refs/heads/{BASE}"),
            format!("refs/heads/{INTEGRATION}"),
            format!("refs/heads/sched/b1/{n}-10{n}"),
            INDEX.to_owned(),
        ];
        let name = self.random.one(&names).clone();
        self.done.push(format!("take_lock {name}"));
        write(&self.lock_file(&name), "");
        self.repo().take_lock(&name);
    }

    fn unlock(&mut self) {
        let locks: Vec<String> = self.repo().locks.iter().cloned().collect();
        for name in locks {
            self.done.push(format!("drop_lock {name}"));
            fs::remove_file(self.lock_file(&name)).unwrap();
            self.repo().drop_lock(&name);
        }
    }

    fn harm(&mut self, n: usize) {
        let path = self.path(n);
        let admin = self.real.admin(&path);
        match self.random.below(6) {
            0 if self.is_there(&path) => {
                self.done.push(format!("vanish {path}"));
                fs::remove_dir_all(&path).unwrap();
                self.repo().vanish(&path);
            }
            1 => {
                let Some(admin) = admin else { return };
                self.done.push(format!("unregister {path}"));
                fs::remove_dir_all(admin).unwrap();
                self.repo().unregister(&path);
            }
            2 => {
                let Some(admin) = admin else { return };
                self.done.push(format!("wreck {path}"));
                fs::write(admin.join("HEAD"), "garbage\n").unwrap();
                self.repo().wreck(&path);
            }
            4 => {
                let Some(admin) = admin else { return };
                self.done.push(format!("half made {path}"));
                write(&admin.join("locked"), "initializing");
                let mut repo = self.repo();
                let tree = repo.trees.get_mut(&path).unwrap();
                tree.registration.as_mut().unwrap().initializing = true;
                repo.written.retain(|written| written.tree != path);
            }
            3 if !self.repo().trees.contains_key(&path) => {
                self.done.push(format!("squat {path}"));
                write(&Path::new(&path).join("theirs"), "theirs\n");
                self.repo().squat(&path);
            }
            _ => {}
        }
    }
}
