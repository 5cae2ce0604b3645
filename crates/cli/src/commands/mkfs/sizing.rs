//! How large a volume must be for a tree.
//!
//! The sum of what the files take is compared with what a volume of a size has, as newfs computes it. The sum is of
//! blocks, and which file gets the last fragments of a block is not known before: a little is added, and a volume in
//! which the tree turns out not to fit is made again, larger.

use super::planned::{Node, Tree};
use crate::acl;
use crate::archive::Meta;
use crate::out::usage;
use ordo_ondisk::Format;
use ordo_ondisk::superblock::newfs::{NewfsError, NewfsParams};
use ordo_vfs::Kind;

/// Direct addresses of an inode: only a file that ends there ends with fragments.
const DIRECT: u64 = 12;

/// Bytes of a piece of a directory, in which no name crosses the end.
const DIRBLK: u64 = 512;

/// Inodes that are never a file's: 0, 1, the root, `.snap`.
const TAKEN: u64 = 4;

/// What a tree needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    /// Bytes of data, indirect blocks included.
    pub(super) bytes: u64,
    pub(super) inodes: u64,
}

/// What a tree needs on a volume with these blocks and fragments.
pub(super) fn need(tree: &Tree, shape: &NewfsParams) -> Need {
    let (block, frag) = (u64::from(shape.bsize), u64::from(shape.fsize));
    let pointers = block / if shape.format == Format::Ufs1 { 4 } else { 8 };
    let short = if shape.format == Format::Ufs1 { 60 } else { 120 };
    let (mut bytes, mut inodes) = (0u64, TAKEN);
    for node in tree.nodes() {
        inodes += 1;
        bytes = bytes.saturating_add(match node.meta.kind {
            Kind::Directory => directory(node, block, frag),
            Kind::Symlink if node.content.size() < short => 0,
            Kind::Symlink => frag,
            _ => file(node, block, frag, pointers),
        });
        let xattrs: u64 = xattrs(&node.meta);
        bytes = bytes.saturating_add(xattrs.next_multiple_of(frag));
    }
    Need { bytes, inodes }
}

fn xattrs(meta: &Meta) -> u64 {
    // The header of each, and bytes that align name and value. A list is stored with room for all entries.
    let stored = |value: &[u8], is_list: bool| if is_list { ordo_ondisk::acl::SIZE } else { value.len() };
    let is_list = |name: &[u8]| name == acl::ACCESS || name == acl::DEFAULT;
    meta.xattrs.iter().map(|(name, value)| (name.len() + stored(value, is_list(name))) as u64 + 24).sum()
}

fn directory(node: &Node, block: u64, frag: u64) -> u64 {
    let entries: u64 = node.children.keys().map(|name| (8 + name.len() as u64 + 1).next_multiple_of(4)).sum();
    // The end of a piece stays free where the next name does not fit.
    let size = (24 + entries + entries / 8).next_multiple_of(DIRBLK);
    let whole = if size > DIRECT * block { block } else { frag };
    size.next_multiple_of(whole) + if size > DIRECT * block { block } else { 0 }
}

/// Blocks of stored ranges, and the indirect blocks that lead to them.
fn file(node: &Node, block: u64, frag: u64, pointers: u64) -> u64 {
    let size = node.content.size();
    let (mut bytes, mut next, mut last) = (0u64, 0, [u64::MAX; 3]);
    for extent in node.content.extents() {
        let (first, end) = ((extent.at / block).max(next), (extent.at + extent.len).div_ceil(block));
        next = next.max(end);
        if end <= first {
            continue;
        }
        bytes += (end - first) * block;
        if end > DIRECT {
            let (mut a, mut b) = (first.max(DIRECT) - DIRECT, end - 1 - DIRECT);
            for last in &mut last {
                (a, b) = (a / pointers, b / pointers);
                let fresh = b + 1 - if *last == a { a + 1 } else { a };
                bytes += fresh * block;
                *last = b;
                // The first one hangs on the inode itself, the others on blocks of the next level.
                if b == 0 {
                    break;
                }
                (a, b) = (a.max(1) - 1, b - 1);
            }
        }
    }
    let tail = size % block;
    if tail > 0 && next == size.div_ceil(block) && next <= DIRECT {
        bytes -= block - tail.next_multiple_of(frag);
    }
    bytes
}

/// What is added to a tree's own need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Bytes that stay free for users.
    pub(super) bytes: u64,
    pub(super) inodes: u64,
    /// How many times a volume was too small before.
    pub(super) tries: u32,
}

