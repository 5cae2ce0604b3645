//! What an inode is charged with: the inode carries it, and the quotas count it (ufs-quota-1).

use ordo_ondisk::Dinode;
use ordo_ondisk::quota::Whose;

/// `SF_SNAPSHOT`, and NetBSD's `SF_LOG`.
const OF_SYSTEM: u32 = 0x0020_0000 | 0x0040_0000;

/// What an inode was charged with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charged {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) sectors: u64,
}

impl Charged {
    /// What a dinode is to be charged with; nothing for a free one.
    pub fn of(dinode: &Dinode) -> Option<Charged> {
        let counts = dinode.mode != 0 && dinode.flags & OF_SYSTEM == 0;
        counts.then_some(Charged { uid: dinode.uid, gid: dinode.gid, sectors: dinode.blocks })
    }

    pub(crate) fn owner(&self, whose: Whose) -> u32 {
        match whose {
            Whose::Users => self.uid,
            Whose::Groups => self.gid,
        }
    }
}
