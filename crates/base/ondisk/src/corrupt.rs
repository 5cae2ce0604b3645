//! Damage in an image: the structure, the field, its place, its value and the rule that it breaks.

use crate::{ByteOff, Cgx, Ino};
use std::fmt;

/// A structure of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Structure {
    /// The superblock or one of its backups.
    Superblock,
    /// The block of a cylinder group.
    CylinderGroup(Cgx),
    /// The array of the groups' counts.
    Summary,
    /// An inode.
    Inode(Ino),
    /// The entries of a directory.
    Directory(Ino),
    /// An indirect block of a file.
    Indirect(Ino),
    /// The attribute area of a file.
    ExtAttr(Ino),
    /// An access control list in an attribute.
    Acl,
    /// A file of quotas.
    Quota,
    /// A segment or a record of the soft updates journal.
    Journal,
    /// NetBSD's log, or a record of it.
    Wapbl,
    /// LFS: the summary of a partial segment, and what it says of the blocks behind it.
    PartialSegment,
    /// LFS: the first block of the ifile.
    CleanerInfo,
    /// LFS: the entry of a segment in the segment usage table.
    SegmentUsage(u32),
    /// LFS: the entry of an inode in the inode map.
    InodeMap(Ino),
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Structure::Superblock => write!(f, "superblock"),
            Structure::CylinderGroup(c) => write!(f, "cylinder group {}", c.0),
            Structure::Summary => write!(f, "cylinder group summary"),
            Structure::Inode(i) => write!(f, "inode {}", i.0),
            Structure::Directory(i) => write!(f, "directory inode {}", i.0),
            Structure::Indirect(i) => write!(f, "indirect block of inode {}", i.0),
            Structure::ExtAttr(i) => write!(f, "attribute area of inode {}", i.0),
            Structure::Acl => write!(f, "access control list"),
            Structure::Quota => write!(f, "quotas"),
            Structure::Journal => write!(f, "soft updates journal"),
            Structure::Wapbl => write!(f, "NetBSD's log (WAPBL)"),
            Structure::PartialSegment => write!(f, "partial segment"),
            Structure::CleanerInfo => write!(f, "cleaner information"),
            Structure::SegmentUsage(n) => write!(f, "usage of segment {n}"),
            Structure::InodeMap(i) => write!(f, "inode map entry of inode {}", i.0),
        }
    }
}

/// The rule that a field breaks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// It has one valid value.
    Is(i128),
    /// It has one valid value, shown in hexadecimal: magics and hashes.
    IsHex(u32),
    /// It has a smallest value.
    AtLeast(i128),
    /// It has a largest value.
    AtMost(i128),
    /// It must divide evenly.
    MultipleOf(i128),
    /// It must be a power of two.
    PowerOfTwo,
    /// It must be zero here; the text says why.
    Zero(&'static str),
    /// The structure ends before the field does; the number is the available bytes.
    CutShort(u64),
    /// Any other rule, as text that follows "field is 3, ".
    Words(&'static str),
}

/// A field of the image with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Corrupt {
    /// The structure.
    pub structure: Structure,
    /// Its first byte in the volume; for directories and attributes, the byte within the file. `None` where unknown.
    pub at: Option<ByteOff>,
    /// The field, by its name in the BSD sources if it has one.
    pub field: &'static str,
    /// The value of the field.
    pub found: i128,
    /// The rule it breaks.
    pub rule: Rule,
}

impl Corrupt {
    /// Damage in `field` of `structure`.
    pub fn new(structure: Structure, field: &'static str, found: impl Into<i128>, rule: Rule) -> Corrupt {
        Corrupt { structure, at: None, field, found: found.into(), rule }
    }

    /// The same, at a known byte.
    #[must_use]
    pub fn at(mut self, at: ByteOff) -> Corrupt {
        self.at = Some(at);
        self
    }

    /// Too few bytes to hold `structure`.
    pub(crate) fn cut_short(structure: Structure, len: usize) -> Corrupt {
        Corrupt::new(structure, "length", crate::num::len64(len), Rule::CutShort(crate::num::len64(len)))
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.structure)?;
        match (self.structure, self.at) {
            (Structure::Directory(_) | Structure::ExtAttr(_), Some(at)) => write!(f, " at byte {} of the file", at.0)?,
            (_, Some(at)) => write!(f, " at byte {}", at.0)?,
            (_, None) => {}
        }
        let (field, found) = (self.field, self.found);
        match &self.rule {
            Rule::IsHex(right) => write!(f, ": field {field} is {found:#x}, should be {right:#010x}"),
            Rule::Is(right) => write!(f, ": field {field} is {found}, should be {right}"),
            Rule::AtLeast(n) => write!(f, ": field {field} is {found}, must be at least {n}"),
            Rule::AtMost(n) => write!(f, ": field {field} is {found}, must be at most {n}"),
            Rule::MultipleOf(n) => write!(f, ": field {field} is {found}, must be a multiple of {n}"),
            Rule::PowerOfTwo => write!(f, ": field {field} is {found}, must be a power of two"),
            Rule::Zero(why) => write!(f, ": field {field} is {found}, must be 0 {why}"),
            Rule::CutShort(len) => write!(f, ": only {len} bytes are there"),
            Rule::Words(words) => write!(f, ": field {field} is {found}, {words}"),
        }
    }
}

impl std::error::Error for Corrupt {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_told_with_structure_place_field_and_value() {
        let group = Structure::CylinderGroup(Cgx(3));
        let c = Corrupt::new(group, "cg_magic", 0, Rule::IsHex(0x9_0255)).at(ByteOff(1_048_576));
        assert_eq!(c.to_string(), "cylinder group 3 at byte 1048576: field cg_magic is 0x0, should be 0x00090255");
        let c = Corrupt::new(Structure::Directory(Ino(2)), "d_reclen", 3, Rule::MultipleOf(4)).at(ByteOff(24));
        let said = "directory inode 2 at byte 24 of the file: field d_reclen is 3, must be a multiple of 4";
        assert_eq!(c.to_string(), said);
    }
}
