//! POSIX.1e access control lists: FreeBSD's format in a system attribute, and Linux's format in `system.posix_acl_*`.
//!
//! FreeBSD always stores 388 bytes: a count and 32 entries of tag, id, permissions. Linux: a version and only the
//! entries in use, each of tag, permissions, id, in the order of their tags. Both number tags and permissions alike.
//!
//! A1. The mode takes precedence over the file's own list where both express the same thing: owner, others, and the
//!     mask, or the group if there is no mask. The attribute's own permissions there may be stale.

use crate::num::{index, len64};
use crate::{Corrupt, Endian, Rule, Structure};

/// Name of a file's list, in the system namespace.
pub const ACCESS: &[u8] = b"posix1e.acl_access";
/// Name of a directory's default list, which new files inherit.
pub const DEFAULT: &[u8] = b"posix1e.acl_default";
/// Size of FreeBSD's format, in bytes.
pub const SIZE: usize = 388;
/// Most entries of FreeBSD's format.
pub const MAX_ENTRIES: usize = 32;
/// The version at the start of Linux's format.
const LINUX_VERSION: u32 = 2;
/// The id of an entry that has none.
const NO_ID: u32 = u32::MAX;

/// The subject of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
#[allow(missing_docs)]
pub enum Tag {
    UserObj = 1,
    User = 2,
    GroupObj = 4,
    Group = 8,
    Mask = 16,
    Other = 32,
}

impl Tag {
    const ALL: [(Tag, u16); 6] =
        [(Tag::UserObj, 1), (Tag::User, 2), (Tag::GroupObj, 4), (Tag::Group, 8), (Tag::Mask, 16), (Tag::Other, 32)];

    fn of(bits: u32) -> Option<Tag> {
        Tag::ALL.into_iter().find_map(|(tag, n)| (u32::from(n) == bits).then_some(tag))
    }

    fn bits(self) -> u16 {
        Tag::ALL.into_iter().find_map(|(tag, n)| (tag == self).then_some(n)).unwrap_or(0)
    }

    fn has_id(self) -> bool {
        matches!(self, Tag::User | Tag::Group)
    }
}

/// An entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AclEntry {
    /// Its subject.
    pub tag: Tag,
    /// The user or group; unused with other tags.
    pub id: u32,
    /// 4 read, 2 write, 1 execute.
    pub perm: u16,
}

/// A list: at most 32 entries, in the order of their tags and ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acl {
    entries: Vec<AclEntry>,
}

impl Acl {
    /// A list of these entries; `None` if they are not a valid list: one owner, one group and others are needed, a mask
    /// with any further entry, and no subject twice.
    pub fn new(mut entries: Vec<AclEntry>) -> Option<Acl> {
        for e in entries.iter_mut().filter(|e| !e.tag.has_id()) {
            e.id = NO_ID;
        }
        entries.sort();
        let count = |tag: Tag| entries.iter().filter(|e| e.tag == tag).count();
        let once = [Tag::UserObj, Tag::GroupObj, Tag::Other].into_iter().all(|tag| count(tag) == 1);
        let named = count(Tag::User) > 0 || count(Tag::Group) > 0;
        let masked = count(Tag::Mask) == 1 || count(Tag::Mask) == 0 && !named;
        let neighbours = entries.iter().zip(entries.iter().skip(1));
        let twice = neighbours.into_iter().any(|(a, b)| (a.tag, a.id) == (b.tag, b.id));
        let perms = entries.iter().all(|e| e.perm <= 7);
        (once && masked && !twice && perms && entries.len() <= MAX_ENTRIES).then_some(Acl { entries })
    }

    /// The entries.
    pub fn entries(&self) -> &[AclEntry] {
        &self.entries
    }

