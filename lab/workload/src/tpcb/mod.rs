//! TPC-B: a data base of accounts, with its own cache, over four files.
//!
//! After Seltzer et al. (USENIX 1995, section 4), with the file sizes of their Table 3 and one user. In a transaction
//! an account, a teller and the teller's branch get an amount added, and a record is appended to the history. The data
//! base writes no page when a transaction ends: its log makes that durable. In the paper the log is on another disk.
//! Here it is there, too, where the session has such a disk, and else in a file; and there is none unless asked for,
//! since the paper's numbers leave no time for one. Each write of it appends the records of a `group` of transactions
//! and waits. Nothing reads it.
//!
//! With the defaults the cache is 1024 pages. It soon has all 180 pages inside the tree, the branches and the tellers;
//! the rest are leaves, of which the tree has 60,607. So about one page a transaction is read, at random, and another
//! one, changed some 800 transactions ago, is written to make room. That is the load on the file system.
//!
//! What is reconstructed: the layout of pages ([`layout`]); teller and account are drawn uniformly and independently,
//! where TPC-B has 85 of 100 accounts from the teller's own branch: each page is used as often either way. The data
//! base's own computing takes no time.
//!
//! T1. The tree is loaded whole and never splits. The place of a record follows from its key, so a run does not depend
//!     on what is read back: the laboratory does not keep the contents of files (buf-9). Even so the pages from the
//!     root to the leaf are read in their order, as a search reads them, and the amounts are added in the pages.
//! T2. With `verify` it does depend on them. Each page must name itself, each search must find its way by the keys, and
//!     at the end accounts, branches, tellers and history must have the same sum, which is TPC-B's condition of
//!     consistency: so a page that came back old is found. On a disk without contents this fails.
//! T3. The cache of the data base does not outlive a stage (program-1). So the work begins with `warm` transactions,
//!     which fill it; from then on as many pages are written as read. They are in no phase, but in what is counted
//!     over the whole work. What was loaded is durable before, so that none of it is written during the phase.

mod layout;
mod pool;

use crate::error::{Result, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::paths::{Held, Session, join};
use crate::program::Program;
use crate::program_log::ProgramLog;
use layout::{BRANCHES, FILES, File, PAGES, PageId, Place, Shape, TELLERS};
use ordo_rt::Rng;
use ordo_vfs::{FileSystem, Name};
use pool::{Pool, wrong};

table! {
    /// Its parameters.
    pub struct Tpcb {
        accounts: u64 = 1_000_000, "records of the account file";
        transactions: u64 = 10_000, "transactions";
        cache: u64 = 4 << 20, "bytes of the data base's cache";
        page: u64 = 4096, "bytes of a page";
        warm: u64 = 2048, "transactions before the measurement; the cache is full after about as many as it has pages";
        log: u64 = 0,
            "bytes that a transaction appends to the data base's log, on the second disk of log=separate, else in a \
             file; 0: none";
        group: u64 = 1, "transactions that one write of the log makes durable";
        verify: bool = false, "1: check pages that are read back, and the sums at the end";
        seed: u64 = 42, "where the random numbers start";
    }
}

/// Bytes of one write of the load.
const PIECE: u64 = 64 << 10;

/// The most bytes of one write of the log.
const LARGEST_FORCE: u64 = 16 << 20;

/// The largest amount of a transaction.
const LARGEST: i64 = 999_999;

impl Program for Tpcb {
    const NAME: &'static str = "tpcb";
    const WHAT: &'static str = "a data base with a cache of its own: pages read and written at random";

    fn check(&self) -> Result<()> {
        Self::must((1..=1 << 32).contains(&self.accounts), "accounts must be between 1 and 4G")?;
        Self::must(
            PAGES.contains(&self.page) && self.page.is_power_of_two(),
            "page must be a power of two from 1k to 64k",
        )?;
        Self::must(self.cache >= self.page, "cache must hold a page")?;
        Self::must(
            self.group != 0 && self.log.checked_mul(self.group).is_some_and(|bytes| bytes <= LARGEST_FORCE),
            "group must be 1 or more, and group times log 16m or less",
        )
    }

    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        let dir = session.resolve(base).await.map_err(at("lookup", base))?;
        let shape = Shape::new(self.accounts, self.page);
        for file in FILES {
            self.load(session, &dir, file, &shape).await.map_err(at("load", file.name()))?;
        }
        Ok(())
    }

    /// The unit is the transaction; bytes are those that the cache has read and written.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let mut bank = self.open(session, base).await?;
        for _ in 0..self.warm {
            bank.transaction().await?;
        }
        let mut phase = Phase::start("transactions", meter);
        for _ in 0..self.transactions {
            let before = bank.pool.moved;
            bank.transaction().await?;
            phase.done(bank.pool.moved - before);
        }
        let results = vec![phase.end()];
        if self.verify {
            bank.audit().await?;
        }
        Ok(results)
    }
}

