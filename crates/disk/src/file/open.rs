//! Opening: what kind of file it is, how long, and that nobody else writes to it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, StatxFlags, flock, fstat, ioctl_blksszget, major, minor,
    open, seek, statx,
};
use rustix::io::Errno;

use super::FileOptions;
use crate::block::SECTOR;
use crate::error::OpenError;

/// An open file or device, locked.
pub(super) struct Opened {
    pub(super) file: Locked,
    /// Bytes, in whole sectors.
    pub(super) size: u64,
    pub(super) sector: u32,
    pub(super) volatile_cache: bool,
    pub(super) regular: bool,
}

pub(super) fn open_disk(path: &Path, options: &FileOptions) -> Result<Opened, OpenError> {
    let refused = |source: io::Error| OpenError::Io { path: path.into(), source };
    let not_a_disk = || OpenError::NotADisk { path: path.into() };
    let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
    flags |= if options.read_only { OFlags::RDONLY } else { OFlags::RDWR };
    flags |= if options.direct { OFlags::DIRECT } else { OFlags::empty() };
    let kind = rustix::fs::stat(path).map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kind.map_err(|errno| refused(errno.into()))? {
        FileType::RegularFile => {}
        // On a block device O_EXCL keeps the kernel's own users out: mounts, swap, RAID.
        FileType::BlockDevice if !options.read_only => flags |= OFlags::EXCL,
        FileType::BlockDevice => {}
        _ => return Err(not_a_disk()),
    }
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::BUSY) => {
            return Err(OpenError::Locked {
                path: path.into(),
                who: "the system has mounted it or uses it otherwise".into(),
            });
        }
        Err(errno) => return Err(refused(errno.into())),
    };
    let stat = fstat(&file).map_err(|errno| refused(errno.into()))?;
    // Between `stat` and `open` another file may have taken the name.
    let regular = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => true,
        FileType::BlockDevice => false,
        _ => return Err(not_a_disk()),
    };
    let file = lock(file, path, options.read_only, &stat)?;
    let (sector, size) = sector_of(&file, options.direct, regular)
        .and_then(|sector| Ok((sector, size_of(&file)?)))
        .map_err(|errno| refused(errno.into()))?;
    let volatile_cache = !(options.direct && !regular && write_through(&stat));
    Ok(Opened { file, size: size - size % u64::from(sector), sector, volatile_cache, regular })
}

/// A file that nobody else may write to while it is open.
///
/// The lock is given back by a call of its own, for closing is not enough: a process that is being spawned holds a copy of
/// the file until it runs its program, and the next one to open the disk would find it locked by nobody.
pub(super) struct Locked(File);

impl std::ops::Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Whatever is wrong with the file, it is about to be closed.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// The length in bytes, of a file or a device.
pub(super) fn size_of(file: &File) -> Result<u64, Errno> {
    seek(file, rustix::fs::SeekFrom::End(0))
}

/// How long the system may take to give back the lock of a process that has ended.
const PATIENCE: Duration = Duration::from_secs(3);

/// A lock of the open file, not of the process: a second open by the same program is refused too.
///
/// A process that was killed may be gone before its lock is: the system closes what its io_uring had in use some time
/// later. Nobody can be asked to unmount there, so that this is waited for.
fn lock(file: File, path: &Path, shared: bool, stat: &Stat) -> Result<Locked, OpenError> {
    let how = if shared { FlockOperation::NonBlockingLockShared } else { FlockOperation::NonBlockingLockExclusive };
    let mut waited = Duration::ZERO;
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(Locked(file)),
            Err(Errno::WOULDBLOCK) => {}
            Err(errno) => return Err(OpenError::Io { path: path.into(), source: errno.into() }),
        }
        let holder = holder(stat);
        if holder.lives() || waited >= PATIENCE {
            return Err(OpenError::Locked { path: path.into(), who: holder.to_string() });
        }
        pause(NAP);
        waited += NAP;
    }
}

const NAP: Duration = Duration::from_millis(10);

#[expect(clippy::disallowed_methods, reason = "it is the system that is waited for, before there is a disk or a task")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// Who holds a lock, as far as the system tells.
enum Holder {
    Process {
        pid: u32,
        name: String,
    },
    /// It has ended, or is in a place that we cannot look into.
    Unseen,
}

impl Holder {
    fn lives(&self) -> bool {
        matches!(self, Holder::Process { .. })
    }
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Holder::Process { pid, name } => write!(f, "process {pid} ({name}) has locked it"),
            Holder::Unseen => f.write_str("another program has locked it"),
        }
    }
}

/// `/proc/locks` has a line for each lock, with process and inode.
fn holder(stat: &Stat) -> Holder {
    let (major, minor, inode) = (major(stat.st_dev), minor(stat.st_dev), stat.st_ino);
    let wanted = format!("{major:02x}:{minor:02x}:{inode}");
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let pid = locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = words.iter().position(|word| *word == wanted)?;
        words.get(place.checked_sub(1)?)?.parse::<u32>().ok()
    });
    pid.and_then(living).unwrap_or(Holder::Unseen)
}

/// The process of this number, unless it has ended and only waits for somebody to take note of that.
fn living(pid: u32) -> Option<Holder> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // `17 (any name) R ...`
    let (head, tail) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once(" (")?;
    (!tail.starts_with(['Z', 'X'])).then(|| Holder::Process { pid, name: name.into() })
}

/// The unit of addresses: what direct I/O wants, and 512 through the page cache.
fn sector_of(file: &File, direct: bool, regular: bool) -> Result<u32, Errno> {
    let sector = match (direct, regular) {
        (false, _) => SECTOR as u32,
        (true, false) => ioctl_blksszget(file)?,
        (true, true) => {
            let stat = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)?;
            let told = stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
            if told && stat.stx_dio_offset_align > 0 { stat.stx_dio_offset_align } else { SECTOR as u32 }
        }
    };
    Ok(sector.max(SECTOR as u32).next_multiple_of(SECTOR as u32))
}

/// True if the device says that it has no volatile cache.
fn write_through(stat: &Stat) -> bool {
    let (major, minor) = (major(stat.st_rdev), minor(stat.st_rdev));
    let whole = format!("/sys/dev/block/{major}:{minor}/queue/write_cache");
    let of_partition = format!("/sys/dev/block/{major}:{minor}/../queue/write_cache");
    let told = std::fs::read_to_string(whole).or_else(|_| std::fs::read_to_string(of_partition));
    told.is_ok_and(|cache| cache.trim() == "write through")
}
