//! The volume for which a random script is made: its geometry decides where the layout of a file changes.

use ordo_rt::Rng;

/// Block sizes that the format allows.
const BLOCKS: [u64; 5] = [4096, 8192, 16384, 32768, 65536];

/// Most fragments of a block.
const FRAGS_MAX: u64 = 8;

/// Size of a volume, in bytes: as small as every scheme's log allows, since a check reads all of its maps.
const SIZE: u64 = 8 << 20;

/// Format, byte order and geometry of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ground {
    /// UFS1; UFS2 otherwise. UFS1 has no extended attributes.
    pub ufs1: bool,
    /// The most significant byte is first.
    pub big_endian: bool,
    /// Bytes of the volume.
    pub size: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Bytes of a fragment.
    pub frag: u64,
}

impl Ground {
    /// The volume of a seed, with fragments of at least `least` bytes, the device's smallest write. Half of all have
    /// eight fragments in a block, the others any possible pair; small blocks are as likely as large ones.
    pub fn of(seed: u64, least: u64) -> Ground {
        let mut rng = Rng::new(seed ^ 0x6772_6f75_6e64);
        let pairs = BLOCKS.iter().flat_map(|block| (0..4).map(move |shift| (*block, block >> shift)));
        let pairs: Vec<(u64, u64)> = pairs.filter(|(_, frag)| *frag >= least).collect();
        let eighths: Vec<(u64, u64)> =
            pairs.iter().copied().filter(|(block, frag)| block / frag == FRAGS_MAX).collect();
        let (block, frag) =
            *if rng.chance(50, 100) && !eighths.is_empty() { rng.pick(&eighths) } else { rng.pick(&pairs) };
        Ground { ufs1: rng.chance(40, 100), big_endian: rng.chance(30, 100), size: SIZE, block, frag }
    }

    /// Pointers in an indirect block.
    pub(in crate::script::random) fn pointers(&self) -> u64 {
        self.block / if self.ufs1 { 4 } else { 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_legal_volume_comes_up() {
        let all: BTreeSet<_> = (0..4000)
            .map(|seed| Ground::of(seed, 512))
            .map(|ground| (ground.block, ground.frag, ground.ufs1, ground.big_endian))
            .collect();
        // Each of five blocks with one, two, four and eight fragments, in both formats and both byte orders.
        assert_eq!(all.len(), 5 * 4 * 2 * 2);
        assert!(all.iter().all(|(block, frag, ..)| (1..=8).contains(&(block / frag)) && *frag >= 512));
        assert!((0..500).all(|seed| Ground::of(seed, 4096).frag >= 4096));
    }
}
