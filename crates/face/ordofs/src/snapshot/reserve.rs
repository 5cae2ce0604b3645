//! The blocks in which copies can be made: given to each snapshot while the volume is at rest.
//!
//! R1. A block of the reserve was free when the snapshot was taken, is free now, and no snapshot needs its contents.
//!     What is free now and still needed by a snapshot is given to the first of them, as FreeBSD does when it is freed.
//! R2. A snapshot gets no more than it can need, and all of them at most half of what is free.
//! R3. The superblock says meanwhile that the volume must be checked: bits are set before pointers, and inodes count
//!     both. It is clean again when all is durable.

use super::groups::Groups;
use super::kept::{Kept, write_inode};
use crate::SnapshotError;
use crate::sectors::put;
use ordo_disk::{Disk, Kind};
use ordo_ondisk::Superblock;
use ordo_ondisk::snapshot::NOCOPY;
use ordo_ondisk::superblock::fields::flag;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Blocks of all reserves together, however large the volume: 4 GiB of blocks of 32 KiB.
const MOST: u64 = 1 << 17;

/// Gives the snapshots what they should have, or takes back what is too much.
pub(super) async fn fill(disk: &Rc<dyn Disk>, sb: &Superblock, kept: &mut [Kept]) -> Result<(), SnapshotError> {
    let g = Rc::new(sb.geometry());
    let mut groups = Groups::load(disk, &g).await?;
    let now = sb.fields.time;
    let mut changed: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); kept.len()];
    let free: Vec<u64> = (0..g.snapshot_blocks()).filter(|&block| groups.is_free(block)).collect();
    let (mut usable, mut claimed) = (vec![], vec![]);
    for block in free {
        match kept.iter().position(|kept| kept.is_pending(block)) {
            Some(of) => claimed.push((of, block)),
            None => usable.push(block),
        }
    }
    for (of, block) in claimed {
        kept[of].map.set(block, g.frag_of_block(block));
        groups.mark(block, false);
        changed[of].insert(block);
    }
    let reserved: u64 = kept.iter().map(|kept| kept.reserve.len() as u64).sum();
    let share = ((usable.len() as u64 + reserved) / 2).min(MOST) / kept.len().max(1) as u64;
    for (of, kept) in kept.iter_mut().enumerate() {
        let wanted = kept.pending().min(share) as usize;
        while kept.reserve.len() > wanted {
            let Some(block) = kept.reserve.pop_first() else { break };
            kept.map.set(block, NOCOPY);
            groups.mark(block, true);
            changed[of].insert(block);
        }
        // From the end of the volume, far from where files grow.
        let mut next = usable.len();
        while kept.reserve.len() < wanted && next > 0 {
            next -= 1;
            let block = usable[next];
            if kept.map.get(block) != NOCOPY {
                continue;
            }
            usable.remove(next);
            kept.map.set(block, g.frag_of_block(block));
            groups.mark(block, false);
            kept.reserve.insert(block);
            changed[of].insert(block);
        }
    }
    if changed.iter().all(BTreeSet::is_empty) {
        return Ok(());
    }
    let mut marked = sb.clone();
    (marked.fields.clean, marked.fields.flags) = (0, marked.fields.flags | flag::NEEDSFSCK);
    // The volume is at rest: nothing is in its log, and after a crash none is to be replayed.
    marked.forget_keeper();
    put(disk, sb.at, &marked.encode(now), Kind::Superblock).await?;
    disk.flush().await?;
    let total = groups.write(disk, sb, now).await?;
    disk.flush().await?;
    for (kept, changed) in kept.iter_mut().zip(&changed).filter(|(_, changed)| !changed.is_empty()) {
        let mut leaves: BTreeSet<usize> = changed.iter().filter_map(|&lbn| Some(kept.map.place(lbn)?.0)).collect();
        while let Some(leaf) = leaves.pop_first().and_then(|leaf| kept.map.leaves.get(leaf)) {
            put(disk, g.byte(leaf.at), &leaf.bytes, Kind::Indirect).await?;
        }
        kept.map.dinode.blocks = kept.map.all_own().count() as u64 * u64::from(g.bsize / 512);
        write_inode(disk, &kept.map).await?;
    }
    disk.flush().await?;
    let mut sb = sb.clone();
    sb.set_totals(total);
    put(disk, sb.at, &sb.encode(now), Kind::Superblock).await?;
    Ok(disk.flush().await?)
}
