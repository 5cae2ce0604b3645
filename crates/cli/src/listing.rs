//! Formatting files for `ls`, `stat` and `tree`.

use crate::names::Owners;
use crate::{flags, text};
use jiff::tz::TimeZone;
use ordo_vfs::{Attr, FileSystem, Kind, Result, Stamp};
use ordofs::path::Held;
use serde::Serialize;

/// The letter of a kind before the permissions.
fn letter(kind: Kind) -> char {
    match kind {
        Kind::Fifo => 'p',
        Kind::CharDevice => 'c',
        Kind::Directory => 'd',
        Kind::BlockDevice => 'b',
        Kind::Regular => '-',
        Kind::Symlink => 'l',
        Kind::Socket => 's',
    }
}

/// The name of a kind.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Fifo => "pipe",
        Kind::CharDevice => "character device",
        Kind::Directory => "directory",
        Kind::BlockDevice => "block device",
        Kind::Regular => "file",
        Kind::Symlink => "symbolic link",
        Kind::Socket => "socket",
    }
}

/// `drwxr-xr-x`.
pub(crate) fn permissions(kind: Kind, bits: u16) -> String {
    let mut shown = String::from(letter(kind));
    for (shift, special, marks) in [(6, 0o4000, ('s', 'S')), (3, 0o2000, ('s', 'S')), (0, 0o1000, ('t', 'T'))] {
        let bit = |bit: u16| bits >> shift & bit != 0;
        shown.push(if bit(4) { 'r' } else { '-' });
        shown.push(if bit(2) { 'w' } else { '-' });
        shown.push(match (bits & special != 0, bit(1)) {
            (false, false) => '-',
            (false, true) => 'x',
            (true, true) => marks.0,
            (true, false) => marks.1,
        });
    }
    shown
}

/// Major and minor number, in Linux's encoding.
pub(crate) fn device(rdev: u64) -> (u32, u32) {
    (rustix::fs::major(rdev), rustix::fs::minor(rdev))
}

/// How owners and times are shown.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Manner {
    /// Owners and groups as numbers; otherwise by the names of the image's own /etc/passwd and /etc/group, or, where it
    /// has none, the host's
    #[arg(long, visible_alias = "numeric-uid-gid")]
    pub(crate) numeric: bool,
    #[command(flatten)]
    pub(crate) clock: Clock,
}

/// The zone in which times are shown.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Clock {
    /// Times in UTC, not in the local time of this host (TZ)
    #[arg(long)]
    pub(crate) utc: bool,
}

impl Clock {
    pub(crate) fn zone(self) -> TimeZone {
        if self.utc { TimeZone::UTC } else { TimeZone::system() }
    }
}

/// The columns of a long listing before the name.
pub(crate) fn long(attr: &Attr, owners: &Owners, zone: &TimeZone) -> Vec<String> {
    let size = match attr.kind.is_device() {
        true => {
            let (major, minor) = device(attr.rdev);
            format!("{major}, {minor}")
        }
        false => attr.size.to_string(),
    };
    vec![
        permissions(attr.kind, attr.mode.bits()),
        attr.nlink.to_string(),
        owners.user(attr.uid),
        owners.group(attr.gid),
        size,
        text::time_in(attr.mtime.secs, zone),
    ]
}

/// A file as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct FileJson {
    /// With `\xNN` for bytes that are not text.
    pub(crate) path: String,
    /// The bytes of the path, if they are not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    kind: &'static str,
    ino: u64,
    mode: ModeJson,
    nlink: u32,
    uid: u32,
    gid: u32,
    size: u64,
    /// Allocated bytes.
    allocated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<(u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<String>,
    atime: StampJson,
    mtime: StampJson,
    ctime: StampJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    birth: Option<StampJson>,
}

/// A time in JSON: two whole numbers, since one with a fraction would lose the nanoseconds in most readers.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct StampJson {
    seconds: i64,
    nanoseconds: u32,
}

impl From<Stamp> for StampJson {
    fn from(stamp: Stamp) -> StampJson {
        StampJson { seconds: stamp.secs, nanoseconds: stamp.nanos }
    }
}

/// Permissions in JSON.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ModeJson {
    /// In octal, as people write them: in lists.
    Octal(String),
    /// `st_mode` of stat(2), with the kind in its upper bits: what `stat` says of one file.
    Number(u16),
}

/// Bytes as a JSON text, and their hexadecimal digits if they are not text.
pub fn json_text(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (text::escape(bytes), Some(text::hex(bytes))),
    }
}

impl FileJson {
    pub(crate) fn new(path: &[u8], attr: &Attr, target: Option<&[u8]>) -> FileJson {
        let (path, path_hex) = json_text(path);
        FileJson {
            path,
            path_hex,
            kind: kind_name(attr.kind),
            ino: attr.ino,
            mode: ModeJson::Octal(format!("{:04o}", attr.mode.bits())),
            nlink: attr.nlink,
            uid: attr.uid,
            gid: attr.gid,
            size: attr.size,
            allocated: attr.sectors.saturating_mul(512),
            device: attr.kind.is_device().then(|| device(attr.rdev)),
            target: target.map(|target| json_text(target).0),
            flags: flags::names(attr.flags),
            atime: attr.atime.into(),
            mtime: attr.mtime.into(),
            ctime: attr.ctime.into(),
            birth: attr.birth.map(StampJson::from),
        }
    }

    /// The same with the mode as stat(2) has it.
    pub(crate) fn with_st_mode(self, attr: &Attr) -> FileJson {
        FileJson { mode: ModeJson::Number((attr.kind as u16) << 12 | attr.mode.bits()), ..self }
    }
}

/// The target of a file that is a symbolic link.
///
/// # Errors
/// `Io`, `Corrupt`.
pub(crate) async fn target<F: FileSystem>(file: &Held<F>) -> Result<Option<Vec<u8>>> {
    match file.attr().kind {
        Kind::Symlink => Ok(Some(file.fs().readlink(file.node()).await?.to_vec())),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_those_of_ls() {
        let shown =
            [(Kind::Directory, 0o1777), (Kind::Regular, 0o4755), (Kind::Regular, 0o6600), (Kind::Symlink, 0o777)];
        let shown = shown.map(|(kind, bits)| permissions(kind, bits));
        assert_eq!(shown, ["drwxrwxrwt", "-rwsr-xr-x", "-rwS--S---", "lrwxrwxrwx"]);
    }

    #[test]
    fn a_path_that_is_no_text_comes_with_its_bytes() {
        assert_eq!(json_text(b"a\nb"), ("a\nb".to_owned(), None));
        assert_eq!(json_text(b"\xff"), ("\\xff".to_owned(), Some("ff".to_owned())));
    }
}
