//! A layout to prove the seam with: append-only, with inodes that move. Nothing has a place before it is written; what
//! is written goes to the end of the log, in batches with a summary.
//!
//! 1. The bufs of the dinode (`Key::Inode`) and of the block of pointers know where a file's blocks are. They change
//!    when a batch is shaped; `store` therefore keeps the pointers that the buf has.
//! 2. A batch has contents first, then what leads to them: the block of pointers, the dinode. What may not leave yet
//!    stays dirty, and a later batch has it.
//! 3. The inode map is in memory. A mount reads the summaries of the log in order, and has it again (roll-forward).

use crate::log::{BLOCK, Log, Writer, byte};
use ordo_buf::{BufRef, Cache, Fields, Freed, Gone, Key, Op, Places, Role, Run, Scheme, Slot, Step, Want, With};
use ordo_ondisk::{Dialect, Dinode, Encoding, FragNo, Ino, Lbn, dirent};
use ordo_ufs::{Fill, Inode, Layout, Mapped, NewInode, Shape};
use ordo_vfs::{Caller, Kind, Refusal, Result, StatFs};
use std::rc::Rc;

const DIRECT: u64 = 12;
const POINTERS: u64 = (BLOCK / 8) as u64;
/// The number of a file's only block of pointers.
pub(crate) const INDIRECT: Lbn = Lbn(-12);
/// The largest file, in bytes.
pub(crate) const LARGEST: u64 = (DIRECT + POINTERS) * BLOCK as u64;
/// Bytes of a dinode, which is a buf by itself.
pub(crate) const DINODE: usize = 256;

/// The layout of one mount.
pub(crate) struct Append {
    cache: Rc<Cache>,
    shape: Shape,
    pub(crate) log: Rc<Log>,
}

impl Append {
    /// Attaches itself and the scheme to the cache; a new volume gets its root directory.
    pub(crate) async fn open(cache: &Rc<Cache>, scheme: Rc<dyn Scheme>, log: Rc<Log>) -> Result<Append> {
        log.attach(cache);
        cache.attach(scheme, Rc::new(Writer(log.clone())));
        let shape = Shape {
            // No attributes: NetBSD's volumes have none that may be set.
            encoding: Encoding { dialect: Dialect::NetBsd, ..Encoding::from(&log.g) },
            dir_format: log.g.dir_format(),
            maxfilesize: LARGEST,
            volume: u64::MAX,
            inodes: 1 << 20,
            maxcontig: 1,
            keeps_depth: false,
        };
        let layout = Append { cache: cache.clone(), shape, log };
        if layout.log.is_new() {
            layout.make_root().await?;
        }
        Ok(layout)
    }

    async fn make_root(&self) -> Result<()> {
        let chunk = self.shape.dir_format.block;
        let dinode = Dinode { mode: 0o040755, nlink: 2, size: chunk as u64, ..Dinode::default() };
        let root = Inode::new(Ino::ROOT, dinode);
        root.set_block(self.fresh_dinode(Ino::ROOT).await?);
        let key = Key::File(Ino::ROOT, Lbn(0));
        let block = self.cache.fresh(key, Role::Directory, None, BLOCK).await?;
        let dots = dirent::new_directory(self.shape.dir_format, Ino::ROOT, Ino::ROOT);
        self.cache.modify(&block, |bytes| bytes[..dots.len()].copy_from_slice(&dots));
        self.store(&root).await.map(drop)
    }

    async fn fresh_dinode(&self, ino: Ino) -> Result<BufRef> {
        self.cache.fresh(Key::Inode(ino), Role::Inodes, None, DINODE).await
    }

    /// The block of pointers of a file.
    async fn pointers(&self, inode: &Inode) -> Result<Option<BufRef>> {
        self.log.pointers(&self.block_of(inode).await?).await
    }

