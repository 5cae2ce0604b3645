//! Quotas: what each user and group uses, kept in memory while the volume is mounted, and the limits.
//!
//! Q1. What is used follows the dinodes: an inode carries what it was charged with ([`Charged`]), and each store of it
//!     charges the difference ([`Quotas::settle`]). No path that allocates, frees, changes an owner or frees an inode
//!     can forget it, and what is used is what a count of all dinodes finds.
//! Q2. A caller that limits apply to reserves before anything is allocated ([`Quotas::reserve`]), and what it reserved
//!     counts as used until its call is over. So calls that run at the same time do not exceed a hard limit together.
//!     An excess is refused while nothing has changed.
//! Q3. A soft limit may be exceeded until the grace time is over. The time begins with the call that crosses the limit.
//! Q4. Files of quotas, snapshots and NetBSD's log are the system's and are charged to nobody: the BSD systems leave
//!     them out as well.
//! Q5. The files are written by a sync and by an unmount. After a crash they are behind: a mount counts anew, and so
//!     does fsck.
//! Q6. Limits apply to no call of uid 0. A change of size or of group has no caller here: it is the owner's.

use crate::{Charged, Inode};
use ordo_ondisk::quota::table::Table;
use ordo_ondisk::quota::{Counter, Entry, Form, GRACE, Whose};
use ordo_ondisk::{Dinode, Endian, Ino};
use ordo_vfs::{Caller, Refusal, Result};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes to be written to a file of quotas.
pub(crate) struct Write {
    pub(crate) ino: Ino,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The quotas of users, or of groups.
pub(crate) struct Kept {
    pub(crate) whose: Whose,
    pub(crate) ino: Ino,
    pub(crate) form: Form,
    pub(crate) enforced: bool,
    pub(crate) entries: BTreeMap<u32, Entry>,
    /// NetBSD's table.
    pub(crate) table: Option<Table>,
    pub(crate) endian: Endian,
    pub(crate) changed: BTreeSet<u32>,
}

impl Kept {
    /// Owners whose number is negative in 32 bits would make an old file larger than 100 GB: FreeBSD leaves them out.
    fn tracks(&self, id: u32) -> bool {
        self.form == Form::Table || i32::try_from(id).is_ok()
    }

    fn entry(&mut self, id: u32) -> &mut Entry {
        self.changed.insert(id);
        let fresh = || self.table.as_ref().map(Table::default_entry).unwrap_or_default();
        self.entries.entry(id).or_insert_with(fresh)
    }

    fn charge(&mut self, id: u32, sectors: u64, inodes: u64) {
        if !self.tracks(id) {
            return;
        }
        let entry = self.entry(id);
        entry.blocks.used = entry.blocks.used.saturating_add(sectors);
        entry.inodes.used = entry.inodes.used.saturating_add(inodes);
    }

    /// A count that was wrong on the disk must not become a huge one.
    fn discharge(&mut self, id: u32, sectors: u64, inodes: u64) {
        if !self.tracks(id) {
            return;
        }
        let entry = self.entry(id);
        entry.blocks.used = entry.blocks.used.saturating_sub(sectors);
        entry.inodes.used = entry.inodes.used.saturating_sub(inodes);
    }

    /// How long soft limits may be exceeded: of sectors, and of inodes.
    fn grace(&self, entry: &Entry) -> (i64, i64) {
        let of = |time: i64| if time > 0 { time } else { GRACE };
        let times = match self.form {
            Form::Table => (entry.blocks.grace, entry.inodes.grace),
            _ => self.entries.get(&0).map_or((0, 0), |root| (root.blocks.time, root.inodes.time)),
        };
        (of(times.0), of(times.1))
    }

    /// Whether the owner may have so much more; the end of the grace times that begin with it.
    fn judge(&self, id: u32, sectors: u64, inodes: u64, now: i64) -> Result<[Option<i64>; 2]> {
        let entry = match (self.entries.get(&id), &self.table) {
            (Some(entry), _) => *entry,
            (None, Some(table)) => table.default_entry(),
            (None, None) => return Ok([None; 2]),
        };
        // The record of root in an old file has no limits.
        if self.form != Form::Table && id == 0 {
            return Ok([None; 2]);
        }
        let grace = self.grace(&entry);
        let blocks = self.judge_one(&entry.blocks, sectors, now, grace.0)?;
        Ok([blocks, self.judge_one(&entry.inodes, inodes, now, grace.1)?])
    }

