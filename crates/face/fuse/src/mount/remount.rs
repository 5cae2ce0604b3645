//! Changing a mount that is there, as mount(8) does with `remount`.
//!
//! R1. Only this mount changes, not the file system: whether that one may be written is its server's to say, who has
//!     the volume open in one way or the other.
//! R2. A remount loosens nothing that it does not name: `nosuid`, `nodev`, `noexec` and `nosymfollow` stay. The kernel
//!     takes the flags of a remount for all of them, so each that it shows is known here; with one that is not, nothing
//!     is changed.
//! R3. When a mount has become read-only, everything that was written is durable.
//! R4. What a remount cannot change is not passed over: it is the output of [`remount`].

use super::error::MountError;
use super::sync::sync;
use super::table::{Mounted, our_mount};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};
use std::ffi::OsStr;
use std::path::Path;

/// What is to change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remount {
    /// May not be written, or may.
    pub read_only: Option<bool>,
    /// Set-user-id programs, device files, programs, and symbolic links are ignored from now on; with `false`, not any
    /// more.
    pub nosuid: Option<bool>,
    #[allow(missing_docs)]
    pub nodev: Option<bool>,
    #[allow(missing_docs)]
    pub noexec: Option<bool>,
    #[allow(missing_docs)]
    pub nosymfollow: Option<bool>,
    /// When a read sets the time of access, and whether it does so of directories.
    pub access_times: Option<AccessTimes>,
    #[allow(missing_docs)]
    pub nodiratime: Option<bool>,
    /// Of the file system, and not to be changed.
    pub sync: Option<bool>,
    #[allow(missing_docs)]
    pub dirsync: Option<bool>,
    #[allow(missing_docs)]
    pub allow_other: Option<bool>,
}

/// When a read sets a time of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AccessTimes {
    Never,
    /// Once a day, and after a change.
    Seldom,
    Always,
}

impl AccessTimes {
    fn flag(self) -> MountFlags {
        match self {
            AccessTimes::Never => MountFlags::NOATIME,
            AccessTimes::Seldom => MountFlags::RELATIME,
            AccessTimes::Always => MountFlags::STRICTATIME,
        }
    }
}

impl Remount {
    /// The flags after the change of these options; `Err` is a word among them that is unknown (R2).
    fn flags<'a>(&self, options: &'a str) -> Result<MountFlags, &'a str> {
        let (mut flags, mut times) = (MountFlags::empty(), AccessTimes::Always);
        for word in options.split(',') {
            match word {
                "rw" => {}
                "ro" => flags |= MountFlags::RDONLY,
                "nosuid" => flags |= MountFlags::NOSUID,
                "nodev" => flags |= MountFlags::NODEV,
                "noexec" => flags |= MountFlags::NOEXEC,
                "nosymfollow" => flags |= MountFlags::NOSYMFOLLOW,
                "nodiratime" => flags |= MountFlags::NODIRATIME,
                "noatime" => times = AccessTimes::Never,
                "relatime" => times = AccessTimes::Seldom,
                unknown => return Err(unknown),
            }
        }
        let changes = [
            (self.read_only, MountFlags::RDONLY),
            (self.nosuid, MountFlags::NOSUID),
            (self.nodev, MountFlags::NODEV),
            (self.noexec, MountFlags::NOEXEC),
            (self.nosymfollow, MountFlags::NOSYMFOLLOW),
            (self.nodiratime, MountFlags::NODIRATIME),
        ];
        for (wanted, flag) in changes {
            flags.set(flag, wanted.unwrap_or_else(|| flags.contains(flag)));
        }
        // Without one of these the kernel keeps what is there, or takes its default.
        Ok(flags | self.access_times.unwrap_or(times).flag())
    }

    /// The words that ask for another file system than the one that is there.
    fn impossible(&self, mounted: &Mounted) -> Vec<&'static str> {
        let words = [(self.sync, "sync"), (self.dirsync, "dirsync"), (self.allow_other, "allow_other")];
        let differs = |(wanted, word): &(Option<bool>, &str)| wanted.is_some_and(|on| on != mounted.of_all(word));
        words.into_iter().filter(differs).map(|(_, word)| word).collect()
    }
}

