//! Profiles of random scripts: each concentrates on calls with one kind of dependency.

/// The kinds of random scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Any call, few names: calls of the [`Generator`](crate::random::Generator).
    Any,
    /// Sizes at the edges of fragments, blocks and indirect blocks.
    Sizes,
    /// Names of 1 to 255 bytes, so that directories grow.
    Names,
    /// Directories that move while they are filled.
    Moves,
    /// Extended attributes of critical sizes.
    Attributes,
    /// Many small changes in a row, so that a log fills.
    Busy,
    /// All of these in one script.
    Mixed,
    /// Access lists, attributes and modes that change while names move.
    Lists,
    /// Numbers of files at the edges of a block of inodes, and of a block of the inode map.
    Inodes,
    /// Large allocations, and holes that are filled, at the edges of indirect blocks.
    Holes,
    /// Files that are written before they have a name, or after they had one.
    Nameless,
}

/// All profiles: the name, and what it is for.
pub const PROFILES: [(Profile, &str, &str); 11] = [
    (Profile::Sizes, "sizes", "sizes at the edges of fragments, blocks and indirect blocks"),
    (Profile::Names, "names", "names of 1 to 255 bytes, so that directories grow by fragments and blocks"),
    (Profile::Moves, "moves", "directories that move while they are filled and emptied"),
    (Profile::Attributes, "attributes", "extended attributes at their sizes; UFS2 only"),
    (Profile::Busy, "busy", "many small changes in a row, so that a log fills"),
    (Profile::Mixed, "mixed", "all of these in one script"),
    (Profile::Any, "any", "any call, few names"),
    (Profile::Lists, "lists", "access lists, attributes and modes that change while names move; UFS2 has the lists"),
    (Profile::Inodes, "inodes", "numbers of files at the edges of a block of inodes, and of the inode map"),
    (Profile::Holes, "holes", "large allocations, and holes that are filled, at the edges of indirect blocks"),
    (Profile::Nameless, "nameless", "files that are written before they have a name, or after they had one"),
];

/// What the calls of a profile are, by weight.
const SIZES: &[(u64, What)] = &[
    (12, What::Create),
    (6, What::Unlink),
    (28, What::Write),
    (8, What::Append),
    (34, What::Truncate),
    (12, What::Fallocate),
    (4, What::Rename),
    (3, What::Tmpfile),
];
const NAMES: &[(u64, What)] = &[
    (26, What::Create),
    (9, What::Mkdir),
    (8, What::Symlink),
    (10, What::Link),
    (14, What::Unlink),
    (3, What::Rmdir),
    (18, What::Rename),
    (5, What::Exchange),
    (4, What::Write),
    (3, What::OldName),
];
const MOVES: &[(u64, What)] = &[
    (20, What::Mkdir),
    (10, What::Create),
    (7, What::Symlink),
    (4, What::Link),
    (6, What::Unlink),
    (8, What::Rmdir),
    (34, What::RenameDir),
    (10, What::Rename),
    (10, What::Exchange),
    (4, What::OldName),
];
const ATTRIBUTES: &[(u64, What)] = &[
    (12, What::Create),
    (6, What::Mkdir),
    (50, What::SetXattr),
    (12, What::RemoveXattr),
    (6, What::Unlink),
    (8, What::Rename),
    (8, What::Write),
    (4, What::Truncate),
];
const BUSY: &[(u64, What)] = &[
    (12, What::Create),
    (3, What::Mkdir),
    (1, What::Symlink),
    (8, What::Unlink),
    (1, What::Rmdir),
    (5, What::Rename),
    (1, What::Exchange),
    (45, What::Append),
    (4, What::Write),
    (9, What::Truncate),
    (3, What::Fallocate),
    (2, What::Tmpfile),
    (3, What::Open),
    (1, What::Close),
    (3, What::SetXattr),
    (1, What::Chmod),
];

impl Profile {
    /// By its name.
    pub fn by_name(name: &str) -> Option<Profile> {
        PROFILES.iter().find(|(_, known, _)| *known == name).map(|(profile, ..)| *profile)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        PROFILES.iter().find(|(profile, ..)| *profile == self).map_or("any", |(_, name, _)| name)
    }

    /// The parameters of its scripts.
    pub(super) fn ways(self) -> Ways {
        match self {
            Profile::Any | Profile::Mixed => Ways { long_names: 40, ..ways(MIXED, LENGTHS) },
            Profile::Sizes => ways(SIZES, LENGTHS),
            Profile::Names => Ways { long_names: 92, ..ways(NAMES, LENGTHS) },
            Profile::Moves => Ways { long_names: 10, ..ways(MOVES, LENGTHS) },
            Profile::Attributes => ways(ATTRIBUTES, LENGTHS),
            Profile::Busy => {
                Ways { durable: 35, pauses: 3, setup: (0, 16), ..ways(BUSY, [(30, 45), (45, 60), (60, 80)]) }
            }
            Profile::Lists | Profile::Inodes | Profile::Holes | Profile::Nameless => self.ways_of_edges(),
        }
    }