    /// Where block `lbn` is on the disk, in the state that the bufs have.
    async fn pointer(&self, inode: &Inode, lbn: u64) -> Result<FragNo> {
        if lbn < DIRECT {
            let dinode = self.block_of(inode).await?;
            return Ok(self.log.dinode(&dinode).db[lbn as usize]);
        }
        let Some(block) = self.pointers(inode).await? else { return Ok(FragNo::HOLE) };
        Ok(self.log.g.pointer(&block.bytes(), (lbn - DIRECT) as u32).unwrap_or(FragNo::HOLE))
    }

    /// Clears the pointer to block `lbn`, and discards its buf. `true` if there was a block.
    async fn clear(&self, inode: &Inode, lbn: u64) -> Result<bool> {
        let (ino, key) = (inode.ino(), Key::File(inode.ino(), Lbn(lbn as i64)));
        let there = self.cache.find(key).is_some();
        self.cache.discard_key(key);
        if self.pointer(inode, lbn).await?.is_hole() {
            return Ok(there);
        }
        self.log.point(ino, Lbn(lbn as i64), FragNo::HOLE);
        Ok(true)
    }

    /// Clears the pointers `from..to`, and reports it.
    async fn clear_run(&self, op: Op, inode: &Inode, from: u64, to: u64) -> Result<()> {
        let to = to.min(DIRECT + POINTERS);
        let mut gone = Vec::new();
        for lbn in from..to {
            if self.clear(inode, lbn).await? {
                gone.push(Gone { lbn: Lbn(lbn as i64), kept: 0, run: Run { at: FragNo::HOLE, frags: 8 } });
            }
        }
        {
            let mut dinode = inode.dinode_mut();
            dinode.blocks = dinode.blocks.saturating_sub(8 * gone.len() as u64);
        }
        let at = self.store(inode).await?;
        let (ino, runs) = (inode.ino(), gone.iter().map(|gone| (gone.run.at, gone.run.frags)).collect());
        if gone.is_empty() {
            return Ok(());
        }
        let ticket = self.cache.ledger().issue(Freed::Blocks { ino, runs });
        let step = Step::BlocksReleased { ino, at: &at, blocks: &gone, ticket };
        self.report(op, step).await
    }

    /// Reports a step, and frees what its ticket names, if that is safe at once.
    async fn report(&self, op: Op, step: Step<'_>) -> Result<()> {
        match self.cache.step(op, step).await? {
            Some(ripe) => self.free(ripe.redeem()).await,
            None => Ok(()),
        }
    }

    fn role(inode: &Inode) -> Role {
        match inode.kind() {
            Some(Kind::Directory) => Role::Directory,
            Some(Kind::Symlink) => Role::Symlink,
            _ => Role::Data,
        }
    }

    /// The block with this number, made if it is not there. Its pointer is set when it is written.
    async fn block_to_write(&self, op: Op, inode: &Inode, lbn: u64, fill: Fill<'_>) -> Result<BufRef> {
        let (ino, number) = (inode.ino(), Lbn(lbn as i64));
        if let Some(buf) = self.block(inode, number).await? {
            self.cache.before_change(&buf).await;
            self.cache.modify(&buf, |bytes| fill(bytes));
            self.report(op, Step::DataWritten { ino, lbn: number, block: &buf }).await?;
            return Ok(buf);
        }
        if lbn >= DIRECT && self.pointers(inode).await?.is_none() {
            let key = Key::File(ino, INDIRECT);
            let buf = self.cache.fresh(key, Role::Indirect, None, BLOCK).await?;
            self.cache.mark_dirty(&buf);
            self.allocated(op, inode, INDIRECT, &buf).await?;
        }
        let buf = self.cache.fresh(Key::File(ino, number), Append::role(inode), None, BLOCK).await?;
        self.cache.modify(&buf, |bytes| fill(bytes));
        inode.dinode_mut().blocks += 8;
        self.allocated(op, inode, number, &buf).await?;
        Ok(buf)
    }

