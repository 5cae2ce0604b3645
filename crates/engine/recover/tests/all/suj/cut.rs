//! The power fails while a journal is replayed: the next replay has the same result as an uninterrupted one.

use super::build::Journaled;
use super::scenes::scenes;
use crate::common;
use crate::common::cut::Cut;
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Journal, Mode};
use ordo_ondisk::{Endian, Format};
use std::rc::Rc;

/// A replay of `ram` that ends at its `nth` write; `false` if it made fewer.
fn cut(ram: &RamDisk, nth: u64, seed: u64) -> bool {
    let cut = Cut::new(ram, nth, seed);
    let rt = ordo_rt::Rt::virtual_time(1);
    let (inner, disk): (ordo_rt::Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(cut.clone()));
    let result = rt.block_on(async move { ordo_recover::replay_suj(&inner, disk).await });
    assert_eq!(result.is_err(), cut.is_off());
    cut.is_off()
}

#[test]
fn replay_can_be_cut_at_any_write_and_begun_again() {
    let (mut cuts, mut again) = (0, 0);
    for format in [Format::Ufs1, Format::Ufs2] {
        let pristine = Journaled::new(format, Endian::Little);
        for scene in scenes() {
            let crashed = pristine.copy();
            let records = (scene.crash)(&crashed);
            if !records.is_empty() {
                crashed.segment(0, 0, &records);
            }
            let whole = crashed.copy();
            common::run(&whole.disk, Mode::Preen).expect(scene.what);
            // A list that is torn between two of its inodes is rare, so more seeds are needed.
            let seeds = if scene.what.contains("were open") { 24 } else { 4 };
            for (nth, seed) in (1..).flat_map(|nth| (0..seeds).map(move |seed| (nth, seed))) {
                let ram = crashed.disk.snapshot().volatile(true);
                if !cut(&ram, nth, seed) {
                    break;
                }
                cuts += 1;
                let what = format!("{format:?} {}, write {nth}, seed {seed}", scene.what);
                let preen = common::run(&ram, Mode::Preen).expect(&what);
                assert!(preen.clean, "{what}:\n{}", common::told(&preen));
                let lost = matches!(preen.journal, Some(Journal::NotReplayed(_)));
                assert!(!lost, "{what}: the journal is no longer valid: {:?}", preen.journal);
                let check = common::run(&ram, Mode::Check).expect(&what);
                assert_eq!(check.count(), 0, "{what}:\n{}", common::told(&check));
                if matches!(preen.journal, Some(Journal::Replayed(_))) {
                    again += 1;
                    let same = crashed.without_list(&ram) == crashed.without_list(&whole.disk);
                    assert!(same, "{what}: another volume than without the cut");
                }
            }
        }
    }
    assert!(cuts > 1000 && again > cuts / 2, "{cuts} {again}");
}
