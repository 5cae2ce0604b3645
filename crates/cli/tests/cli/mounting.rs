//! A place to mount on, in tests. They are skipped, with a reason, on systems where nothing can be mounted.

use crate::common::Scratch;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Whether tests can mount here.
pub(crate) fn can_mount() -> bool {
    let found = Path::new("/dev/fuse").exists();
    let may = fs::read_to_string("/proc/self/status").is_ok_and(|status| status.contains("\nUid:\t0\t0"));
    if !(found && may) {
        eprintln!("skipped: needs /dev/fuse and root");
    }
    found && may
}

pub(crate) fn is_mounted(dir: &str) -> bool {
    fs::read_to_string("/proc/self/mounts").unwrap().lines().any(|line| line.split(' ').nth(1) == Some(dir))
}

/// A directory to mount on; unmounted when dropped.
pub(crate) struct Place(pub(crate) String);

impl Place {
    pub(crate) fn new(scratch: &Scratch) -> Place {
        Place::new_at(scratch, "mnt")
    }

    pub(crate) fn new_at(scratch: &Scratch, name: &str) -> Place {
        let dir = scratch.path(name);
        fs::create_dir(&dir).unwrap();
        Place(fs::canonicalize(dir).unwrap().to_str().unwrap().to_owned())
    }

    pub(crate) fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.0)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if is_mounted(&self.0) {
            let _ = Command::new("umount").args(["-l", &self.0]).status();
        }
    }
}
