//! What a user of Sdet can be set to, and the files that a home has.

/// Its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sdet {
    /// Scripts that this user runs, one after another.
    pub scripts: u64,
    /// The random seed for the order of subtasks.
    pub seed: u64,
    /// Temporary files of a compilation.
    pub temps: u64,
    /// Bytes of one read or write, 1 to 2^30.
    pub transfer: u64,
    /// Microseconds of computing per process.
    pub process_us: u64,
    /// Microseconds of computing per file whose attributes ls, find, cpio or make examine.
    pub look_us: u64,
    /// Nanoseconds of computing per byte that a command reads.
    pub byte_ns: u64,
    /// Milliseconds of computing per source compiled.
    pub compile_ms: u64,
    /// Milliseconds of computing per program linked.
    pub link_ms: u64,
    /// Milliseconds of computing per nroff.
    pub nroff_ms: u64,
    /// Milliseconds of computing per spell.
    pub spell_ms: u64,
}

impl Default for Sdet {
    fn default() -> Sdet {
        Sdet {
            scripts: 1,
            seed: 42,
            temps: 6,
            transfer: 8192,
            process_us: 27_000,
            look_us: 3_500,
            byte_ns: 300,
            compile_ms: 200,
            link_ms: 100,
            nroff_ms: 100,
            spell_ms: 100,
        }
    }
}

pub(super) const SOURCES: u64 = 8;
pub(super) const HEADERS: u64 = 4;
pub(super) const DOCS: u64 = 6;
