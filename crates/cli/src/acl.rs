//! Access control lists as text: POSIX.1e's as getfacl(1) of Linux prints them, NFSv4's as that of FreeBSD does.
//!
//! A1. What `getfacl` prints, `setfacl --restore` takes, and the list is the same again.

use anyhow::{Context, bail};
use ordo_ondisk::acl::{Acl, AclEntry, Tag};

/// An entry of a change: for which list, whose, and which permissions; none where an entry is to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) default: bool,
    pub(crate) tag: Tag,
    /// The user or group, as it was given; empty for the file's own.
    pub(crate) name: String,
    pub(crate) perm: Option<u16>,
}

/// Entries joined by commas: `u:ann:rw,g::rx,m:r,d:o:-`.
///
/// # Errors
/// One line, for the user.
pub(crate) fn changes(text: &str, with_perm: bool) -> Result<Vec<Change>, String> {
    text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(|entry| change(entry, with_perm)).collect()
}

fn change(entry: &str, with_perm: bool) -> Result<Change, String> {
    let wrong = || format!("{entry:?} is no entry of a list; write u:NAME:rwx, g:NAME:rx, m::r, o::-, d:u:NAME:rwx");
    let mut words: Vec<&str> = entry.split(':').map(str::trim).collect();
    let default = words.len() > 1 && matches!(words.first(), Some(&("d" | "default")));
    if default {
        words.remove(0);
    }
    let perm = match with_perm {
        true => Some(permissions(words.pop().ok_or_else(wrong)?).ok_or_else(wrong)?),
        false => None,
    };
    let (word, name) = match words[..] {
        [word] => (word, ""),
        [word, name] => (word, name),
        // `u:ann:` also removes.
        [word, name, ""] if !with_perm => (word, name),
        _ => return Err(wrong()),
    };
    let tag = match (word, name.is_empty()) {
        ("u" | "user", true) => Tag::UserObj,
        ("u" | "user", false) => Tag::User,
        ("g" | "group", true) => Tag::GroupObj,
        ("g" | "group", false) => Tag::Group,
        ("m" | "mask", true) => Tag::Mask,
        ("o" | "other", true) => Tag::Other,
        _ => return Err(wrong()),
    };
    Ok(Change { default, tag, name: name.to_owned(), perm })
}

fn permissions(text: &str) -> Option<u16> {
    if let Some(octal) = text.parse::<u16>().ok().filter(|perm| *perm <= 7 && text.len() == 1) {
        return Some(octal);
    }
    text.chars().try_fold(0, |perm, letter| match letter {
        'r' => Some(perm | 4),
        'w' => Some(perm | 2),
        'x' => Some(perm | 1),
        '-' => Some(perm),
        _ => None,
    })
}

/// `rwx`.
fn letters(perm: u16) -> String {
    [(4, 'r'), (2, 'w'), (1, 'x')].map(|(bit, letter)| if perm & bit != 0 { letter } else { '-' }).iter().collect()
}

/// The list as lines, each with `prefix` before it. Where the mask takes away from an entry, what is left is said.
pub(crate) fn lines(
    list: &Acl,
    prefix: &str,
    user: impl Fn(u32) -> String,
    group: impl Fn(u32) -> String,
) -> Vec<String> {
    let mask = list.entries().iter().find(|e| e.tag == Tag::Mask).map_or(7, |e| e.perm);
    let line = |e: &AclEntry| {
        let (word, name, masked) = match e.tag {
            Tag::UserObj => ("user", String::new(), false),
            Tag::User => ("user", user(e.id), true),
            Tag::GroupObj => ("group", String::new(), true),
            Tag::Group => ("group", group(e.id), true),
            Tag::Mask => ("mask", String::new(), false),
            Tag::Other => ("other", String::new(), false),
        };
        let entry = format!("{prefix}{word}:{name}:{}", letters(e.perm));
        match masked && e.perm & !mask != 0 {
            true => format!("{entry:<23} #effective:{}", letters(e.perm & mask)),
            false => entry,
        }
    };
    list.entries().iter().map(line).collect()
}

