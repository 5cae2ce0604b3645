//! The power fails while a repair writes: whatever reached the disk, the next repair ends in a consistent volume, and a
//! preen does not take the half-repaired one for clean.

use crate::common;
use crate::common::build::*;
use ordo_fsck::Mode;
use ordo_ondisk::{Dinode, Endian, Format};

type Damage = fn(&Volume);

const DAMAGES: [(&str, Damage); 4] = [
    ("the root is lost", |v| v.inode(2, |d| *d = Dinode::default())),
    ("two files share their blocks", |v| {
        let big = v.get(BIG);
        v.inode(INNER, |d| (d.db, d.ib, d.size, d.blocks) = (big.db, big.ib, big.size, big.blocks));
    }),
    ("two groups are lost", |v| {
        v.group(0, |bytes, _| bytes.fill(0xee));
        v.group(1, |bytes, _| bytes.fill(0));
    }),
    ("a directory has lost its name", |v| {
        v.put_u32(v.entry(2, "dir"), 0);
        v.inode(FILE, |d| d.nlink = 9);
    }),
];

#[test]
fn repair_can_be_cut_at_any_write_and_done_again() {
    for format in [Format::Ufs1, Format::Ufs2] {
        let pristine = Volume::new(format, Endian::Little, false);
        for (what, damage) in DAMAGES {
            let damaged = pristine.copy();
            damage(&damaged);
            let mut cuts = 0;
            for (nth, seed) in (1..).flat_map(|nth| (0..4).map(move |seed| (nth, seed))) {
                let ram = damaged.disk.snapshot().volatile(true);
                if !crate::alone::cut(&ram, nth, seed) {
                    break;
                }
                cuts += 1;
                let what = format!("{what}, write {nth}, seed {seed}");
                // Nothing was written yet, or everything was, or the volume is marked dirty.
                let preen = common::run(&ram.snapshot(), Mode::Preen).expect(&what);
                let whole = || common::run(&ram.snapshot(), Mode::Check).is_ok_and(|report| report.exit_code() == 0);
                let untouched = ram.to_vec() == damaged.disk.to_vec();
                assert!(preen.scanned || untouched || whole(), "{what}: passed for clean");
                let repair = common::run(&ram, Mode::Repair).expect(&what);
                assert!(repair.exit_code() <= 1, "{what}");
                let again = common::run(&ram, Mode::Check).expect(&what);
                assert_eq!(again.exit_code(), 0, "{what}:\n{}", common::told(&again));
            }
            assert!(cuts >= 8, "{what}: {cuts}");
        }
    }
}
