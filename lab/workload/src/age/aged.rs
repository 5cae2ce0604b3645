//! What has happened to a volume.

/// What has happened to a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Aged {
    /// Operations, those that were refused among them.
    pub ops: u64,
    /// Files made.
    pub created: u64,
    /// Files removed.
    pub removed: u64,
    /// Bytes written to files.
    pub bytes: u64,
    /// Days on which the volume refused something for lack of space.
    pub full: Vec<Full>,
}

/// A day on which there was no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// The day of the study; negative before it.
    pub day: i64,
    /// Operations that were refused.
    pub refused: u64,
    /// Bytes that were free when the first was refused, in blocks and in fragments, the reserve among them.
    pub free: u64,
}