/// Changes the mount of `source` at `dir`. The output are the words that it cannot change, and that are not as wanted.
///
/// # Errors
/// [`MountError`]; the mount is unchanged then, except if what was written before it became read-only could not be made
/// durable.
pub fn remount(source: &Path, dir: &Path, change: &Remount) -> Result<Vec<&'static str>, MountError> {
    let mounted = our_mount(dir)?;
    let dir = &mounted.dir;
    if !is_same(source, Path::new(&mounted.source)) {
        return Err(MountError::OtherSource(dir.into(), mounted.source));
    }
    if change.read_only == Some(false) && mounted.read_only {
        return Err(MountError::ServedReadOnly(dir.into()));
    }
    let unknown = |word: &str| MountError::UnknownFlag(dir.into(), word.to_owned());
    let flags = change.flags(&mounted.options).map_err(unknown)?;
    mount_remount(dir, flags | MountFlags::BIND, c"").map_err(|errno| match errno {
        Errno::BUSY => MountError::Written(dir.into()),
        Errno::PERM | Errno::ACCESS => MountError::Permission(dir.into()),
        errno => MountError::System { doing: "remounting", path: dir.into(), errno },
    })?;
    if change.read_only == Some(true) {
        sync(dir).map_err(|error| match error {
            // The kernel lets nobody but the mounter in, not even root.
            MountError::Permission(dir) => MountError::NotDurable(dir),
            error => error,
        })?;
    }
    Ok(change.impossible(&mounted))
}

/// They name the same image. One of them may be gone, or be no file.
fn is_same(one: &Path, other: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    let real = |path: &Path| path.canonicalize().ok();
    one.as_os_str() == OsStr::new(other)
        || absolute(one) == absolute(other)
        || real(one).is_some_and(|one| Some(one) == real(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remount_changes_what_it_names_and_keeps_the_rest() {
        let now = "rw,nosuid,nodev,relatime";
        let kept = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RELATIME;
        let of = |change: Remount| change.flags(now).unwrap();
        assert_eq!(of(Remount::default()), kept);
        assert_eq!(of(Remount { read_only: Some(true), ..Remount::default() }), kept | MountFlags::RDONLY);
        assert_eq!(of(Remount { noexec: Some(true), ..Remount::default() }), kept | MountFlags::NOEXEC);
        let loose = Remount { nosuid: Some(false), ..Remount::default() };
        assert_eq!(of(loose), MountFlags::NODEV | MountFlags::RELATIME);
        let write = Remount { read_only: Some(false), ..Remount::default() };
        assert_eq!(write.flags("ro,noexec"), Ok(MountFlags::NOEXEC | MountFlags::STRICTATIME));
    }

    #[test]
    fn each_flag_of_a_mount_is_kept_and_with_an_unknown_one_nothing_is_changed() {
        let change = Remount { read_only: Some(true), ..Remount::default() };
        let all = "rw,nosuid,nodev,noexec,nosymfollow,noatime,nodiratime";
        let flags = change.flags(all).unwrap();
        for kept in [
            MountFlags::NOSUID,
            MountFlags::NODEV,
            MountFlags::NOEXEC,
            MountFlags::NOSYMFOLLOW,
            MountFlags::NOATIME,
            MountFlags::NODIRATIME,
        ] {
            assert!(flags.contains(kept), "{kept:?}");
        }
        assert_eq!(change.flags("rw,nosuid,nonsuch"), Err("nonsuch"));
        let times = Remount { access_times: Some(AccessTimes::Seldom), ..Remount::default() };
        assert_eq!(times.flags("rw,noatime"), Ok(MountFlags::RELATIME));
    }

    #[test]
    fn what_cannot_be_changed_is_said_where_it_differs() {
        let mounted = Mounted { shared: "rw,sync,user_id=0".into(), ..Mounted::default() };
        let of = |change: Remount| change.impossible(&mounted);
        assert!(of(Remount { sync: Some(true), dirsync: Some(false), ..Remount::default() }).is_empty());
        assert_eq!(
            of(Remount { sync: Some(false), allow_other: Some(true), ..Remount::default() }),
            ["sync", "allow_other"]
        );
    }
}
