//! Inodes, of UFS and in the blocks of LFS; attributes. The first byte chooses the volume.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::lfs::inode_block;
use ordo_ondisk::{Dinode, Ino, dinode, extattr};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, rest)) = bytes.split_first() else { return };
    let g = ordo_fuzz::ufs(*which);
    let mut bytes = rest.to_vec();
    bytes.resize(bytes.len().max(256), 0);
    // OK to ignore: a volume may have no hashes.
    let _ = Dinode::rehash(&mut bytes, &g);
    if let Ok(inode) = Dinode::decode(&bytes, &g, Ino(5)) {
        let _ = (inode.check(&g, Ino(5)), inode.check_size(&g, Ino(5)), inode.short_link(&g), inode.has_blocks(&g));
        let _ = (dinode::linux_rdev(&g, inode.rdev()), dinode::volume_rdev(&g, inode.rdev()));
        let mut again = vec![0; 256];
        inode.encode(&mut again, &g).expect("there is room");
        assert_eq!(Dinode::decode(&again, &g, Ino(5)).expect("it was written whole"), inode);
    }
    let log = ordo_fuzz::log(*which);
    let slots: Vec<_> = inode_block::slots(&bytes, &log).collect();
    for (slot, ino) in slots {
        let _ = (inode_block::get(&bytes, slot, &log), inode_block::get_ino(&bytes, &log, ino));
    }
    assert!(extattr::attributes(&bytes, g.endian, Ino(5)).count() <= bytes.len() / 8 + 1, "the walk does not end");
});
