//! Where a state directory is, and whether a journal may be written there.

use super::error::JournalError;
use crate::domain::event::Place;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Makes a directory with mode 0700 when it is absent, and its parents.
///
/// # Errors
/// Whatever the system says.
pub fn make_dir(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// The state directory by what was given: the flag, the variable, the repository, a `.sched`
/// above the current directory. `None` where there is none of them.
pub fn resolve(
    flag: Option<&Path>,
    variable: Option<&Path>,
    common_dir: Option<&Path>,
    current: &Path,
) -> Option<PathBuf> {
    let named = flag.or(variable).map(|path| current.join(path));
    named
        .or_else(|| common_dir.map(|dir| dir.join("sched")))
        .or_else(|| current.ancestors().map(|dir| dir.join(".sched")).find(|dir| dir.is_dir()))
}

/// What identifies the place of a state directory.
///
/// # Errors
/// [`JournalError::Io`].
pub fn place(dir: &Path) -> Result<Place, JournalError> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, dir, AtFlags::empty(), StatxFlags::INO | StatxFlags::BTIME).map_err(
        |error| JournalError::Io { action: "look at", path: dir.to_owned(), source: error.into() },
    )?;
    let birth = if found.stx_mask & StatxFlags::BTIME.bits() != 0 {
        found.stx_btime.tv_sec * 1_000_000_000 + i64::from(found.stx_btime.tv_nsec)
    } else {
        0
    };
    Ok(Place { machine: machine(), inode: found.stx_ino, birth })
}

fn machine() -> String {
    let read = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    };
    read("/etc/machine-id").or_else(|| read("/proc/sys/kernel/hostname")).unwrap_or_default()
}

/// File systems on which locks or syncs cannot be trusted, by their magic number.
const REFUSED: &[(i64, &str)] = &[
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS"),
    (0xfe53_4d42, "SMB2"),
    (0x517b, "SMB"),
    (0x6573_5546, "FUSE"),
    (0x0102_1997, "9P"),
    (0x00c3_6400, "Ceph"),
    (0x5346_414f, "AFS"),
    (0x7461_636f, "OCFS2"),
    (0x0bd0_0bd0, "Lustre"),
];

/// The name of the file system under a path, when a journal must not be written there.
///
/// # Errors
/// Whatever the system says.
pub fn refused_filesystem(dir: &Path) -> io::Result<Option<&'static str>> {
    let found = rustix::fs::statfs(dir)?.f_type & 0xffff_ffff;
    Ok(REFUSED.iter().find(|(magic, _)| *magic == found).map(|(_, name)| *name))
}

/// Refuses a state directory on a network or FUSE file system.
///
/// # Errors
/// [`JournalError::Network`], or [`JournalError::Io`].
pub fn check_writable(dir: &Path) -> Result<(), JournalError> {
    let found = refused_filesystem(dir).map_err(|source| JournalError::Io {
        action: "look at",
        path: dir.to_owned(),
        source,
    })?;
    match found {
        None => Ok(()),
        Some(name) => {
            let filesystem = format!("a {name} file system");
            Err(JournalError::Network { path: dir.to_owned(), filesystem })
        }
    }
}
