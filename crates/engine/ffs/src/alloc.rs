//! Allocating and freeing blocks and fragments.
//!
//! Where: the preferred address if it is free, else near it in its group, else in a group found by a quadratic rehash,
//! else in any group (McKusick, Joy, Leffler and Fabry 1984, section 3.3). A fragment is cut from a run that fits, or
//! from a whole block if none does.
//!
//! A1. Nothing is awaited between examining a group's map and changing it: one fragment is never given to two files.
//! A2. What was allocated belongs to the caller until a pointer names it, or the caller returns it with
//!     [`Ffs::give_back`]. What the map of metadata excludes from files is never allocated.

use crate::cg::{damage, find_run, is_free_block, mark, smallest_run};
use crate::group::Group;
use crate::optim::Optim;
use crate::{Ffs, corrupt};
use ordo_buf::{BufRef, Run};
use ordo_ondisk::cg::Cg;
use ordo_ondisk::{CgFrag, Cgx, Corrupt, FragNo};
use ordo_vfs::{Error, Refusal, Result};

/// Fragments that were allocated, and the buf of the group that gave them.
pub(crate) struct Taken {
    pub(crate) run: Run,
    pub(crate) group: BufRef,
}

/// How to search for a run of fragments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// From the smallest run that fits.
    Best,
    /// From a completely free block.
    FreshBlock,
}

/// Groups in the order in which they are tried: the preferred one, a quadratic rehash, all others.
pub(crate) struct Rehash {
    first: u32,
    ncg: u32,
    at: u32,
    step: u32,
    rest: u32,
}

impl Rehash {
    pub(crate) fn from(first: Cgx, ncg: u32) -> Rehash {
        let first = first.0 % ncg;
        Rehash { first, ncg, at: first, step: 0, rest: 2 }
    }
}

impl Iterator for Rehash {
    type Item = Cgx;

    fn next(&mut self) -> Option<Cgx> {
        if self.step == 0 {
            self.step = 1;
            return Some(Cgx(self.first));
        }
        if self.step < self.ncg {
            self.at = ((u64::from(self.at) + u64::from(self.step)) % u64::from(self.ncg)) as u32;
            self.step = self.step.saturating_mul(2);
            return Some(Cgx(self.at));
        }
        if self.rest < self.ncg {
            let c = (u64::from(self.first) + u64::from(self.rest)) % u64::from(self.ncg);
            self.rest += 1;
            return Some(Cgx(c as u32));
        }
        None
    }
}

impl Ffs {
    /// Free fragments beyond the reserve that `minfree` keeps for the privileged; negative when the reserve is in use.
    pub(crate) fn free_space(&self, with_reserve: bool) -> i64 {
        let total = self.summary.total();
        let reserve = if with_reserve { 0 } else { self.g.dsize as i64 * i64::from(self.g.minfree) / 100 };
        total.nbfree * i64::from(self.g.frag) + total.nffree - reserve
    }

    fn has_room(&self, privileged: bool, frags: u32) -> Result<()> {
        let no_block = frags == self.g.frag && self.summary.total().nbfree <= 0;
        if no_block || self.free_space(privileged) < i64::from(frags) {
            return Err(Refusal::NoSpace.into());
        }
        Ok(())
    }

    /// Allocates `frags` fragments (a whole block, or fewer within one) near `pref`, or, if that is not given, in group
    /// `home`.
    ///
    /// # Errors
    /// `NoSpace`; the error of reading a group, if no other group has room.
    pub(crate) async fn alloc(&self, privileged: bool, home: Cgx, pref: FragNo, frags: u32) -> Result<Taken> {
        self.has_room(privileged, frags)?;
        self.hashalloc(home, pref, frags, Cut::Best).await
    }

    /// Extends `old` to `frags` fragments: in place if what follows is free, else elsewhere. Then the caller moves the
    /// contents, and frees the old run when that is safe. If it grew in place, only the fragments behind `old` are new.
    ///
    /// # Errors
    /// As [`Ffs::alloc`].
    pub(crate) async fn realloc_frag(&self, privileged: bool, pref: FragNo, old: Run, frags: u32) -> Result<Taken> {
        self.has_room(privileged, frags - old.frags)?;
        let c = self.g.dtog(old.at);
        if !self.summary.is_bad(c)
            && let Ok(group) = self.group(c).await
            && let Some(taken) = self.fragextend(&group, old, frags)
        {
            return Ok(taken);
        }
        let cut = match self.choose_optim() {
            Optim::Space => Cut::Best,
            Optim::Time => Cut::FreshBlock,
        };
        match self.hashalloc(c, pref, frags, cut).await {
            Err(_) if cut == Cut::FreshBlock => self.hashalloc(c, pref, frags, Cut::Best).await,
            outcome => outcome,
        }
    }

