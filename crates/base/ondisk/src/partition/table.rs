//! What the tables of a disk say: its partitions, and those that cannot be used.

/// The most partitions that a list can hold; real tables hold far fewer.
pub const MAX_PARTITIONS: usize = 256;

/// One byte range of a disk that a partition table names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// `s1` (MBR), `p2` (GPT, Apple), `s1a`, `p2a` or `a` (disklabel, Sun, NeXT).
    pub name: String,
    /// First byte.
    pub start: u64,
    /// Length in bytes, never 0.
    pub len: u64,
    /// The type of the partition as given by the table, as text.
    pub kind: String,
    /// The GPT name, empty where the table has none.
    pub label: String,
}

/// A partition in the table that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// As in [`Partition::name`].
    pub name: String,
    /// The reason, with the wrong value.
    pub reason: String,
}

/// The contents of the tables of one disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Usable partitions, in table order; a slice comes before the partitions of its disklabel.
    pub partitions: Vec<Partition>,
    /// Damaged ones.
    pub refused: Vec<Refused>,
    /// A table was read whole: that there are no partitions is what it says.
    pub is_read: bool,
}