    /// Those of the profiles for what lies at the edge of two structures.
    fn ways_of_edges(self) -> Ways {
        use What::*;
        match self {
            Profile::Lists => ways(
                &[
                    (10, Create),
                    (8, Mkdir),
                    (4, Link),
                    (5, Unlink),
                    (12, Rename),
                    (8, RenameDir),
                    (4, Exchange),
                    (30, SetAcl),
                    (8, Chmod),
                    (10, SetXattr),
                    (5, RemoveXattr),
                    (4, Write),
                ],
                LENGTHS,
            ),
            Profile::Inodes => Ways {
                setup: (0, 2),
                many_files: true,
                ..ways(
                    &[(40, Create), (8, Mkdir), (24, Unlink), (4, Rmdir), (6, Rename), (4, Write), (3, Tmpfile)],
                    [(3, 6), (5, 10), (8, 16)],
                )
            },
            Profile::Holes => ways(
                &[
                    (10, Create),
                    (4, Unlink),
                    (22, Reserve),
                    (26, Fill),
                    (10, Write),
                    (8, Fallocate),
                    (12, Truncate),
                    (3, Rename),
                ],
                [(3, 6), (4, 8), (6, 12)],
            ),
            Profile::Nameless => Ways {
                held: 60,
                ..ways(
                    &[
                        (4, Create),
                        (3, Mkdir),
                        (16, Tmpfile),
                        (14, LinkTmpfile),
                        (10, Open),
                        (3, Close),
                        (9, Unlink),
                        (4, Rename),
                        (20, Write),
                        (8, Append),
                        (8, Truncate),
                        (5, Fallocate),
                        (4, ChmodHeld),
                    ],
                    LENGTHS,
                )
            },
            _ => ways(MIXED, LENGTHS),
        }
    }
}

/// With what most profiles have in common.
const fn ways(weights: &'static [(u64, What)], calls: [(u64, u64); 3]) -> Ways {
    Ways { weights, setup: (0, 7), calls, durable: 25, pauses: 12, long_names: 0, held: 6, many_files: false }
}

/// Fewest and most calls, each range for a third of the scripts.
const LENGTHS: [(u64, u64); 3] = [(5, 9), (8, 14), (12, 22)];

const MIXED: &[(u64, What)] = &[
    (14, What::Create),
    (2, What::Mknod),
    (9, What::Mkdir),
    (4, What::Symlink),
    (5, What::Link),
    (7, What::Unlink),
    (4, What::Rmdir),
    (9, What::Rename),
    (8, What::RenameDir),
    (4, What::Exchange),
    (2, What::OldName),
    (1, What::Tmpfile),
    (1, What::LinkTmpfile),
    (2, What::Open),
    (1, What::Close),
    (9, What::Write),
    (5, What::Append),
    (9, What::Truncate),
    (4, What::Fallocate),
    (5, What::SetXattr),
    (2, What::RemoveXattr),
    (2, What::Chmod),
];

/// The parameters of a profile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ways {
    /// Kinds of calls, with their weights.
    pub(super) weights: &'static [(u64, What)],
    /// Fewest and most calls of the set-up.
    pub(super) setup: (u64, u64),
    /// Fewest and most calls after it, without durability calls and pauses.
    pub(super) calls: [(u64, u64); 3],
    /// Percentage of calls after which something is made durable.
    pub(super) durable: u64,
    /// Percentage of calls after which time passes.
    pub(super) pauses: u64,
    /// Percentage of long names.
    pub(super) long_names: u64,
    /// Percentage of changes of contents that are of a file that is held open, and may have no name.
    pub(super) held: u64,
    /// The set-up makes nearly as many files as fill whole blocks of inodes.
    pub(super) many_files: bool,
}

/// A kind of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Create,
    Mknod,
    Mkdir,
    Symlink,
    Link,
    Unlink,
    Rmdir,
    /// Of any file, to anywhere.
    Rename,
    /// Of a directory, mostly into another one.
    RenameDir,
    Exchange,
    /// A new file under the name that the last rename freed.
    OldName,
    Tmpfile,
    LinkTmpfile,
    Open,
    Close,
    /// Near an edge.
    Write,
    /// At the end of a file, small.
    Append,
    /// Mostly within the run of fragments or the block that the file ends in.
    Truncate,
    Fallocate,
    /// An allocation of many blocks at once.
    Reserve,
    /// A write of many blocks, mostly into a hole or into what was allocated.
    Fill,
    SetXattr,
    RemoveXattr,
    /// A list with or without an entry for a user, or none.
    SetAcl,
    Chmod,
    /// Of a file that is held open.
    ChmodHeld,
}
