//! What is kept of each user and each group.

/// The time that a soft limit may be exceeded, if a file does not say: a week.
pub const GRACE: i64 = 7 * 24 * 3600;

/// Whose quotas a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Whose {
    /// Of users.
    Users,
    /// Of groups.
    Groups,
}

impl Whose {
    /// Both, in the order of their numbers in the formats.
    pub const ALL: [Whose; 2] = [Whose::Users, Whose::Groups];

    /// The name of the old file in the root directory.
    pub fn file(self) -> &'static str {
        match self {
            Whose::Users => "quota.user",
            Whose::Groups => "quota.group",
        }
    }

    /// `user` or `group`.
    pub fn word(self) -> &'static str {
        match self {
            Whose::Users => "user",
            Whose::Groups => "group",
        }
    }

    /// Its number in a table.
    pub(crate) fn number(self) -> u8 {
        match self {
            Whose::Users => 0,
            Whose::Groups => 1,
        }
    }
}

/// One thing that is counted: sectors, or inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// The hard limit.
    pub hard: u64,
    /// The soft limit.
    pub soft: u64,
    /// What is used.
    pub used: u64,
    /// When the soft limit becomes a hard one, if it is exceeded, in seconds since 1970.
    pub time: i64,
    /// How long it may be exceeded: tables only.
    pub grace: i64,
}

/// What one user or group uses and may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    /// Sectors of 512 bytes.
    pub blocks: Counter,
    /// Inodes.
    pub inodes: Counter,
}

impl Entry {
    /// Whether nothing in it is worth a record of an old file.
    pub fn is_blank(&self) -> bool {
        *self == Entry::default()
    }
}