/// The list that permissions alone are.
pub(crate) fn of_mode(mode: u16) -> Vec<AclEntry> {
    let entry = |tag, shift: u16| AclEntry { tag, id: u32::MAX, perm: mode >> shift & 7 };
    vec![entry(Tag::UserObj, 6), entry(Tag::GroupObj, 3), entry(Tag::Other, 0)]
}

/// Sets an entry, or with no permissions removes it.
pub(crate) fn put(entries: &mut Vec<AclEntry>, tag: Tag, id: u32, perm: Option<u16>) {
    entries.retain(|e| !(e.tag == tag && (e.id == id || !matches!(tag, Tag::User | Tag::Group))));
    entries.extend(perm.map(|perm| AclEntry { tag, id, perm }));
}

/// A list of these entries. A list with named ones needs a mask: unless it is kept, it becomes all that the named ones
/// and the group have.
///
/// # Errors
/// When they are no list.
pub(crate) fn build(mut entries: Vec<AclEntry>, keep_mask: bool) -> anyhow::Result<Acl> {
    let is_named = entries.iter().any(|e| matches!(e.tag, Tag::User | Tag::Group));
    let has_mask = entries.iter().any(|e| e.tag == Tag::Mask);
    if (is_named || has_mask) && !(keep_mask && has_mask) {
        let class = entries.iter().filter(|e| matches!(e.tag, Tag::User | Tag::GroupObj | Tag::Group));
        let all = class.fold(0, |all, e| all | e.perm);
        put(&mut entries, Tag::Mask, u32::MAX, Some(all));
    }
    let count = entries.len();
    match Acl::new(entries) {
        Some(list) => Ok(list),
        None if count > ordo_ondisk::acl::MAX_ENTRIES => bail!("a list of {count} entries: at most 32"),
        None => bail!("user::, group:: and other:: are all needed, a mask with any further entry, and no entry twice"),
    }
}

/// The names of a file's own list and of a directory's default list.
pub(crate) const ACCESS: &[u8] = b"system.posix_acl_access";
pub(crate) const DEFAULT: &[u8] = b"system.posix_acl_default";

/// A list as archives have it: entries as lines, or joined by commas, each `user:NAME:rwx`, perhaps with the number of
/// the user or group behind it, which counts.
///
/// # Errors
/// When it is no list, or has a name that nobody knows.
pub(crate) fn of_archive(
    text: &[u8],
    user: impl Fn(&str) -> Option<u32>,
    group: impl Fn(&str) -> Option<u32>,
) -> anyhow::Result<Acl> {
    let text = std::str::from_utf8(text).context("a list that is no text")?;
    let mut entries = Vec::new();
    for entry in text.split([',', '\n']) {
        // What the mask leaves of an entry is a remark.
        let entry = entry.split('#').next().unwrap_or_default().trim();
        if entry.is_empty() {
            continue;
        }
        let wrong = || format!("{entry:?} is no entry of a list");
        let entry = entry.strip_prefix("default:").unwrap_or(entry);
        let mut words = entry.split(':').map(str::trim);
        let (word, name, perm) = (words.next(), words.next(), words.next());
        let (word, name, perm) = word.zip(name).zip(perm).map(|((a, b), c)| (a, b, c)).with_context(wrong)?;
        let (tag, of) = match (word, name.is_empty()) {
            ("u" | "user", true) => (Tag::UserObj, None),
            ("g" | "group", true) => (Tag::GroupObj, None),
            ("m" | "mask", true) => (Tag::Mask, None),
            ("o" | "other", true) => (Tag::Other, None),
            ("u" | "user", false) => (Tag::User, Some(&user as &dyn Fn(&str) -> Option<u32>)),
            ("g" | "group", false) => (Tag::Group, Some(&group as &dyn Fn(&str) -> Option<u32>)),
            _ => bail!(wrong()),
        };
        let id = match of {
            None => u32::MAX,
            Some(of) => match words.next().map(str::parse).or_else(|| Some(name.parse()).filter(Result::is_ok)) {
                Some(number) => number.ok().with_context(wrong)?,
                None => of(name).with_context(|| format!("the {word} {name:?} of a list is known by no number"))?,
            },
        };
        entries.push(AclEntry { tag, id, perm: permissions(perm).with_context(wrong)? });
    }
    let count = entries.len();
    Acl::new(entries).with_context(|| format!("its {count} entries are no list"))
}

