//! The files and directories of the sequences, and sets of them.

/// A file or a directory: an index into the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Node(u8);

const PATHS: [&str; 10] = ["/", "A", "B", "A/C", "foo", "bar", "A/foo", "A/bar", "A/C/foo", "A/C/bar"];
const PARENTS: [u8; 10] = [0, 0, 0, 1, 0, 0, 1, 1, 3, 3];
/// The sibling of each name; itself if it has none.
const SIBLINGS: [u8; 10] = [0, 2, 1, 3, 5, 4, 7, 6, 9, 8];

pub(super) const A: Node = Node(1);
pub(super) const B: Node = Node(2);
pub(super) const AC: Node = Node(3);

/// Files that operations work on first, and files that get names. Two lists, so that of two sequences that differ in
/// the names only, one is left out. The last of each is for nested bounds.
pub(super) const FIRST: [Node; 3] = [Node(4), Node(6), Node(8)];
pub(super) const SECOND: [Node; 3] = [Node(5), Node(7), Node(9)];

impl Node {
    pub(super) fn path(self) -> &'static str {
        PATHS[usize::from(self.0)]
    }

    pub(super) fn is_dir(self) -> bool {
        self.0 < 4
    }
}

/// A set of files and directories, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Places(u16);

/// All directories except the root.
const DIRS: Places = Places(0b1110);

impl Places {
    pub(super) fn of(places: &[Node]) -> Places {
        Places(places.iter().fold(0, |all, place| all | 1 << place.0))
    }

    pub(super) fn and(self, other: Places) -> Places {
        Places(self.0 | other.0)
    }

    /// Whether it is related to `other`: they have a name in common, or one of them contains a directory.
    pub(super) fn concerns(self, other: Places) -> bool {
        self.0 & other.0 != 0 || (self.0 | other.0) & DIRS.0 != 0
    }

    /// With all siblings and parents added.
    pub(super) fn related(self) -> Places {
        self.iter().fold(self, |all, Node(no)| {
            let no = usize::from(no);
            Places(all.0 | 1 << SIBLINGS[no] | 1 << PARENTS[no])
        })
    }

    pub(super) fn len(self) -> u64 {
        u64::from(self.0.count_ones())
    }

    /// In the order of the tables.
    pub(super) fn iter(self) -> impl Iterator<Item = Node> {
        (0..PATHS.len() as u8).filter(move |no| self.0 & 1 << no != 0).map(Node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_what_the_paths_say_and_siblings_come_in_pairs() {
        for no in 0..PATHS.len() {
            let parent = PATHS[no].rsplit_once('/').map_or("/", |(dir, _)| if dir.is_empty() { "/" } else { dir });
            assert_eq!(PATHS[usize::from(PARENTS[no])], parent);
            let sibling = usize::from(SIBLINGS[no]);
            assert_eq!((usize::from(SIBLINGS[sibling]), PARENTS[sibling]), (no, PARENTS[no]));
        }
        assert_eq!(Places::of(&[FIRST[1]]).related(), Places::of(&[A, FIRST[1], SECOND[1]]));
    }
}
