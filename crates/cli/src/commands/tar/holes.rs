//! A file with holes in an archive, in the form 1.0 of GNU's: a map, and then the bytes that are stored.
//!
//! The map is text and fills whole blocks: the number of ranges, then the offset and the length of each, one number a
//! line. If a file ends with a hole, its last range is empty and lies at its end.

use crate::place::last_name;
use crate::stored;
use ordofs::Fs;
use ordofs::path::Held;
use std::collections::VecDeque;
use std::ops::Range;

const BLOCK: usize = 512;

/// Records before a header.
pub(super) type Records = Vec<(String, Vec<u8>)>;

/// What a file stores.
pub(super) struct Sparse {
    /// The text before the bytes.
    pub(super) map: Vec<u8>,
    pub(super) ranges: VecDeque<Range<u64>>,
    size: u64,
}

impl Sparse {
    /// None if the archive is no smaller without the holes.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) async fn of(file: &Held<Fs>) -> ordo_vfs::Result<Option<Sparse>> {
        let (size, mut at, mut ranges) = (file.attr().size, 0, VecDeque::new());
        while let Some(range) = stored::next(file, at).await? {
            at = range.end;
            ranges.push_back(range);
        }
        let sparse = Sparse { map: map(&ranges, size), ranges, size };
        Ok(Some(sparse).filter(|sparse| sparse.stored() < size))
    }

    /// Bytes of the map and of the ranges.
    pub(super) fn stored(&self) -> u64 {
        self.map.len() as u64 + self.ranges.iter().map(|range| range.end - range.start).sum::<u64>()
    }

    /// What readers must know.
    pub(super) fn describe(&self, name: &[u8], records: &mut Records) {
        let mut tell = |key: &str, value: Vec<u8>| records.push((format!("GNU.sparse.{key}"), value));
        tell("major", b"1".to_vec());
        tell("minor", b"0".to_vec());
        tell("name", name.to_vec());
        tell("realsize", self.size.to_string().into_bytes());
    }
}

/// The name in the header, as GNU tar makes it: a reader that does not know this form makes a file of the map and the
/// bytes, and it must not have the file's name.
pub(super) fn other_name(name: &[u8]) -> Vec<u8> {
    let dir = name.len() - last_name(name).len();
    [&name[..dir], b"GNUSparseFile.0/", &name[dir..]].concat()
}

fn map(ranges: &VecDeque<Range<u64>>, size: u64) -> Vec<u8> {
    let ends_with_hole = ranges.back().is_none_or(|last| last.end < size);
    let last = ends_with_hole.then_some(size..size);
    let mut map = format!("{}\n", ranges.len() + usize::from(ends_with_hole));
    for range in ranges.iter().chain(&last) {
        map += &format!("{}\n{}\n", range.start, range.end - range.start);
    }
    let mut map = map.into_bytes();
    map.resize(map.len().next_multiple_of(BLOCK), 0);
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_has_a_number_a_line_and_ends_where_the_file_does() {
        let (middle, ends) = (2..3, [0..1, 5..9]);
        let cases: [(&[Range<u64>], _); 3] =
            [(&[], "1\n9\n0\n"), (&[middle], "2\n2\n1\n9\n0\n"), (&ends, "2\n0\n1\n5\n4\n")];
        for (ranges, text) in cases {
            let map = map(&ranges.to_vec().into(), 9);
            assert_eq!((&map[..text.len()], map.len()), (text.as_bytes(), BLOCK));
        }
    }
}
