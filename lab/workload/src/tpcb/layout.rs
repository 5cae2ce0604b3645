//! Where the records of the data base are: files, pages, and the tree of accounts.
//!
//! A page begins with a header: the file, the number of the page, its level in the tree, and how many records it has. A
//! record begins with its key and its amount, so that all four files can be added up in one way; the rest of it is
//! filler. A page inside the tree has entries instead: the first key below a child, and the number of the child.
//!
//! The account file has the root first, then each level in the order of the keys, the leaves last. Branch and teller
//! file begin with a page that describes them, and is not used here.

use std::ops::Range;

/// The files of the data base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum File {
    Account,
    Branch,
    Teller,
    History,
}

pub(super) const FILES: [File; 4] = [File::Account, File::Branch, File::Teller, File::History];

/// Branches, and tellers, as many at each branch.
pub(super) const BRANCHES: u64 = 10;
pub(super) const TELLERS: u64 = 100;

/// Tellers on a page. With one branch on a page, and the page that describes the file, both files then have eleven
/// pages: the paper's 44 KB.
const TELLERS_ON_PAGE: u64 = 10;

/// Bytes of the header of a page, and of an entry inside the tree.
const HEADER: u64 = 16;
const ENTRY: u64 = 12;

/// Records on two neighbouring leaves, of those that fit on one. 237 MB for a million accounts are 16.5 on a page of 4
/// KB, on which 40 fit: so leaves have 17 and 16 in turn.
const FILL: (u64, u64) = (33, 40);

/// The page sizes that the layout can have: ten tellers fit, and whole pages make a piece of the load.
pub(super) const PAGES: Range<u64> = 1 << 10..(64 << 10) + 1;

impl File {
    pub(super) fn name(self) -> &'static str {
        match self {
            File::Account => "account",
            File::Branch => "branch",
            File::Teller => "teller",
            File::History => "history",
        }
    }

    /// Bytes of a record.
    fn record(self) -> u64 {
        if self == File::History { 50 } else { 100 }
    }
}

/// A page of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PageId {
    pub(super) file: File,
    pub(super) no: u64,
}

/// A record: its page, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) page: PageId,
    pub(super) slot: u64,
}

impl Place {
    fn new(file: File, no: u64, slot: u64) -> Place {
        Place { page: PageId { file, no }, slot }
    }

    pub(super) fn branch(branch: u64) -> Place {
        Place::new(File::Branch, 1 + branch, 0)
    }

    pub(super) fn teller(teller: u64) -> Place {
        Place::new(File::Teller, 1 + teller / TELLERS_ON_PAGE, teller % TELLERS_ON_PAGE)
    }

    fn at(self) -> usize {
        (HEADER + self.slot * self.page.file.record()) as usize
    }

    /// The key of the record, in the bytes of its page.
    pub(super) fn key(self, page: &[u8]) -> u64 {
        number(page, self.at())
    }

    /// The amount of the record, in the bytes of its page.
    fn amount(self, page: &[u8]) -> i64 {
        number(page, self.at() + 8).cast_signed()
    }

    /// Adds to the amount. What is on a page that was not kept is any number: so it wraps around.
    pub(super) fn add(self, page: &mut [u8], amount: i64) {
        let sum = self.amount(page).wrapping_add(amount);
        put(page, self.at() + 8, &sum.to_le_bytes());
    }

    /// Writes the record's key and amount, and counts it as the last one of its page.
    pub(super) fn set(self, page: &mut [u8], key: u64, amount: i64) {
        put(page, self.at(), &key.to_le_bytes());
        put(page, self.at() + 8, &amount.to_le_bytes());
        put(page, 12, &(self.slot as u32 + 1).to_le_bytes());
    }

    /// Writes the teller, and the branch, of a record of the history.
    pub(super) fn set_origin(self, page: &mut [u8], teller: u64, branch: u64) {
        put(page, self.at() + 16, &(teller as u32).to_le_bytes());
        put(page, self.at() + 20, &(branch as u32).to_le_bytes());
    }
}

impl PageId {
    /// Begins the page, with `level` levels of the tree below it.
    pub(super) fn begin(self, page: &mut [u8], level: u32) {
        page.fill(0);
        put(page, 0, &(self.file as u32 + 1).to_le_bytes());
        put(page, 4, &(self.no as u32).to_le_bytes());
        put(page, 8, &level.to_le_bytes());
    }

    /// Whether these are the bytes of this page, and not of another one or none.
    pub(super) fn is(self, page: &[u8]) -> bool {
        let fits = u64::from(count(page)) * if level(page) > 0 { ENTRY } else { self.file.record() };
        short(page, 0) == self.file as u32 + 1
            && u64::from(short(page, 4)) == self.no
            && HEADER + fits <= page.len() as u64
    }

