//! Whether the disk below a file or a device has a head that moves, as the kernel says (`queue/rotational`).
//!
//! A partition has the answer of its disk, a loop device that of the file behind it, and a file that of the device on
//! which its file system lies. Where nothing answers (a file system in memory or on a network) there is no head. Nor on
//! a disk of virtio: its driver cannot know, and leaves the kernel's default, which is that it turns.

use rustix::fs::{major, minor};
use std::fs::{self, File, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Loop devices over files on loop devices: more are a mistake, or a circle.
const DEEPEST: u32 = 8;

/// Whether the disk below `file` turns.
pub(super) fn rotates(file: &File) -> bool {
    file.metadata().is_ok_and(|found| below(&found, Path::new("/sys/dev/block"), DEEPEST))
}

fn below(found: &Metadata, sys: &Path, depth: u32) -> bool {
    let device = if found.file_type().is_block_device() { found.rdev() } else { found.dev() };
    // A file system over several devices has a number that no device has; it names one of them as its source.
    let answer = of_device(device, sys, depth).or_else(|| of_device(source_of(device)?, sys, depth));
    answer.unwrap_or(false)
}

fn of_device(device: u64, sys: &Path, depth: u32) -> Option<bool> {
    let dir = fs::canonicalize(sys.join(format!("{}:{}", major(device), minor(device)))).ok()?;
    let behind = fs::read_to_string(dir.join("loop/backing_file")).ok();
    if let Some(found) = behind.and_then(|path| fs::metadata(path.trim_end_matches('\n')).ok()) {
        return Some(depth > 0 && below(&found, sys, depth - 1));
    }
    let disk = if dir.join("partition").exists() { dir.parent()? } else { &dir };
    let said = fs::read_to_string(disk.join("queue/rotational")).ok()?;
    let knows = fs::canonicalize(disk.join("device/driver")).map_or(true, |driver| !driver.ends_with("virtio_blk"));
    Some(said.trim() == "1" && knows)
}

/// The device from which the file system with this number was mounted.
fn source_of(device: u64) -> Option<u64> {
    let wanted = format!("{}:{}", major(device), minor(device));
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let line = mounts.lines().find(|line| line.split(' ').nth(2) == Some(&*wanted))?;
    let source = line.split_once(" - ")?.1.split(' ').nth(1)?;
    let found = fs::metadata(source).ok().filter(|found| found.file_type().is_block_device())?;
    Some(found.rdev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::makedev;
    use std::os::unix::fs::symlink;

    /// A tree as the kernel's, with a disk that says `rotational`, its first partition, and a loop device over `file`.
    fn sys(rotational: &str, file: &Path) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let disk = sys.path().join("disk");
        fs::create_dir_all(disk.join("part")).unwrap();
        fs::create_dir(disk.join("queue")).unwrap();
        fs::write(disk.join("queue/rotational"), format!("{rotational}\n")).unwrap();
        fs::write(disk.join("part/partition"), "1\n").unwrap();
        fs::create_dir_all(sys.path().join("loop/loop")).unwrap();
        fs::create_dir_all(sys.path().join("loop/queue")).unwrap();
        fs::write(sys.path().join("loop/queue/rotational"), "1\n").unwrap();
        fs::write(sys.path().join("loop/loop/backing_file"), format!("{}\n", file.display())).unwrap();
        for (number, target) in [("8:0", "disk"), ("8:1", "disk/part"), ("7:0", "loop")] {
            symlink(sys.path().join(target), sys.path().join(number)).unwrap();
        }
        sys
    }

    #[test]
    fn a_partition_and_a_loop_device_have_the_answer_of_what_is_below() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let on = file.as_file().metadata().unwrap().dev();
        for (said, turns) in [("1", true), ("0", false)] {
            let sys = sys(said, file.path());
            let of = |device| of_device(device, sys.path(), DEEPEST);
            assert_eq!([of(makedev(8, 0)), of(makedev(8, 1)), of(makedev(9, 9))], [Some(turns), Some(turns), None]);
            // The file behind the loop device lies on this disk.
            let _ = fs::remove_file(sys.path().join(format!("{}:{}", major(on), minor(on))));
            symlink(sys.path().join("disk"), sys.path().join(format!("{}:{}", major(on), minor(on)))).unwrap();
            assert_eq!(of(makedev(7, 0)), Some(turns));
            // A driver that does not know.
            fs::create_dir(sys.path().join("virtio_blk")).unwrap();
            fs::create_dir(sys.path().join("disk/device")).unwrap();
            symlink(sys.path().join("virtio_blk"), sys.path().join("disk/device/driver")).unwrap();
            assert_eq!([of(makedev(8, 0)), of(makedev(8, 1))], [Some(false); 2]);
            fs::remove_file(sys.path().join("disk/device/driver")).unwrap();
            fs::remove_dir(sys.path().join("disk/device")).unwrap();
            assert_eq!(of_device(makedev(7, 0), sys.path(), 0), Some(false), "not for ever");
        }
    }
}
