//! The state directory's disk: writes that tear, syncs that fail, locks that are held.

use crate::process::Us;
use crate::world::{Inode, Waits};
use sched::domain::event::Place;
use sched::domain::ids::IssueId;
use sched::domain::state::{Settled, State};
use sched::journal::disk::DiskFile;
use sched::journal::{ACTIVE, Access, Files, Held, Journal, JournalError, Position, TICK_LOCK};
use sched::projection::{Cache, Rest};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

/// Where the state directory is.
pub const STATE: &str = "/state";

/// The state directory, as one process sees it.
pub struct SimFiles(pub Us);

/// One of its files.
struct SimFile {
    us: Us,
    name: String,
}

/// A lock that a process holds.
struct SimLock {
    us: Us,
    name: String,
}

impl Held for SimLock {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut world = self.us.world();
        if world.locks.get(&self.name) == Some(&self.us.pid) {
            world.locks.remove(&self.name);
        }
    }
}

impl Files for SimFiles {
    fn dir(&self) -> &Path {
        Path::new(STATE)
    }

    fn open(&self, name: &str, access: Access) -> Result<Option<Box<dyn DiskFile>>, JournalError> {
        if access == Access::Make {
            self.0.step("make a file");
        }
        let mut world = self.0.world();
        if !world.files.contains_key(name) {
            if access != Access::Make {
                return Ok(None);
            }
            if world.disk_full {
                let path = self.dir().join(name);
                let source = io::ErrorKind::StorageFull.into();
                return Err(JournalError::Io { action: "open", path, source });
            }
            world.files.insert(name.to_owned(), Inode::default());
        }
        Ok(Some(Box::new(SimFile { us: self.0.clone(), name: name.to_owned() })))
    }

    fn make_dir(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, name: &str) -> io::Result<()> {
        self.0.step("sync a directory");
        let mut world = self.0.world();
        let chance = world.weather.sync;
        if world.tape.happens(chance) {
            world.meet("a failed sync of a directory", true);
            return Err(io::Error::other("EIO"));
        }
        for (path, inode) in &mut world.files {
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            inode.linked |= parent == name;
        }
        Ok(())
    }

    fn lock(&self, name: &str, wait: Duration, _: &str) -> Result<Box<dyn Held>, JournalError> {
        self.0.step("lock");
        let until = self.0.world().up + u64::try_from(wait.as_millis()).unwrap();
        loop {
            {
                let mut world = self.0.world();
                if !world.locks.contains_key(name) {
                    world.locks.insert(name.to_owned(), self.0.pid);
                    if name == TICK_LOCK {
                        world.ticked = Some(world.wall());
                    }
                    break;
                }
                if world.up >= until {
                    let path = self.dir().join(name);
                    return Err(JournalError::Locked { path, holder: "somebody".into() });
                }
            }
            self.0.wait(Waits::Lock(name.to_owned(), until));
        }
        let held = SimLock { us: self.0.clone(), name: name.to_owned() };
        self.0.step("have locked");
        Ok(Box::new(held))
    }

    fn place(&self) -> Result<Place, JournalError> {
        Ok(place())
    }

