//! What is said of every volume: the partitions of its image, and numbers and names for people.

use crate::size;
use ordo_ondisk::Endian;
use serde::Serialize;

/// A partition of the image.
#[derive(Debug, Serialize)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) label: String,
}

impl Part {
    pub(super) fn line(&self) -> (&'static str, String) {
        let label = if self.label.is_empty() { String::new() } else { format!(" {:?}", self.label) };
        let (start, size) = (self.start, bytes(self.size));
        ("partition", format!("@{}{label}: {} at byte {start}, {size}", self.name, self.kind))
    }
}

/// A number of bytes, for people.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes < 1024 {
        true => format!("{bytes} bytes"),
        false => format!("{bytes} bytes ({})", size::human(bytes)),
    }
}

pub(super) fn name_of(endian: Endian) -> &'static str {
    match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    }
}

/// What an image lacks that ends before its volume does.
pub(super) fn missing_line(missing: u64) -> String {
    format!("the last {} of the volume: the image ends before them; ordo recover copies what is there", bytes(missing))
}

pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
