//! Changing a mount that is there, as mount(8) does with `remount`.
//!
//! R1. Only this mount changes, not the file system: whether that one may be written is its server's to say, who has
//!     the volume open in one way or the other.
//! R2. A remount loosens nothing that it does not name: `nosuid`, `nodev` and `noexec` stay.
//! R3. When a mount has become read-only, everything that was written is durable.

use super::{MountError, our_mount, sync::sync};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};
use std::path::Path;

/// What is to change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remount {
    /// May not be written, or may.
    pub read_only: Option<bool>,
    /// Set-user-id programs, device files, programs, and times of access are ignored from now on; with `false`, not
    /// any more.
    pub nosuid: Option<bool>,
    #[allow(missing_docs)]
    pub nodev: Option<bool>,
    #[allow(missing_docs)]
    pub noexec: Option<bool>,
    #[allow(missing_docs)]
    pub noatime: Option<bool>,
}

/// The flags of a mount by the words of the table of mounts.
const WORDS: [(&str, MountFlags); 7] = [
    ("ro", MountFlags::RDONLY),
    ("nosuid", MountFlags::NOSUID),
    ("nodev", MountFlags::NODEV),
    ("noexec", MountFlags::NOEXEC),
    ("noatime", MountFlags::NOATIME),
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
];

impl Remount {
    /// The flags after the change of these options.
    fn flags(&self, options: &str) -> MountFlags {
        let is_now = |word: &str| options.split(',').any(|option| option == word);
        let wanted = |word: &str| match word {
            "ro" => self.read_only,
            "nosuid" => self.nosuid,
            "nodev" => self.nodev,
            "noexec" => self.noexec,
            "noatime" => self.noatime,
            _ => None,
        };
        let set = WORDS.into_iter().filter(|(word, _)| wanted(word).unwrap_or_else(|| is_now(word)));
        set.fold(MountFlags::empty(), |all, (_, flag)| all | flag)
    }
}

/// Changes the mount at `dir`.
///
/// # Errors
/// [`MountError`]; the mount is unchanged then, except if what was written before it became read-only could not be made
/// durable.
pub fn remount(dir: &Path, change: &Remount) -> Result<(), MountError> {
    let mounted = our_mount(dir)?;
    let dir = &mounted.dir;
    if change.read_only == Some(false) && mounted.read_only {
        return Err(MountError::ServedReadOnly(dir.into()));
    }
    let flags = change.flags(&mounted.options);
    mount_remount(dir, flags | MountFlags::BIND, c"").map_err(|errno| match errno {
        Errno::BUSY => MountError::Written(dir.into()),
        Errno::PERM | Errno::ACCESS => MountError::Permission(dir.into()),
        errno => MountError::System { doing: "remounting", path: dir.into(), errno },
    })?;
    if change.read_only == Some(true) { sync(dir) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remount_changes_what_it_names_and_keeps_the_rest() {
        let now = "rw,nosuid,nodev,relatime";
        let kept = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RELATIME;
        let of = |change: Remount| change.flags(now);
        assert_eq!(of(Remount::default()), kept);
        assert_eq!(of(Remount { read_only: Some(true), ..Remount::default() }), kept | MountFlags::RDONLY);
        assert_eq!(of(Remount { noexec: Some(true), ..Remount::default() }), kept | MountFlags::NOEXEC);
        let loose = Remount { nosuid: Some(false), ..Remount::default() };
        assert_eq!(of(loose), MountFlags::NODEV | MountFlags::RELATIME);
        assert_eq!(Remount { read_only: Some(false), ..Remount::default() }.flags("ro,noexec"), MountFlags::NOEXEC);
    }
}
