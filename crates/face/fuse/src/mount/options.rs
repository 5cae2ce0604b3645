//! Mount options.

use super::error::MountError;
use super::mark::Mark;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Options of a mount. The kernel always checks permissions by the files' modes (`default_permissions`): otherwise
/// `allow_other` would let every user do everything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct MountOptions {
    /// The source to show: the image.
    pub source: OsString,
    pub read_only: bool,
    /// Users other than the mounting one may access it.
    pub allow_other: bool,
    /// Set-user-id programs and device files inside are honoured. Only root may set these two options.
    pub suid: bool,
    pub dev: bool,
    pub noexec: bool,
    pub noatime: bool,
    pub sync: bool,
    pub dirsync: bool,
    /// The server will give up its rights. Only root may set it. The mount stays root's: of a mount that were that
    /// user's, each of his processes could end the mount, or answer for its server.
    pub gives_up_rights: bool,
}

impl MountOptions {
    /// The defaults for a mount of `source`: read-write, for its owner, no set-user-id programs and devices.
    pub fn new(source: impl Into<OsString>) -> MountOptions {
        MountOptions {
            source: source.into(),
            read_only: false,
            allow_other: false,
            suid: false,
            dev: false,
            noexec: false,
            noatime: false,
            sync: false,
            dirsync: false,
            gives_up_rights: false,
        }
    }

    /// The options for `fusermount3 -o`.
    pub(super) fn for_helper(&self, mark: Mark) -> Result<OsString, MountError> {
        if self.suid || self.dev || self.gives_up_rights {
            return Err(MountError::RootOnly);
        }
        let mut text = OsString::from("default_permissions,nosuid,nodev,subtype=ordo");
        let flags = [
            (self.allow_other, ",allow_other"),
            (self.read_only, ",ro"),
            (self.noexec, ",noexec"),
            (self.noatime, ",noatime"),
            (self.sync, ",sync"),
            (self.dirsync, ",dirsync"),
        ];
        flags.iter().filter(|(on, _)| *on).for_each(|(_, flag)| text.push(flag));
        text.push(format!(",{mark},fsname="));
        text.push(escape(&self.source));
        Ok(text)
    }
}

/// Escapes a comma and a backslash with a backslash, as `fusermount3` requires.
fn escape(text: &OsStr) -> OsString {
    let mut escaped = Vec::with_capacity(text.len());
    for &byte in text.as_bytes() {
        if matches!(byte, b',' | b'\\') {
            escaped.push(b'\\');
        }
        escaped.push(byte);
    }
    OsStr::from_bytes(&escaped).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_helper_gets_permissions_checked_and_the_source_escaped() {
        let opts = MountOptions { allow_other: true, read_only: true, ..MountOptions::new("/a,b\\c") };
        let text = opts.for_helper(Mark(7)).unwrap();
        let rest = "default_permissions,nosuid,nodev,subtype=ordo,allow_other,ro,max_read=7,fsname=/a\\,b\\\\c";
        assert_eq!(text, rest);
    }

    #[test]
    fn the_helper_is_not_asked_for_what_only_root_may_have() {
        let opts = MountOptions { suid: true, ..MountOptions::new("x") };
        assert!(matches!(opts.for_helper(Mark(7)), Err(MountError::RootOnly)));
    }
}
