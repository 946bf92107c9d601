//! A disk that can lose its power: an ext4 image on a loop device, shut down without a flush. What
//! was synced is on it, and what else its file system has committed with that.
//!
//! It is mounted so that it keeps as little as it may: no commit on its own for an hour, and no
//! protection of files that are replaced without a sync.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Enough for a scheduler that starts nothing on a disk which is nearly full.
const SIZE: u64 = 1 << 30;
const OPTIONS: &str = "loop,commit=3600,noauto_da_alloc";

/// `EXT4_IOC_SHUTDOWN` with `EXT4_GOING_FLAGS_NOLOGFLUSH`.
const SHUTDOWN: &str = "import fcntl, os, struct, sys\n\
    fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587D, struct.pack('I', 2))\n";

/// The disk, until it is dropped.
pub struct Disk {
    image: PathBuf,
    place: PathBuf,
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{program} {arguments:?}: {output:?}"))
    }
}

impl Disk {
    /// Makes one and mounts it here.
    pub fn mount(place: &Path) -> Self {
        Self::try_mount(place).unwrap()
    }

    fn try_mount(place: &Path) -> Result<Self, String> {
        let disk = Self { image: place.with_extension("image"), place: place.to_owned() };
        let file = std::fs::File::create(&disk.image).unwrap();
        file.set_len(SIZE).unwrap();
        run(
            "mkfs.ext4",
            &["-q", "-F", "-E", "lazy_itable_init=1,nodiscard", disk.image.to_str().unwrap()],
        )?;
        disk.mount_here()?;
        Ok(disk)
    }

    fn mount_here(&self) -> Result<(), String> {
        run("mount", &["-o", OPTIONS, self.image.to_str().unwrap(), self.place.to_str().unwrap()])
    }

    /// Has all that is on it so far reach it.
    pub fn sync(&self) {
        run("sync", &["--file-system", self.place.to_str().unwrap()]).unwrap();
    }

    /// From this moment on nothing reaches it any more.
    pub fn cut(&self) {
        run("python3", &["-c", SHUTDOWN, self.place.to_str().unwrap()]).unwrap();
    }

    /// Power is back; nobody uses it.
    pub fn mount_again(&self) {
        let place = self.place.to_str().unwrap();
        // a process that is gone may hold what it had open for a moment more
        let tried = (0..200).map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            run("umount", &[place])
        });
        let mut left = tried.skip_while(Result::is_err);
        assert!(left.next().is_some(), "`{place}` is busy for ever");
        self.mount_here().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // whoever still uses it keeps it to its own end
        let _ = run("umount", &["--lazy", self.place.to_str().unwrap()]);
    }
}

/// Whether there can be such a disk here; says so when not.
pub fn can_be_cut() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("disk");
    std::fs::create_dir(&place).unwrap();
    let tried = Disk::try_mount(&place);
    if let Err(why) = &tried {
        println!("SKIPPED: no ext4 image can be mounted here: {why}");
    }
    tried.is_ok()
}