    /// Decodes FreeBSD's format.
    ///
    /// # Errors
    /// A wrong length, count, tag or permission; entries that are not a valid list.
    pub fn decode(bytes: &[u8], endian: Endian) -> Result<Acl, Corrupt> {
        let broken = |field, found: u64, rule| Corrupt::new(Structure::Acl, field, found, rule);
        if bytes.len() != SIZE {
            return Err(broken("length", len64(bytes.len()), Rule::Is(len64(SIZE).into())));
        }
        let count = endian.get_u32(bytes, 0).unwrap_or(0);
        if index(count) > MAX_ENTRIES {
            return Err(broken("acl_cnt", count.into(), Rule::AtMost(len64(MAX_ENTRIES).into())));
        }
        let mut entries = Vec::with_capacity(index(count));
        for e in bytes.get(4..).unwrap_or_default().chunks_exact(12).take(index(count)) {
            let tag = endian.get_u32(e, 0).unwrap_or(0);
            let known = Tag::of(tag).ok_or_else(|| broken("ae_tag", tag.into(), Rule::Words("which is no tag")))?;
            let perm = endian.get_u16(e, 8).unwrap_or(0);
            if perm > 7 {
                return Err(broken("ae_perm", perm.into(), Rule::AtMost(7)));
            }
            entries.push(AclEntry { tag: known, id: endian.get_u32(e, 4).unwrap_or(NO_ID), perm });
        }
        Acl::new(entries).ok_or_else(|| broken("acl_cnt", count.into(), Rule::Words("with entries that are no list")))
    }

