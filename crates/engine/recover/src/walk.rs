//! The pointers of an inode, in the order of the file: each indirect block before the blocks below it.
//!
//! The walk never follows a pointer before its caller has seen it, so the caller decides what may be followed: phase 1
//! of a check skips pointers that are bad or already claimed, so no walk can cycle. The stack is explicit and at most
//! three indirect blocks deep.

use crate::error::Error;
use crate::image::Image;
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::{ByteOff, Dinode, FragNo, Geometry};

/// Where a pointer is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// In the inode, to a block of the file.
    Direct(usize),
    /// In the inode, to an indirect block.
    Indirect(usize),
    /// In the inode, to a block of the attribute area.
    Ext(usize),
    /// In an indirect block: a byte of the volume.
    Block(ByteOff),
}

/// A pointer that is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Where it is stored.
    pub slot: Slot,
    /// The file block that it leads to; for an indirect block, the first one.
    pub lbn: u64,
    /// Levels of indirect blocks below: 0 for data.
    pub level: usize,
    /// The first fragment of what it leads to.
    pub frag: FragNo,
    /// Fragments.
    pub count: u32,
}

/// Pointers that [`Walk::ahead`] examines. Bounded, because a caller that cannot use a run calls it again at each
/// pointer.
const RUN_MAX: u32 = 64;

struct Frame {
    at: ByteOff,
    /// Pointers of this block are of this level.
    level: usize,
    lbn: u64,
    next: u32,
    line: ordo_disk::Image,
    /// Where in the line the block begins.
    within: usize,
}

/// A walk over the pointers of one inode.
pub struct Walk {
    roots: [FragNo; 15],
    ext: [FragNo; 2],
    size: u64,
    extsize: u64,
    next: usize,
    snapshot: bool,
    below: Option<Pointer>,
    stack: Vec<Frame>,
}

impl Walk {
    /// All pointers on a volume of this geometry, those of the attribute area last.
    pub fn new(geo: &Geometry, dinode: &Dinode) -> Walk {
        let mut roots = [FragNo::HOLE; 15];
        if dinode.has_blocks(geo) {
            for (root, pointer) in roots.iter_mut().zip(dinode.db.iter().chain(&dinode.ib)) {
                *root = *pointer;
            }
        }
        let snapshot = is_snapshot(dinode);
        let extsize = u64::from(dinode.extsize);
        Walk { roots, ext: dinode.extb, size: dinode.size, extsize, next: 0, snapshot, below: None, stack: vec![] }
    }

    /// Does not follow the pointer that was returned last.
    pub fn skip(&mut self) {
        self.below = None;
    }

    /// How many of the next pointers lead to blocks that are contiguous with the block of `last`, the pointer returned
    /// last, both in the file and on the disk. This is common in large files: a caller that accepts all of them may
    /// [`Walk::pass`] them.
    pub fn ahead(&self, geo: &Geometry, last: &Pointer) -> u32 {
        let Some(frame) = self.stack.last().filter(|_| last.level == 0 && matches!(last.slot, Slot::Block(_))) else {
            return 0;
        };
        let block = frame.line.get(frame.within..).unwrap_or_default();
        let leads_on = |&ahead: &u32| {
            let follows = last.frag.0.checked_add(u64::from(geo.frag) * u64::from(ahead + 1));
            geo.pointer(block, frame.next + ahead).map(|frag| frag.0) == follows
        };
        (0..RUN_MAX.min(geo.nindir - frame.next)).take_while(leads_on).count() as u32
    }

    /// Skips the next `pointers`, which [`Walk::ahead`] has counted.
    pub fn pass(&mut self, pointers: u32) {
        if let Some(frame) = self.stack.last_mut() {
            frame.next += pointers;
        }
    }

    /// The next pointer. Follows the previous one, unless it was skipped.
    pub async fn next(&mut self, image: &mut Image, geo: &Geometry) -> Result<Option<Pointer>, Error> {
        if let Some(pointer) = self.below.take() {
            // Boxed: a future is moved before it is polled, and only the first pointer of an indirect block needs this
            // one.
            Box::pin(self.descend(pointer, image, geo)).await?;
        }
        while let Some(frame) = self.stack.last_mut() {
            match Walk::next_in(frame, geo, self.snapshot) {
                Some(pointer) => return Ok(Some(self.remember(pointer))),
                None => self.stack.pop(),
            };
        }
        Ok(self.next_root(geo).map(|pointer| self.remember(pointer)))
    }

    async fn descend(&mut self, pointer: Pointer, image: &mut Image, geo: &Geometry) -> Result<(), Error> {
        let at = geo.byte(pointer.frag);
        let (line, within) = image.line(at).await?;
        self.stack.push(Frame { at, level: pointer.level - 1, lbn: pointer.lbn, next: 0, line, within });
        Ok(())
    }

    fn remember(&mut self, pointer: Pointer) -> Pointer {
        self.below = (pointer.level > 0).then_some(pointer);
        pointer
    }

    fn next_in(frame: &mut Frame, geo: &Geometry, snapshot: bool) -> Option<Pointer> {
        let size = geo.pointer_size();
        let block = frame.line.get(frame.within..)?;
        while frame.next < geo.nindir {
            // Most pointers of most indirect blocks are 0.
            let rest = block.get(frame.next as usize * size..geo.nindir as usize * size)?;
            let gap = match size {
                4 => rest.as_chunks().0.iter().position(|pointer| *pointer != [0; 4])?,
                _ => rest.as_chunks().0.iter().position(|pointer| *pointer != [0; 8])?,
            };
            let index = frame.next + gap as u32;
            frame.next = index + 1;
            let frag = geo.pointer(block, index)?;
            if is_hole(frag, snapshot) {
                continue;
            }
            let at = ByteOff(frame.at.0 + u64::from(index) * size as u64);
            let lbn = frame.lbn.saturating_add(geo.span(frame.level).saturating_mul(index.into()));
            return Some(Pointer { slot: Slot::Block(at), lbn, level: frame.level, frag, count: geo.frag });
        }
        None
    }

    fn next_root(&mut self, geo: &Geometry) -> Option<Pointer> {
        while self.next < 17 {
            let index = self.next;
            self.next += 1;
            let (slot, lbn, level, frag, size) = match index {
                0..12 => (Slot::Direct(index), index as u64, 0, self.roots.get(index), self.size),
                12..15 => {
                    let before = (1..=index - 12).fold(12u64, |lbn, level| lbn.saturating_add(geo.span(level)));
                    (Slot::Indirect(index - 12), before, index - 11, self.roots.get(index), u64::MAX)
                }
                _ => (Slot::Ext(index - 15), (index - 15) as u64, 0, self.ext.get(index - 15), self.extsize),
            };
            let Some(&frag) = frag.filter(|frag| !is_hole(**frag, self.snapshot)) else { continue };
            // A block beyond the size has no length of its own; phase 1 of a check removes its pointer.
            let count = match geo.blkfrags(size, lbn) {
                0 => geo.frag,
                count => count,
            };
            return Some(Pointer { slot, lbn, level, frag, count });
        }
        None
    }
}

/// A snapshot's pointers 1 and 2 mean that a block was free, or belonged to another snapshot: both read as zeros.
fn is_hole(frag: FragNo, snapshot: bool) -> bool {
    frag.is_hole() || snapshot && frag.0 <= 2
}

/// A snapshot of the whole volume, whose pointers have meanings of their own.
pub fn is_snapshot(dinode: &Dinode) -> bool {
    dinode.kind() == mode::REG && dinode.flags & flags::SF_SNAPSHOT != 0
}