    fn judge_one(&self, c: &Counter, more: u64, now: i64, grace: i64) -> Result<Option<i64>> {
        let (above, after) = (|used, limit| self.form.is_above(used, limit), c.used.saturating_add(more));
        if more == 0 || !above(after, c.hard) && !above(after, c.soft) {
            return Ok(None);
        }
        if above(after, c.hard) {
            return Err(Refusal::Quota.into());
        }
        match above(c.used, c.soft) && c.time != 0 {
            true if now > c.time => Err(Refusal::Quota.into()),
            true => Ok(None),
            false => Ok(Some(now.saturating_add(grace))),
        }
    }

    /// What is to be written of the changed entries.
    fn take_writes(&mut self) -> Vec<Write> {
        let changed = std::mem::take(&mut self.changed);
        let rows = changed.iter().filter_map(|id| self.entries.get(id).map(|entry| (*id, *entry)));
        let Some(table) = &mut self.table else {
            let write = |(id, entry): (u32, Entry)| {
                let bytes = self.form.encode(&entry, self.endian);
                Write { ino: self.ino, at: self.form.record_at(id), bytes }
            };
            return rows.map(write).collect();
        };
        rows.for_each(|(id, entry)| table.set(id, &entry));
        let block = |(number, bytes): (u32, Vec<u8>)| {
            let at = u64::from(number) * bytes.len() as u64;
            Write { ino: self.ino, at, bytes }
        };
        table.take_changed().into_iter().map(block).collect()
    }
}

/// The quotas of a mounted volume. Without any, a test of a flag is all that they cost.
#[derive(Default)]
pub struct Quotas {
    on: Cell<bool>,
    kept: RefCell<Vec<Kept>>,
    /// Inodes of the files of quotas (Q4).
    own: RefCell<Vec<Ino>>,
    /// They are being written.
    writing: Cell<bool>,
}

/// What a call has reserved (Q2). It lasts as long as the call.
pub struct Hold<'a> {
    quotas: &'a Quotas,
    what: Option<(Charged, u64)>,
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Some((what, inodes)) = self.what {
            self.quotas.each(|kept| kept.discharge(what.owner(kept.whose), what.sectors, inodes));
        }
    }
}

