//! How a file is opened: bits of a number.

/// Open for reading.
pub const ORDOFS_READ: u32 = 1;

/// Open for writing.
pub const ORDOFS_WRITE: u32 = 2;

/// Make the file if it is not there.
pub const ORDOFS_CREATE: u32 = 4;

/// With ORDOFS_CREATE: fail if the name is there.
pub const ORDOFS_EXCLUSIVE: u32 = 8;

/// With ORDOFS_WRITE: begin with an empty file.
pub const ORDOFS_TRUNCATE: u32 = 16;

/// Write at the end only.
pub const ORDOFS_APPEND: u32 = 32;
