//! The attribute area of a UFS2 inode: consecutive records in its two attribute blocks.
//!
//! A record is a length, a namespace, the length of the padding, the length of the name, the name, zeros to a multiple
//! of 8, the value, zeros to a multiple of 8. A length below 8 ends the list.
//!
//! X1. A record is valid only if it is wholly within the area, and its name and value are within the record. So a walk
//!     over any bytes ends, at the latest after as many steps as there are groups of 8 bytes.
//! X2. The area is changed as a whole: a copy is edited and then written. Unused bytes are zeroed.

use crate::num::{index, len64};
use crate::{ByteOff, Corrupt, Encoding, Endian, Ino, Rule, Structure};

/// The namespace of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(pub u8);

impl Namespace {
    /// Users' attributes.
    pub const USER: Namespace = Namespace(1);
    /// The system's: access control lists, labels.
    pub const SYSTEM: Namespace = Namespace(2);
}

/// Longest name in bytes.
pub const MAX_NAME: usize = 255;
/// Bytes of a record before the name.
const HEADER: usize = 7;

/// An attribute, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtAttr<'a> {
    /// Byte at which its record starts.
    pub offset: usize,
    /// Bytes of its record.
    pub length: usize,
    /// Its namespace.
    pub namespace: Namespace,
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

/// Largest size of the area on a volume, in bytes.
pub fn area_max(encoding: impl Into<Encoding>) -> usize {
    index(encoding.into().bsize.saturating_mul(2))
}

/// Size of a record in bytes, or `None` if it exceeds the format's limits.
pub fn record_len(name: &[u8], value: &[u8]) -> Option<usize> {
    if name.is_empty() || name.len() > MAX_NAME {
        return None;
    }
    value_at(name.len()).checked_add(value.len())?.checked_next_multiple_of(8)
}

fn value_at(namelen: usize) -> usize {
    HEADER.saturating_add(namelen).next_multiple_of(8)
}

/// The attributes in `area`, the `di_extsize` bytes of inode `ino`. Ends after an error.
pub fn attributes(area: &[u8], endian: Endian, ino: Ino) -> Attributes<'_> {
    Attributes { area, endian, ino, next: Some(0) }
}

/// See [`attributes`].
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    area: &'a [u8],
    endian: Endian,
    ino: Ino,
    next: Option<usize>,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Result<ExtAttr<'a>, Corrupt>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next.take()?;
        let rest = self.area.get(at..)?;
        let length = self.endian.get_u32(rest, 0).map(index).filter(|&length| length >= 8)?;
        match record(rest, length) {
            Ok((namespace, name, value)) => {
                self.next = at.checked_add(length);
                Some(Ok(ExtAttr { offset: at, length, namespace, name, value }))
            }
            Err((field, found, rule)) => {
                let damage = Corrupt::new(Structure::ExtAttr(self.ino), field, len64(found), rule);
                Some(Err(damage.at(ByteOff(len64(at)))))
            }
        }
    }
}

type Parts<'a> = (Namespace, &'a [u8], &'a [u8]);

/// The parts of a record of `length` bytes at the start of `rest` (X1).
fn record(rest: &[u8], length: usize) -> Result<Parts<'_>, (&'static str, usize, Rule)> {
    if !length.is_multiple_of(8) {
        return Err(("ea_length", length, Rule::MultipleOf(8)));
    }
    let too_long = ("ea_length", length, Rule::AtMost(len64(rest.len()).into()));
    let record = rest.get(..length).ok_or(too_long)?;
    let Some(&[namespace, padding, namelen]) = record.get(4..HEADER).and_then(|b| b.first_chunk()) else {
        return Err(("ea_length", length, Rule::AtLeast(8)));
    };
    let namelen = usize::from(namelen);
    if namelen == 0 {
        return Err(("ea_namelength", 0, Rule::AtLeast(1)));
    }
    let (start, padding) = (value_at(namelen), usize::from(padding));
    let broken = || ("ea_contentpadlen", padding, Rule::Words("which with the name leaves no room for the value"));
    let end = length.checked_sub(padding).ok_or_else(broken)?;
    let value = record.get(start..end).ok_or_else(broken)?;
    let name = record.get(HEADER..HEADER.saturating_add(namelen)).ok_or_else(broken)?;
    Ok((Namespace(namespace), name, value))
}

/// The attribute with this name.
///
/// # Errors
/// Damage before the attribute, or at its place.
pub fn find<'a>(
    area: &'a [u8],
    endian: Endian,
    ino: Ino,
    namespace: Namespace,
    name: &[u8],
) -> Result<Option<ExtAttr<'a>>, Corrupt> {
    attributes(area, endian, ino)
        .find(|a| a.as_ref().map_or(true, |a| a.namespace == namespace && a.name == name))
        .transpose()
}

/// Bytes of the area that are used by records, from its start.
///
/// # Errors
/// Damage.
pub fn used(area: &[u8], endian: Endian, ino: Ino) -> Result<usize, Corrupt> {
    attributes(area, endian, ino).try_fold(0, |_, a| a.map(|a| a.offset.saturating_add(a.length)))
}