impl Tpcb {
    async fn load<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        dir: &Held<'_, F>,
        file: File,
        shape: &Shape,
    ) -> ordo_vfs::Result<()> {
        let held = session.create(dir, Name::new(file.name().as_bytes())?).await?;
        let (pages, mut piece) = (shape.pages(file), vec![0; PIECE as usize]);
        for first in (0..pages).step_by((PIECE / self.page) as usize) {
            let mut end = 0;
            for (page, no) in piece.chunks_exact_mut(self.page as usize).zip(first..pages) {
                shape.load(PageId { file, no }, page);
                end += page.len();
            }
            session.write_at(&held, first * self.page, &piece[..end]).await?;
        }
        session.fs.fsync(held.node(), false).await
    }

    async fn open<'s, 'a, F: FileSystem>(&self, session: &'s Session<'a, F>, base: &str) -> Result<Bank<'s, 'a, F>> {
        let open = async |file: File| {
            let path = join(base, file.name());
            session.resolve(&path).await.map_err(at("lookup", &path))
        };
        let [account, branch, teller, history] = FILES;
        let files = [open(account).await?, open(branch).await?, open(teller).await?, open(history).await?];
        Ok(Bank {
            shape: Shape::new(self.accounts, self.page),
            accounts: self.accounts,
            pool: Pool::new(session, files, (self.page, self.cache), self.verify),
            rng: Rng::new(self.seed),
            made: 0,
            verify: self.verify,
            log: match self.log {
                0 => None,
                bytes => Some((ProgramLog::begin(session, base).await?, bytes)),
            },
            group: self.group,
        })
    }
}

/// The data base while it works.
struct Bank<'s, 'a, F: FileSystem> {
    shape: Shape,
    accounts: u64,
    pool: Pool<'s, 'a, F>,
    rng: Rng,
    /// Transactions so far.
    made: u64,
    verify: bool,
    /// The log, and what a transaction appends.
    log: Option<(ProgramLog<'s, 'a, F>, u64)>,
    group: u64,
}

impl<F: FileSystem> Bank<'_, '_, F> {
    async fn transaction(&mut self) -> Result<()> {
        let (account, teller) = (self.rng.below(self.accounts), self.rng.below(TELLERS));
        let branch = teller / (TELLERS / BRANCHES);
        let amount = self.rng.below(2 * LARGEST as u64 + 1).cast_signed() - LARGEST;
        let record = self.search(account).await?;
        self.add(record, account, amount).await?;
        self.add(Place::teller(teller), teller, amount).await?;
        self.add(Place::branch(branch), branch, amount).await?;
        self.append(account, (teller, branch), amount).await?;
        self.commit().await
    }

    /// The log makes durable what was done since its last write, when that is a whole group.
    async fn commit(&mut self) -> Result<()> {
        match &mut self.log {
            Some((log, bytes)) if self.made.is_multiple_of(self.group) => log.append(*bytes * self.group).await,
            _ => Ok(()),
        }
    }

    /// Goes from the root to the leaf of an account.
    async fn search(&mut self, account: u64) -> Result<Place> {
        let (path, place) = self.shape.path(account);
        // The root is the first page.
        let mut found = Some(0);
        for id in path {
            let page = self.pool.get(id).await?;
            if self.verify {
                if found != Some(id.no) {
                    return Err(wrong(id.file, format!("the keys do not lead to account {account}")));
                }
                found = layout::child(page, account);
            }
        }
        Ok(place)
    }

    async fn add(&mut self, place: Place, key: u64, amount: i64) -> Result<()> {
        let page = self.pool.change(place.page).await?;
        if self.verify && place.key(page) != key {
            return Err(wrong(place.page.file, format!("record {key} is not at its place")));
        }
        place.add(page, amount);
        Ok(())
    }

