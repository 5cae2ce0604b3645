//! Commit: writing a transaction and making it durable.
//!
//! Blocks are packed into requests of up to 1 MiB, each as long as its blocks are contiguous on the disk. At most
//! [`UNDER_WAY`] bytes are in flight, which bounds the memory that a transaction of any length needs.

use crate::area::Area;
use crate::blocks::{Body, Ending, Header, Kind, Tag, put_revoked};
use crate::journal::{Inner, State};
use crate::{Commit, Error, Journal, Seq, Transaction};
use ordo_disk::{Block, DiskError, DiskOff, Kind as Bytes, Stored, Written};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use std::collections::VecDeque;

/// Bytes in flight at a time.
const UNDER_WAY: u64 = 8 << 20;

impl Journal {
    /// Commits a transaction; returns when it is durable. One commit is in flight at a time, in the order of the calls.
    /// With [`Commit::Together`] the transaction may count after a crash from the moment of the call on: what must be
    /// durable before it must be durable before the call.
    ///
    /// # Errors
    /// [`Error::Ragged`], [`Error::TooLong`], [`Error::Full`]: nothing has happened. [`Error::Failed`] if the disk
    /// fails: after a crash the transaction may be there or not, and the journal accepts no more. [`Error::Closed`],
    /// [`Error::Abandoned`].
    pub async fn commit(&self, transaction: Transaction) -> Result<Seq, Error> {
        let journal = &self.0;
        transaction.check(journal.area.shape.block)?;
        let _turn = journal.turn.lock().await;
        let cost = transaction.cost(journal.area.shape);
        let (line, header) = journal.begin(cost)?;
        match journal.write(line, cost, header, &transaction).await {
            Ok(stored) => {
                let seq = journal.end(&mut journal.state.borrow_mut(), line, cost, &transaction);
                if let Some(copies) = journal.copies.get() {
                    copies.committed(seq.0, &stored, &transaction.revoked);
                }
                Ok(seq)
            }
            Err(error) => Err(journal.fail(error)),
        }
    }
}

impl Inner {
    /// Where a transaction of `cost` blocks begins, and the header fields that its blocks share.
    fn begin(&self, cost: u64) -> Result<(u64, Header), Error> {
        let mut state = self.state.borrow_mut();
        self.usable(&state)?;
        if state.under_way {
            return Err(Error::Abandoned(state.next));
        }
        let free = self.free(&state);
        let most = self.area.size.saturating_sub(self.apart());
        if cost > most {
            return Err(Error::TooLong { blocks: cost, most });
        }
        if cost > free {
            return Err(Error::Full { wanted: cost, free });
        }
        state.under_way = true;
        let (kind, seq, sure) = (Kind::Commit, state.next, state.next.before());
        Ok((state.end, Header { kind, count: cost as u32, seq, line: state.end, epoch: state.epoch, sure }))
    }

    fn end(&self, state: &mut State, line: u64, cost: u64, transaction: &Transaction) -> Seq {
        let seq = state.next;
        state.under_way = false;
        state.live.push_back(line);
        (state.end, state.next) = (line + cost, seq.next());
        state.counters.transactions += 1;
        state.counters.blocks += cost;
        state.counters.images += transaction.images(self.area.shape.block);
        seq
    }

    /// Returns where it has stored the caller's blocks, if anything below wants to know.
    async fn write(
        &self,
        line: u64,
        cost: u64,
        header: Header,
        transaction: &Transaction,
    ) -> Result<Vec<Stored>, DiskError> {
        let mut writer = Writer::new(self, line, header);
        writer.body(transaction, line + cost - 1).await?;
        match self.options.commit {
            Commit::Together => {
                writer.commit_block(cost, false).await?;
                writer.land().await?;
            }
            Commit::AfterFlush => {
                writer.before_commit().await?;
                writer.commit_block(cost, true).await?;
            }
        }
        Ok(writer.stored)
    }
}

/// Writes a transaction to the disk.
struct Writer<'a> {
    journal: &'a Inner,
    area: &'a Area,
    header: Header,
    body: Body,
    /// The block of the line that is filled next.
    line: u64,
    /// The last block that may go with this request or a later one of the body; a commit block that is held back is
    /// excluded.
    last: u64,
    /// The request that is being filled: its first block in the line, its blocks, and how many of them are filled.
    open: Option<(u64, Block, usize)>,
    under_way: VecDeque<Written>,
    written: Vec<Written>,
    /// The caller's blocks so far, for [`ordo_disk::KeepsCopies`].
    stored: Vec<Stored>,
    /// Each request is a forced (FUA) write.
    forced: bool,
}