    /// A new block has contents, and no place: the step says so.
    async fn allocated(&self, op: Op, inode: &Inode, lbn: Lbn, block: &BufRef) -> Result<()> {
        let (ino, role) = (inode.ino(), block.kind());
        self.report(op, Step::BlockReady { ino, lbn, block, role }).await?;
        let at = self.store(inode).await?;
        let none = Run { at: FragNo::HOLE, frags: 0 };
        let (slot, new) = (Slot::Inode(&at, 0), Run { at: FragNo::HOLE, frags: 8 });
        let map = None;
        let step =
            Step::BlockAllocated { ino, lbn, role, slot, old: none, new, block, map, with: With::Nothing, freed: None };
        self.report(op, step).await
    }
}

impl Layout for Append {
    const NAME: &'static str = "the skeleton";
    const PLACES: Places = Places::Moving;

    fn cache(&self) -> &Rc<Cache> {
        &self.cache
    }

    fn shape(&self) -> &Shape {
        &self.shape
    }

    async fn begin(&self, _: Op) -> Result<()> {
        self.log.running.set(self.log.running.get() + 1);
        Ok(())
    }

    fn end(&self, _: Op) {
        self.log.running.set(self.log.running.get() - 1);
    }

    async fn load(&self, ino: Ino) -> Result<Inode> {
        let buf = self.log.dinode_buf(ino).await?;
        let dinode = self.log.dinode(&buf);
        if dinode.mode == 0 {
            return Err(Refusal::Stale.into());
        }
        let inode = Inode::new(ino, dinode);
        inode.set_block(buf);
        Ok(inode)
    }

    async fn may_load(&self, ino: Ino) -> Result<bool> {
        Ok(self.log.place_of(ino).is_some())
    }

    async fn store(&self, inode: &Inode) -> Result<BufRef> {
        let buf = self.block_of(inode).await?;
        self.cache.before_change(&buf).await;
        let mut dinode = inode.dinode().clone();
        if dinode.has_blocks(&self.log.g) {
            let old = self.log.dinode(&buf);
            (dinode.db, dinode.ib) = (old.db, old.ib);
        }
        self.cache.modify(&buf, |bytes| dinode.encode(bytes, &self.log.g)).ok_or(Refusal::Invalid)?;
        Ok(buf)
    }

    async fn block_of(&self, inode: &Inode) -> Result<BufRef> {
        if let Some(buf) = inode.block() {
            return Ok(buf);
        }
        let buf = match self.cache.find(Key::Inode(inode.ino())) {
            Some(buf) => buf,
            None => self.fresh_dinode(inode.ino()).await?,
        };
        inode.set_block(buf.clone());
        Ok(buf)
    }

    async fn alloc_inode(&self, _: Op, _: &Inode, _: Kind) -> Result<NewInode> {
        let (ino, generation) = self.log.new_number();
        self.fresh_dinode(ino).await?;
        Ok(NewInode { ino, generation, map: None })
    }

    async fn unalloc_inode(&self, new: NewInode, _: Kind) {
        self.log.free_number(new.ino);
    }

    async fn read_ahead(&self, _: &Inode, _: Lbn, _: Lbn) -> Result<()> {
        Ok(())
    }

    async fn map(&self, inode: &Inode, lbn: Lbn, count: u64) -> Result<Mapped> {
        let number = lbn.0 as u64;
        if number * BLOCK as u64 >= inode.size() {
            return Ok(Mapped::Hole { blocks: count.max(1) });
        }
        let cached = self.cache.find(Key::File(inode.ino(), lbn));
        Ok(match (cached, self.pointer(inode, number).await?.is_hole()) {
            (None, true) => Mapped::Hole { blocks: 1 },
            (Some(_), true) => Mapped::Unplaced { blocks: 1 },
            (_, false) => Mapped::Stored { blocks: 1 },
        })
    }

    async fn block(&self, inode: &Inode, lbn: Lbn) -> Result<Option<BufRef>> {
        let key = Key::File(inode.ino(), lbn);
        if let Some(buf) = self.cache.find(key) {
            return Ok(Some(buf));
        }
        let at = self.pointer(inode, lbn.0 as u64).await?;
        if at.is_hole() {
            return Ok(None);
        }
        let want = Want { key, role: Append::role(inode), addr: byte(at), len: BLOCK };
        self.cache.read(want).await.map(Some)
    }

