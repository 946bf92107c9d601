//! Shipping: the base branch moves from `old` to `new`, and its checkout with it.
//!
//! Where the base branch is checked out, index and files go first and the ref last, as git's own
//! `receive.denyCurrentBranch=updateInstead` does. Otherwise the operator's next `commit -a`
//! would silently remove the batch's work. What a crash leaves, and what the next call does:
//!
//! | cut off | found | then |
//! |---|---|---|
//! | before anything | `old` everywhere | from the start |
//! | after staging | some paths `new` in index and file | clean: goes on |
//! | while files are written | files `old`, `new`, one cut off or gone; a stale lock | the same |
//! | before the swap | `new` everywhere, the ref at `old` | clean: swap |
//! | after the swap | `new` is an ancestor of the base | shipped |
//!
//! The mark, a ref at `new`, is there from before the first file is written until after the swap:
//! it tells what was cut off from what somebody edited.

use super::clean::{Entry, Plan, Survey, chunks};
use super::place::entry;
use super::refs::{Swap, branch_ref};
use super::registry::Registration;
use super::run::{Call, Launcher, Output};
use super::tree::on_disk;
use crate::domain::fact::ShipResult;
use crate::domain::ids::CommitId;
use crate::engine::ports::git::{GitError, ShipRequest};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

impl Launcher {
    pub(super) fn ship(&self, request: &ShipRequest) -> Result<ShipResult, GitError> {
        let name = branch_ref(&request.base);
        let Some(now) = self.resolve(&name)? else { return Err(GitError::Missing { name }) };
        if self.reaches(&request.new.0, &now.0)? == Some(true) {
            return Ok(ShipResult::Shipped);
        }
        if now != request.old {
            return Ok(ShipResult::BaseMoved(now));
        }
        if let Some(path) = self.rebasing(&name)? {
            return Ok(ShipResult::Dirty(path));
        }
        let checkouts = self.checkouts_of(&name)?;
        let mark = mark(&request.base);
        let begun = self.resolve(&mark)?.as_ref() == Some(&request.new);
        let mut plans = Vec::new();
        for checkout in &checkouts {
            self.unlocked(checkout)?;
            match self.survey(checkout, request, begun)? {
                Survey::Clean(plan) => plans.push((checkout, plan)),
                Survey::Dirty(path) => return Ok(ShipResult::Dirty(text(&path))),
            }
        }
        for (checkout, plan) in &plans {
            if let Some(path) = self.switch(checkout, plan, request)? {
                return Ok(ShipResult::Dirty(path));
            }
            // Crash story: power fails right behind the swap, files that were not on the disk come
            // back empty under a branch that has them, and the operator's next `commit -a`
            // removes the batch's work.
            on_disk(&checkout.path)?;
        }
        crate::crash::point("ship-files");
        match self.swap(&name, &request.new, Some(&request.old))? {
            Swap::Done => {
                // best effort: a mark that stays names a move that is over
                let _ = self.delete_ref(&mark, &request.new);
                Ok(ShipResult::Shipped)
            }
            Swap::Lost(now) => {
                for checkout in &checkouts {
                    // somebody was faster: their checkout goes back to what they moved from
                    self.two_trees(checkout, &request.new, &request.old, false)?;
                }
                now.map(ShipResult::BaseMoved).ok_or(GitError::Missing { name })
            }
        }
    }

    /// Index and files of a checkout go from `old` to `new`; the path that is in the way, if
    /// one is.
    fn switch(
        &self,
        checkout: &Registration,
        plan: &Plan,
        request: &ShipRequest,
    ) -> Result<Option<String>, GitError> {
        for path in &plan.cut_off {
            let place = checkout.path.join(OsStr::from_bytes(path));
            fs::remove_file(&place).map_err(|error| GitError::System {
                path: place.display().to_string(),
                message: error.to_string(),
            })?;
        }
        self.stage(checkout, &plan.stage)?;
        // stale times in the index would look like changes; an exit code only says there are any
        let refresh = ["-q", "--really-refresh", "--ignore-submodules"];
        self.indexing(checkout, "update-index").args(refresh).unbounded().output()?;
        let tried = self.two_trees(checkout, &request.old, &request.new, true)?;
        if tried.code != Some(0) {
            let path = in_the_way(&tried.stderr);
            return if path.is_some() { Ok(path) } else { Err(tried.failure()) };
        }
        let mark = mark(&request.base);
        self.git("update-ref").args([mark.as_str(), &request.new.0]).bytes()?;
        let done = self.two_trees(checkout, &request.old, &request.new, false)?;
        if done.code == Some(0) { Ok(None) } else { Err(done.failure()) }
    }

