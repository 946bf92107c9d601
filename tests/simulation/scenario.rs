//! What there is to do, and how agents and judges behave: the same whatever the weather.

use crate::agents::Act;
use crate::tape::Tape;
use sched::domain::config::Config;
use sched::domain::event::Role;
use std::collections::BTreeMap;

/// How an agent behaves in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Good,
    Posts,
    Bad,
    Conflicts,
    Hangs,
    Stubborn,
    Leaves,
    LeavesStubborn,
    Escapes,
    Fails,
    FailsWithWork,
    Transient,
    Silent,
    HandsBack,
    Dirty,
    Detaches,
    Wrecks,
    Floods,
    WrongPhase,
}

use Behaviour as B;

const BEHAVIOURS: [Behaviour; 24] = [
    B::Good,
    B::Good,
    B::Good,
    B::Good,
    B::Posts,
    B::Bad,
    B::Bad,
    B::Conflicts,
    B::Conflicts,
    B::Hangs,
    B::Stubborn,
    B::Leaves,
    B::LeavesStubborn,
    B::Escapes,
    B::Fails,
    B::FailsWithWork,
    B::Transient,
    B::Silent,
    B::HandsBack,
    B::Dirty,
    B::Detaches,
    B::Wrecks,
    B::Floods,
    B::WrongPhase,
];

/// An issue to be queued.
#[derive(Debug, Clone)]
pub struct Work {
    pub issue: String,
    pub batch: Option<String>,
    pub deps: Vec<String>,
    /// Run by run; the last one goes on for ever.
    pub behaviours: Vec<Behaviour>,
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub config: String,
    pub work: Vec<Work>,
    /// A gate that fails its first run of a member whatever it sees.
    pub flaky_gate: bool,
    /// What breaks the suite together.
    pub broken_pair: Option<(String, String)>,
    pub gate_hangs: bool,
    /// Whether the operator has the base branch checked out.
    pub checked_out: bool,
}

impl Scenario {
    pub fn drawn(tape: &mut Tape) -> Self {
        let mut work = Vec::new();
        let mut behaviours = BTreeMap::new();
        let batches = 1 + tape.rare(3_000, 1);
        let mut number = 0;
        for batch in 1..=batches {
            for place in 0..(2 + tape.pick(3)) {
                number += 1;
                let issue = format!("i{number}");
                let before = (place > 0 && tape.happens(1_500)).then(|| format!("i{}", number - 1));
                work.push((issue.clone(), Some(format!("b{batch}")), before));
                behaviours.insert(issue, drawn_behaviours(tape));
            }
        }
        for _ in 0..tape.rare(4_000, 2) {
            number += 1;
            let issue = format!("i{number}");
            let before = tape.happens(2_000).then(|| "i1".to_owned());
            work.push((issue.clone(), None, before));
            behaviours.insert(issue, drawn_behaviours(tape));
        }
        let config = drawn_config(tape);
        let work = work.into_iter().map(|(issue, batch, before)| {
            let behaviours = behaviours[&issue].clone();
            Work { issue, batch, deps: before.into_iter().collect(), behaviours }
        });
        Self {
            config,
            work: work.collect(),
            flaky_gate: tape.happens(1_500),
            broken_pair: tape.happens(1_000).then(|| ("work-i1".into(), "work-i2".into())),
            gate_hangs: tape.happens(500),
            checked_out: !tape.happens(3_000),
        }
    }

    /// Whether what comes of each unit does not depend on which batch is first.
    pub fn is_comparable(&self) -> bool {
        let conflicts = self.work.iter().filter(|work| work.behaviours.contains(&B::Conflicts));
        let mut units: Vec<_> =
            conflicts.map(|work| work.batch.as_ref().unwrap_or(&work.issue)).collect();
        units.dedup();
        units.len() < 2
    }

    /// How an agent behaves in its nth run.
    pub fn behaviour(&self, issue: &str, nth: u32) -> Behaviour {
        let work = self.work.iter().find(|work| work.issue == issue);
        let behaviours = work.map_or(&[B::Good][..], |work| &work.behaviours);
        let at = usize::try_from(nth).unwrap().min(behaviours.len());
        behaviours[at.saturating_sub(1)]
    }

    /// What a gate or suite does.
    pub fn judge(
        &self,
        role: Role,
        files: Option<&BTreeMap<String, String>>,
        nth: u32,
    ) -> Vec<(u64, Act)> {
        let Some(files) = files else { return vec![(10, Act::Exit(127))] };
        let bad = files.keys().any(|name| name.starts_with("bad-"));
        let broken = self.broken_pair.as_ref();
        let broken = broken.is_some_and(|(a, b)| files.contains_key(a) && files.contains_key(b));
        let red = match role {
            Role::Suite => broken,
            _ => bad || (self.flaky_gate && nth == 1),
        };
        if self.gate_hangs && role == Role::Gate && nth == 1 {
            return vec![(300, Act::Output(10)), (100, Act::Hang)];
        }
        vec![(300, Act::Output(10)), (700, Act::Exit(i32::from(red)))]
    }
}

fn drawn_behaviours(tape: &mut Tape) -> Vec<Behaviour> {
    let kinds = u32::try_from(BEHAVIOURS.len()).unwrap();
    let mut one = || BEHAVIOURS[usize::try_from(tape.pick(kinds)).unwrap()];
    let (first, second) = (one(), one());
    // what goes wrong goes wrong once or always
    if tape.happens(4_000) { vec![first] } else { vec![first, second, B::Good] }
}

fn drawn_config(tape: &mut Tape) -> String {
    let slots = 1 + tape.pick(3);
    let tasks = 1 + tape.pick(2);
    let landing = ["squash", "rebase", "merge"][usize::try_from(tape.pick(3)).unwrap()];
    let suite = tape.happens(6_000);
    let ship = if tape.happens(1_500) { "none" } else { "merge" };
    let gates = 1 + tape.rare(3_000, 1);
    let fraction = if tape.happens(3_000) { 0.9 } else { 0.34 };
    let mut text = format!(
        "[scheduler]\nmax_slots = {slots}\nmax_tasks = {tasks}\nkill_escalation = \"10s\"\n\
         spawn_grace = \"20s\"\nlanding = \"{landing}\"\noutput_limit = \"1MiB\"\n\
         worktree_root = \"/trees\"\n\
         [agent]\ncommand = [\"agent\"]\ntimeout = \"2m\"\nhanded_back_codes = [20]\n\
         [ship]\nmode = \"{ship}\"\n[dissolve]\nfraction = {fraction}\nmin_evictions = 1\n"
    );
    for gate in 0..gates {
        text += &format!("[[gate]]\nid = \"gate{gate}\"\ncommand = [\"gate\"]\ntimeout = \"1m\"\n");
    }
    if suite {
        text += "[suite]\ncommand = [\"suite\"]\ntimeout = \"1m\"\n";
    }
    Config::parse(&text).expect("a configuration that the program takes");
    text
}
