//! POSIX access control lists in Linux's format: `system.posix_acl_access` and `_default`.
//!
//! Only the file system's own part is here: checking a list, keeping it consistent with the permission bits, and
//! deriving the lists of a new file from its directory (POSIX 1003.1e draft 17, section 23; `acl(5)`).

use bytes::Bytes;
use ordo_vfs::{Refusal, Result};

const VERSION: u32 = 2;
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AclEntry {
    tag: u16,
    perm: u16,
    id: u32,
}

/// A list that passed its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acl(Vec<AclEntry>);

impl Acl {
    /// Decodes the value of an attribute; `None` for a list without entries, which stands for no list.
    ///
    /// # Errors
    /// `NotSupported` for another version, `Invalid` for a list that `acl(5)` does not allow.
    pub(crate) fn parse(value: &[u8]) -> Result<Option<Acl>> {
        let (version, entries) = value.split_first_chunk::<4>().ok_or(Refusal::Invalid)?;
        if u32::from_le_bytes(*version) != VERSION {
            return Err(Refusal::NotSupported.into());
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let (entries, rest) = entries.as_chunks::<8>();
        let acl = Acl(entries
            .iter()
            .map(|[t0, t1, p0, p1, id @ ..]| AclEntry {
                tag: u16::from_le_bytes([*t0, *t1]),
                perm: u16::from_le_bytes([*p0, *p1]),
                id: u32::from_le_bytes(*id),
            })
            .collect());
        if rest.is_empty() && acl.is_valid() { Ok(Some(acl)) } else { Err(Refusal::Invalid.into()) }
    }

    pub(crate) fn to_bytes(&self) -> Bytes {
        let mut value = VERSION.to_le_bytes().to_vec();
        for entry in &self.0 {
            value.extend_from_slice(&entry.tag.to_le_bytes());
            value.extend_from_slice(&entry.perm.to_le_bytes());
            value.extend_from_slice(&entry.id.to_le_bytes());
        }
        value.into()
    }

    /// Tags ascend; each of the three tags of the permission bits occurs once; named entries need a mask.
    fn is_valid(&self) -> bool {
        let count = |tag| self.0.iter().filter(|entry| entry.tag == tag).count();
        let known = |tag: u16| matches!(tag, USER_OBJ | USER | GROUP_OBJ | GROUP | MASK | OTHER);
        let named = count(USER) + count(GROUP) > 0;
        self.0.iter().all(|entry| known(entry.tag) && entry.perm <= 7)
            && self.0.is_sorted_by_key(|entry| entry.tag)
            && [USER_OBJ, GROUP_OBJ, OTHER].into_iter().all(|tag| count(tag) == 1)
            && count(MASK) <= 1
            && (!named || count(MASK) == 1)
    }

    /// `true` if nine permission bits cannot express it.
    pub(crate) fn is_extended(&self) -> bool {
        self.0.len() > 3
    }

    /// The nine permission bits; those of the group are the mask's, if there is one.
    pub(crate) fn bits(&self) -> u16 {
        self.0.iter().fold(0, |bits, entry| match self.shift(entry.tag) {
            Some(shift) => bits | entry.perm << shift,
            None => bits,
        })
    }

    /// Applies a change of the permission bits.
    pub(crate) fn chmod(&mut self, bits: u16) {
        for at in 0..self.0.len() {
            if let Some(shift) = self.shift(self.0[at].tag) {
                self.0[at].perm = bits >> shift & 7;
            }
        }
    }

    /// Turns this into the list of a new file created with `bits`; both lose what the other does not grant.
    pub(crate) fn inherit(&mut self, bits: u16) -> u16 {
        for at in 0..self.0.len() {
            if let Some(shift) = self.shift(self.0[at].tag) {
                self.0[at].perm &= bits >> shift & 7;
            }
        }
        bits & !0o777 | self.bits()
    }

    /// The position of this entry in the permission bits, if it has one.
    fn shift(&self, tag: u16) -> Option<u16> {
        match tag {
            USER_OBJ => Some(6),
            MASK => Some(3),
            GROUP_OBJ if !self.is_masked() => Some(3),
            OTHER => Some(0),
            _ => None,
        }
    }

    fn is_masked(&self) -> bool {
        self.0.iter().any(|entry| entry.tag == MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        Acl(entries.iter().map(|&(tag, perm, id)| AclEntry { tag, perm, id }).collect()).to_bytes().to_vec()
    }

    #[test]
    fn a_list_without_mask_but_with_a_named_user_is_refused() {
        let bad = value(&[(USER_OBJ, 7, 0), (USER, 7, 1000), (GROUP_OBJ, 5, 0), (OTHER, 5, 0)]);
        assert!(Acl::parse(&bad).is_err());
    }

    #[test]
    fn the_mask_not_the_group_follows_the_permission_bits() {
        let good = value(&[(USER_OBJ, 7, 0), (USER, 7, 1000), (GROUP_OBJ, 5, 0), (MASK, 7, 0), (OTHER, 5, 0)]);
        let mut acl = Acl::parse(&good).unwrap().unwrap();
        assert_eq!(acl.bits(), 0o775);
        acl.chmod(0o640);
        assert_eq!(acl.bits(), 0o640);
        assert_eq!(acl.0[2].perm, 5);
    }

    #[test]
    fn an_inherited_list_grants_no_more_than_the_creator_asked() {
        let good = value(&[(USER_OBJ, 7, 0), (USER, 7, 1000), (GROUP_OBJ, 5, 0), (MASK, 7, 0), (OTHER, 0, 0)]);
        let mut acl = Acl::parse(&good).unwrap().unwrap();
        assert_eq!(acl.inherit(0o2664), 0o2660);
        assert_eq!(acl.to_bytes().len(), good.len());
    }

    #[test]
    fn a_truncated_list_and_another_version_are_refused() {
        let good = value(&[(USER_OBJ, 7, 0), (GROUP_OBJ, 5, 0), (OTHER, 0, 0)]);
        assert!(Acl::parse(&good[..good.len() - 1]).is_err());
        assert!(Acl::parse(&[1, 0, 0, 0]).is_err());
        assert!(Acl::parse(&[2, 0, 0]).is_err());
        assert_eq!(Acl::parse(&[2, 0, 0, 0]).unwrap(), None);
    }
}