    /// How many records are on the page, and the sum of their amounts.
    pub(super) fn total(self, page: &[u8]) -> (u64, i64) {
        let records = if level(page) > 0 { 0 } else { count(page).into() };
        let amounts = (0..records).map(|slot| Place { page: self, slot }.amount(page));
        (records, amounts.fold(0, i64::wrapping_add))
    }
}

/// The shape of the files for so many accounts.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    page: u64,
    accounts: u64,
    /// Of each level, the root first: the number of its first page, and how many there are.
    levels: Vec<(u64, u64)>,
}

impl Shape {
    /// `accounts` must be 1 to 2^32, and `page` a power of two among [`PAGES`].
    pub(super) fn new(accounts: u64, page: u64) -> Shape {
        let mut shape = Shape { page, accounts, levels: Vec::new() };
        let mut counts = vec![shape.leaf(accounts - 1) + 1];
        while counts[0] > 1 {
            counts.insert(0, counts[0].div_ceil(shape.children()));
        }
        let mut first = 0;
        for count in counts {
            shape.levels.push((first, count));
            first += count;
        }
        shape
    }

    /// How many pages of `file` are loaded.
    pub(super) fn pages(&self, file: File) -> u64 {
        match file {
            File::Account => self.levels.iter().map(|(_, count)| count).sum(),
            File::Branch => 1 + BRANCHES,
            File::Teller => 1 + TELLERS / TELLERS_ON_PAGE,
            File::History => 0,
        }
    }

    /// Entries of a full page inside the tree: all but the last of a level are full.
    fn children(&self) -> u64 {
        (self.page - HEADER) / ENTRY
    }

    /// Records on two neighbouring leaves. The first has the odd one.
    fn on_two_leaves(&self) -> u64 {
        self.on_page(File::Account) * FILL.0 / FILL.1
    }

    /// Records that fit on a page of `file`.
    pub(super) fn on_page(&self, file: File) -> u64 {
        (self.page - HEADER) / file.record()
    }

    /// The leaf of an account, counted from the first leaf.
    fn leaf(&self, account: u64) -> u64 {
        let two = self.on_two_leaves();
        account / two * 2 + u64::from(account % two >= two.div_ceil(2))
    }

    /// The first account of a leaf.
    fn first_on(&self, leaf: u64) -> u64 {
        let two = self.on_two_leaves();
        leaf / 2 * two + leaf % 2 * two.div_ceil(2)
    }

    /// The pages from the root to the leaf of an account, and its record.
    pub(super) fn path(&self, account: u64) -> (impl Iterator<Item = PageId> + '_, Place) {
        let leaf = self.leaf(account);
        let below = |level| self.children().pow((self.levels.len() - 1 - level) as u32);
        let pages = self.levels.iter().enumerate().map(move |(level, (first, _))| first + leaf / below(level));
        let leaves = self.levels[self.levels.len() - 1].0;
        let place = Place::new(File::Account, leaves + leaf, account - self.first_on(leaf));
        (pages.map(|no| PageId { file: File::Account, no }), place)
    }

    /// The `no`-th record of the history.
    pub(super) fn history(&self, no: u64) -> Place {
        let on_page = self.on_page(File::History);
        Place::new(File::History, no / on_page, no % on_page)
    }

    /// Makes a page as it is loaded: all amounts are zero.
    pub(super) fn load(&self, id: PageId, page: &mut [u8]) {
        let keys = match id.file {
            File::Account => return self.load_account(id, page),
            _ if id.no == 0 => 0..0,
            File::Branch => id.no - 1..id.no,
            File::Teller => (id.no - 1) * TELLERS_ON_PAGE..id.no * TELLERS_ON_PAGE,
            File::History => 0..0,
        };
        id.begin(page, 0);
        put_records(id, page, keys);
    }

    fn load_account(&self, id: PageId, page: &mut [u8]) {
        let level = self.levels.iter().rposition(|(first, _)| *first <= id.no).unwrap_or(0);
        let (no, below) = (id.no - self.levels[level].0, self.levels.len() - 1 - level);
        id.begin(page, below as u32);
        let Some((first, count)) = self.levels.get(level + 1) else {
            return put_records(id, page, self.first_on(no)..self.first_on(no + 1).min(self.accounts));
        };
        let children = no * self.children()..((no + 1) * self.children()).min(*count);
        put(page, 12, &((children.end - children.start) as u32).to_le_bytes());
        for (entry, child) in children.enumerate() {
            let at = HEADER as usize + entry * ENTRY as usize;
            let key = self.first_on(child * self.children().pow(below as u32 - 1));
            put(page, at, &key.to_le_bytes());
            put(page, at + 8, &((first + child) as u32).to_le_bytes());
        }
    }
}