/// A list as [`of_archive`] reads it, and GNU tar, star and bsdtar do. Users and groups are numbers, as owners are.
pub(crate) fn for_archive(list: &Acl) -> String {
    let entry = |e: &AclEntry| match e.tag {
        Tag::UserObj => format!("user::{}", letters(e.perm)),
        Tag::User => format!("user:{}:{}", e.id, letters(e.perm)),
        Tag::GroupObj => format!("group::{}", letters(e.perm)),
        Tag::Group => format!("group:{}:{}", e.id, letters(e.perm)),
        Tag::Mask => format!("mask::{}", letters(e.perm)),
        Tag::Other => format!("other::{}", letters(e.perm)),
    };
    list.entries().iter().map(entry).collect::<Vec<_>>().join(",")
}

/// The permissions of a file whose own list is kept, or left out. The group's place in them has the mask of a list that
/// is kept; without the list the mask would be given to the group, so that gets what the list had left it.
pub(crate) fn mode_beside(mode: u16, list: &Acl, kept: bool) -> u16 {
    let of = |tag: Tag| list.entries().iter().find(|e| e.tag == tag).map(|e| e.perm);
    let (group, mask) = (of(Tag::GroupObj).unwrap_or(0), of(Tag::Mask).unwrap_or(7));
    let group = match (kept, of(Tag::Mask)) {
        (true, Some(mask)) => mask,
        _ => group & mask,
    };
    mode & !0o070 | group << 3
}

/// The letters of NFSv4's permissions, in FreeBSD's order, and the protocol's bits.
const RIGHTS: [(u32, char); 14] = [
    (0x1, 'r'),
    (0x2, 'w'),
    (0x20, 'x'),
    (0x4, 'p'),
    (0x40, 'D'),
    (0x1_0000, 'd'),
    (0x80, 'a'),
    (0x100, 'A'),
    (0x8, 'R'),
    (0x10, 'W'),
    (0x2_0000, 'c'),
    (0x4_0000, 'C'),
    (0x8_0000, 'o'),
    (0x10_0000, 's'),
];
const INHERIT: [(u32, char); 7] =
    [(0x1, 'f'), (0x2, 'd'), (0x8, 'i'), (0x4, 'n'), (0x10, 'S'), (0x20, 'F'), (0x80, 'I')];
const OF_A_GROUP: u32 = 0x40;

