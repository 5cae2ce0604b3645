//! Blocks of directories, in every format. The first byte chooses it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::dirent::{self, DirFormat};
use ordo_ondisk::{Endian, Ino};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[which, at, before], bytes)) = bytes.split_first_chunk() else { return };
    let endian = if which & 1 == 0 { Endian::Little } else { Endian::Big };
    let format = DirFormat { endian, old: which & 2 != 0, block: 512, wide: which & 4 != 0, hidden: Ino::NONE };
    let found = dirent::entries(bytes, format, Ino(2), u64::MAX);
    assert!(found.clone().count() <= bytes.len() / 8 + 1, "the walk does not end");
    for entry in found.filter_map(Result::ok) {
        assert!(entry.offset + usize::from(entry.reclen) <= bytes.len());
        assert!(entry.name.len() < 256 && !entry.is_name() | !entry.name.is_empty());
    }
    let (at, before) = (usize::from(at) * 4, usize::from(before) * 4);
    for change in 0..4 {
        let mut block = bytes.to_vec();
        let done = match change {
            0 => dirent::clear(&mut block, at, Some(before), format),
            1 => dirent::write(&mut block, at, format, before as u16, Ino(9), 8, b"name"),
            2 => dirent::set_inode(&mut block, at, format, Ino(9), 8),
            _ => dirent::compact(&mut block, before, format, |_, _| {}).map(|_| ()),
        };
        assert!(done.is_some() || block == bytes, "a change that was refused has changed something");
    }
});
