//! Which faults a run has, and how often: chances in 10,000. Each seed has other weather, so that
//! rare combinations are met without all faults hiding each other.

use crate::tape::Tape;

/// Chances, each per step of a process, per turn, or per call.
#[derive(Debug, Clone, Default)]
pub struct Weather {
    /// Another process goes on.
    pub switch: u32,
    /// A process dies here.
    pub die: u32,
    /// A write tears, and its process dies.
    pub tear: u32,
    /// A sync fails.
    pub sync: u32,
    /// A write finds no room.
    pub full: u32,
    /// A look at git fails.
    pub unreachable: u32,
    /// A change of git's fails, or finds a lock.
    pub refused: u32,
    /// A start of a supervisor is lost, fails, or comes late.
    pub start: u32,
    /// A tree takes longer than any timeout.
    pub slow_tree: u32,
    /// Per turn: one of the disturbances that are allowed.
    pub disturbed: u32,
    /// Which of them.
    pub disturbances: Vec<Disturbance>,
}

/// What happens to processes and machines from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// One more tick.
    Tick,
    /// `kill -9` for a tick or supervisor.
    Kill,
    /// TERM for one.
    Told,
    /// STOP for one, and CONT later.
    Stopped,
    /// `kill -9` for an agent, gate or suite.
    KillCommand,
    /// The machine boots; what was not synced stays.
    Reboot,
    /// The power goes: what was not synced may be lost.
    Power,
    /// The wall clock jumps.
    Clock,
    /// An operator asks for something.
    Operator,
    /// Somebody else commits to the base branch.
    Base,
    /// The disk fills up, or is emptied.
    Full,
    /// Time passes although somebody could go on.
    Slow,
}

use Disturbance as D;

/// Those which change nothing that may come of a unit.
pub const GENTLE: [Disturbance; 5] = [D::Tick, D::Kill, D::Stopped, D::Clock, D::Slow];
/// Those which may.
pub const ROUGH: [Disturbance; 7] =
    [D::Told, D::KillCommand, D::Reboot, D::Power, D::Operator, D::Base, D::Full];

impl Weather {
    /// None.
    pub fn calm() -> Self {
        Self::default()
    }

    /// Drawn; gentle weather has only what must not change any outcome.
    pub fn drawn(tape: &mut Tape, gentle: bool) -> Self {
        let mut one_of = |chances: &[u32]| {
            let n = u32::try_from(chances.len()).unwrap();
            chances[usize::try_from(tape.pick(n)).unwrap()]
        };
        let mut weather = Self {
            switch: one_of(&[0, 300, 1_500, 4_000]),
            die: one_of(&[0, 5, 20, 60]),
            tear: one_of(&[0, 50, 300]),
            start: one_of(&[0, 300, 1_500]),
            slow_tree: one_of(&[0, 0, 1_000]),
            disturbed: one_of(&[20, 100, 400, 1_500]),
            ..Self::default()
        };
        if !gentle {
            weather.sync = one_of(&[0, 0, 30, 200]);
            weather.full = one_of(&[0, 0, 50]);
            weather.unreachable = one_of(&[0, 0, 100, 1_000]);
            weather.refused = one_of(&[0, 0, 100]);
        }
        for disturbance in GENTLE.iter().chain(ROUGH.iter().filter(|_| !gentle)) {
            if one_of(&[0, 1]) == 1 {
                weather.disturbances.push(*disturbance);
            }
        }
        weather
    }
}