    fn check_writable(&self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// Where the world's one state directory is.
pub fn place() -> Place {
    Place { machine: "machine".into(), inode: 1, birth: 1 }
}

impl SimFile {
    fn put(&self, bytes: &[u8], offset: u64) {
        let mut world = self.us.world();
        let at = usize::try_from(offset).unwrap();
        let inode = world.files.get_mut(&self.name).expect("it was opened");
        let end = at + bytes.len();
        if inode.cache.len() < end {
            inode.cache.resize(end, 0);
        }
        inode.cache[at..end].copy_from_slice(bytes);
        inode.dirty.push((at, end));
    }
}

impl DiskFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let world = self.us.world();
        Ok(world.files.get(&self.name).map_or(0, |inode| inode.cache.len() as u64))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let world = self.us.world();
        let Some(inode) = world.files.get(&self.name) else { return Ok(0) };
        let from = usize::try_from(offset).unwrap().min(inode.cache.len());
        let n = buffer.len().min(inode.cache.len() - from);
        buffer[..n].copy_from_slice(&inode.cache[from..from + n]);
        Ok(n)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.us.step("write");
        let some = u32::try_from(bytes.len()).unwrap();
        let (torn, short, full) = {
            let mut world = self.us.world();
            let (tear, full) = (world.weather.tear, world.weather.full);
            let torn = world.tape.rare(tear, some);
            let short = world.tape.rare(tear, some);
            let full = world.tape.happens(full) || world.disk_full;
            if full {
                world.meet("a write without room", true);
            } else if short > 0 && torn == 0 {
                world.meet("a short write", false);
            }
            if torn > 0 {
                world.meet("a torn write", false);
            }
            (torn as usize, short as usize, full)
        };
        if torn > 0 {
            self.put(&bytes[..torn - 1], offset);
            self.us.world().say(|| format!("a write to {} tears at byte {torn}", self.name));
            self.us.die();
        }
        if full {
            if short > 1 {
                self.put(&bytes[..short - 1], offset);
                return Ok(short - 1);
            }
            return Err(io::ErrorKind::StorageFull.into());
        }
        let n = if short > 0 { short } else { bytes.len() };
        self.put(&bytes[..n], offset);
        Ok(n)
    }

    fn sync(&self) -> io::Result<()> {
        self.us.step("sync");
        let mut world = self.us.world();
        let chance = world.weather.sync;
        let fails = world.tape.happens(chance);
        if fails {
            world.meet("a failed sync", true);
            world.say(|| format!("a sync of {} fails", self.name));
        }
        let inode = world.files.get_mut(&self.name).expect("it was opened");
        let dirty = std::mem::take(&mut inode.dirty);
        if fails {
            return Err(io::Error::other("EIO")); // what was dirty counts as clean from now on
        }
        let Inode { cache, durable, .. } = inode;
        durable.resize(cache.len(), 0);
        for (from, to) in dirty {
            let to = to.min(cache.len());
            if from < to {
                durable[from..to].copy_from_slice(&cache[from..to]);
            }
        }
        if self.name == ACTIVE {
            world.synced();
        }
        Ok(())
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.us.step("truncate");
        let mut world = self.us.world();
        let inode = world.files.get_mut(&self.name).expect("it was opened");
        inode.cache.resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn reserve(&self, _: u64) {}

    fn inode(&self) -> io::Result<u64> {
        Ok(1)
    }
}

/// What is remembered beside the journal.
pub struct SimCache(pub Us);

impl Cache for SimCache {
    fn load(&self, journal: &Journal) -> Option<(State, Position)> {
        let (state, position) = self.0.world().remembered.checkpoint.clone()?;
        journal.matches(&position).ok()?.then_some((state, position))
    }

    fn save(&self, state: &State, position: &Position) {
        self.0.step("save the checkpoint");
        let mut world = self.0.world();
        let remembered = &mut world.remembered;
        let older = remembered.checkpoint.as_ref().is_some_and(|(_, at)| at.seq >= position.seq);
        if !older {
            remembered.checkpoint = Some((state.clone(), position.clone()));
        }
        let settled = state.settled.iter().map(|(id, settled)| (id.clone(), settled.clone()));
        remembered.settled.extend(settled);
    }

    fn settled(&self, issue: &IssueId) -> Option<Settled> {
        self.0.world().remembered.settled.get(issue).cloned()
    }

    fn rest(&self) -> Option<Rest> {
        self.0.world().remembered.rest.clone()
    }

    fn note_rest(&self, rest: &Rest) {
        self.0.step("note the rest");
        self.0.world().remembered.rest = Some(rest.clone());
    }
}