/// Gives `shape` the inodes for a tree, if nobody said how many, and its size if `sized` is false.
///
/// # Errors
/// Wrong usage, when no volume can have this shape.
pub(super) fn fit(shape: &mut NewfsParams, need: Need, room: Room, sized: bool) -> anyhow::Result<()> {
    let inodes = need.inodes.saturating_add(room.inodes);
    let inodes = inodes + inodes / 64 + 16;
    let (usual, block) = (shape.density, u64::from(shape.bsize));
    let mut bytes = need.bytes.saturating_add(need.bytes / 64);
    bytes += bytes / 8 * u64::from(room.tries) + (u64::from(room.tries) << 20);
    let bytes = bytes.saturating_add(room.bytes).saturating_add(8 * block);
    if !sized {
        shape.volume_bytes = bytes.next_multiple_of(block);
    }
    loop {
        shape.density = usual.or_else(|| denser(shape, inodes));
        match shape.superblock() {
            Ok(_) if sized => return Ok(()),
            Ok(sb) => {
                let usable = u64::try_from(sb.fields.dsize).unwrap_or(0) * u64::from(shape.fsize);
                let avail = u128::from(usable) * u128::from(100 - shape.minfree) / 100;
                let has = u64::from(sb.fields.ncg) * u64::from(sb.fields.ipg);
                if avail >= u128::from(bytes) && has >= inodes {
                    return Ok(());
                }
            }
            Err(NewfsError::TooSmall { .. }) if !sized => {}
            // Fewer inodes than the format has room for: a larger volume has more.
            Err(NewfsError::Density { .. }) if usual.is_none() => shape.density = None,
            Err(error) => return Err(usage(error.to_string())),
        }
        if sized {
            return Ok(());
        }
        let step = (shape.volume_bytes / 64).next_multiple_of(block).max(block);
        shape.volume_bytes = shape.volume_bytes.saturating_add(step);
    }
}

/// The blocks and fragments of a log-structured volume.
pub(super) fn of_log(block: Option<u32>, fragment: Option<u32>) -> NewfsParams {
    let usual = NewfsParams::new(Format::Ufs1, 0);
    NewfsParams { bsize: block.unwrap_or(8192), fsize: fragment.unwrap_or(1024), ..usual }
}

/// Bytes of a log-structured volume. Inodes lie in the log, too, and so do old copies of what was written twice, and
/// the segments that its cleaner needs.
pub(super) fn log(bytes: u64, inodes: u64, room: Room) -> u64 {
    let inodes = inodes.saturating_add(room.inodes).saturating_mul(1024);
    let bytes = bytes.saturating_add(inodes).saturating_add(room.bytes);
    let slack = (bytes / 2).saturating_add(48 << 20);
    let more = (bytes / 4).saturating_add(16 << 20).saturating_mul(room.tries.into());
    bytes.saturating_add(slack).saturating_add(more).next_multiple_of(1 << 20)
}

/// Bytes per inode, if newfs would make too few inodes.
fn denser(shape: &NewfsParams, inodes: u64) -> Option<u32> {
    let usual = 2 * u64::from(shape.fsize);
    let wanted = shape.volume_bytes / inodes.max(1);
    (wanted < usual).then(|| u32::try_from(wanted.max(512)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::planned::{Content, Id};
    use super::*;
    use crate::archive::Extent;
    use ordo_vfs::Stamp;

    fn of(size: u64, extents: &[(u64, u64)]) -> u64 {
        let mut tree = Tree::new(Meta::new(Kind::Directory, 0o755, Stamp::default()));
        let extents = extents.iter().map(|&(at, len)| Extent { at, from: at, len }).collect();
        let content = Content::Archive { size, extents };
        let shape = NewfsParams::new(Format::Ufs2, 0);
        let empty = need(&tree, &shape).bytes;
        let meta = Meta::new(Kind::Regular, 0o644, Stamp::default());
        tree.put(Id::ROOT, b"f", meta, content).unwrap();
        need(&tree, &shape).bytes - empty
    }

    #[test]
    fn a_file_takes_fragments_blocks_and_indirect_blocks() {
        let block = 32768;
        assert_eq!(of(1, &[(0, 1)]), 4096);
        assert_eq!(of(block + 5000, &[(0, block + 5000)]), block + 8192);
        assert_eq!(of(13 * block, &[(0, 13 * block)]), 14 * block);
        assert_eq!(of(40 << 20, &[((40 << 20) - 1, 1)]), 2 * block);
        assert_eq!(of(40 << 20, &[]), 0);
    }
}