/// A new area in which attribute `name` has `value`, or is removed for `None`: at its old position, or last. Its length
/// is that of the records; the caller keeps the old `di_extsize` if that is larger, and zeroes the rest.
///
/// # Errors
/// Damage in the old area. `Ok(None)` if the name, or the area with it, would be too long for the format.
pub fn with(
    area: &[u8],
    encoding: impl Into<Encoding>,
    ino: Ino,
    namespace: Namespace,
    name: &[u8],
    value: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, Corrupt> {
    let g = encoding.into();
    let (old, end) = (find(area, g.endian, ino, namespace, name)?, used(area, g.endian, ino)?);
    let (from, to) = old.map_or((end, end), |a| (a.offset, a.offset.saturating_add(a.length)));
    let mut new = Vec::with_capacity(end);
    new.extend_from_slice(area.get(..from).unwrap_or_default());
    if let Some(value) = value
        && append(&mut new, g.endian, namespace, name, value, area_max(g)).is_none()
    {
        return Ok(None);
    }
    new.extend_from_slice(area.get(to..end).unwrap_or_default());
    Ok((new.len() <= area_max(g)).then_some(new))
}

/// Appends a record, unless the area would then be longer than `most`.
fn append(
    area: &mut Vec<u8>,
    endian: Endian,
    namespace: Namespace,
    name: &[u8],
    value: &[u8],
    most: usize,
) -> Option<()> {
    let length = record_len(name, value)?;
    let end = area.len().checked_add(length).filter(|&end| end <= most)?;
    let start = area.len();
    let padding = length.checked_sub(value_at(name.len()).checked_add(value.len())?)?;
    area.extend_from_slice(&endian.u32_bytes(u32::try_from(length).ok()?));
    area.extend_from_slice(&[namespace.0, u8::try_from(padding).ok()?, u8::try_from(name.len()).ok()?]);
    area.extend_from_slice(name);
    area.resize(start.checked_add(value_at(name.len()))?, 0);
    area.extend_from_slice(value);
    area.resize(end, 0);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Geometry;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(endian: Endian) -> Geometry {
        NewfsParams { endian, ..NewfsParams::new(crate::Format::Ufs2, 4 << 20) }.superblock().unwrap().geometry()
    }

    const INO: Ino = Ino(7);

    fn set(area: &[u8], g: &Geometry, name: &str, value: Option<&[u8]>) -> Vec<u8> {
        with(area, g, INO, Namespace::USER, name.as_bytes(), value).unwrap().unwrap()
    }

    fn names(area: &[u8], e: Endian) -> Vec<String> {
        attributes(area, e, INO).map(|a| String::from_utf8_lossy(a.unwrap().name).into_owned()).collect()
    }

    #[test]
    fn record_has_the_bytes_that_freebsd_writes() {
        let g = geometry(Endian::Little);
        let area = set(&[], &g, "test", Some(b"testvalue"));
        let right = b"\x20\0\0\0\x01\x07\x04test\0\0\0\0\0testvalue\0\0\0\0\0\0\0";
        assert_eq!(area, right);
    }

    #[test]
    fn attributes_are_replaced_in_place_appended_and_removed() {
        for endian in [Endian::Little, Endian::Big] {
            let g = geometry(endian);
            let mut area = Vec::new();
            for name in ["a", "bb", "ccccccccc"] {
                area = set(&area, &g, name, Some(name.repeat(5).as_bytes()));
            }
            area = set(&area, &g, "bb", Some(&[9; 100]));
            assert_eq!(names(&area, endian), ["a", "bb", "ccccccccc"]);
            let value =
                |area: &[u8], n: &[u8]| find(area, endian, INO, Namespace::USER, n).unwrap().map(|a| a.value.to_vec());
            assert_eq!(value(&area, b"bb"), Some(vec![9; 100]));
            assert_eq!(value(&area, b"a"), Some(b"aaaaa".to_vec()));
            assert_eq!(find(&area, endian, INO, Namespace::SYSTEM, b"a"), Ok(None));
            area = set(&area, &g, "a", None);
            assert_eq!(names(&area, endian), ["bb", "ccccccccc"]);
            assert_eq!(used(&area, endian, INO), Ok(area.len()));
            area.resize(area.len() + 64, 0);
            assert_eq!(used(&area, endian, INO), Ok(area.len() - 64));
            assert_eq!(set(&set(&area, &g, "bb", None), &g, "ccccccccc", None), Vec::<u8>::new());
        }
    }

    #[test]
    fn what_the_format_has_no_room_for_is_refused() {
        let g = geometry(Endian::Little);
        let try_with = |name: &[u8], value: &[u8]| with(&[], &g, INO, Namespace::USER, name, Some(value)).unwrap();
        assert_eq!(try_with(b"", b"x"), None);
        assert_eq!(try_with(&[b'n'; 256], b"x"), None);
        assert_eq!(try_with(&[b'n'; 255], b"x").unwrap().len(), 272);
        assert_eq!(try_with(b"n", &vec![0; 65536]), None);
        assert_eq!(try_with(b"n", &vec![0; 65528]).unwrap().len(), 65536);
    }

    #[test]
    fn damaged_records_are_named_and_end_the_walk() {
        let g = geometry(Endian::Little);
        let good = set(&[], &g, "test", Some(b"testvalue"));
        let broken = |at: usize, to: u8| {
            let mut area = good.clone();
            area[at] = to;
            let all: Vec<_> = attributes(&area, Endian::Little, INO).collect();
            assert_eq!(all.len(), 1);
            all[0].clone().unwrap_err().field
        };
        assert_eq!(broken(0, 0x21), "ea_length");
        assert_eq!(broken(0, 0x28), "ea_length");
        assert_eq!(broken(5, 0xff), "ea_contentpadlen");
        assert_eq!(broken(5, 17), "ea_contentpadlen");
        assert_eq!(broken(6, 0), "ea_namelength");
        assert_eq!(broken(6, 200), "ea_contentpadlen");
        assert_eq!(attributes(&good[..3], Endian::Little, INO).count(), 0);
    }
}
