//! What the exported functions do, on values of Rust.

use crate::failure::{Failure, Result};
use crate::flags::{
    ORDOFS_APPEND as APPEND, ORDOFS_CREATE as CREATE, ORDOFS_EXCLUSIVE as EXCLUSIVE, ORDOFS_READ as READ,
    ORDOFS_TRUNCATE as TRUNCATE, ORDOFS_WRITE as WRITE,
};
use crate::handles::Handles;
use ordofs::disk::Existing;
use ordofs::vfs::{Attr, Kind, Mode, Stamp};
use ordofs::{NewLfs, NewVolume, OpenOptions, SharedFile, SharedVolume, Volume, option_list};
use rustix::io::Errno;
use std::ffi::c_char;
use std::io::{self, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

static VOLUMES: Handles<SharedVolume> = Handles::new("volume");
static FILES: Handles<SharedFile> = Handles::new("file");
static LISTS: Handles<List> = Handles::new("list");

/// The bits of a mode that say what a file is.
const KIND_SHIFT: u32 = 12;
/// Bytes that one call of the library reads.
const PIECE: usize = 1 << 20;

type List = Mutex<std::vec::IntoIter<(Vec<u8>, u64, Kind)>>;

fn invalid(text: impl Into<String>) -> Failure {
    Failure::new(Errno::INVAL, text)
}

/// Makes a volume in a new file, or over an old one if the words say so.
pub(crate) fn create(image: &Path, bytes: u64, words: &str) -> Result<()> {
    let (mut log, mut existing) = (false, Existing::Refuse);
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word {
            "ufs2" => log = false,
            "lfs" => log = true,
            "overwrite" => existing = Existing::Overwrite,
            other => {
                return Err(invalid(format!(
                    "no kind of volume is called {other:?}; there are ufs2 and lfs, and the word overwrite"
                )));
            }
        }
    }
    let plan = if log { NewLfs::new(bytes).plan() } else { NewVolume::new(bytes).plan() };
    let made = plan.and_then(|plan| plan.create(image, existing));
    Ok(made.map_err(io::Error::from)?)
}

pub(crate) fn open(image: &Path, options: &str) -> Result<i32> {
    let wanted = option_list(options).map_err(invalid)?;
    let image = image.to_owned();
    let volume = SharedVolume::start(move || Volume::open(&image)?.options(|options| *options = wanted).mount())?;
    VOLUMES.add(volume)
}

pub(crate) fn close(volume: i32) -> Result<()> {
    let volume = VOLUMES.remove(volume)?;
    // Clones of the handle, in open files and in calls of other threads, get ENOTCONN from now on.
    Ok(SharedVolume::clone(&volume).unmount()?)
}

/// Runs a call on a volume.
fn on<T: Send + 'static>(
    volume: i32,
    work: impl FnOnce(&Volume) -> ordofs::vfs::Result<T> + Send + 'static,
) -> Result<T> {
    Ok(VOLUMES.get(volume)?.call(work).wait()?)
}

/// Runs a call on a volume and a path.
pub(crate) fn at<T: Send + 'static>(
    volume: i32,
    path: &Path,
    work: impl FnOnce(&Volume, &Path) -> ordofs::vfs::Result<T> + Send + 'static,
) -> Result<T> {
    let path = path.to_owned();
    on(volume, move |volume| work(volume, &path))
}

/// The same with two paths.
pub(crate) fn between<T: Send + 'static>(
    volume: i32,
    from: &Path,
    to: &Path,
    work: impl FnOnce(&Volume, &Path, &Path) -> ordofs::vfs::Result<T> + Send + 'static,
) -> Result<T> {
    let (from, to) = (from.to_owned(), to.to_owned());
    on(volume, move |volume| work(volume, &from, &to))
}

pub(crate) fn sync(volume: i32) -> Result<()> {
    on(volume, Volume::sync)
}

pub(crate) fn mkdir(volume: i32, path: &Path, mode: u32) -> Result<()> {
    at(volume, path, move |volume, path| {
        volume.create_dir(path)?;
        volume.set_permissions(path, Mode::new(mode))
    })
}

/// The attributes of a file, as stat(2) has them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct ordofs_stat {
    /// The inode's number.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Allocated space, in units of 512 bytes.
    pub blocks: u64,
    /// Kind and permissions, with the bits of stat(2).
    pub mode: u32,
    /// Number of names.
    pub nlink: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last read: seconds since 1970.
    pub atime: i64,
    /// Last change of contents.
    pub mtime: i64,
    /// Last change of anything.
    pub ctime: i64,
    /// Nanoseconds of the three times.
    pub atime_nsec: u32,
    /// See `atime_nsec`.
    pub mtime_nsec: u32,
    /// See `atime_nsec`.
    pub ctime_nsec: u32,
    /// Zero.
    pub reserved: u32,
}

/// The kind of a file in the bits of a mode.
fn kind_bits(kind: Kind) -> u32 {
    (kind as u32) << KIND_SHIFT
}

