//! Cylinder-group accounting on the bytes of a group's block.
//!
//! C1. Every change of a map changes the counts with it: `nbfree`, `nffree`, the run lengths, the cluster map and its
//!     summary equal a recount of the maps at any time. They are written as they are, so an error would reach the disk.
//! C2. A search only reads, a change only changes. Both are plain functions: no other task can run between them.
//! C3. The maps are trusted over the counts, but a contradiction is damage: allocating what is in use would give a
//!     block to two files, so it is refused, and nothing is changed.

use ordo_ondisk::cg::{Cg, CgMut, map};
use ordo_ondisk::{Cgx, Corrupt, Csum, Rule, Structure};

/// Bit k of `RUNS[log2 frag][byte]`: a byte of the free map has a maximal run of exactly k free fragments in one of its
/// blocks (the kernel's `fragtbl`).
static RUNS: [[u16; 256]; 4] = [run_table(1), run_table(2), run_table(4), run_table(8)];

const fn run_table(frag: u32) -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut run) = (0, 0);
        while bit < 8 {
            run = if byte >> bit & 1 == 1 { run + 1 } else { 0 };
            let block_ends = (bit + 1) % frag == 0;
            if run > 0 && (block_ends || byte >> (bit + 1) & 1 == 0) {
                table[byte] |= 1 << run;
                run = 0;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

/// Damage of a group's map or counts.
pub(crate) fn damage(c: Cgx, field: &'static str, found: impl Into<i128>, what: &'static str) -> Corrupt {
    Corrupt::new(Structure::CylinderGroup(c), field, found, Rule::Words(what))
}

/// The place of the first maximal run of exactly `k` free fragments (a whole block for `k == frag`), searched from the
/// byte of fragment `from` on and round again (`mapsearch`).
pub(crate) fn find_run(cg: &Cg<'_>, k: u32, from: u32) -> Option<u32> {
    let (map, frag) = (cg.free(), cg.layout().frag);
    let table = &RUNS[frag.trailing_zeros() as usize];
    let start = (from / 8) as usize % map.len().max(1);
    let has_run = |byte: &u8| table[usize::from(*byte)] & 1 << k != 0;
    let after = first_free(&map[start..], has_run).map(|at| start + at);
    let byte = after.or_else(|| first_free(&map[..start], has_run))?;
    let blocks = (byte as u32 * 8 / frag)..((byte as u32 + 1) * 8).div_ceil(frag);
    blocks.into_iter().find_map(|block| {
        let run = map::runs(map::block(map, block, frag), frag).find(|run| run.1 == k)?;
        Some(block * frag + run.0)
    })
}

/// The first byte with a free fragment for which `is_right`. Eight bytes at a time are skipped where nothing is free,
/// as in most of a map.
fn first_free(map: &[u8], is_right: impl Fn(&u8) -> bool) -> Option<usize> {
    let (words, rest) = map.as_chunks::<8>();
    let some_free = words.iter().enumerate().filter(|(_, word)| **word != [0; 8]);
    let mut found = some_free.filter_map(|(i, word)| Some(i * 8 + word.iter().position(&is_right)?));
    found.next().or_else(|| Some(words.len() * 8 + rest.iter().position(&is_right)?))
}

/// Block `block` is completely free.
pub(crate) fn is_free_block(cg: &Cg<'_>, block: u32) -> bool {
    let frag = cg.layout().frag;
    map::block(cg.free(), block, frag) == map::whole(frag)
}

/// The smallest `k` from `wanted` on, below a whole block, for which the counts report a run.
pub(crate) fn smallest_run(cg: &Cg<'_>, wanted: u32) -> Option<u32> {
    (wanted..cg.layout().frag).find(|&k| cg.frsum(k) != 0)
}

/// The first run of `len` free blocks at or after block `from`; checks the summary first.
pub(crate) fn find_cluster(cg: &Cg<'_>, len: u32, from: u32) -> Option<u32> {
    let l = cg.layout();
    if len > l.contigsumsize || (len..=l.contigsumsize).all(|k| cg.clustersum(k) == 0) {
        return None;
    }
    let (mut first, mut run) = (from, 0);
    for block in from..l.nclusterblks {
        if !map::get(cg.clusters(), block) {
            (first, run) = (block + 1, 0);
            continue;
        }
        run += 1;
        if run == len {
            return Some(first);
        }
    }
    None
}

/// Marks `n` fragments from `first` on, within one block, as free or as in use, with all counts (C1). Returns the
/// change of the group's counts; `None`, and nothing changed, if one of them is already marked so (C3).
pub(crate) fn mark(cg: &mut CgMut<'_>, first: u32, n: u32, free: bool) -> Option<Csum> {
    let l = *cg.view().layout();
    let (block, within) = (first / l.frag, first % l.frag);
    let whole = map::whole(l.frag);
    if n == 0 || within + n > l.frag || first + n > l.ndblk {
        return None;
    }
    let before = map::block(cg.view().free(), block, l.frag);
    let these = (map::whole(n) << within) & whole;
    let (after, same) = if free { (before | these, before & these) } else { (before & !these, !before & these) };
    if same != 0 {
        return None;
    }
    cg.account_runs(before, false);
    cg.account_runs(after, true);
    map::fill(cg.free_mut(), first, n, free);
    if (before == whole) != (after == whole) {
        cg.mark_cluster(block, free);
    }
    let counts = |bits: u8| if bits == whole { (1, 0) } else { (0, bits.count_ones() as i32) };
    let ((blocks_before, frags_before), (blocks_after, frags_after)) = (counts(before), counts(after));
    let change = Csum { nbfree: blocks_after - blocks_before, nffree: frags_after - frags_before, ..Csum::default() };
    add(cg, change);
    Some(change)
}

/// The next free inode: `wanted` if that is free, else the first one from the rotor on and round again.
pub(crate) fn find_inode(cg: &Cg<'_>, wanted: Option<u32>) -> Option<u32> {
    let (map, ipg) = (cg.iused(), cg.layout().ipg);
    if let Some(i) = wanted.filter(|&i| i < ipg && !map::get(map, i)) {
        return Some(i);
    }
    let start = (cg.irotor() / 8) as usize % map.len().max(1);
    let has_free = |byte: &u8| *byte != 0xff;
    let after = map[start..].iter().position(has_free).map(|at| start + at);
    let byte = after.or_else(|| map[..start].iter().position(has_free))?;
    let i = byte as u32 * 8 + map[byte].trailing_ones();
    (i < ipg).then_some(i)
}

/// Marks inode `i` of the group as used or free, with the counts. `None`, and nothing changed, if it already is so
/// (C3).
pub(crate) fn mark_inode(cg: &mut CgMut<'_>, i: u32, used: bool, directory: bool) -> Option<Csum> {
    if i >= cg.view().layout().ipg || map::get(cg.view().iused(), i) == used {
        return None;
    }
    if used {
        map::set(cg.iused_mut(), i);
        cg.set_irotor(i);
    } else {
        map::clear(cg.iused_mut(), i);
        if i < cg.view().irotor() {
            cg.set_irotor(i);
        }
    }
    let way = if used { 1 } else { -1 };
    let change = Csum { nifree: -way, ndir: if directory { way } else { 0 }, ..Csum::default() };
    add(cg, change);
    Some(change)
}

fn add(cg: &mut CgMut<'_>, change: Csum) {
    let cs = plus(cg.view().cs(), change);
    cg.set_cs(cs);
}

/// The sum of two counts.
pub(crate) fn plus(a: Csum, b: Csum) -> Csum {
    Csum {
        ndir: a.ndir.saturating_add(b.ndir),
        nbfree: a.nbfree.saturating_add(b.nbfree),
        nifree: a.nifree.saturating_add(b.nifree),
        nffree: a.nffree.saturating_add(b.nffree),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::geometries;
    use ordo_ondisk::{CgLayout, Geometry};

    fn check_recount(cg: &Cg<'_>) {
        assert_eq!(cg.recount(cg.ndir()), cg.stated());
    }

    fn with_group(g: &Geometry, f: impl FnOnce(&mut CgMut<'_>)) {
        // The last group is a short one, perhaps with a partial block at its end.
        let c = Cgx(g.ncg - 1);
        let mut bytes = ordo_ondisk::cg::init(g, c, g.ipg);
        f(&mut CgMut::new(&mut bytes, CgLayout::computed(g, c), g.endian).unwrap());
    }

    #[test]
    fn any_sequence_of_takes_and_frees_keeps_every_count_equal_to_a_recount() {
        for g in geometries() {
            with_group(&g, |cg| {
                let mut rng = ordo_rt::Rng::new(7);
                let (ndblk, frag) = (cg.view().layout().ndblk, g.frag);
                let mut summed = cg.view().cs();
                for round in 0..3000 {
                    let block = rng.below(u64::from(ndblk / frag)) as u32 * frag;
                    let first = rng.below(frag.into()) as u32;
                    let n = 1 + rng.below((frag - first).into()) as u32;
                    let (first, n) = if rng.chance(1, 3) { (block, frag) } else { (block + first, n) };
                    let before = cg.view().stated();
                    match mark(cg, first, n, rng.chance(1, 2)) {
                        Some(change) => summed = plus(summed, change),
                        None => assert_eq!(cg.view().stated(), before),
                    }
                    let i = rng.below(g.ipg.into()) as u32;
                    summed = plus(summed, mark_inode(cg, i, rng.chance(1, 2), false).unwrap_or_default());
                    if round % 50 == 0 {
                        check_recount(&cg.view());
                    }
                }
                check_recount(&cg.view());
                assert_eq!(cg.view().cs(), summed);
            });
        }
    }

    #[test]
    fn what_is_taken_cannot_be_taken_again_nor_what_is_free_be_freed() {
        for g in geometries() {
            with_group(&g, |cg| {
                let at = find_run(&cg.view(), g.frag, 0).unwrap();
                let free = cg.view().stated();
                assert_eq!(mark(cg, at, g.frag, true), None);
                assert!(mark(cg, at, 1, false).is_some());
                assert_eq!(mark(cg, at, g.frag, false), None);
                assert!(mark(cg, at, 1, true).is_some());
                assert_eq!(cg.view().stated(), free);
                assert_eq!(mark(cg, cg.view().layout().ndblk, 1, true), None);
                assert_eq!(mark_inode(cg, 5, false, false), None);
                assert!(mark_inode(cg, 5, true, true).is_some());
                assert_eq!(mark_inode(cg, 5, true, true), None);
                assert_eq!((cg.view().ndir(), cg.view().irotor()), (1, 5));
            });
        }
    }

    #[test]
    fn search_finds_exact_runs_and_goes_round() {
        // Without a partial block at the end, which would be a run of its own.
        let even = |g: &Geometry| g.frag == 8 && g.size.is_multiple_of(8);
        for g in geometries().into_iter().filter(even) {
            with_group(&g, |cg| {
                let first = find_run(&cg.view(), 8, 0).unwrap();
                // Fragments 0, 4 and 5 of a block in use: runs of 3 and of 2.
                for i in [0, 4, 5] {
                    mark(cg, first + i, 1, false).unwrap();
                }
                assert_eq!(find_run(&cg.view(), 3, first + 64), Some(first + 1));
                assert_eq!(find_run(&cg.view(), 2, 0), Some(first + 6));
                assert_eq!(find_run(&cg.view(), 5, 0), None);
                assert_eq!(smallest_run(&cg.view(), 1), Some(2));
                assert_eq!(smallest_run(&cg.view(), 4), None);
                assert!(find_run(&cg.view(), 8, first).unwrap() > first);
            });
        }
    }

    #[test]
    fn cluster_is_found_at_or_after_the_preference_only() {
        for g in geometries().into_iter().filter(|g| g.contigsumsize > 1) {
            with_group(&g, |cg| {
                let first = find_cluster(&cg.view(), 2, 0).unwrap();
                assert!(is_free_block(&cg.view(), first) && is_free_block(&cg.view(), first + 1));
                mark(cg, (first + 1) * g.frag, 1, false).unwrap();
                assert!(find_cluster(&cg.view(), 2, first).is_none_or(|at| at > first + 1));
                assert_eq!(find_cluster(&cg.view(), 1, first), Some(first));
                assert_eq!(find_cluster(&cg.view(), 1, cg.view().layout().nclusterblks), None);
            });
        }
    }

    #[test]
    fn inode_search_takes_the_preferred_one_then_goes_from_the_rotor() {
        for g in geometries() {
            with_group(&g, |cg| {
                assert_eq!(find_inode(&cg.view(), Some(9)), Some(9));
                mark_inode(cg, 9, true, false).unwrap();
                assert_eq!(find_inode(&cg.view(), Some(9)), Some(8));
                for i in 0..g.ipg {
                    mark_inode(cg, i, true, false);
                }
                assert_eq!(find_inode(&cg.view(), None), None);
                mark_inode(cg, 3, false, false).unwrap();
                assert_eq!((find_inode(&cg.view(), Some(7)), cg.view().irotor()), (Some(3), 3));
                cg.set_irotor(u32::MAX);
                assert_eq!(find_inode(&cg.view(), None), Some(3));
            });
        }
    }
}
