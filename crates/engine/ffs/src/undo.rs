//! Undoing changes in an image about to be written (soft updates). The buf itself keeps them.
//!
//! R1. What is left of an inode is what it was before the undone changes, in every count: a direct pointer never leads
//!     beyond the size, the last fragment is as long as the size says, and no file ends in a hole. fsck finds nothing
//!     to repair in it.
//! R2. Where pointers of indirect blocks stay, the count of sectors stays, too: what they lead to is not known here,
//!     and a crash may leave a count that is too high.

use ordo_buf::{Pointers, Undo};
use ordo_ondisk::{Dinode, FragNo, Geometry, Ino, dirent};

/// Slots from here on are those of indirect blocks.
const DIRECT: usize = 12;

/// Undoes a change in the image of a buf. Returns the slots of an inode whose pointers were removed, a bit each.
pub(crate) fn undo(g: &Geometry, image: &mut [u8], undo: &Undo<'_>) -> u32 {
    match undo {
        Undo::Inode(ino) => with_inode(g, image, *ino, |dinode| {
            *dinode = Dinode::free(dinode.gen_);
            u32::MAX
        }),
        Undo::Pointers(pointers) => with_inode(g, image, pointers.ino, |dinode| undo_pointers(g, dinode, pointers)),
        Undo::Pointer(index, at) => {
            // OK to ignore: the index was set in this block before.
            let _ = g.put_pointer(image, *index, *at);
            0
        }
        Undo::Entry { offset, ino, kind } => {
            // OK to ignore: the entry was set in this block before.
            let _ = dirent::set_inode(image, *offset as usize, g.dir_format(), *ino, *kind);
            0
        }
        Undo::Chunk(from, bytes) => {
            let from = *from as usize;
            if let Some(chunk) = image.get_mut(from..from + bytes.len()) {
                chunk.copy_from_slice(bytes);
            }
            0
        }
    }
}

fn with_inode(g: &Geometry, image: &mut [u8], ino: Ino, change: impl FnOnce(&mut Dinode) -> u32) -> u32 {
    let at = g.inode_at(ino).1;
    // OK to expect: the layout itself has put this inode into this block.
    let mut dinode = Dinode::decode(&image[at..], g, ino).expect("an inode that was stored can be read back");
    let gone = change(&mut dinode);
    // OK to ignore: a block of inodes has room for each of them.
    let _ = dinode.encode(&mut image[at..], g);
    gone
}

fn undo_pointers(g: &Geometry, dinode: &mut Dinode, back: &Pointers<'_>) -> u32 {
    let has_blocks = dinode.has_blocks(g);
    let mut gone = 0;
    for (slot, old) in back.back {
        gone |= 1 << slot;
        match usize::from(*slot) {
            i if i < DIRECT => dinode.db[i] = *old,
            i => dinode.ib[i - DIRECT] = *old,
        }
    }
    if has_blocks && dinode.size > back.size {
        dinode.size = back.size;
        gone |= drop_beyond(g, dinode);
    }
    if has_blocks {
        end_in_data(g, dinode);
    }
    if let Some(old) = back.attributes {
        (dinode.extb, dinode.extsize) = (old.at, old.size);
        (dinode.mode, dinode.uid, dinode.gid) = (old.mode, old.uid, old.gid);
    }
    count_sectors(g, dinode, has_blocks);
    gone
}

/// A file that was truncated into a hole ends in a block that was allocated there (truncate-1). Without that block
/// it ends before the hole, which holds only zeroes.
fn end_in_data(g: &Geometry, dinode: &mut Dinode) {
    let blocks = dinode.size.div_ceil(g.bsize.into());
    let Some(stored) = usize::try_from(blocks).ok().and_then(|blocks| dinode.db.get(..blocks)) else { return };
    let last = stored.iter().rposition(|p| !p.is_hole()).map_or(0, |last| last as u64 + 1);
    if last < blocks {
        dinode.size = last * u64::from(g.bsize);
    }
}

/// Clears the pointers beyond the size.
fn drop_beyond(g: &Geometry, dinode: &mut Dinode) -> u32 {
    let blocks = dinode.size.div_ceil(g.bsize.into());
    let mut gone = 0;
    for (i, pointer) in dinode.db.iter_mut().enumerate().skip(blocks.min(DIRECT as u64) as usize) {
        if !std::mem::take(pointer).is_hole() {
            gone |= 1 << i;
        }
    }
    let mut base = DIRECT as u64;
    for (i, pointer) in dinode.ib.iter_mut().enumerate() {
        if blocks <= base && !std::mem::take(pointer).is_hole() {
            gone |= 1 << (DIRECT + i);
        }
        base = base.saturating_add(g.span(i + 1));
    }
    gone
}

/// R2.
fn count_sectors(g: &Geometry, dinode: &mut Dinode, has_blocks: bool) {
    if has_blocks && dinode.ib.iter().any(|p| !p.is_hole()) {
        return;
    }
    let stored = |pointers: &[FragNo], size: u64| -> u64 {
        let frags = |(i, p): (usize, &FragNo)| if p.is_hole() { 0 } else { g.blkfrags(size, i as u64) };
        pointers.iter().enumerate().map(frags).map(u64::from).sum()
    };
    let data = if has_blocks { stored(&dinode.db, dinode.size) } else { 0 };
    dinode.blocks = (data + stored(&dinode.extb, dinode.extsize.into())) * u64::from(g.fsize / 512);
}