    async fn write_block(
        &self,
        op: Op,
        _: &Caller,
        inode: &Inode,
        lbn: Lbn,
        _from: usize,
        to: usize,
        fill: Fill<'_>,
    ) -> Result<BufRef> {
        let (number, ino) = (lbn.0 as u64, inode.ino());
        let end = number * BLOCK as u64 + to as u64;
        if end > LARGEST {
            return Err(Refusal::TooBig.into());
        }
        let buf = self.block_to_write(op, inode, number, fill).await?;
        if end > inode.size() {
            inode.dinode_mut().size = end;
            let at = self.store(inode).await?;
            let fields = if inode.is_dir() { Fields::DirectorySize } else { Fields::Size };
            self.report(op, Step::InodeChanged { ino, inode: &at, fields }).await?;
        }
        Ok(buf)
    }

    async fn truncate(&self, op: Op, who: &Caller, inode: &Inode, size: u64) -> Result<()> {
        let (now, block) = (inode.size(), BLOCK as u64);
        if size > LARGEST {
            return Err(Refusal::TooBig.into());
        }
        if size == now {
            return Ok(());
        }
        // As in FFS a file ends in a block: calls lean on that.
        if size > 0 {
            let (lbn, at) = ((size - 1) / block, ((size - 1) % block) as usize);
            let shrinks = size < now;
            let mut fill = |bytes: &mut [u8]| bytes[if shrinks { at + 1 } else { at }..].fill(0);
            self.write_block(op, who, inode, Lbn(lbn as i64), at, at + 1, &mut fill).await?;
        }
        if size < now {
            inode.dinode_mut().size = size;
            self.clear_run(op, inode, size.div_ceil(block), u64::MAX).await?;
            let at = self.store(inode).await?;
            let ino = inode.ino();
            self.report(op, Step::InodeChanged { ino, inode: &at, fields: Fields::Size }).await?;
        }
        Ok(())
    }

    async fn punch(&self, op: Op, inode: &Inode, from: Lbn, to: Lbn) -> Result<()> {
        self.clear_run(op, inode, from.0 as u64, to.0 as u64).await
    }

    async fn gather_cluster(&self, _: Op, _: &Inode, _: Lbn, _: Lbn) {}

    async fn attributes(&self, _: &Inode) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    async fn set_attributes(&self, _: Op, _: &Caller, _: &Inode, _: &[u8], _: Option<u16>) -> Result<()> {
        Err(Refusal::NotSupported.into())
    }

    async fn release(&self, op: Op, inode: &Inode) -> Result<()> {
        let (ino, directory) = (inode.ino(), inode.is_dir());
        if inode.dinode().has_blocks(&self.log.g) {
            self.clear_run(op, inode, 0, u64::MAX).await?;
            self.cache.discard_key(Key::File(ino, INDIRECT));
        }
        *inode.dinode_mut() = Dinode::default();
        let at = self.store(inode).await?;
        let ticket = self.cache.ledger().issue(Freed::Inode { ino, directory });
        self.report(op, Step::InodeReleased { ino, inode: &at, ticket }).await
    }

    async fn free(&self, freed: Freed) -> Result<()> {
        if let Freed::Inode { ino, .. } = freed {
            self.cache.discard_key(Key::Inode(ino));
            self.log.free_number(ino);
        }
        Ok(())
    }

    fn statfs(&self) -> StatFs {
        let frags = 1 << 20;
        StatFs {
            frag_size: 512,
            block_size: BLOCK as u32,
            frags,
            free_frags: frags,
            avail_frags: frags,
            inodes: self.shape.inodes,
            free_inodes: self.shape.inodes / 2,
            name_max: 255,
        }
    }

    async fn gather(&self) -> Result<()> {
        Ok(())
    }

    async fn unmount(&self) -> Result<()> {
        // A scheme that holds back what a batch has changed gets another chance: its log is durable by now.
        while !self.cache.is_settled() {
            let must = self.cache.scheme().clone().sync(&self.cache);
            self.cache.obey(must).await?;
        }
        self.log.write_last_summary(&self.cache).await
    }
}
