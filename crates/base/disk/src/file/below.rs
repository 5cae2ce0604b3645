//! What lies below a disk, and which devices show its bytes under another name: partitions and loop devices, from
//! `/sys`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open, stat};

/// Identifies an inode: the device numbers of its file system, as `/proc/locks` has them, and its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) dev: (u32, u32),
    pub(super) ino: u64,
}

impl Inode {
    pub(super) fn of(stat: &rustix::fs::Stat) -> Inode {
        Inode { dev: (major(stat.st_dev), minor(stat.st_dev)), ino: stat.st_ino }
    }
}

/// A file or device that holds the bytes of a disk, and where in it they begin.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) path: PathBuf,
    pub(super) file: File,
    pub(super) inode: Inode,
    /// The first of the disk's bytes in it, and their number.
    pub(super) at: u64,
    pub(super) len: u64,
}

/// A loop device with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loop {
    /// `loop0`.
    pub(super) name: String,
    /// The present path of its file; `None` if the file was removed.
    pub(super) path: Option<PathBuf>,
    /// Its file. `None` if neither its name nor losetup(8) identifies it.
    pub(super) inode: Option<Inode>,
}

impl Loop {
    pub(super) fn device(&self) -> PathBuf {
        Path::new("/dev").join(&self.name)
    }

    /// Its device number and those of its partitions, as `/proc/self/mountinfo` has them.
    pub(super) fn numbers(&self) -> Vec<String> {
        let dir = Path::new("/sys/block").join(&self.name);
        let parts = fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let whole = std::iter::once(dir.clone());
        whole.chain(parts).filter_map(|dir| text(&dir, "dev")).collect()
    }
}

fn text(dir: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(dir.join(name)).ok()?.trim_end_matches('\n').to_owned())
}

fn number(dir: &Path, name: &str) -> Option<u64> {
    text(dir, name)?.parse().ok()
}

/// All loop devices with a file.
///
/// `/sys` follows a renamed file, and says when it was removed. Only for a removed file losetup(8) must be run.
pub(super) fn loops() -> Vec<Loop> {
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut found: Vec<Loop> = blocks
        .filter_map(|entry| {
            let path = PathBuf::from(text(&entry.path(), "loop/backing_file")?);
            let inode = stat(&path).ok().map(|stat| Inode::of(&stat));
            Some(Loop { name: entry.file_name().into_string().ok()?, path: inode.map(|_| path), inode })
        })
        .collect();
    if found.iter().any(|one| one.inode.is_none()) {
        let told = losetup();
        for one in found.iter_mut().filter(|one| one.inode.is_none()) {
            one.inode = told.iter().find(|(name, _)| *name == one.name).map(|(_, inode)| *inode);
        }
    }
    found
}

/// The loop devices and their files, from a program that may query the kernel: an ioctl would need unsafe code.
fn losetup() -> Vec<(String, Inode)> {
    let arguments = ["--list", "--noheadings", "--raw", "--output", "NAME,BACK-MAJ:MIN,BACK-INO"];
    let programs = ["losetup", "/usr/sbin/losetup", "/sbin/losetup"];
    let said = programs.into_iter().find_map(|program| Command::new(program).args(arguments).output().ok());
    let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.lines().filter_map(told).collect()
}

/// Parses `/dev/loop0 254:0 9978130`; blanks that align a column may appear as `\x20`.
fn told(line: &str) -> Option<(String, Inode)> {
    let line = line.replace("\\x20", " ");
    let mut words = line.split_whitespace();
    let name = words.next()?.strip_prefix("/dev/")?.to_owned();
    let (major, minor) = words.next()?.split_once(':')?;
    let dev = (major.parse().ok()?, minor.parse().ok()?);
    Some((name, Inode { dev, ino: words.next()?.parse().ok()? }))
}

/// What holds the bytes of the block device with this number, and where in it: the whole disk of a partition, the file
/// of a loop device. `None` for other devices, and where it cannot be opened by its name.
pub(super) fn below(rdev: u64) -> Option<Layer> {
    let dir = fs::canonicalize(format!("/sys/dev/block/{}:{}", major(rdev), minor(rdev))).ok()?;
    let len = number(&dir, "size")?.saturating_mul(512);
    if dir.join("partition").exists() {
        let whole = dir.parent()?;
        let device = Path::new("/dev").join(whole.file_name()?);
        let (layer, rdev) = layer(device, number(&dir, "start")?.saturating_mul(512), len)?;
        let named = format!("{}:{}", major(rdev), minor(rdev));
        return (text(whole, "dev")? == named).then_some(layer);
    }
    let path = PathBuf::from(text(&dir, "loop/backing_file")?);
    Some(layer(path, number(&dir, "loop/offset")?, len)?.0)
}

/// Opened for reading, which is enough for all our locks.
fn layer(path: PathBuf, at: u64, len: u64) -> Option<(Layer, u64)> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = File::from(open(&path, flags, Mode::empty()).ok()?);
    let stat = fstat(&file).ok()?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let layer = Layer { path, file, inode: Inode::of(&stat), at, len };
    matches!(kind, FileType::RegularFile | FileType::BlockDevice).then_some((layer, stat.st_rdev))
}

impl Layer {
    /// The number of the block device that it is.
    pub(super) fn rdev(&self) -> Option<u64> {
        let stat = fstat(&self.file).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice).then_some(stat.st_rdev)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_losetup_is_read() {
        let inode = Inode { dev: (254, 0), ino: 9_978_130 };
        let line = "/dev/loop0 \\x20\\x20\\x20254:0\\x20\\x20 9978130";
        assert_eq!(told(line), Some(("loop0".to_owned(), inode)));
        assert_eq!(told("/dev/loop12 254:0 9978130"), Some(("loop12".to_owned(), inode)));
        assert_eq!(told("losetup: cannot"), None);
    }
}