    fn fragextend(&self, group: &Group, old: Run, frags: u32) -> Option<Taken> {
        let more = frags - old.frags;
        if self.g.fragnum(old.at) + frags > self.g.frag || self.summary.is_bad(group.c) {
            return None;
        }
        let first = self.g.dtogd(old.at).0 + old.frags;
        let free = group.look(self, |cg| ordo_ondisk::cg::map::all(cg.free(), first, more, true));
        if !free {
            return None;
        }
        let change = group.change(self, |cg| mark(cg, first, more, false))?;
        self.summary.add(group.c, change);
        Some(Taken { run: Run { at: old.at, frags }, group: group.buf.clone() })
    }

    /// What to save now. A volume whose free space is mostly fragments is switched to space, and back when they are
    /// few; the switch takes effect from the next call on.
    fn choose_optim(&self) -> Optim {
        let now = self.memory.optim.get();
        let (nffree, dsize, minfree) = (self.summary.total().nffree, self.g.dsize as i64, i64::from(self.g.minfree));
        let next = match now {
            Optim::Space if minfree > 5 && nffree <= dsize * minfree / 200 => Optim::Time,
            Optim::Time if nffree >= dsize * (minfree - 2) / 100 => Optim::Space,
            same => same,
        };
        self.memory.optim.set(next);
        now
    }

    async fn hashalloc(&self, home: Cgx, pref: FragNo, frags: u32, cut: Cut) -> Result<Taken> {
        let pref = if pref.0 < self.g.size { pref } else { FragNo::HOLE };
        let home = if pref.is_hole() { home } else { self.g.dtog(pref) };
        let mut outcome = Refusal::NoSpace.into();
        for (turn, c) in Rehash::from(home, self.g.ncg).enumerate() {
            let cs = self.summary.cs(c);
            let fits = cs.nbfree > 0 || (cut == Cut::Best && frags < self.g.frag && cs.nffree >= frags as i32);
            if !fits {
                continue;
            }
            if self.summary.is_bad(c) {
                outcome = left_alone(c);
                continue;
            }
            let pref = if turn == 0 { pref } else { FragNo::HOLE };
            let taken = match self.group(c).await {
                Ok(group) => self.alloccg(&group, pref, frags, cut),
                Err(error) => Err(error),
            };
            match taken {
                Ok(Some(taken)) => return Ok(taken),
                Ok(None) => {}
                Err(error) => outcome = error,
            }
        }
        Err(outcome)
    }

    /// Allocates from one group. `None` if it has nothing that fits.
    fn alloccg(&self, group: &Group, pref: FragNo, frags: u32, cut: Cut) -> Result<Option<Taken>> {
        let chosen = group.look(self, |cg| self.choose(cg, group.c, pref, frags, cut));
        let Some(choice) = chosen.inspect_err(|_| self.summary.condemn(group.c)).map_err(corrupt)? else {
            return Ok(None);
        };
        let at = self.g.cgfrag(group.c, CgFrag(choice.first));
        if !self.g.is_data_range(at, frags) {
            self.summary.condemn(group.c);
            return Err(corrupt(damage(group.c, "cg_blksfree", at.0, "which is no file's to have, but marked free")));
        }
        let change = group.change(self, |cg| {
            match choice.how {
                How::Preferred => {}
                How::Fragments => cg.set_frotor(choice.first & !7),
                How::Block => {
                    cg.set_frotor(choice.first & !7);
                    // The metadata zone has few blocks; the search for the next one must not begin there.
                    if at >= self.g.cgdata(group.c) {
                        cg.set_rotor(choice.first);
                    }
                }
            }
            mark(cg, choice.first, frags, false)
        });
        // OK to expect: the search has just found them free (A1).
        self.summary.add(group.c, change.expect("what was found free can be taken"));
        Ok(Some(Taken { run: Run { at, frags }, group: group.buf.clone() }))
    }

