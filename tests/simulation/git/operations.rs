//! What is done to both repositories of a [`Pair`]: the operations of the port.

use super::pair::{INTEGRATION, Pair, mapped};
use super::repo::BASE;
use sched::domain::event::{Ground, Landing, Merge, Tree};
use sched::domain::fact::{BranchResult, FoundLanding, LandResult, RebaseResult, ShipResult};
use sched::domain::ids::CommitId;
use sched::domain::time::Timestamp;
use sched::engine::ports::Seen;
use sched::engine::ports::git::{
    Git, LandRequest, RebaseRequest, RescueRequest, ShipRequest, TreeRequest,
};

impl Pair {
    /// A batch that has begun.
    pub fn begin(&mut self) {
        self.create_branch();
        for n in 1..3 {
            self.member(n, false);
            self.agent_commits(n);
            self.compare();
        }
    }

    /// One random operation.
    pub fn operate(&mut self) {
        let n = 1 + self.random.below(3);
        if !self.random.one_in(3) {
            self.time = Timestamp::from_millis(self.time.millis() + 1000);
        }
        match self.random.below(44) {
            0..=1 => self.create_branch(),
            2..=6 => self.member(n, false),
            7..=8 => self.member(n, true),
            9 => self.check(),
            10..=14 => self.land(n),
            15..=16 => self.rebase(n),
            17..=18 => self.ship(),
            19 => self.rescue(n),
            20 => self.clean(n),
            21 => self.remove(n),
            22..=23 => self.ground(n),
            24 => self.delete(),
            25 => self.questions(),
            _ => self.outside(n),
        }
    }

    fn branch(&self, n: usize) -> String {
        format!("sched/b1/{n}-10{n}")
    }

    /// A tip, or where there is none the base's.
    fn tip_or_base(&self, branch: &str) -> CommitId {
        let repo = self.repo();
        repo.tip(branch).or_else(|| repo.tip(BASE)).unwrap()
    }

    fn create_branch(&mut self) {
        let commit = if self.random.one_in(4) { self.any() } else { self.tip_or_base(BASE) };
        self.done.push(format!("create_branch {commit}"));
        let simulated = self.sim.create_branch(INTEGRATION, &commit);
        let real = self.real.git.create_branch(INTEGRATION, &self.real_of(&commit));
        let real = real.map(|result| match result {
            BranchResult::Exists(at) => BranchResult::Exists(self.sim_of(&at)),
            made => made,
        });
        self.same_kind(simulated, real);
    }

    fn member(&mut self, n: usize, exact: bool) {
        let commit = match self.random.below(6) {
            0 => self.any(),
            1 => "1234567890123456789012345678901234567890".into(),
            _ if exact => self.tip_or_base(&self.branch(n)),
            _ => self.tip_or_base(INTEGRATION),
        };
        let (path, branch) = (self.path(n), self.branch(n));
        self.make(Tree::Member { path, branch, commit, exact });
    }

    fn check(&mut self) {
        let commit = self.tip_or_base(INTEGRATION);
        self.make(Tree::Check { path: self.path(0), commit });
    }

    fn make(&mut self, tree: Tree) {
        self.done.push(format!("make_tree {tree:?}"));
        let unit = "batch:b1/101".parse().unwrap();
        let request = TreeRequest { tree, root: self.root.clone(), unit, time: self.time };
        let simulated = self.sim.make_tree(&request);
        let mut request = request;
        if let Tree::Member { commit, .. } | Tree::Check { commit, .. } = &mut request.tree {
            *commit = self.real_of(commit);
        }
        let real = self.real.git.make_tree(&request);
        *self.done.last_mut().unwrap() += &format!(" -> {simulated:?} / {real:?}");
        self.same(simulated.map_err(|error| error.own), real.map_err(|error| error.own));
    }