    /// Gives paths the index entries that their files already have.
    fn stage(
        &self,
        checkout: &Registration,
        stage: &[(Vec<u8>, Option<Entry>)],
    ) -> Result<(), GitError> {
        for chunk in chunks(stage, |(path, _)| path.len()) {
            let mut call = self.indexing(checkout, "update-index").args(["--add", "--replace"]);
            for (path, held) in chunk {
                if let Some(Entry { mode, id }) = held {
                    let mut info = OsString::from(format!("{mode},{id},"));
                    info.push(OsStr::from_bytes(path));
                    call = call.arg("--cacheinfo").arg(info);
                }
            }
            let gone = chunk.iter().filter(|(_, held)| held.is_none());
            let gone: Vec<&OsStr> = gone.map(|(path, _)| OsStr::from_bytes(path)).collect();
            if !gone.is_empty() {
                call = call.arg("--force-remove").arg("--").args(gone);
            }
            call.unbounded().bytes()?;
        }
        Ok(())
    }

    /// A call that writes the operator's index, which no power cut may leave empty.
    fn indexing(&self, checkout: &Registration, subcommand: &str) -> Call<'_> {
        self.in_tree(checkout, subcommand).config("core.fsync=objects,reference,index")
    }

    fn two_trees(
        &self,
        checkout: &Registration,
        from: &CommitId,
        to: &CommitId,
        only_try: bool,
    ) -> Result<Output, GitError> {
        let call = self.indexing(checkout, "read-tree").args(only_try.then_some("-n"));
        call.args(["-m", "-u", &from.0, &to.0]).unbounded().output()
    }

    /// Where a branch is checked out: each tree with its administration.
    fn checkouts_of(&self, name: &str) -> Result<Vec<Registration>, GitError> {
        let registered = self.registrations()?;
        let mut found = Vec::new();
        for checkout in self.checkouts()? {
            if checkout.bare || !checkout.path.exists() || checkout.head.as_deref() != Some(name) {
                continue;
            }
            let same = |r: &&Registration| entry(&r.path).is_ok_and(|p| p == checkout.path);
            let admin = match registered.iter().find(same).filter(|_| !checkout.main) {
                Some(registration) => registration.admin.clone(),
                None => self.common_dir()?,
            };
            found.push(Registration { admin, path: checkout.path, locked: None });
        }
        Ok(found)
    }

    /// The tree in which somebody rebases a branch: HEAD is detached there, and the branch goes
    /// back to it when that ends.
    fn rebasing(&self, name: &str) -> Result<Option<String>, GitError> {
        let mut all = vec![self.common_dir()?];
        all.extend(self.registrations()?.into_iter().map(|r| r.admin));
        for admin in all {
            for operation in ["rebase-merge", "rebase-apply"] {
                let head = fs::read_to_string(admin.join(operation).join("head-name"));
                if head.is_ok_and(|head| head.trim() == name) {
                    return Ok(Some(operation.to_owned()));
                }
            }
        }
        Ok(None)
    }

    /// An index lock that was left behind goes; one that is held is waited for.
    fn unlocked(&self, checkout: &Registration) -> Result<(), GitError> {
        let lock = checkout.admin.join("index.lock");
        if lock.exists() && !self.drop_stale_lock(checkout) {
            return Err(GitError::Locked { path: lock.display().to_string() });
        }
        Ok(())
    }
}

/// The ref that says to what a base's checkouts are being moved.
fn mark(base: &str) -> String {
    format!("refs/sched/moving/{base}")
}

/// The path that a refusal of `read-tree` names.
fn in_the_way(stderr: &str) -> Option<String> {
    let refused = ["not uptodate", "would be overwritten", "would be removed", "would lose"];
    let line = stderr.lines().position(|l| refused.iter().any(|r| l.contains(r)))?;
    let quoted = stderr.lines().nth(line)?.split('\'').nth(1).map(str::to_owned);
    quoted.or_else(|| stderr.lines().nth(line + 1).map(|l| l.trim().to_owned()))
}

fn text(path: &[u8]) -> String {
    OsString::from_vec(path.to_vec()).to_string_lossy().into_owned()
}