/// The child under which a page inside the tree has `key`; `None` for a page without such a child.
pub(super) fn child(page: &[u8], key: u64) -> Option<u64> {
    let (entries, rest) = (count(page) as usize, &page[HEADER as usize..]);
    let entries = rest.get(..entries * ENTRY as usize).filter(|_| level(page) > 0)?.chunks_exact(ENTRY as usize);
    // Searched from the front: this is for a check, not for speed.
    entries.take_while(|entry| number(entry, 0) <= key).last().map(|entry| short(entry, 8).into())
}

fn put_records(id: PageId, page: &mut [u8], keys: Range<u64>) {
    for (slot, key) in keys.enumerate() {
        Place { page: id, slot: slot as u64 }.set(page, key, 0);
    }
}

fn level(page: &[u8]) -> u32 {
    short(page, 8)
}

fn count(page: &[u8]) -> u32 {
    short(page, 12)
}

fn put(page: &mut [u8], at: usize, bytes: &[u8]) {
    page[at..at + bytes.len()].copy_from_slice(bytes);
}

fn number(page: &[u8], at: usize) -> u64 {
    u64::from(short(page, at)) | u64::from(short(page, at + 4)) << 32
}

fn short(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(shape: &Shape, id: PageId) -> Vec<u8> {
        let mut page = vec![0xff; shape.page as usize];
        shape.load(id, &mut page);
        page
    }

    #[test]
    fn the_files_have_the_sizes_of_the_paper() {
        let shape = Shape::new(1_000_000, 4096);
        let kib = FILES.map(|file| shape.pages(file) * 4);
        assert_eq!((kib[0] / 1024, kib[1], kib[2], kib[3]), (237, 44, 44, 0));
        assert_eq!(shape.levels, [(0, 1), (1, 179), (180, 60_607)]);
        assert_eq!((0..200).map(|leaf| shape.first_on(leaf + 1) - shape.first_on(leaf)).sum::<u64>(), 3300);
        // 70 KB of history are about as many transactions as an iteration of the paper had.
        assert_eq!(shape.history(1400), Place::new(File::History, 17, 23));
    }

    #[test]
    fn each_account_is_found_in_what_was_loaded_where_the_shape_says_it_is() {
        for (accounts, page, depth) in
            [(1, 4096, 1), (17, 4096, 1), (18, 4096, 2), (5611, 4096, 3), (8000, 1024, 3), (40_000, 1024, 4)]
        {
            let shape = Shape::new(accounts, page);
            assert_eq!(shape.levels.len(), depth, "{accounts} {page}");
            for account in 0..accounts {
                let (path, place) = shape.path(account);
                let path: Vec<PageId> = path.collect();
                assert_eq!((path[0].no, path[depth - 1]), (0, place.page));
                for (id, below) in path.iter().zip(&path[1..]) {
                    assert_eq!(child(&loaded(&shape, *id), account), Some(below.no), "{account} of {accounts}");
                }
                let leaf = loaded(&shape, place.page);
                assert_eq!((place.key(&leaf), child(&leaf, account)), (account, None));
            }
            let (mut records, mut children) = (0, 0);
            for no in 0..shape.pages(File::Account) {
                let id = PageId { file: File::Account, no };
                let page = loaded(&shape, id);
                assert!(id.is(&page) && !PageId { no: no + 1, ..id }.is(&page));
                let (more, sum) = id.total(&page);
                assert_eq!(sum, 0);
                records += more;
                children += if level(&page) > 0 { count(&page).into() } else { 0 };
            }
            // Each page but the root is the child of one.
            assert_eq!((records, children), (accounts, shape.pages(File::Account) - 1));
        }
    }

    #[test]
    fn branches_tellers_and_history_have_a_place_each_and_an_amount() {
        let shape = Shape::new(1, 1024);
        let tellers = (0..TELLERS).map(|teller| (Place::teller(teller), teller));
        let branches = (0..BRANCHES).map(|branch| (Place::branch(branch), branch));
        for (place, key) in tellers.chain(branches) {
            assert!(place.page.no < shape.pages(place.page.file));
            let mut page = loaded(&shape, place.page);
            assert_eq!(place.key(&page), key);
            place.add(&mut page, i64::MAX);
            place.add(&mut page, -5);
            assert_eq!((place.key(&page), place.page.total(&page).1), (key, i64::MAX - 5));
        }
        let mut page = vec![0; 1024];
        shape.history(20).page.begin(&mut page, 0);
        for no in 20..30 {
            shape.history(no).set(&mut page, no, 3);
            shape.history(no).set_origin(&mut page, 99, 9);
        }
        assert_eq!((shape.on_page(File::History), shape.history(30).slot), (20, 10));
        assert_eq!(shape.history(20).page.total(&page), (10, 30));
    }
}
