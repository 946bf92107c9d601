//! Who reads the journal after each turn, folds it anew and audits it.

use crate::world::{Run, World};
use sched::audit::invariants::Audit;
use sched::domain::apply::retire;
use sched::domain::event::{Event, Role, Tree};
use sched::domain::fold;
use sched::domain::ids::DispatchId;
use sched::domain::state::State;
use sched::journal::disk::DiskFile;
use sched::journal::scan::{Stopped, scan};
use sched::journal::{ACTIVE, Position};
use std::collections::BTreeMap;
use std::io;

/// See the module.
pub struct Witness {
    pub state: State,
    audit: Audit,
    position: Position,
}

impl Witness {
    pub fn new() -> Self {
        Self { state: State::default(), audit: Audit::new(), position: Position::start() }
    }

    /// Forgets everything: what was not synced may be gone.
    pub fn forget(&mut self) {
        *self = Self::new();
    }

    /// Reads what is new. What must not be is a failure.
    pub fn follow(&mut self, world: &mut World) {
        let Some(inode) = world.files.get(ACTIVE) else { return };
        if inode.cache.len() as u64 == self.position.offset {
            return;
        }
        let (mut said, mut misjudged) = (Vec::new(), Vec::new());
        let (state, audit) = (&mut self.state, &mut self.audit);
        let read = scan(&Memory(&inode.cache), &self.position, |entry, at, _| {
            let names: Vec<&str> = entry.events.iter().map(|event| event.name()).collect();
            said.push(format!("#{} {:?}: {}", at.seq, entry.by.role, names.join(" ")));
            audit.entry(entry);
            misjudged.extend(entry.events.iter().filter_map(|e| misjudges(state, &world.runs, e)));
            fold(state, entry, &at.hash).map_err(|illegal| illegal.to_string())?;
            retire(state);
            Ok::<(), String>(())
        });
        said.into_iter().for_each(|line| world.say(|| line));
        misjudged.into_iter().for_each(|why| world.fail(why));
        match read {
            // a line without its end may still be torn away
            Ok(end) if end.position.offset <= world.files[ACTIVE].cache.len() as u64 => {
                self.position = end.position;
            }
            Ok(_) => {}
            Err(Stopped::Io(error)) => world.fail(format!("the witness cannot read: {error}")),
            Err(Stopped::Refused(illegal)) => world.fail(format!("illegal: {illegal}")),
        }
        if let Some(finding) = self.audit.findings().first() {
            world.fail(format!("audit: {finding:?}"));
        }
    }

    /// How many entries there are.
    pub fn entries(&self) -> u64 {
        self.position.seq
    }
}

/// Whether an end is judged against what the world shows, or by a ground that nobody could see.
fn misjudges(state: &State, runs: &BTreeMap<DispatchId, Run>, event: &Event) -> Option<String> {
    let (id, lost, blind) = match event {
        Event::DispatchLost(e) => (e.dispatch, true, e.ran && e.ground.is_none()),
        Event::DispatchExited(e) => (e.dispatch, false, e.exit.ran && e.exit.ground.is_none()),
        _ => return None,
    };
    let dispatch = state.dispatch(&id)?;
    let by_ground = dispatch.plan.role == Role::Agent && dispatch.plan.tree != Tree::None;
    if lost && runs.get(&id).is_some_and(|run| run.receipt.is_some()) {
        return Some(format!("{id} is lost, and its receipt is there"));
    }
    let blindly = blind && by_ground && dispatch.stop.is_none();
    blindly.then(|| format!("{id} is judged, and nobody could see its ground"))
}

/// Bytes as a file.
struct Memory<'a>(&'a [u8]);

impl DiskFile for Memory<'_> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap().min(self.0.len());
        let n = buffer.len().min(self.0.len() - from);
        buffer[..n].copy_from_slice(&self.0[from..from + n]);
        Ok(n)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    fn reserve(&self, _: u64) {}

    fn inode(&self) -> io::Result<u64> {
        Ok(1)
    }
}
