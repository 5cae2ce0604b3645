//! Opening: the type of the file, its length, and the check that no other program writes to it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, StatxFlags, fstat, ioctl_blksszget, major, minor, open, seek, statx,
};
use rustix::io::Errno;

use super::below::Inode;
use super::holder;
use super::lock::{Locked, lock};
use super::options::FileOptions;
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
    let named = rustix::fs::stat(path).map_err(|errno| refused(errno.into()))?;
    match FileType::from_raw_mode(named.st_mode) {
        FileType::RegularFile => {}
        // On a block device O_EXCL keeps the kernel's own users out: mounts, swap, RAID.
        FileType::BlockDevice if !options.read_only && !options.even_if_used => flags |= OFlags::EXCL,
        FileType::BlockDevice => {}
        _ => return Err(not_a_disk()),
    }
    let file = match open(path, flags, Mode::empty()) {
        Ok(fd) => File::from(fd),
        Err(Errno::BUSY) => {
            return Err(OpenError::Locked { path: path.into(), who: holder::of_device(&named).to_string() });
        }
        Err(errno) => return Err(refused(errno.into())),
    };
    let stat = fstat(&file).map_err(|errno| refused(errno.into()))?;
    // Between `stat` and `open` the name may have been given to another file.
    let regular = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => true,
        FileType::BlockDevice => false,
        _ => return Err(not_a_disk()),
    };
    if !regular && !options.read_only && write_protected(&stat) {
        return Err(OpenError::WriteProtected { path: path.into() });
    }
    let file = lock(file, path, !options.read_only, Inode::of(&stat))?;
    let (sector, size) = sector_of(&file, options.direct, regular)
        .and_then(|sector| Ok((sector, size_of(&file)?)))
        .map_err(|errno| refused(errno.into()))?;
    let volatile_cache = !(options.direct && !regular && write_through(&stat));
    Ok(Opened { file, size: size - size % u64::from(sector), sector, volatile_cache, regular })
}

/// The length in bytes, of a file or a device.
pub(super) fn size_of(file: &File) -> Result<u64, Errno> {
    seek(file, rustix::fs::SeekFrom::End(0))
}

/// The unit of addresses: what direct I/O requires, and 512 through the page cache.
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

/// True if the device, or the disk that it is a part of, refuses writes.
fn write_protected(stat: &Stat) -> bool {
    let told = std::fs::read_to_string(format!("/sys/dev/block/{}:{}/ro", major(stat.st_rdev), minor(stat.st_rdev)));
    told.is_ok_and(|ro| ro.trim() == "1")
}

/// True if the device reports no volatile cache.
fn write_through(stat: &Stat) -> bool {
    let (major, minor) = (major(stat.st_rdev), minor(stat.st_rdev));
    let whole = format!("/sys/dev/block/{major}:{minor}/queue/write_cache");
    let of_partition = format!("/sys/dev/block/{major}:{minor}/../queue/write_cache");
    let told = std::fs::read_to_string(whole).or_else(|_| std::fs::read_to_string(of_partition));
    told.is_ok_and(|cache| cache.trim() == "write through")
}