    /// FreeBSD's format.
    pub fn encode(&self, endian: Endian) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        let count = u32::try_from(self.entries.len()).unwrap_or(0);
        if let Some((head, places)) = bytes.split_first_chunk_mut() {
            *head = endian.u32_bytes(count);
            for (place, e) in places.chunks_exact_mut(12).zip(&self.entries) {
                // Cannot fail: each place has 12 bytes.
                let _ = endian.put_u32(place, 0, e.tag.bits().into());
                let _ = endian.put_u32(place, 4, e.id);
                let _ = endian.put_u16(place, 8, e.perm);
            }
        }
        bytes
    }

    /// Decodes Linux's format; `None` for what Linux would refuse, or for more entries than FreeBSD's format has room
    /// for.
    pub fn from_linux(value: &[u8]) -> Option<Acl> {
        let e = Endian::Little;
        let (head, rest) = value.split_first_chunk()?;
        if e.u32(*head) != LINUX_VERSION || !rest.len().is_multiple_of(8) {
            return None;
        }
        let entry = |b: &[u8]| {
            let tag = Tag::of(e.get_u16(b, 0)?.into())?;
            Some(AclEntry { tag, perm: e.get_u16(b, 2)?, id: e.get_u32(b, 4)? })
        };
        Acl::new(rest.chunks_exact(8).map(entry).collect::<Option<Vec<_>>>()?)
    }

    /// Linux's format.
    pub fn to_linux(&self) -> Vec<u8> {
        let mut value = LINUX_VERSION.to_le_bytes().to_vec();
        for e in &self.entries {
            value.extend_from_slice(&e.tag.bits().to_le_bytes());
            value.extend_from_slice(&e.perm.to_le_bytes());
            value.extend_from_slice(&e.id.to_le_bytes());
        }
        value
    }

    /// The permission bits that correspond to the list (A1).
    pub fn mode_bits(&self) -> u16 {
        let of = |tag: Tag| self.entries.iter().find(|e| e.tag == tag).map(|e| e.perm);
        let group = of(Tag::Mask).or(of(Tag::GroupObj)).unwrap_or(0);
        of(Tag::UserObj).unwrap_or(0) << 6 | group << 3 | of(Tag::Other).unwrap_or(0)
    }

    /// Sets the entries that correspond to the permission bits (A1).
    pub fn set_mode_bits(&mut self, mode: u16) {
        let masked = self.entries.iter().any(|e| e.tag == Tag::Mask);
        for e in &mut self.entries {
            match e.tag {
                Tag::UserObj => e.perm = mode >> 6 & 7,
                Tag::GroupObj if !masked => e.perm = mode >> 3 & 7,
                Tag::Mask => e.perm = mode >> 3 & 7,
                Tag::Other => e.perm = mode & 7,
                Tag::User | Tag::Group | Tag::GroupObj => {}
            }
        }
    }

    /// `true` if the permission bits express it completely: such a list need not be stored.
    pub fn is_minimal(&self) -> bool {
        self.entries.len() == 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(tag: Tag, id: u32, perm: u16) -> AclEntry {
        AclEntry { tag, id, perm }
    }

    fn sample() -> Acl {
        Acl::new(vec![
            entry(Tag::Other, 0, 4),
            entry(Tag::Mask, 0, 6),
            entry(Tag::User, 1001, 7),
            entry(Tag::GroupObj, 0, 5),
            entry(Tag::UserObj, 0, 6),
        ])
        .unwrap()
    }

    #[test]
    fn both_forms_carry_the_same_list() {
        for endian in [Endian::Little, Endian::Big] {
            let bytes = sample().encode(endian);
            assert_eq!(bytes[..4], endian.u32_bytes(5));
            assert_eq!(
                bytes[16..28],
                [endian.u32_bytes(2), endian.u32_bytes(1001), {
                    let [a, b] = endian.u16_bytes(7);
                    [a, b, 0, 0]
                }]
                .concat()[..]
            );
            assert_eq!(Acl::decode(&bytes, endian), Ok(sample()));
        }
        let linux = sample().to_linux();
        assert_eq!(linux.len(), 4 + 5 * 8);
        assert_eq!(linux[..12], [2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255]);
        assert_eq!(Acl::from_linux(&linux), Some(sample()));
    }

    #[test]
    fn mode_and_list_say_the_same() {
        let mut acl = sample();
        assert_eq!(acl.mode_bits(), 0o664);
        acl.set_mode_bits(0o4751);
        assert_eq!(acl.mode_bits(), 0o751);
        assert!(acl.entries().contains(&entry(Tag::GroupObj, NO_ID, 5)));
        let mut least =
            Acl::new(vec![entry(Tag::UserObj, 0, 7), entry(Tag::GroupObj, 0, 5), entry(Tag::Other, 0, 0)]).unwrap();
        assert!(least.is_minimal() && !acl.is_minimal());
        least.set_mode_bits(0o640);
        assert_eq!(least.mode_bits(), 0o640);
    }

    #[test]
    fn bytes_that_are_not_an_acl_are_refused() {
        let (u, g, o) = (entry(Tag::UserObj, 0, 7), entry(Tag::GroupObj, 0, 5), entry(Tag::Other, 0, 0));
        assert!(Acl::new(vec![u, g]).is_none());
        assert!(Acl::new(vec![u, g, o, o]).is_none());
        assert!(Acl::new(vec![u, g, o, entry(Tag::User, 5, 7)]).is_none());
        assert!(Acl::new(vec![u, g, o, entry(Tag::Mask, 0, 8)]).is_none());
        let two = [entry(Tag::User, 5, 7), entry(Tag::User, 5, 6), entry(Tag::Mask, 0, 7)];
        assert!(Acl::new([&[u, g, o][..], &two].concat()).is_none());
        let many = (0..29).map(|id| entry(Tag::User, id, 7));
        assert!(Acl::new([u, g, o, entry(Tag::Mask, 0, 7)].into_iter().chain(many).collect()).is_none());
        assert!(Acl::from_linux(&sample().to_linux()[..11]).is_none());
        assert!(Acl::from_linux(&[]).is_none());

        let good = sample().encode(Endian::Little);
        let broken = |at: usize, to: u8| {
            let mut bytes = good;
            bytes[at] = to;
            Acl::decode(&bytes, Endian::Little).unwrap_err().field
        };
        assert_eq!(broken(0, 33), "acl_cnt");
        assert_eq!(broken(0, 1), "acl_cnt");
        assert_eq!(broken(4, 3), "ae_tag");
        assert_eq!(broken(12, 8), "ae_perm");
        assert_eq!(Acl::decode(&good[1..], Endian::Little).unwrap_err().field, "length");
    }
}
