//! A superblock whose check hash is wrong, although nothing else is.
//!
//! A tool that knows no check hashes changes a field in all copies and leaves the hashes, as an older growfs does.
//! Fields that are plausible, and that a copy in a group has, too, were not hit by chance. Reading needs no more; what
//! writes needs a hash, or a check that has made it right.

use super::Superblock;
use super::search::{Copy, Found, ReadAt, is_home, read_place, with_label};
use crate::{Cgx, Corrupt};

/// The primary with the wrong hash that `damage` tells of, if a copy confirms it.
pub(super) fn primary(read: &mut ReadAt<'_>, volume_bytes: u64, damage: &Corrupt) -> Option<Found> {
    let at = damage.at?;
    let bytes = read_place(read, at.0, volume_bytes).ok()??;
    let sb = Superblock::decode_whatever_the_hash(&bytes, at).ok().filter(|sb| is_home(sb, at.0))?;
    let g = sb.geometry();
    let last = g.ncg.saturating_sub(1);
    let confirmed = [0, 1.min(last), last].into_iter().any(|c| {
        let at = g.byte(g.cgsblock(Cgx(c)));
        let bytes = read_place(read, at.0, volume_bytes).ok().flatten().unwrap_or_default();
        Superblock::decode_whatever_the_hash(&bytes, at).is_ok_and(|copy| sb.difference(&copy).is_none())
    });
    confirmed.then(|| Found { superblock: with_label(sb, read, volume_bytes), copy: Copy::Unproven })
}
