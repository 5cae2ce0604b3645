//! The closed model of TPC-B (section 4), with the paper's numbers. Times are in milliseconds where a name says so.
//!
//! In each transaction an account page is read, and another one written back to the file system. The log is written
//! when 115 blocks are dirty, with the indirect blocks above them; FFS writes each block where it was.

/// Blocks that are dirty when the log is written.
pub(super) const FLUSH: f64 = 115.0;
/// Copying 4 KB between user and kernel.
pub(super) const COPY_MS: f64 = 0.9;
/// A random access: seek, half a turn, the transfer of 4 KB.
const ACCESS_MS: f64 = 9.5 + 5.5 + 1.6;
/// A read, with a copy to the user and one of the page that is written.
pub(super) const READ_MS: f64 = ACCESS_MS + 2.0 * COPY_MS;
/// A read or a write of FFS, with one copy.
pub(super) const FFS_IO_MS: f64 = ACCESS_MS + COPY_MS;
/// KB of a log write: 115 blocks of data, 58 indirect, one of inodes, one summary.
const FLUSH_KB: f64 = 175.0 * 4.0;
/// MB/s at which the log is written, from the overwriting test.
const WRITE_RATE: f64 = 1.23;
/// A segment of 1 MB read at the rate of the bus, and one written at two thirds of the disk's.
pub(super) const SEGMENT_READ_MS: f64 = 455.0;
pub(super) const SEGMENT_WRITE_MS: f64 = 608.0;
/// Segments of a disk that is half full.
const SEGMENTS: f64 = 512.0;
/// The log's rate without cleaning as it was measured, for the steady state.
const MEASURED: f64 = 41.0;

/// Indirect blocks above 115 random leaves of an account file of 237 MB, in blocks of 4 KB with 1,024 pointers each.
/// The paper takes all of them.
pub(super) fn indirect_per_flush() -> f64 {
    let all: f64 = 237.0 * 1024.0 * 1024.0 / 4096.0 / 1024.0;
    all * (1.0 - (1.0 - 1.0 / all).powf(FLUSH))
}

pub(super) fn flush_s() -> f64 {
    FLUSH_KB * 1024.0 / (WRITE_RATE * 1e6)
}

/// Transactions a second without a cleaner.
pub(super) fn without_cleaner() -> f64 {
    FLUSH / (FLUSH * READ_MS / 1e3 + flush_s())
}

pub(super) fn ffs() -> f64 {
    1e3 / (2.0 * FFS_IO_MS)
}

/// Transactions that fill a segment of 1 MB.
pub(super) fn per_segment() -> f64 {
    FLUSH * 1024.0 / FLUSH_KB
}

/// Two segments, each half alive, are read and one is written.
pub(super) fn clean_one_s() -> f64 {
    (2.0 * SEGMENT_READ_MS + SEGMENT_WRITE_MS) / 1e3
}

/// Transactions a second on a disk half full, when a segment is cleaned for each that is written.
pub(super) fn steady() -> f64 {
    per_segment() / (per_segment() / MEASURED + clean_one_s())
}

/// The same when all segments are cleaned at once after the free half is used up: read at 2.3 MB/s, written at 1.7.
pub(super) fn in_batches() -> f64 {
    let transactions = SEGMENTS / 2.0 * per_segment();
    transactions / (transactions / without_cleaner() + SEGMENTS / 2.3 + SEGMENTS / 2.0 / 1.7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_gives_the_printed_numbers() {
        for (ours, printed, within) in [
            (READ_MS, 18.4, 0.001),
            (FFS_IO_MS, 17.5, 0.001),
            (without_cleaner(), 42.6, 0.01),
            (ffs(), 28.6, 0.01),
            (per_segment(), 168.0, 0.01),
            (clean_one_s(), 1.5, 0.02),
            (steady(), 30.0, 0.01),
            (in_batches(), 31.3, 0.01),
        ] {
            assert!((ours / printed - 1.0f64).abs() <= within, "{ours} instead of {printed}");
        }
    }
}
