//! `flag-*`: the disk's queue keeps the order, by a flag on a write (Ganger and Patt 1994, sections 3.1 and 5.1).
//!
//! Every write that `sync` would wait for is sent at once, with a flag, and no call waits for it. The scheme's name
//! says what the flag means for earlier and later writes ([`ordo_disk::Meaning`]): `full`, `back`, `part`, or, for
//! comparison, `ignore`. With `-nr` reads pass held writes. With `-cb` a copy of the block is written, and calls may go
//! on changing the block.
//!
//! F1. What `sync` does after a wait, this scheme does after the flagged write was issued. All later writes are younger
//!     than the flag, and so not durable before it. So a crash leaves only states that it could leave
//!     under `sync`.
//! F2. Freed blocks and inodes may be used again at once: all writes of their new owner are younger than the write that
//!     took them from the old one.
//! F3. A name is durable after a sync, or an fsync of what it names, and not when its call returns.

use crate::AllocInit;
use crate::new_names::NewNames;
use crate::rules::Rules;
use crate::sync::{Rule, Synchronous};
use ordo_buf::{
    Answer, BufRef, Cache, Capabilities, Durable, Key, Landing, Must, Op, OrdersQueue, Promises, Scheme, Sequence,
    Step, WhileLeaving,
};
use ordo_disk::{Flag, Meaning, Written};
use ordo_ondisk::Ino;
use ordo_rt::Time;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The schemes `flag-*`.
pub struct Flagged {
    name: &'static str,
    flag: Flag,
    leaving: WhileLeaving,
    /// Decides what would be awaited.
    sync: Synchronous,
    /// The next image of this buf is flagged.
    next: Cell<Option<Key>>,
    /// The last flagged image of each buf.
    flagged: RefCell<FxHashMap<Key, Written>>,
    names: RefCell<NewNames>,
}

impl Flagged {
    /// With this allocation initialisation, and without the rules `dropped`, which it still declares.
    pub fn without(
        name: &'static str,
        flag: Flag,
        leaving: WhileLeaving,
        alloc_init: AllocInit,
        dropped: Rules<Rule>,
    ) -> Flagged {
        Flagged {
            name,
            flag,
            leaving,
            sync: Synchronous::unawaited(alloc_init, dropped),
            next: Cell::new(None),
            flagged: RefCell::default(),
            names: RefCell::default(),
        }
    }
}

/// The promises of a scheme that sends what `sync` awaits: the order of `sync`, and nothing on return.
pub(crate) fn ordered(sync: &Synchronous) -> Promises {
    Promises {
        name_added: Durable::AfterSync,
        name_removed: Durable::AfterSync,
        fsync_covers_name: true,
        rules: sync.rules_of_order(),
        ..sync.declares()
    }
}

/// Writes the file, its inode if that has news, and the names that lead to it, and waits for these and for `more`,
/// writes in flight.
pub(crate) fn write_with_names(
    cache: &Rc<Cache>,
    names: &NewNames,
    ino: Ino,
    (inode, news): (&BufRef, &Landing),
    more: Vec<Written>,
) -> Must {
    let mut bufs = cache.unsettled_of(ino);
    bufs.extend((!news.is_done()).then(|| inode.clone()));
    bufs.extend(names.leading_to(ino));
    let cache = cache.clone();
    Must::Wait(Box::pin(async move {
        cache.write_all(bufs).await?;
        for written in &more {
            written.durable().await.map_err(ordo_vfs::Error::io)?;
        }
        Ok(())
    }))
}

impl Scheme for Flagged {
    fn name(&self) -> &'static str {
        self.name
    }

    fn declares(&self) -> Promises {
        match self.flag.meaning {
            Meaning::Full | Meaning::Back | Meaning::Part => ordered(&self.sync),
            Meaning::Ignore => crate::NoOrder.declares(),
        }
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { while_leaving: self.leaving, order: Some(self), ..Capabilities::default() }
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        self.names.borrow_mut().hear(&step);
        let Answer { must, ripe } = self.sync.step(cache, op, step);
        let must = match must {
            Must::Durable(buf) => {
                self.next.set(Some(buf.key()));
                Must::Sent(buf)
            }
            other => other,
        };
        Answer { must, ripe }
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        write_with_names(cache, &self.names.borrow(), ino, (inode, news), Vec::new())
    }

    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {
        self.flagged.borrow_mut().retain(|_, written| !written.is_durable());
        self.names.borrow_mut().forget_durable();
    }
}

impl OrdersQueue for Flagged {
    fn sequence(&self, buf: &BufRef) -> Sequence {
        let flag = (self.next.take() == Some(buf.key())).then_some(self.flag);
        Sequence { flag, ..Sequence::default() }
    }

    fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool {
        self.next.set(None);
        let mut flagged = self.flagged.borrow_mut();
        if fresh {
            flagged.insert(buf.key(), written.clone());
        }
        flagged.get(&buf.key()).is_some_and(|last| last.number() == written.number())
    }
}
