//! NFSv4 access control lists: FreeBSD's format in a system attribute, read as Linux's `system.nfs4_acl`, which is that
//! of the protocol (RFC 7530, section 6.2.1).
//!
//! FreeBSD always stores 4,088 bytes: a head of 24 and 254 entries of tag, id, permissions, type, flags. The protocol:
//! a count, then for each entry in use type, flags, mask, and the name of who it is for. All numbers are big-endian.
//!
//! N1. A list is read only. What it means for access is more than the mode can say, so a volume that has the flag for
//!     them is not written ([`crate::Superblock::write_gate`]).
//! N2. Users and groups have numbers here and names in the protocol: a number in decimal, as NFS servers without a name
//!     service write it.

use crate::num::{index, len64};
use crate::{Corrupt, Endian, Rule, Structure};

/// Name of the attribute, in the system namespace.
pub const NFS4: &[u8] = b"nfs4.acl";
/// Size of FreeBSD's format, in bytes.
pub const SIZE: usize = HEAD + ENTRIES * ENTRY;
const HEAD: usize = 24;
const ENTRY: usize = 16;
const ENTRIES: usize = 254;

/// The permissions, as FreeBSD and as the protocol number them.
const MASKS: [(u32, u32); 14] = [
    (0x0008, 0x0000_0001), // read the data, list
    (0x0010, 0x0000_0002), // write the data, add a file
    (0x0020, 0x0000_0004), // append, add a subdirectory
    (0x0040, 0x0000_0008), // read named attributes
    (0x0080, 0x0000_0010), // write named attributes
    (0x0001, 0x0000_0020), // execute
    (0x0100, 0x0000_0040), // delete what is in it
    (0x0200, 0x0000_0080), // read attributes
    (0x0400, 0x0000_0100), // write attributes
    (0x0800, 0x0001_0000), // delete
    (0x1000, 0x0002_0000), // read the list
    (0x2000, 0x0004_0000), // write the list
    (0x4000, 0x0008_0000), // change the owner
    (0x8000, 0x0010_0000), // synchronize
];
/// Flags of inheritance and audit, which both number alike.
const FLAGS: u16 = 0x00bf;
/// The protocol's flag of an entry for a group.
const OF_A_GROUP: u32 = 0x40;

/// The list of the attribute `value`, in the form of the protocol.
///
/// # Errors
/// A wrong length, count, tag, type, permission or flag.
pub fn to_protocol(value: &[u8], endian: Endian) -> Result<Vec<u8>, Corrupt> {
    let broken = |field, found: u64, rule| Corrupt::new(Structure::Acl, field, found, rule);
    if value.len() != SIZE {
        return Err(broken("length", len64(value.len()), Rule::Is(len64(SIZE).into())));
    }
    let count = endian.get_u32(value, 4).unwrap_or(0);
    if index(count) > ENTRIES {
        return Err(broken("acl_cnt", count.into(), Rule::AtMost(len64(ENTRIES).into())));
    }
    let mut list = count.to_be_bytes().to_vec();
    for entry in value.get(HEAD..).unwrap_or_default().chunks_exact(ENTRY).take(index(count)) {
        let number = |at| endian.get_u32(entry, at).unwrap_or(0);
        let (tag, id, perm) = (number(0), number(4), number(8));
        let (kind, flags) = (endian.get_u16(entry, 12).unwrap_or(0), endian.get_u16(entry, 14).unwrap_or(0));
        let (who, group) = match tag {
            0x01 => ("OWNER@".to_owned(), 0),
            0x02 => (id.to_string(), 0),
            0x04 => ("GROUP@".to_owned(), OF_A_GROUP),
            0x08 => (id.to_string(), OF_A_GROUP),
            0x40 => ("EVERYONE@".to_owned(), 0),
            _ => return Err(broken("ae_tag", tag.into(), Rule::Words("which is no tag of NFSv4"))),
        };
        let protocol_kind: u32 = match kind {
            0x100 => 0, // allow
            0x200 => 1, // deny
            0x400 => 2, // audit
            0x800 => 3, // alarm
            _ => return Err(broken("ae_entry_type", kind.into(), Rule::Words("which is no type"))),
        };
        if flags & !FLAGS != 0 {
            return Err(broken("ae_flags", flags.into(), Rule::Words("which are no flags")));
        }
        let known = MASKS.iter().fold(0, |all, (bit, _)| all | bit);
        if perm & !known != 0 {
            return Err(broken("ae_perm", perm.into(), Rule::Words("which are no permissions of NFSv4")));
        }
        let mask = MASKS.iter().filter(|(bit, _)| perm & bit != 0).fold(0, |all, (_, bit)| all | bit);
        // OK: a word, or a number in decimal.
        let len = u32::try_from(who.len()).unwrap_or(0);
        for number in [protocol_kind, u32::from(flags) | group, mask, len] {
            list.extend_from_slice(&number.to_be_bytes());
        }
        list.extend_from_slice(who.as_bytes());
        list.resize(list.len().next_multiple_of(4), 0);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(entries: &[(u32, u32, u32, u16, u16)], endian: Endian) -> Vec<u8> {
        let mut value = vec![0; SIZE];
        endian.put_u32(&mut value, 0, ENTRIES as u32).unwrap();
        endian.put_u32(&mut value, 4, entries.len() as u32).unwrap();
        for (place, (tag, id, perm, kind, flags)) in value[HEAD..].chunks_exact_mut(ENTRY).zip(entries) {
            for (at, number) in [(0, *tag), (4, *id), (8, *perm)] {
                endian.put_u32(place, at, number).unwrap();
            }
            endian.put_u16(place, 12, *kind).unwrap();
            endian.put_u16(place, 14, *flags).unwrap();
        }
        value
    }

    #[test]
    fn each_entry_gets_the_numbers_and_the_name_of_the_protocol() {
        for endian in [Endian::Little, Endian::Big] {
            let value = stored(&[(0x08, 1001, 0x0009, 0x100, 0x81), (0x40, u32::MAX, 0x2000, 0x200, 0)], endian);
            let list = to_protocol(&value, endian).unwrap();
            let words = [2u32, 0, 0xc1, 0x21, 4].map(u32::to_be_bytes).concat();
            let rest = [1u32, 0, 0x40000, 9].map(u32::to_be_bytes).concat();
            assert_eq!(list, [&words[..], b"1001", &rest, b"EVERYONE@\0\0\0"].concat());
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let little = Endian::Little;
        let good = (0x01, 0, 8, 0x100, 0);
        assert!(to_protocol(&stored(&[good; ENTRIES], little), little).is_ok());
        assert!(to_protocol(&[0; SIZE - 1], little).is_err());
        let mut many = stored(&[good], little);
        little.put_u32(&mut many, 4, ENTRIES as u32 + 1).unwrap();
        assert!(to_protocol(&many, little).is_err());
        for bad in [(0x10, 0, 8, 0x100, 0), (1, 0, 2, 0x100, 0), (1, 0, 8, 0x300, 0), (1, 0, 8, 0x100, 0x40)] {
            assert!(to_protocol(&stored(&[bad], little), little).is_err(), "{bad:?}");
        }
    }
}
