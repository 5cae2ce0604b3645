//! Summaries of partial segments, with a right checksum. The first byte chooses the volume, the second where it lies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_ondisk::lfs::summary::seal;
use ordo_ondisk::lfs::{Daddr, SegNo, Serial, Summary, cksum};

fuzz_target!(|bytes: &[u8]| {
    let Some((&[which, place], rest)) = bytes.split_first_chunk() else { return };
    let g = ordo_fuzz::log(which);
    let mut bytes = rest.to_vec();
    bytes.resize(bytes.len().max(g.sumsize as usize), 0);
    let sum = cksum(&bytes[4..g.sumsize as usize], g.endian);
    g.endian.put_u32(&mut bytes, 0, sum).expect("there is room");
    let Ok(summary) = Summary::decode(&bytes, &g) else { return };
    assert!(summary.nblocks() <= g.sumsize as usize / 4);
    let _ = (summary.follows(g.ident, Serial(1)), summary.is_empty(), summary.is_stale(&g, Serial(9)));
    let _ = seal::verify(&bytes, &g, &summary);
    let first = g.segment_start(SegNo(place.into()));
    for at in [first, Daddr(first.0.saturating_add(place.into())), g.segment_end(SegNo(3)), Daddr(u64::MAX)] {
        let Ok(pseg) = summary.walk(&g, at) else { continue };
        assert!(pseg.end > at && pseg.end <= g.segment_end(pseg.segment));
        let mut next = at.plus(g.summary_units());
        for item in &pseg.items {
            assert_eq!(item.at(), next);
            next = next.plus(item.units(&g));
        }
        assert_eq!(next, pseg.end);
        let _ = (pseg.check_data(&summary, &bytes, &g), pseg.next_here(&g));
    }
});
