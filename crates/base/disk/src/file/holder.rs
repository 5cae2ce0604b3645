//! Who holds a disk, as far as the system knows.

use std::fmt;
use std::fs;

use rustix::fs::{Stat, major, minor};

use super::below::Inode;

/// The holder of a lock.
#[derive(Debug)]
pub(super) enum Holder {
    Process {
        pid: u32,
        name: String,
    },
    /// Mounted, swapped to, part of a RAID.
    System(String),
    /// It has ended, or cannot be seen from here.
    Unseen,
}

impl Holder {
    pub(super) fn lives(&self) -> bool {
        !matches!(self, Holder::Unseen)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::Process { pid, name } => write!(f, "process {pid} ({name}) has locked it"),
            Holder::System(how) => f.write_str(how),
            Holder::Unseen => f.write_str("another program has locked it"),
        }
    }
}

/// A lock of the bytes of an open file, as `/proc/locks` and `/proc/PID/fdinfo` show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) first: u64,
    pub(super) last: u64,
}

/// `1: OFDLCK ADVISORY  READ -1 fe:00:9978130 100 101`
fn bytes_of(line: &str, wanted: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().skip_while(|word| *word != "OFDLCK");
    words.by_ref().find(|word| *word == wanted)?;
    let first = words.next()?.parse().ok()?;
    Some(Lock { first, last: words.next()?.parse().unwrap_or(u64::MAX) })
}

fn named(inode: Inode) -> String {
    let Inode { dev: (major, minor), ino } = inode;
    format!("{major:02x}:{minor:02x}:{ino}")
}

/// All byte locks of this file.
pub(super) fn byte_locks(inode: Inode) -> Vec<Lock> {
    let wanted = named(inode);
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    locks.lines().filter_map(|line| bytes_of(line, &wanted)).collect()
}

/// Who has locked the whole of this file: `/proc/locks` has a line for each lock, with process and inode.
pub(super) fn of_file(inode: Inode) -> Holder {
    let wanted = named(inode);
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().filter(|line| !line.contains("OFDLCK")).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().position(|word| *word == wanted)?;
        words.get(place.checked_sub(1)?)?.parse::<u32>().ok()
    });
    pid.and_then(living).unwrap_or(Holder::Unseen)
}

/// The exclusive user of this block device: a program that has locked it, or the system.
pub(super) fn of_device(stat: &Stat) -> Holder {
    let number = format!("{}:{}", major(stat.st_rdev), minor(stat.st_rdev));
    match (of_file(Inode::of(stat)), mounted(&[number])) {
        (Holder::Unseen, Some(dir)) => Holder::System(format!("the system has mounted it on {dir}")),
        (Holder::Unseen, None) => Holder::System("the system has mounted it or uses it otherwise".into()),
        (process, _) => process,
    }
}

/// Who has locked bytes of this file that `counts`. Such a lock belongs to an open file and names no process, so the
/// open files of all processes are searched.
pub(super) fn of_bytes(inode: Inode, counts: impl Fn(Lock) -> bool) -> Holder {
    let wanted = named(inode);
    let has = |pid: u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
        open.filter_map(|info| fs::read_to_string(info.path()).ok())
            .any(|info| info.lines().filter_map(|line| bytes_of(line, &wanted)).any(&counts))
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|&pid| has(pid)).and_then(living).unwrap_or(Holder::Unseen)
}

/// The process with this number, unless it is a zombie.
fn living(pid: u32) -> Option<Holder> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // `17 (any name) R ...`
    let (head, tail) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once(" (")?;
    (!tail.starts_with(['Z', 'X'])).then(|| Holder::Process { pid, name: name.into() })
}

/// Where one of these devices is mounted, by the system itself.
pub(super) fn mounted(devices: &[String]) -> Option<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let dir = table.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = words.get(2)?;
        devices.iter().any(|device| device == number).then(|| words.get(4).map(ToString::to_string))?
    });
    dir.map(|dir| dir.replace("\\040", " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_of_bytes_is_read() {
        let inode = named(Inode { dev: (254, 0), ino: 9_978_130 });
        let line = "lock:\t1: OFDLCK ADVISORY  READ -1 fe:00:9978130 100 101";
        assert_eq!(bytes_of(line, &inode), Some(Lock { first: 100, last: 101 }));
        assert_eq!(bytes_of("2: OFDLCK ADVISORY  READ -1 fe:00:9978130 7 EOF", &inode).unwrap().last, u64::MAX);
        assert_eq!(bytes_of("2: OFDLCK ADVISORY  READ -1 fe:00:9978131 7 EOF", &inode), None);
        assert_eq!(bytes_of("3: FLOCK  ADVISORY  WRITE 17 fe:00:9978130 0 EOF", &inode), None);
    }
}