    fn land(&mut self, n: usize) {
        let any = self.random.one_in(10);
        self.written += 1;
        let member = format!("10{n}-{}", self.written);
        let request = LandRequest {
            branch: INTEGRATION.into(),
            tip: self.tip_or_base(&self.branch(n)),
            parent: if any { self.any() } else { self.tip_or_base(INTEGRATION) },
            time: self.time,
            landing: *self.random.one(&[Landing::Squash, Landing::Rebase, Landing::Merge]),
            issue: member.as_str().into(),
            title: if self.random.one_in(2) { String::new() } else { "Fix  it\n".into() },
            trailers: vec![("Sched-Batch".into(), "b1".into()), ("Sched-Member".into(), member)],
        };
        self.done.push(format!("{request:?}"));
        let simulated = self.sim.land(&request);
        let (tip, parent) = (self.real_of(&request.tip), self.real_of(&request.parent));
        let real = self.real.git.land(&LandRequest { tip, parent, ..request });
        let real = real.map(|result| match result {
            LandResult::Landed(commit) => LandResult::Landed(self.sim_of(&commit)),
            LandResult::Moved(commit) => LandResult::Moved(self.sim_of(&commit)),
            other => other,
        });
        self.same_kind(simulated, real);
        let since = self.first();
        let simulated = self.sim.landings(INTEGRATION, &"b1".into(), &since);
        let real = self.real.git.landings(INTEGRATION, &"b1".into(), &self.real_of(&since));
        let mut found = |FoundLanding { member, commit }| {
            let commit = self.real.simulated(&commit);
            FoundLanding { member, commit }
        };
        let real = match real {
            Seen::Value(all) => Seen::Value(all.into_iter().map(&mut found).collect()),
            other => other,
        };
        self.same_seen(simulated, real);
    }

    fn merge_of(&mut self, merge: Option<Merge>) -> Option<Merge> {
        merge.map(|merge| match merge {
            Merge::Commit(commit) => Merge::Commit(self.sim_of(&commit)),
            conflict => conflict,
        })
    }

    fn rebase(&mut self, n: usize) {
        let tip = self.tip_or_base(INTEGRATION);
        let landed = self.landings().into_iter().map(|l| (l.member, l.commit)).collect();
        let judged = self.repo().tip(&self.branch(n)).filter(|_| n < 3);
        let from = if self.random.one_in(6) { self.any() } else { self.first() };
        let onto = self.tip_or_base(BASE);
        let branch = INTEGRATION.to_owned();
        let mut request = RebaseRequest { branch, from, onto, tip, landed, judged };
        self.done.push(format!("{request:?}"));
        let simulated = self.sim.rebase(&request);
        request.landed.iter_mut().for_each(|(_, commit)| *commit = self.real_of(commit));
        let real = self.real.git.rebase(&RebaseRequest {
            from: self.real_of(&request.from),
            onto: self.real_of(&request.onto),
            tip: self.real_of(&request.tip),
            judged: request.judged.as_ref().map(|commit| self.real_of(commit)),
            ..request
        });
        let real = real.map(|result| match result {
            RebaseResult::Rebased { tip, mut landed, judged } => {
                landed.iter_mut().for_each(|(_, commit)| *commit = self.sim_of(commit));
                let judged = self.merge_of(judged);
                RebaseResult::Rebased { tip: self.sim_of(&tip), landed, judged }
            }
            RebaseResult::Moved(commit) => RebaseResult::Moved(self.sim_of(&commit)),
            conflict => conflict,
        });
        self.same_kind(simulated, real);
    }

    fn ship(&mut self) {
        let any = self.random.one_in(10);
        let old = if any { self.any() } else { self.tip_or_base(BASE) };
        let new = self.tip_or_base(INTEGRATION);
        if self.random.one_in(2) {
            self.ships_half(&old, &new);
        }
        let request = ShipRequest { base: BASE.into(), old, new };
        self.done.push(format!("{request:?}"));
        let simulated = self.sim.ship(&request);
        let (old, new) = (self.real_of(&request.old), self.real_of(&request.new));
        let real = self.real.git.ship(&ShipRequest { old, new, ..request });
        let real = real.map(|result| match result {
            ShipResult::BaseMoved(commit) => ShipResult::BaseMoved(self.sim_of(&commit)),
            other => other,
        });
        self.same_kind(simulated, real);
    }

    fn rescue_request(&mut self, n: usize, what: &str) -> RescueRequest {
        let n = if self.random.one_in(5) { 0 } else { n };
        let branch = (n > 0).then(|| self.branch(n));
        let request = RescueRequest {
            unit: "batch:b1/101".parse().unwrap(),
            path: self.path(n),
            root: self.root.clone(),
            branch,
            time: self.time,
        };
        self.done.push(format!("{what} {request:?}"));
        request
    }