impl<'a> Writer<'a> {
    fn new(journal: &'a Inner, line: u64, header: Header) -> Writer<'a> {
        Writer {
            journal,
            area: &journal.area,
            header,
            body: Body::default(),
            line,
            last: line,
            open: None,
            under_way: VecDeque::new(),
            written: Vec::new(),
            stored: Vec::new(),
            forced: false,
        }
    }

    /// Writes everything except the commit block, which will be at `commit`.
    async fn body(&mut self, transaction: &Transaction, commit: u64) -> Result<(), DiskError> {
        let (shape, together) = (self.area.shape, self.journal.options.commit == Commit::Together);
        self.last = if together { commit } else { commit.saturating_sub(1) };
        // The whole transaction is one request: it is forced, so no flush is needed after it.
        self.forced = together && commit - self.line < self.request(self.line);
        #[cfg(feature = "planted")]
        if has(Broken::Flush) {
            self.forced = false;
        }
        for group in transaction.pieces(shape.block).chunks(shape.entries()) {
            self.described(group).await?;
        }
        for group in transaction.revoked.chunks(shape.entries()) {
            let fill = |block: &mut [u8]| {
                group.iter().enumerate().for_each(|(number, range)| put_revoked(number, *range, block));
            };
            self.own(Kind::Revoke, group.len(), fill).await?;
        }
        for piece in transaction.note.chunks(shape.payload()) {
            let from = shape.block - shape.payload();
            self.own(Kind::Note, piece.len(), |block| block[from..from + piece.len()].copy_from_slice(piece)).await?;
        }
        Ok(())
    }

    /// Writes a descriptor block, and the blocks that it describes.
    async fn described(&mut self, group: &[(DiskOff, &[u8])]) -> Result<(), DiskError> {
        let tags: Vec<Tag> = group.iter().map(|(home, image)| Tag::of(*home, image)).collect();
        let fill = |block: &mut [u8]| tags.iter().enumerate().for_each(|(number, tag)| tag.put(number, block));
        self.own(Kind::Descriptor, tags.len(), fill).await?;
        let wanted = self.journal.copies.get().is_some();
        for (tag, (home, image)) in tags.iter().zip(group) {
            if wanted {
                self.stored.push(tag.stored(*home, image, self.area.run(self.line).0));
            }
            tag.lay(image, self.slot().await?);
        }
        Ok(())
    }

    /// Writes one of the journal's own blocks.
    async fn own(&mut self, kind: Kind, count: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), DiskError> {
        let (shape, header) = (self.area.shape, Header { kind, count: count as u32, line: self.line, ..self.header });
        let block = self.slot().await?;
        fill(block);
        let sum = header.seal(shape, block);
        self.body.add(sum);
        Ok(())
    }

    /// Writes the commit block of a transaction of `cost` blocks. With `alone` it is a forced request of its own,
    /// durable on return.
    async fn commit_block(&mut self, cost: u64, alone: bool) -> Result<(), DiskError> {
        let ending = Ending { time: self.area.place().now(), body: self.body.sum() };
        if alone {
            (self.last, self.forced) = (self.line, true);
        }
        self.own(Kind::Commit, cost as usize, |block| ending.put(block)).await?;
        self.ship();
        if alone {
            self.land().await?;
        }
        Ok(())
    }

    /// A zeroed block in the request that is being filled. A full request is sent to the queue first.
    async fn slot(&mut self) -> Result<&mut [u8], DiskError> {
        let block = self.area.shape.block;
        if self.open.as_ref().is_some_and(|(_, open, filled)| filled * block == open.len()) {
            self.ship();
            self.wait_for_room().await?;
        }
        let len = self.request(self.line).min(self.last + 1 - self.line) as usize * block;
        let (_, open, filled) = self.open.get_or_insert_with(|| (self.line, Block::zeroed(len), 0));
        let from = *filled * block;
        *filled += 1;
        self.line += 1;
        Ok(&mut open[from..from + block])
    }

    /// The maximum number of blocks in a request that begins at `line`.
    fn request(&self, line: u64) -> u64 {
        self.area.run(line).1.min(self.area.transfer_most())
    }

    fn ship(&mut self) {
        let Some((line, image, _)) = self.open.take() else { return };
        let (queue, (at, _), tag) = (self.area.place().queue(), self.area.run(line), Bytes::Log.into());
        self.journal.state.borrow_mut().counters.bytes += image.len() as u64;
        let written = match self.forced {
            true => queue.write_fua(at, image.image(), tag),
            false => queue.write(at, image.image(), tag),
        };
        self.under_way.push_back(written.clone());
        self.written.push(written);
    }

    async fn wait_for_room(&mut self) -> Result<(), DiskError> {
        let most = UNDER_WAY / (self.area.transfer_most() * self.area.shape.block as u64);
        while self.under_way.len() as u64 > most.max(1) {
            let Some(oldest) = self.under_way.pop_front() else { break };
            oldest.completed().await?;
        }
        Ok(())
    }

    /// Waits until everything that was sent is complete, then durable: one flush covers it.
    async fn land(&mut self) -> Result<(), DiskError> {
        for written in &self.written {
            written.completed().await?;
        }
        #[cfg(feature = "planted")]
        if has(Broken::Flush) {
            return Ok(());
        }
        if self.written.iter().any(|written| !written.is_durable()) {
            self.journal.state.borrow_mut().counters.flushes += 1;
        }
        for written in &self.written {
            written.durable().await?;
        }
        Ok(())
    }

    /// Makes the body, and everything else that is complete on the queue, durable before the commit block is sent.
    async fn before_commit(&mut self) -> Result<(), DiskError> {
        self.ship();
        for written in &self.written {
            written.completed().await?;
        }
        #[cfg(feature = "planted")]
        if has(Broken::Barrier) {
            return Ok(());
        }
        if self.area.place().queue().info().volatile_cache {
            self.journal.state.borrow_mut().counters.flushes += 1;
        }
        self.area.place().queue().flush().await?;
        // The queue's record of durability counts, in case that flush did not cover these writes.
        for written in &self.written {
            written.durable().await?;
        }
        Ok(())
    }
}
