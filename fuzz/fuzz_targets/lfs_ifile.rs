//! The ifile: what the cleaner knows, the use of segments, the map of inodes. The first byte chooses the version.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::Ino;
use ordo_ondisk::lfs::{CleanerInfo, Daddr, IfileEntry, SegNo, SegUse};

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    let g = ordo_fuzz::log(*which);
    let mut again = bytes.to_vec();
    if let Ok(info) = CleanerInfo::decode(bytes, g.version, g.endian) {
        info.encode(&mut again, g.version, g.endian).expect("it was read from as many bytes");
        assert_eq!(CleanerInfo::decode(&again, g.version, g.endian).expect("it was written whole"), info);
    }
    let mut all = Vec::new();
    for n in 0..64 {
        let (at, segment, ino) = (n as usize * 16, SegNo(n), Ino(n));
        if let Ok(usage) = SegUse::decode(bytes, at, segment, g.version, g.endian) {
            let mut again = bytes.to_vec();
            usage.encode(&mut again, at, g.version, g.endian).expect("it was read from as many bytes");
            assert_eq!(SegUse::decode(&again, at, segment, g.version, g.endian).expect("it was written whole"), usage);
            all.push(usage.marked());
        }
        if let Ok(entry) = IfileEntry::decode(bytes, at, ino, g.version, g.endian) {
            let mut again = bytes.to_vec();
            entry.encode(&mut again, at, g.version, g.endian).expect("it was read from as many bytes");
            assert_eq!(IfileEntry::decode(&again, at, ino, g.version, g.endian).expect("it was written whole"), entry);
        }
    }
    let _ = g.totals(all, Daddr(u64::MAX));
});