impl ordofs_stat {
    pub(crate) fn of(attr: &Attr) -> ordofs_stat {
        let [atime, mtime, ctime] = [attr.atime, attr.mtime, attr.ctime].map(|Stamp { secs, nanos }| (secs, nanos));
        ordofs_stat {
            ino: attr.ino,
            size: attr.size,
            blocks: attr.sectors,
            mode: kind_bits(attr.kind) | u32::from(attr.mode.bits()),
            nlink: attr.nlink,
            uid: attr.uid,
            gid: attr.gid,
            atime: atime.0,
            mtime: mtime.0,
            ctime: ctime.0,
            atime_nsec: atime.1,
            mtime_nsec: mtime.1,
            ctime_nsec: ctime.1,
            reserved: 0,
        }
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct ordofs_entry {
    /// The inode's number.
    pub ino: u64,
    /// The kind of the file, in the bits of a mode.
    pub kind: u32,
    /// The length of the name.
    pub name_len: u32,
    /// The name, which ends with a zero byte.
    pub name: [c_char; 256],
}

pub(crate) fn listdir(volume: i32, path: &Path) -> Result<i32> {
    let entries = at(volume, path, |volume, path| {
        let entry = |entry: ordofs::DirEntry<'_>| {
            let kind = entry.kind()?;
            Ok((entry.file_name().as_bytes().to_vec(), entry.ino(), kind))
        };
        volume.read_dir(path)?.map(entry).collect::<ordofs::vfs::Result<Vec<_>>>()
    })?;
    LISTS.add(Mutex::new(entries.into_iter()))
}

/// The next entry of a list; `None` at its end.
pub(crate) fn next(list: i32) -> Result<Option<ordofs_entry>> {
    let list = LISTS.get(list)?;
    let Some((name, ino, kind)) = list.lock().unwrap_or_else(PoisonError::into_inner).next() else { return Ok(None) };
    let mut entry = ordofs_entry { ino, kind: kind_bits(kind), name_len: 0, name: [0; 256] };
    // A name has at most 255 bytes in every format.
    let len = name.len().min(entry.name.len() - 1);
    entry.name.iter_mut().zip(&name[..len]).for_each(|(to, byte)| *to = *byte as c_char);
    entry.name_len = len as u32;
    Ok(Some(entry))
}

pub(crate) fn close_list(list: i32) -> Result<()> {
    LISTS.remove(list).map(drop)
}

pub(crate) fn open_file(volume: i32, path: &Path, flags: u32, mode: u32) -> Result<i32> {
    if flags & !(READ | WRITE | CREATE | EXCLUSIVE | TRUNCATE | APPEND) != 0 {
        return Err(invalid(format!("flags {flags:#x} has an unknown bit")));
    }
    let has = |flag| flags & flag != 0;
    let mut options = OpenOptions::new();
    options.read(has(READ)).write(has(WRITE)).append(has(APPEND)).truncate(has(TRUNCATE)).create(has(CREATE));
    options.create_new(has(CREATE) && has(EXCLUSIVE)).mode(Mode::new(mode));
    FILES.add(VOLUMES.get(volume)?.open_file(path, &options)?)
}

pub(crate) fn close_file(file: i32) -> Result<()> {
    FILES.remove(file).map(drop)
}

/// Reads into pieces, which `take` copies, until `len` bytes or the end.
fn read_pieces(
    len: usize,
    mut read: impl FnMut(usize, u32) -> io::Result<Vec<u8>>,
    mut take: impl FnMut(usize, &[u8]) -> Result<usize>,
) -> Result<usize> {
    let mut done = 0;
    while done < len {
        let wanted = (len - done).min(PIECE) as u32;
        let bytes = match read(done, wanted) {
            Ok(bytes) => bytes,
            // As POSIX: what was read is the result, and the next call has the error.
            Err(_) if done > 0 => break,
            Err(error) => return Err(error.into()),
        };
        done += take(done, &bytes)?;
        if bytes.len() < wanted as usize {
            break;
        }
    }
    Ok(done)
}

pub(crate) fn read(file: i32, len: usize, take: impl FnMut(usize, &[u8]) -> Result<usize>) -> Result<usize> {
    let file = FILES.get(file)?;
    read_pieces(len, |_, wanted| file.read(wanted), take)
}

pub(crate) fn pread(
    file: i32,
    len: usize,
    offset: u64,
    take: impl FnMut(usize, &[u8]) -> Result<usize>,
) -> Result<usize> {
    let file = FILES.get(file)?;
    read_pieces(len, |done, wanted| file.read_at(offset.saturating_add(done as u64), wanted), take)
}

pub(crate) fn write(file: i32, data: &[u8]) -> Result<usize> {
    FILES.get(file)?.write(data)?;
    Ok(data.len())
}

pub(crate) fn pwrite(file: i32, data: &[u8], offset: u64) -> Result<usize> {
    FILES.get(file)?.write_at(offset, data)?;
    Ok(data.len())
}

pub(crate) fn seek(file: i32, offset: i64, whence: i32) -> Result<u64> {
    let to = match whence {
        0 => SeekFrom::Start(u64::try_from(offset).map_err(|_| invalid("a place before the beginning"))?),
        1 => SeekFrom::Current(offset),
        2 => SeekFrom::End(offset),
        other => return Err(invalid(format!("whence {other}: must be 0, 1 or 2"))),
    };
    Ok(FILES.get(file)?.seek(to)?)
}

/// Runs a call on an open file.
pub(crate) fn of_file<T>(file: i32, work: impl FnOnce(&SharedFile) -> io::Result<T>) -> Result<T> {
    Ok(work(&*FILES.get(file)?)?)
}

/// An offset or a length of the caller.
pub(crate) fn place(number: i64) -> Result<u64> {
    u64::try_from(number).map_err(|_| invalid(format!("{number}: must not be negative")))
}
