//! The kernel's table of mounts, `/proc/self/mountinfo`.

use super::error::MountError;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The file system type of our mounts.
pub(super) const FS_TYPE: &str = "fuse.ordo";

/// One mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mounted {
    /// The device number, `major:minor`: that of the FUSE connection as long as that lives.
    pub device: String,
    /// The mount point.
    pub dir: PathBuf,
    /// Type of the file system, with its subtype (`fuse.ordo`).
    pub kind: String,
    /// The source of the mount.
    pub source: OsString,
    /// The options of this mount, between commas: `rw,nosuid,nodev`.
    pub options: String,
    /// Those of the file system, wherever it is mounted.
    pub shared: String,
    /// The file system may not be written, wherever it is mounted.
    pub read_only: bool,
    /// The user who has mounted it, of a FUSE mount.
    pub owner: Option<u32>,
    /// What tells an OrdoFS mount from others that have had its device number.
    pub mark: Option<u32>,
}

/// Which file system a mount is of. The kernel gives a device number to the next mount as soon as it is free, also to
/// one at the same place: only with the mark it tells a mount from a later one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileSystemId {
    device: String,
    mark: Option<u32>,
}

impl Mounted {
    /// Its file system.
    pub(super) fn id(&self) -> FileSystemId {
        FileSystemId { device: self.device.clone(), mark: self.mark }
    }

    /// The file system has this option.
    pub fn of_all(&self, word: &str) -> bool {
        self.shared.split(',').any(|option| option == word)
    }
}

/// Decodes `\040` for a blank, and so on, as in this table and in fstab(5).
pub fn unescape(text: &[u8]) -> OsString {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    OsString::from_vec(bytes)
}

fn parse_line(line: &[u8]) -> Option<Mounted> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    // Optional fields end with a single dash.
    let dash = fields.iter().skip(6).position(|field| field == b"-")? + 6;
    let of_all = String::from_utf8_lossy(fields.get(dash + 3)?);
    let number = |name| of_all.split(',').find_map(|option| option.strip_prefix(name))?.parse().ok();
    Some(Mounted {
        device: String::from_utf8(fields.get(2)?.to_vec()).ok()?,
        dir: unescape(fields.get(4)?).into(),
        kind: String::from_utf8(fields.get(dash + 1)?.to_vec()).ok()?,
        source: unescape(fields.get(dash + 2)?),
        options: String::from_utf8_lossy(fields.get(5)?).into_owned(),
        read_only: of_all.split(',').any(|option| option == "ro"),
        owner: number("user_id="),
        mark: number("max_read="),
        shared: of_all.into_owned(),
    })
}

fn parse(table: &[u8]) -> Vec<Mounted> {
    table.split(|&b| b == b'\n').filter_map(parse_line).collect()
}

/// Every mount that this process sees, in mount order.
///
/// # Errors
/// The system's, without `/proc`.
pub fn mounts() -> io::Result<Vec<Mounted>> {
    Ok(parse(&std::fs::read("/proc/self/mountinfo")?))
}

/// The topmost mount at `dir`, an absolute path without links.
///
/// # Errors
/// As [`mounts`].
pub fn mounted_at(dir: &Path) -> io::Result<Option<Mounted>> {
    Ok(mounts()?.into_iter().rev().find(|mount| mount.dir == dir))
}

/// `dir` in the form of the table. The last name is not accessed: the server of a mount there may be dead.
///
/// # Errors
/// The system's, when the directory above does not exist.
pub fn absolute(dir: &Path) -> io::Result<PathBuf> {
    match (dir.parent(), dir.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            let path = parent.canonicalize()?.join(name);
            // A link as the last name is followed; this does not access a mount.
            match std::fs::read_link(&path) {
                Ok(_) => path.canonicalize(),
                Err(_) => Ok(path),
            }
        }
        _ => dir.canonicalize(),
    }
}

/// The OrdoFS mount at `dir`.
///
/// # Errors
/// [`MountError`] if there is none, or it belongs to another file system.
pub(super) fn our_mount(dir: &Path) -> Result<Mounted, MountError> {
    let absolute = absolute(dir).map_err(|_| MountError::Missing(dir.into()))?;
    match mounted_at(&absolute).map_err(MountError::Table)? {
        None => Err(MountError::NotMounted(absolute)),
        Some(mounted) if mounted.kind == FS_TYPE => Ok(mounted),
        Some(other) => Err(MountError::NotOurs(absolute, other.kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_with_optional_fields_and_blanks() {
        let table = b"36 35 98:0 / /mnt\\040one rw,noatime shared:1 master:2 - ext4 /dev/sda rw\n\
            40 35 0:53 / /mnt/two rw - fuse.ordo /img\\134x ro,user_id=7,group_id=8,max_read=9\nnonsense\n";
        let mounts = parse(table);
        assert_eq!(mounts.len(), 2);
        assert_eq!((mounts[0].dir.as_path(), mounts[0].kind.as_str()), (Path::new("/mnt one"), "ext4"));
        assert_eq!((mounts[1].device.as_str(), mounts[1].source.to_str()), ("0:53", Some("/img\\x")));
        assert_eq!((mounts[1].options.as_str(), mounts[1].read_only, mounts[1].owner), ("rw", true, Some(7)));
        assert_eq!((mounts[0].mark, mounts[1].mark), (None, Some(9)));
        assert_eq!((mounts[0].options.as_str(), mounts[0].read_only, mounts[0].owner), ("rw,noatime", false, None));
    }

    #[test]
    fn a_later_mount_with_the_same_device_number_is_another_file_system() {
        let line =
            |dir: &str, mark: u32| format!("40 35 0:53 / {dir} rw - fuse.ordo /img rw,user_id=0,max_read={mark}\n");
        let mounts = parse((line("/a", 9) + &line("/b", 9) + &line("/a", 10)).as_bytes());
        assert_eq!(mounts[0].id(), mounts[1].id(), "two places of one");
        assert_ne!(mounts[0].id(), mounts[2].id());
    }

    #[test]
    fn a_relative_directory_becomes_absolute() {
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        assert_eq!(absolute(Path::new("src")).unwrap(), here.join("src"));
        assert_eq!(absolute(Path::new(".")).unwrap(), here);
        assert!(absolute(Path::new("/no/such")).is_err());
    }
}