impl Quotas {
    /// Whether any are kept.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.get()
    }

    pub(crate) fn begin(&self, kept: Vec<Kept>) {
        self.on.set(!kept.is_empty());
        *self.own.borrow_mut() = kept.iter().map(|kept| kept.ino).collect();
        *self.kept.borrow_mut() = kept;
    }

    fn each(&self, mut what: impl FnMut(&mut Kept)) {
        self.kept.borrow_mut().iter_mut().for_each(&mut what);
    }

    /// A file of quotas was freed: its number may be another file's soon, which must not be written to.
    fn forget_file(&self, ino: Ino) {
        self.own.borrow_mut().retain(|own| *own != ino);
        self.kept.borrow_mut().retain(|kept| kept.ino != ino);
        self.on.set(!self.own.borrow().is_empty());
    }

    /// Keeps none any more.
    pub fn end(&self) {
        self.begin(Vec::new());
    }

    fn is_own(&self, ino: Ino) -> bool {
        self.own.borrow().contains(&ino)
    }

    /// The inode was stored: its owners are charged with what is new (Q1).
    pub fn settle(&self, inode: &Inode) {
        let now = Charged::of(&inode.dinode());
        let was = inode.charge(now);
        if was == now {
            return;
        }
        if self.is_own(inode.ino()) {
            if now.is_none() {
                self.forget_file(inode.ino());
            }
            return;
        }
        self.each(|kept| {
            if let Some(now) = now {
                kept.charge(now.owner(kept.whose), now.sectors, 1);
            }
            if let Some(was) = was {
                kept.discharge(was.owner(kept.whose), was.sectors, 1);
            }
        });
    }

    /// Reserves sectors and inodes for a call of `who`, of which these owners are charged (Q2).
    ///
    /// # Errors
    /// `Quota`.
    pub fn reserve(&self, who: &Caller, owners: (u32, u32), sectors: u64, inodes: u64, now: i64) -> Result<Hold<'_>> {
        self.reserve_of(&Whose::ALL, who, owners, sectors, inodes, now)
    }

    fn reserve_of(
        &self,
        whose: &[Whose],
        who: &Caller,
        (uid, gid): (u32, u32),
        sectors: u64,
        inodes: u64,
        now: i64,
    ) -> Result<Hold<'_>> {
        let nothing = Hold { quotas: self, what: None };
        // Q6.
        if !self.is_on() || who.uid == 0 || sectors == 0 && inodes == 0 {
            return Ok(nothing);
        }
        let what = Charged { uid, gid, sectors };
        let mut crossed = Vec::new();
        for kept in self.kept.borrow().iter().filter(|kept| kept.enforced && whose.contains(&kept.whose)) {
            crossed.push((kept.whose, kept.judge(what.owner(kept.whose), sectors, inodes, now)?));
        }
        self.each(|kept| {
            let id = what.owner(kept.whose);
            if !kept.tracks(id) {
                return;
            }
            kept.charge(id, sectors, inodes);
            let times = crossed.iter().find(|(whose, _)| *whose == kept.whose).map_or([None; 2], |(_, times)| *times);
            let entry = kept.entry(id);
            entry.blocks.time = times[0].unwrap_or(entry.blocks.time);
            entry.inodes.time = times[1].unwrap_or(entry.inodes.time);
        });
        Ok(Hold { what: Some((what, inodes)), ..nothing })
    }

    /// Reserves what a write to `inode` takes.
    ///
    /// # Errors
    /// `Quota`.
    pub fn reserve_for(&self, who: &Caller, inode: &Inode, sectors: u64, now: i64) -> Result<Hold<'_>> {
        if self.is_own(inode.ino()) {
            return Ok(Hold { quotas: self, what: None });
        }
        let owners = (inode.dinode().uid, inode.dinode().gid);
        self.reserve(who, owners, sectors, 0, now)
    }

    /// Reserves what a new group of `inode` takes. Only root gives a file to another user.
    ///
    /// # Errors
    /// `Quota`.
    pub fn reserve_group(&self, inode: &Inode, uid: Option<u32>, gid: Option<u32>, now: i64) -> Result<Hold<'_>> {
        let (owner, group, sectors) = (inode.dinode().uid, inode.dinode().gid, inode.dinode().blocks);
        match gid.filter(|gid| *gid != group && uid.is_none_or(|uid| uid == owner)) {
            Some(gid) => {
                let who = Caller { uid: owner, ..Caller::default() };
                self.reserve_of(&[Whose::Groups], &who, (owner, gid), sectors, 1, now)
            }
            None => Ok(Hold { quotas: self, what: None }),
        }
    }

    /// Begins a count: nothing is used.
    pub(crate) fn forget_usage(&self) {
        self.each(|kept| {
            kept.changed.extend(kept.entries.keys());
            kept.entries.values_mut().for_each(|entry| (entry.blocks.used, entry.inodes.used) = (0, 0));
        });
    }

    /// Counts an inode.
    pub(crate) fn count(&self, ino: Ino, dinode: &Dinode) {
        let Some(now) = Charged::of(dinode).filter(|_| !self.is_own(ino)) else { return };
        self.each(|kept| kept.charge(now.owner(kept.whose), now.sectors, 1));
    }

    /// Whether anything is to be written.
    pub(crate) fn is_changed(&self) -> bool {
        self.is_on() && self.kept.borrow().iter().any(|kept| !kept.changed.is_empty())
    }

    /// Begins to write: what is to be written; `None` if another call does so.
    pub(crate) fn begin_writing(&self) -> Option<Writing<'_>> {
        if !self.is_changed() || self.writing.replace(true) {
            return None;
        }
        let writes = self.kept.borrow_mut().iter_mut().flat_map(Kept::take_writes).collect();
        Some(Writing { quotas: self, writes, done: false })
    }

    /// All entries, as they are now.
    pub fn entries(&self) -> Vec<(Whose, Form, BTreeMap<u32, Entry>)> {
        self.kept.borrow().iter().map(|kept| (kept.whose, kept.form, kept.entries.clone())).collect()
    }

    /// Changes an owner's entry: limits and times.
    pub fn change(&self, whose: Whose, id: u32, change: impl Fn(Form, &mut Entry, (i64, i64), i64), now: i64) -> bool {
        let mut found = false;
        self.each(|kept| {
            if kept.whose == whose {
                let form = kept.form;
                let grace = kept.grace(&kept.entries.get(&id).copied().unwrap_or_default());
                change(form, kept.entry(id), grace, now);
                found = true;
            }
        });
        found
    }
}

