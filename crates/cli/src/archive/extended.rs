//! What the records of a PAX header say of a file beyond its header: extended attributes, access control lists and file
//! flags.
//!
//! | record | written by | value |
//! | --- | --- | --- |
//! | `SCHILY.xattr.NAME` | GNU tar, star, bsdtar | the bytes; in the name, `%` and `=` are `%25` and `%3D` |
//! | `LIBARCHIVE.xattr.NAME` | bsdtar | in base 64; the name as in an address |
//! | `SCHILY.acl.access`, `SCHILY.acl.default` | all | a list as text |
//! | `SCHILY.acl.ace` | bsdtar | a list of NFSv4's, which no volume here is given |
//! | `SCHILY.fflags` | bsdtar | names of chflags(1) |
//!
//! X1. Each record is taken, or said: what is left out is in [`Extended::lost`]. A label of SELinux is neither: it
//!     belongs to the host that the archive was made on.

use super::pax::Pax;
use crate::flags;
use crate::text;

/// The name of an extended attribute that no volume takes, and no archive gets (X1).
pub(crate) const SELINUX: &[u8] = b"security.selinux";

/// The namespaces of Linux that a volume has a place for.
const SPACES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];

/// An access control list as text: of the file itself, or that which new files in a directory get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) default: bool,
    pub(crate) text: Vec<u8>,
}

/// What the records say.
#[derive(Debug, Default)]
pub(crate) struct Extended {
    pub(crate) xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) lists: Vec<List>,
    pub(crate) flags: u32,
    /// What is left out, and why, a line each.
    pub(crate) lost: Vec<String>,
}

/// Whether an attribute of this name can be kept in a volume that has attributes.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    SPACES.iter().any(|space| name.len() > space.len() && name.starts_with(space)) && name != SELINUX
}

impl Extended {
    /// Reads the records.
    pub(super) fn of(pax: &Pax) -> Extended {
        let mut found = Extended::default();
        for (key, value) in pax.records() {
            let lost = match &key[..] {
                b"SCHILY.acl.access" => found.list(false, value),
                b"SCHILY.acl.default" => found.list(true, value),
                b"SCHILY.acl.ace" => Some("its access control list of NFSv4's".to_owned()),
                b"SCHILY.fflags" => found.fflags(value),
                key => match (key.strip_prefix(b"SCHILY.xattr."), key.strip_prefix(b"LIBARCHIVE.xattr.")) {
                    (Some(name), _) => found.xattr(&decoded(name), Some(value.clone())),
                    (_, Some(name)) => found.xattr(&decoded(name), base64(value)),
                    _ => None,
                },
            };
            found.lost.extend(lost.map(|what| format!("left out: {what}")));
        }
        // bsdtar writes both records of an attribute.
        found.xattrs.sort();
        found.xattrs.dedup_by(|a, b| a.0 == b.0);
        found
    }

    fn list(&mut self, default: bool, text: &[u8]) -> Option<String> {
        if !text.is_empty() {
            self.lists.retain(|list| list.default != default);
            self.lists.push(List { default, text: text.to_vec() });
        }
        None
    }

    fn fflags(&mut self, value: &[u8]) -> Option<String> {
        // One that is not known takes no other with it.
        let (mut flags, mut lost) = (0, None);
        for name in value.split(|&b| b == b',') {
            match flags::parse(name) {
                Ok(flag) => flags |= flag,
                Err(error) => lost = Some(format!("of its file flags: {error}")),
            }
        }
        self.flags = flags;
        lost
    }

    fn xattr(&mut self, name: &[u8], value: Option<Vec<u8>>) -> Option<String> {
        let shown = || text::escape(name);
        match value {
            _ if name == SELINUX => None,
            _ if !is_kept(name) => Some(format!("the extended attribute {}", shown())),
            None => Some(format!("the extended attribute {}, which is not in base 64", shown())),
            Some(value) => {
                self.xattrs.push((name.to_vec(), value));
                None
            }
        }
    }
}

/// A name in a record's key: without this, a `=` in it would end the key.
pub(crate) fn encoded(name: &str) -> String {
    name.replace('%', "%25").replace('=', "%3D")
}

fn decoded(name: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

/// The bytes of a text in base 64, with or without signs that fill its last group.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().position(|&b| b == b'=').unwrap_or(text.len());
    let (digits, fill) = text.split_at(end);
    if fill.len() > 2 || fill.iter().any(|&b| b != b'=') || digits.len() % 4 == 1 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len());
    for group in digits.chunks(4) {
        let bits = group.iter().try_fold(0u32, |bits, &digit| Some(bits << 6 | u32::from(value(digit)?)))?;
        let whole = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(&whole[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_64_is_read_with_and_without_its_fill() {
        let cases: [(&str, &[u8]); 7] = [
            ("", b""),
            ("YQ==", b"a"),
            ("YQ", b"a"),
            ("YWI=", b"ab"),
            ("YWJj", b"abc"),
            ("YWJjZGU", b"abcde"),
            ("/+8A", b"\xff\xef\0"),
        ];
        for (text, bytes) in cases {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        for wrong in ["Y", "YQ=a", "Y Q", "YQ===", "YWJjY"] {
            assert_eq!(base64(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn records_are_taken_or_said() {
        let record = |key: &str, value: &str| {
            let rest = format!(" {key}={value}\n");
            let len = (rest.len()..).find(|len| len.to_string().len() + rest.len() == *len).unwrap();
            format!("{len}{rest}")
        };
        let text = [
            record("SCHILY.xattr.user.a%3Db%25", "1"),
            record("LIBARCHIVE.xattr.user.a%3Db%25", "MQ"),
            record("LIBARCHIVE.xattr.trusted.t", "eA=="),
            record("SCHILY.xattr.security.selinux", "label"),
            record("SCHILY.xattr.system.data", "x"),
            record("SCHILY.xattr.security.capability", "c"),
            record("SCHILY.fflags", "schg,odd"),
            record("SCHILY.acl.ace", "owner@:rw:allow"),
            record("SCHILY.acl.access", "user::rw-,group::r--,other::r--"),
        ];
        let found = Extended::of(&Pax::parse(text.concat().as_bytes()).unwrap());
        let names: Vec<_> = found.xattrs.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        assert_eq!(names, [(&b"security.capability"[..], &b"c"[..]), (b"trusted.t", b"x"), (b"user.a=b%", b"1")]);
        assert_eq!((found.lists.len(), found.flags, found.lost.len()), (1, 0x2_0000, 3), "{:?}", found.lost);
        assert_eq!(decoded(encoded("user.a=b%3D").as_bytes()), b"user.a=b%3D");
    }
}