    fn choose(
        &self,
        cg: &Cg<'_>,
        c: Cgx,
        pref: FragNo,
        frags: u32,
        cut: Cut,
    ) -> std::result::Result<Option<Choice>, Corrupt> {
        if frags < self.g.frag
            && cut == Cut::Best
            && let Some(k) = smallest_run(cg, frags)
        {
            let here = !pref.is_hole() && self.g.dtog(pref) == c;
            let from = if here { self.g.dtogd(pref).0 } else { cg.frotor() };
            return match find_run(cg, k, from) {
                Some(first) => Ok(Some(Choice { first, how: How::Fragments })),
                None => Err(damage(c, "cg_frsum", cg.frsum(k), "but the map has no run of this length")),
            };
        }
        if cg.nbfree() == 0 {
            return Ok(None);
        }
        let wanted = self.preferred_block(cg, c, pref);
        if is_free_block(cg, wanted) {
            return Ok(Some(Choice { first: wanted * self.g.frag, how: How::Preferred }));
        }
        match find_run(cg, self.g.frag, wanted * self.g.frag) {
            Some(first) => Ok(Some(Choice { first, how: How::Block })),
            None => Err(damage(c, "cg_cs.cs_nbfree", cg.nbfree(), "but the map has no free block")),
        }
    }

    /// The block to try first. A preference for another group means the same zone of this one.
    fn preferred_block(&self, cg: &Cg<'_>, c: Cgx, pref: FragNo) -> u32 {
        let base = self.g.cgbase(c).0;
        let wanted = if pref.is_hole() {
            base + u64::from(cg.rotor()) + u64::from(self.g.frag)
        } else if self.g.dtog(pref) == c {
            pref.0
        } else if pref < self.g.cgdata(self.g.dtog(pref)) {
            self.g.cgdmin(c).0
        } else {
            self.g.cgdata(c).0
        };
        ((wanted - base) % u64::from(self.g.fpg)) as u32 / self.g.frag
    }

    /// Returns what was allocated and has no pointer.
    pub(crate) async fn give_back(&self, at: FragNo, frags: u32) {
        // This fails only if the group's block, which has just been in the cache, cannot be read. There is no caller to
        // report it to; fsck finds what stays allocated.
        let _ = self.free_run(at, frags).await;
    }

    /// Frees `frags` fragments from `at` on, which may span several blocks of one group.
    ///
    /// # Errors
    /// `Corrupt` when some are already free: the others are not freed then either.
    pub(crate) async fn free_run(&self, at: FragNo, frags: u32) -> Result<()> {
        let c = self.g.dtog(at);
        let group = self.group(c).await?;
        let first = self.g.dtogd(at).0;
        let in_use = |cg: &Cg<'_>| ordo_ondisk::cg::map::all(cg.free(), first, frags, false);
        if u64::from(first) + u64::from(frags) > u64::from(self.g.cg_ndblk(c)) || !group.look(self, in_use) {
            self.summary.condemn(c);
            return Err(corrupt(damage(c, "cg_blksfree", at.0, "which is free already and was to be freed")));
        }
        let (mut next, end) = (first, first + frags);
        while next < end {
            let n = (self.g.frag - next % self.g.frag).min(end - next);
            let change = group.change(self, |cg| mark(cg, next, n, true));
            // OK to expect: all of them were seen in use, and nothing was awaited since.
            self.summary.add(c, change.expect("what is in use can be freed"));
            next += n;
        }
        Ok(())
    }
}

/// The group has room that must not be used: that is not the same as no space.
pub(crate) fn left_alone(c: Cgx) -> Error {
    Error::io(format!("cylinder group {} was damaged or could not be read, and is left alone until fsck", c.0))
}

struct Choice {
    first: u32,
    how: How,
}

/// How it was found.
enum How {
    Preferred,
    Fragments,
    Block,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rehash_asks_the_first_group_first_and_every_group() {
        for ncg in [1, 2, 3, 4, 7, 64] {
            let asked: Vec<u32> = Rehash::from(Cgx(1), ncg).map(|c| c.0).collect();
            assert_eq!(asked[0], 1 % ncg);
            let mut all = asked.clone();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all, (0..ncg).collect::<Vec<_>>(), "{asked:?}");
        }
        let first: Vec<u32> = Rehash::from(Cgx(10), 64).take(5).map(|c| c.0).collect();
        assert_eq!(first, [10, 11, 13, 17, 25]);
    }
}