    /// Appends to the history. A page is written as soon as it is full.
    async fn append(&mut self, account: u64, (teller, branch): (u64, u64), amount: i64) -> Result<()> {
        let place = self.shape.history(self.made);
        self.made += 1;
        let page = if place.slot == 0 {
            let page = self.pool.add(place.page).await?;
            place.page.begin(page, 0);
            page
        } else {
            self.pool.change(place.page).await?
        };
        place.set(page, account, amount);
        place.set_origin(page, teller, branch);
        if place.slot + 1 == self.shape.on_page(File::History) { self.pool.write(place.page).await } else { Ok(()) }
    }

    /// Writes everything, reads everything, and compares the sums (T2).
    async fn audit(&mut self) -> Result<()> {
        self.pool.write_all().await?;
        let history = self.made.div_ceil(self.shape.on_page(File::History));
        let mut sums = Vec::new();
        for (file, records) in FILES.into_iter().zip([self.accounts, BRANCHES, TELLERS, self.made]) {
            let pages = if file == File::History { history } else { self.shape.pages(file) };
            let mut total = (0, 0_i64);
            for no in 0..pages {
                let id = PageId { file, no };
                let (records, amounts) = id.total(&self.pool.read(id).await?);
                total = (total.0 + records, total.1.wrapping_add(amounts));
            }
            if total.0 != records {
                return Err(wrong(file, format!("{} records where there must be {records}", total.0)));
            }
            sums.push(total.1);
        }
        if sums.iter().any(|sum| *sum != sums[0]) {
            return Err(wrong(File::Account, format!("account, branch, teller and history have the sums {sums:?}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::WorkloadError;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use std::cell::RefCell;

    const SMALL: Tpcb = Tpcb {
        accounts: 30_000,
        transactions: 1000,
        cache: 64 << 10,
        page: 1024,
        warm: 100,
        log: 0,
        group: 1,
        verify: true,
        seed: 1,
    };

    type Fault<'f> = &'f dyn Fn(&Session<'_, MemFs>);

    /// Runs `program`, after `between` has had the loaded files.
    fn run(program: Tpcb, between: impl FnOnce(&Session<'_, MemFs>)) -> Result<Vec<PhaseResult>> {
        let fs = MemFs::timeless();
        let session = Session::new(&fs);
        ready(session.mkdir_all("b")).unwrap();
        ready(program.prepare(&session, "b"))?;
        between(&session);
        let results = ready(program.work(&session, "b", &Reading::default));
        assert_eq!(fs.lookups(), 0);
        results
    }

    #[test]
    fn after_any_number_of_transactions_all_four_files_have_the_same_sum() {
        for transactions in [0, 1, 20, 999, 1000] {
            // A page, so that each use reads and each change is written; the tree and few leaves; everything.
            for cache in [1 << 10, 64 << 10, 16 << 20] {
                let results = run(Tpcb { transactions, cache, ..SMALL }, |_| ()).unwrap();
                assert_eq!((results.len(), results[0].phase, results[0].ops), (1, "transactions", transactions));
            }
        }
        let large = Tpcb { accounts: 1_000_000, page: 4096, cache: 4 << 20, ..SMALL };
        run(large, |_| ()).unwrap();
    }

    #[test]
    fn each_group_of_transactions_is_one_write_of_the_log_and_without_one_nothing_is_written() {
        for (log, group, writes) in [(0, 1, 0), (900, 1, 1100), (900, 16, 68), (900, 2000, 0)] {
            let (fs, disk) = (MemFs::timeless(), crate::program_log::tests::Noted::default());
            let session = Session::new(&fs).with_own_log(&disk);
            let program = Tpcb { log, group, ..SMALL };
            ready(session.mkdir_all("b")).unwrap();
            ready(program.prepare(&session, "b")).unwrap();
            ready(program.work(&session, "b", &Reading::default)).unwrap();
            assert_eq!(*disk.0.borrow(), vec![log * group; writes], "{log} {group}");
        }
        // In a file the data base stays whole, too.
        run(Tpcb { log: 700, group: 3, ..SMALL }, |_| ()).unwrap();
        for (log, group) in [(1, 0), (1 << 20, 17), (u64::MAX, 2)] {
            assert!(matches!(Tpcb { log, group, ..SMALL }.check(), Err(WorkloadError::Unusable { .. })));
        }
    }

    #[test]
    fn what_is_not_as_it_was_loaded_or_written_is_found_if_that_is_asked() {
        let shape = Shape::new(SMALL.accounts, SMALL.page);
        let leaf = shape.path(29_999).1.page;
        let amount = |session: &Session<'_, MemFs>| change(session, leaf, |page| shape.path(29_999).1.add(page, 1));
        let lost = |session: &Session<'_, MemFs>| change(session, leaf, |page| page.fill(0));
        let moved = |session: &Session<'_, MemFs>| {
            let root = PageId { file: File::Account, no: 0 };
            // The second key of the root: everything below it is now under the first.
            change(session, root, |page| page[16 + 12..][..8].fill(0xff));
        };
        let counted = |session: &Session<'_, MemFs>| {
            // An account that no transaction has: without it all sums are as before.
            change(session, leaf, |page| page[12] -= 1);
        };
        let faults: [Fault<'_>; 4] = [&amount, &lost, &moved, &counted];
        for (no, fault) in faults.into_iter().enumerate() {
            let failed = run(SMALL, fault);
            assert!(failed.as_ref().is_err_and(|why| why.to_string().contains("verify")), "{no}: {failed:?}");
            run(Tpcb { verify: false, ..SMALL }, fault).unwrap();
        }
    }

    #[test]
    fn without_that_nothing_depends_on_what_is_read_back() {
        let program = Tpcb { verify: false, ..SMALL };
        let zeroed = |session: &Session<'_, MemFs>| {
            for file in FILES {
                let held = ready(session.resolve(&join("b", file.name()))).unwrap();
                ready(session.write_at(&held, 0, &vec![0; held.attr.size as usize])).unwrap();
            }
        };
        assert_eq!(run(program, zeroed).unwrap(), run(program, |_| ()).unwrap());
    }

    #[test]
    fn a_page_of_the_history_is_written_when_it_is_full_and_nothing_else_if_all_fits() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(session.mkdir_all("b")).unwrap();
        let program = Tpcb { cache: 16 << 20, verify: false, ..SMALL };
        ready(program.prepare(&session, "b")).unwrap();
        calls.reset();
        ready(program.work(&session, "b", &Reading::default)).unwrap();
        // Twenty records fit on one.
        assert_eq!(calls.count("write"), (SMALL.warm + SMALL.transactions) / 20);
    }

    fn change(session: &Session<'_, MemFs>, id: PageId, how: impl FnOnce(&mut [u8])) {
        ready(async {
            let file = session.resolve(&join("b", id.file.name())).await.unwrap();
            let mut page = session.read_at(&file, id.no * SMALL.page, SMALL.page as u32).await.unwrap();
            how(&mut page);
            session.write_at(&file, id.no * SMALL.page, &page).await.unwrap();
        });
    }

    #[test]
    fn a_transaction_reads_a_page_and_writes_one_and_the_inner_pages_stay() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        ready(session.mkdir_all("b")).unwrap();
        let program = Tpcb { verify: false, ..Tpcb::default() };
        ready(program.prepare(&session, "b")).unwrap();
        // 237 MB in pieces of 64 KB, and two small files.
        let done = ["write", "read", "fsync"].map(|call| calls.count(call));
        assert_eq!(done, [60_787_u64.div_ceil(16) + 2, 0, 4]);
        let marks = RefCell::new(Vec::new());
        let meter = || {
            marks.borrow_mut().push(["read", "write", "fsync"].map(|call| calls.count(call)));
            Reading::default()
        };
        let results = ready(program.work(&session, "b", &meter)).unwrap();
        let marks = marks.borrow();
        let [reads, writes, fsyncs] = std::array::from_fn(|no| marks[1][no] - marks[0][no]);
        // Of a hundred leaves one or two are in the cache; of the inner pages one in a hundred is not; a page of the
        // history is full after 81.
        assert!((9800..=10_100).contains(&reads) && (9800..=10_200).contains(&writes), "{reads} and {writes}");
        assert_eq!((fsyncs, results[0].bytes), (0, (reads + writes) * 4096));
    }

    #[test]
    fn parameters_that_make_no_sense_are_refused() {
        let bad = [
            Tpcb { accounts: 0, ..SMALL },
            Tpcb { accounts: (1 << 32) + 1, ..SMALL },
            Tpcb { page: 512, ..SMALL },
            Tpcb { page: 3000, ..SMALL },
            Tpcb { page: 128 << 10, cache: 1 << 20, ..SMALL },
            Tpcb { cache: 1023, ..SMALL },
        ];
        assert!(bad.iter().all(|program| program.check().is_err()));
        assert!(
            SMALL.check().is_ok()
                && Tpcb { accounts: 1 << 32, page: 64 << 10, cache: 64 << 10, ..SMALL }.check().is_ok()
        );
    }
}