/// The lines of a list in the form of the protocol (`system.nfs4_acl`).
///
/// # Errors
/// When it ends too early.
pub(crate) fn nfs4_lines(
    value: &[u8],
    user: impl Fn(u32) -> String,
    group: impl Fn(u32) -> String,
) -> anyhow::Result<Vec<String>> {
    let mut rest = value;
    let mut word = || -> anyhow::Result<u32> {
        let (head, tail) = rest.split_first_chunk().context("a list that ends within an entry")?;
        rest = tail;
        Ok(u32::from_be_bytes(*head))
    };
    let count = word()?;
    let mut lines = Vec::new();
    for _ in 0..count {
        let (kind, flags, mask, len) = (word()?, word()?, word()?, word()? as usize);
        let mut name = Vec::new();
        for _ in 0..len.div_ceil(4) {
            name.extend_from_slice(&word()?.to_be_bytes());
        }
        name.truncate(len);
        let name = String::from_utf8_lossy(&name).into_owned();
        let who = match (name.parse(), flags & OF_A_GROUP != 0) {
            (Ok(id), false) => format!("user:{}", user(id)),
            (Ok(id), true) => format!("group:{}", group(id)),
            (Err(_), _) => crate::text::escape(name.to_lowercase().as_bytes()),
        };
        let set = |bits: u32, letters: &[(u32, char)]| -> String {
            letters.iter().map(|(bit, letter)| if bits & bit != 0 { *letter } else { '-' }).collect()
        };
        let kind = match kind {
            0 => "allow",
            1 => "deny",
            2 => "audit",
            _ => "alarm",
        };
        lines.push(format!("{who:>18}:{}:{}:{kind}", set(mask, &RIGHTS), set(flags, &INHERIT)));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_written_as_setfacl_1_takes_them() {
        let of = |default, tag, name: &str, perm| Change { default, tag, name: name.into(), perm };
        let said = changes("u:ann:rw,group::r-x, m:7 ,d:o::-", true);
        let right = vec![
            of(false, Tag::User, "ann", Some(6)),
            of(false, Tag::GroupObj, "", Some(5)),
            of(false, Tag::Mask, "", Some(7)),
            of(true, Tag::Other, "", Some(0)),
        ];
        assert_eq!(said, Ok(right));
        assert_eq!(changes("d:g:7", false), Ok(vec![of(true, Tag::Group, "7", None)]));
        assert_eq!(changes("u:ann:", false), changes("u:ann", false));
        for wrong in ["u", "u:ann", "x:ann:r", "m:ann:r", "u:ann:rq", "u:a:b:r", "o:x:r", "u:ann:8"] {
            assert!(changes(wrong, true).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_shows_what_its_mask_takes_away() {
        let mut entries = of_mode(0o754);
        put(&mut entries, Tag::User, 1001, Some(7));
        put(&mut entries, Tag::Mask, u32::MAX, Some(5));
        let list = build(entries, true).unwrap();
        let shown = lines(&list, "", |id| format!("u{id}"), |id| format!("g{id}"));
        let right = ["user::rwx", "user:u1001:rwx          #effective:r-x", "group::r-x", "mask::r-x", "other::r--"];
        assert_eq!(shown, right);
        let mut entries = list.entries().to_vec();
        put(&mut entries, Tag::User, 1001, None);
        assert_eq!(lines(&build(entries, false).unwrap(), "", |_| String::new(), |_| String::new())[2], "mask::r-x");
    }

    #[test]
    fn lists_of_archives_are_read_in_every_writers_form() {
        let (user, group) =
            (|name: &str| (name == "ann").then_some(1001), |name: &str| (name == "staff").then_some(50));
        let list =
            of_archive(b"user::rw-,user:ann:rwx,group::r--,group:7:r-x,mask::rwx,other::---", user, group).unwrap();
        // acl_to_text(3), star, and bsdtar of Linux, whose numbers count more than names.
        for text in [
            "user::rw-\nuser:ann:rwx\t#effective:rwx\ngroup::r--\ngroup:7:r-x\nmask::rwx\nother::---\n",
            "user::rw-,user:nobody:rwx:1001,group::r--,group:none:r-x:7,mask::rwx,other::---",
            "u::rw,u:1001:7,g::4,g:7:5,m::7,o::0",
            "default:user::rw-,default:user:1001:rwx,default:group::r--,default:group:7:r-x,mask::rwx,other::---",
            &for_archive(&list),
        ] {
            assert_eq!(of_archive(text.as_bytes(), user, group).unwrap(), list, "{text}");
        }
        for wrong in ["user::rw-", "user::rwq,group::r,other::r", "user:eve:r,user::r,group::r,mask::r,other::r", "x"] {
            assert!(of_archive(wrong.as_bytes(), user, group).is_err(), "{wrong}");
        }
        assert_eq!(mode_beside(0o4777, &list, true), 0o4777);
        assert_eq!(mode_beside(0o4777, &list, false), 0o4747, "the mask is nobody's permission");
        let plain = of_archive(b"u::rw,g::r,o::-", user, group).unwrap();
        assert_eq!((mode_beside(0o640, &plain, true), mode_beside(0o640, &plain, false)), (0o640, 0o640));
    }

    #[test]
    fn lists_of_nfs4_are_shown_as_on_freebsd() {
        let words = [2u32, 0, 0, 0x1e_019f, 6].map(u32::to_be_bytes).concat();
        let rest = [1u32, 0x41, 0x1, 4].map(u32::to_be_bytes).concat();
        let value = [&words[..], b"OWNER@\0\0", &rest, b"1001"].concat();
        let shown = nfs4_lines(&value, |id| id.to_string(), |id| format!("g{id}")).unwrap();
        let right =
            ["            owner@:rw-p--aARWcCos:-------:allow", "       group:g1001:r-------------:f------:deny"];
        assert_eq!(shown, right);
        assert!(nfs4_lines(&value[..20], |_| String::new(), |_| String::new()).is_err());
    }
}
