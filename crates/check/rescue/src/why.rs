//! Why something cannot be read.

use ordo_ondisk::FragNo;

/// Why something cannot be read, in words that fit behind its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The disk refused, or a map says that it would.
    Unreadable,
    /// The image ends before.
    Beyond,
    /// A pointer that leads to no data.
    Pointer(FragNo),
    /// An indirect block that the same file has followed before.
    Twice(FragNo),
    /// A file with more blocks than its volume.
    TooMany,
    /// A structure that breaks a rule.
    Damaged(String),
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Unreadable => f.write_str("the disk cannot be read there"),
            Why::Beyond => f.write_str("it is beyond the end of the image"),
            Why::Pointer(to) => write!(f, "a pointer leads to fragment {}, which holds no data", to.0),
            Why::Twice(to) => write!(f, "the file uses the indirect block at fragment {} twice", to.0),
            Why::TooMany => f.write_str("the file has more blocks than the volume"),
            Why::Damaged(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Why {}
