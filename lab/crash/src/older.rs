//! What a system sees that does not roll the log forward: NetBSD mounts the older of the two superblocks of a
//! log-structured volume as it is. A sync promises that its state is there, too (checkpoint-5).

use crate::oracle::{Breach, Oracle};
use crate::recovery::read;
use crate::tree::Tree;
use crate::{Error, Subject};
use ordo_disk::RamDisk;
use ordo_ondisk::lfs::superblock::{Copy, SIZE, choose};
use ordo_ondisk::lfs::{LABEL_PAD, Superblock};
use ordo_ondisk::{ByteOff, Corrupt};

/// The tree of the checkpoint that the older superblock stands for. `None` if the first is not whole.
///
/// # Errors
/// The checkpoint leads to no tree.
pub(crate) fn older(subject: &Subject, disk: &RamDisk) -> Result<Option<Tree>, Error> {
    let disk = disk.snapshot();
    let superblock = |at: ByteOff| -> Result<Superblock, Corrupt> {
        let mut bytes = vec![0; SIZE];
        disk.peek(at.0, &mut bytes);
        Superblock::decode(&bytes)
    };
    let first = superblock(ByteOff(LABEL_PAD.into()));
    let Ok(sb) = &first else { return Ok(None) };
    let (g, places) = (sb.geometry(), sb.fields.sboffs);
    let second = superblock(g.byte(places[1]));
    let chosen = if choose(&first, &second).mount() == Some(Copy::Second) { second } else { first };
    let Ok(mut chosen) = chosen else { return Ok(None) };
    // A clean volume is not rolled forward.
    chosen.set_clean(true);
    for at in places.into_iter().take(2) {
        disk.poke(g.byte(at).0, &chosen.encode());
    }
    read(subject, &disk, "its tree").map(Some)
}

/// The breach that the older superblock leads to no tree.
pub(crate) fn unreadable(is: impl ToString) -> Breach {
    Breach::new(Oracle::Older, "the older superblock", "leads to a tree by itself", is)
}

/// The same breach, of the tree that the older superblock leads to.
pub(crate) fn by_itself(breach: Breach) -> Breach {
    let what = format!("{}, by the older superblock alone", breach.what);
    Breach { oracle: Oracle::Older, what, ..breach }
}
