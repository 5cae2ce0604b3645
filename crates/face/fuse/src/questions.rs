//! What a program may ask the server of a mount: extended attributes of its root, which are stored in no file.

/// The name of an extended attribute of a mount's root that is not stored in any file: its value is the server's report
/// on the volume. It is not listed.
pub const STATUS: &str = "user.ordofs.status";

/// Like [`STATUS`], what asks the server for a record of its calls: each of these is followed by a word. `start` begins
/// a recording, `take` reads whole lines of it, `stop` ends it. Only root and the server's own user may ask.
pub const TRACE: &str = "user.ordofs.trace.";

/// Like [`STATUS`]; a number follows. Who asks for it has the server read and heal a part of what the volume can
/// verify, from there on, and gets the result when that is done. A part at a time, so that the caller can be
/// interrupted and the volume be unmounted. Only root and the server's own user may ask.
pub const SCRUB: &str = "user.ordofs.scrub.";

/// As [`SCRUB`], of taking checksums of what is in use and unknown so far; the number is that of a fragment.
pub const ADOPT: &str = "user.ordofs.adopt.";

/// The maximum length of an answer in bytes.
pub(crate) const ANSWER_MOST: usize = 4096;