/// Writes on their way to the files. What is not done is written with the next sync.
pub(crate) struct Writing<'a> {
    quotas: &'a Quotas,
    pub(crate) writes: Vec<Write>,
    pub(crate) done: bool,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.quotas.writing.set(false);
        if !self.done {
            self.quotas.each(|kept| kept.changed.extend(kept.entries.keys()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quotas(form: Form, blocks: Counter) -> Quotas {
        let quotas = Quotas::default();
        let entry = Entry { blocks, inodes: Counter { hard: u64::MAX, soft: u64::MAX, ..Counter::default() } };
        quotas.begin(vec![Kept {
            whose: Whose::Users,
            ino: Ino(9),
            form,
            enforced: true,
            entries: BTreeMap::from([(5, entry)]),
            table: None,
            endian: Endian::Little,
            changed: BTreeSet::new(),
        }]);
        quotas
    }

    fn used(quotas: &Quotas) -> (u64, i64) {
        let entry = quotas.entries()[0].2[&5];
        (entry.blocks.used, entry.blocks.time)
    }

    #[test]
    fn a_soft_limit_holds_once_its_time_is_over_and_a_hard_one_at_once() {
        for (form, last) in [(Form::Table, 20), (Form::Wide, 19)] {
            let limits = Counter { hard: 20, soft: 10, grace: 100, ..Counter::default() };
            let quotas = quotas(form, limits);
            let who = Caller { uid: 5, ..Caller::default() };
            let grace = if form == Form::Table { 100 } else { GRACE };
            let take = |sectors, now| quotas.reserve(&who, (5, 5), sectors, 0, now);
            let small = take(4, 1000).unwrap();
            assert_eq!(used(&quotas), (4, 0));
            let crossing = take(last - 4, 1000).unwrap();
            assert_eq!(used(&quotas), (last, 1000 + grace));
            assert!(take(1, 1001).is_err());
            drop(crossing);
            let again = take(8, 1000 + grace).unwrap();
            assert!(take(1, 1000 + 2 * grace).is_ok() && take(1, 1001 + 2 * grace).is_err());
            // Root may; and who is below the soft limit has a new time.
            assert!(quotas.reserve(&Caller::default(), (5, 5), 100, 0, 0).is_ok());
            drop((again, small));
            let _later = take(12, 5000 + grace).unwrap();
            assert_eq!(used(&quotas), (12, 5000 + 2 * grace));
        }
    }

    #[test]
    fn a_stored_inode_is_charged_with_what_is_new_and_moves_with_its_owner() {
        let quotas = quotas(Form::Wide, Counter::default());
        let dinode = Dinode { mode: 0o100644, uid: 5, blocks: 8, ..Dinode::default() };
        let inode = Inode::new(Ino(20), dinode);
        quotas.settle(&inode);
        inode.dinode_mut().blocks = 24;
        quotas.settle(&inode);
        assert_eq!(used(&quotas).0, 24);
        inode.dinode_mut().uid = 6;
        quotas.settle(&inode);
        let entries = quotas.entries()[0].2.clone();
        assert_eq!((entries[&5].blocks.used, entries[&6].blocks.used, entries[&6].inodes.used), (0, 24, 1));
        inode.dinode_mut().mode = 0;
        quotas.settle(&inode);
        assert_eq!(quotas.entries()[0].2[&6].inodes.used, 0);
        // The files of quotas themselves are nobody's.
        let own = Inode::new(Ino(9), Dinode { mode: 0o100644, uid: 5, blocks: 8, ..Dinode::default() });
        quotas.settle(&own);
        assert_eq!(used(&quotas).0, 0);
    }
}
