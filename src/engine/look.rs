//! Gathers the facts that the state asks for. What it finds it does not judge.

use super::ports::git::Git;
use super::ports::{Life, Processes, Runs};
use crate::domain::effect::Probe;
use crate::domain::event::{EnvironmentRecorded, Ground, Role, Tree};
use crate::domain::fact::{Fact, Remains, Seen};
use crate::domain::ids::{BatchId, DispatchId};
use crate::domain::state::{Dispatch, State};

/// Whether a program can be executed: one that is named by a relative path is one of the working
/// tree, so the base branch must have it.
pub fn can_execute(
    program: &str,
    recorded: &EnvironmentRecorded,
    base: &str,
    processes: &dyn Processes,
    git: Option<&dyn Git>,
) -> bool {
    let relative = program.contains('/') && !program.starts_with('/');
    match git.filter(|_| relative) {
        Some(git) => {
            let path = program.trim_start_matches("./");
            git.has_program(base, path) == Seen::Value(true)
        }
        None => processes.can_execute(program, &recorded.path),
    }
}

/// What can be looked at.
pub(super) struct Eyes<'a> {
    pub(super) processes: &'a dyn Processes,
    pub(super) runs: &'a dyn Runs,
    pub(super) git: Option<&'a dyn Git>,
}

impl Eyes<'_> {
    /// The fact behind a probe; `None` when there is nothing new, or nobody can tell.
    pub(super) fn look(&self, state: &State, probe: &Probe) -> Option<Fact> {
        match probe {
            Probe::Base(branch) => {
                let missing = || Seen::Unreachable("there is no git repository here".into());
                let seen = self.git.map_or_else(missing, |git| git.reference(branch));
                Some(Fact::Base { branch: branch.clone(), seen })
            }
            Probe::Late(dispatch) => {
                let tried = self.runs.tried(*dispatch);
                Some(Fact::NotStarted { dispatch: *dispatch, tried })
            }
            Probe::Alive(dispatch) => self.alive(state, *dispatch),
            Probe::Integration(batch) => self.integration(state, batch),
            Probe::Program(profile) => {
                let program = &state.health.profiles.get(profile)?.program;
                let recorded = state.environment.as_ref()?;
                let base = state.config().base_branch().to_owned();
                let found = can_execute(program, recorded, &base, self.processes, self.git);
                found.then(|| Fact::Program { profile: profile.clone(), found })
            }
        }
    }

    fn alive(&self, state: &State, id: DispatchId) -> Option<Fact> {
        let dispatch = state.dispatch(&id)?;
        let started = dispatch.started.as_ref()?;
        if self.processes.supervisor(&started.supervisor) != Life::Gone {
            return None; // it lives, or belongs to another host: its own business
        }
        if self.runs.receipt(id).is_none() && self.processes.command(started) != Life::Gone {
            let said = dispatch.supervision_lost;
            return (!said).then_some(Fact::Unsupervised { dispatch: id });
        }
        // looked for once more after both were seen gone
        if let Some(mut exit) = self.runs.receipt(id) {
            if exit.ground.is_none() && exit.ran {
                exit.ground = self.ground(state, dispatch);
            }
            let told = judgeable(dispatch, exit.ran, exit.ground.is_some());
            return Some(match told {
                true => Fact::Ended { dispatch: id, exit },
                false => Fact::Unreadable { dispatch: id },
            });
        }
        let ran = self.runs.ran(id);
        let rebooted = self.processes.rebooted_since(&started.process);
        let readable = !rebooted || self.mend(dispatch);
        let ground = readable.then(|| self.ground(state, dispatch)).flatten();
        if !judgeable(dispatch, ran, ground.is_some()) {
            return Some(Fact::Unreadable { dispatch: id });
        }
        Some(Fact::Gone {
            dispatch: id,
            remains: Remains {
                claimed: self.runs.claimed(id),
                ran,
                rebooted,
                ground,
                output_tail: self.runs.output_tail(id),
            },
        })
    }

    /// What is judged is on the disk first. Crash story: an agent's exit is acknowledged, power
    /// fails, and the commits that its own git had not synced come back as empty files:
    /// acknowledged work is gone, and whatever is built on it cannot be read.
    fn ground(&self, state: &State, dispatch: &Dispatch) -> Option<Ground> {
        let git = self.git?;
        git.sync().ok()?;
        ground(git, state, dispatch)
    }

    /// Has a branch be one that can be read, after power may have failed. Whether it is.
    fn mend(&self, dispatch: &Dispatch) -> bool {
        let Tree::Member { branch, commit, .. } = &dispatch.plan.tree else { return true };
        self.git.is_none_or(|git| git.mend(branch, commit).is_ok())
    }

    /// Landings that are on an integration branch behind the journal's back.
    fn integration(&self, state: &State, id: &BatchId) -> Option<Fact> {
        let batch = state.batch(id)?;
        let tip = batch.integration.as_ref()?;
        let branch = batch.integration_branch();
        match self.git?.reference(&branch) {
            Seen::Value(now) if now != *tip => {}
            _ => return None,
        }
        let Seen::Value(landings) = self.git?.landings(&branch, id, tip) else { return None };
        (!landings.is_empty()).then(|| Fact::IntegrationSeen { batch: id.clone(), landings })
    }
}

/// What a member's tree and branch show against the integration tip that the journal knows.
/// `None`: nobody can tell now.
pub(super) fn ground(git: &dyn Git, state: &State, dispatch: &Dispatch) -> Option<Ground> {
    let Tree::Member { path, branch, .. } = &dispatch.plan.tree else { return None };
    let batch = state.batch_of(&dispatch.unit)?;
    let integration = batch.integration.as_ref().or(batch.base_commit.as_ref())?;
    match git.ground(path, branch, integration) {
        Seen::Value(ground) => Some(ground),
        Seen::Absent | Seen::Unreachable(_) => None,
    }
}

/// An agent in a tree is judged by its ground, unless we stopped it; when nobody can tell,
/// nothing is concluded.
pub(super) fn judgeable(dispatch: &Dispatch, ran: bool, ground: bool) -> bool {
    let in_tree = dispatch.plan.role == Role::Agent && dispatch.plan.tree != Tree::None;
    let by_ground = in_tree && ran && dispatch.stop.is_none();
    ground || !by_ground
}