    fn rescue(&mut self, n: usize) {
        let request = self.rescue_request(n, "rescue");
        let (simulated, real) = (self.sim.rescue(&request), self.real.git.rescue(&request));
        self.same_kind(simulated, real);
    }

    fn clean(&mut self, n: usize) {
        let request = self.rescue_request(n, "rescue, clean");
        let (simulated, real) = (self.sim.rescue(&request), self.real.git.rescue(&request));
        let saved = simulated.is_ok();
        self.same_kind(simulated, real);
        if saved {
            let simulated = self.sim.clean_tree(&request);
            let real = self.real.git.clean_tree(&request);
            self.same_kind(simulated, real);
        }
    }

    fn remove(&mut self, n: usize) {
        let request = self.rescue_request(n, "remove");
        let simulated = self.sim.remove_tree(&request);
        let real = self.real.git.remove_tree(&request);
        self.same(simulated.map_err(|error| error.rescue), real.map_err(|error| error.rescue));
    }

    fn ground(&mut self, n: usize) {
        self.done.push(format!("ground {n}"));
        let (path, branch) = (self.path(n), self.branch(n));
        let integration = self.tip_or_base(INTEGRATION);
        let simulated = self.sim.ground(&path, &branch, &integration);
        let real = match self.real.git.ground(&path, &branch, &self.real_of(&integration)) {
            Seen::Value(ground) => Seen::Value(Ground {
                tip: ground.tip.as_ref().map(|tip| self.sim_of(tip)),
                merged: self.merge_of(ground.merged.clone()),
                ..ground
            }),
            other => other,
        };
        self.same_seen(simulated, real);
    }

    fn delete(&mut self) {
        let names: Vec<String> = self.repo().refs("refs/").into_keys().collect();
        let name = self.random.one(&names).clone();
        let base = name.ends_with(BASE);
        let commit =
            if self.random.one_in(3) { self.any() } else { self.repo().refs[&name].clone() };
        if base {
            return;
        }
        self.done.push(format!("delete {name} {commit}"));
        let simulated = self.sim.delete_reference(&name, &commit);
        let real = self.real.git.delete_reference(&name, &self.real_of(&commit));
        self.same_kind(simulated, real);
        // what only that ref had was given up on purpose
        for path in (0..4).map(|n| self.path(n)) {
            self.repo().forgive(&path);
        }
    }

    fn questions(&mut self) {
        self.done.push("questions".into());
        let (sim, git) = (&self.sim, &self.real.git);
        self.same_seen(sim.has_program(BASE, "p1"), git.has_program(BASE, "p1"));
        self.same_seen(sim.has_program("no", "p1"), git.has_program("no", "p1"));
        self.same_seen(sim.repository(), git.repository());
        assert!(matches!((sim.version(), git.version()), (Seen::Value(_), Seen::Value(_))));
        let (one, other) = (self.any(), self.any());
        let none: CommitId = "1234567890123456789012345678901234567890".into();
        for (old, new) in [(&one, &other), (&other, &one), (&none, &one), (&one, &none)] {
            let real = self.real.git.is_ancestor(&self.real_of(old), &self.real_of(new));
            self.same_seen(self.sim.is_ancestor(old, new), real);
        }
        let tree = |git: &dyn Git, id: &CommitId| matches!(git.tree_of(id), Seen::Value(_));
        self.same(tree(&self.sim, &one), tree(&self.real.git, &self.real_of(&one)));
        self.same(tree(&self.sim, &none), tree(&self.real.git, &none));
        let real = match self.real.git.reference(INTEGRATION) {
            Seen::Value(commit) => Seen::Value(self.sim_of(&commit)),
            other => other,
        };
        self.same_seen(self.sim.reference(INTEGRATION), real);
        let prefix = "refs/heads/sched/";
        let real = match self.real.git.references(prefix) {
            Seen::Value(refs) => Seen::Value(mapped(refs, |commit| self.sim_of(commit))),
            other => other,
        };
        self.same_seen(self.sim.references(prefix), real);
    }
}
