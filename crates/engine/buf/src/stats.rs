//! What the cache counts.

/// Counts since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Bufs found.
    pub hits: u64,
    /// Bufs read from the disk.
    pub misses: u64,
    /// Images sent to the disk.
    pub writes: u64,
    /// Of these, images with a rollback.
    pub rollbacks: u64,
    /// Times a caller had to wait for a scheme.
    pub waits: u64,
    /// Times a change waited because the buf was locked while its image was in flight ([`crate::WhileLeaving`]).
    pub lock_waits: u64,
    /// Times a buf was copied because it was changed while its image was in flight (buf-3).
    pub copies: u64,
    /// Bytes in the cache now.
    pub bytes: usize,
    /// Bytes of dirty bufs now.
    pub dirty_bytes: usize,
}
