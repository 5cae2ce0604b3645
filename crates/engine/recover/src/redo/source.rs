//! Where a log lies, and its contents.

use crate::outcome::NotReplayed;
use crate::suj::Replay;
use crate::walk::{Slot, Walk};
use ordo_active::{Active, NowhereRight, Verified};
use ordo_disk::{Disk, DiskError, DiskOff, LogStream, Queue, QueueOptions};
use ordo_ondisk::redo::{Joined, Transaction};
use ordo_ondisk::superblock::{Keeper, LogForm};
use ordo_ondisk::{Ino, Superblock, dinode, dirent};
use ordo_rt::Rt;
use ordo_wafs::AnyLog;
use ordo_wafs::stream::StreamLog;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The file of a volume's log.
#[derive(Debug, Clone)]
pub struct LogPlace {
    /// Its inode.
    pub ino: Ino,
    /// Its extents in order: address and length in bytes.
    pub extents: Vec<(DiskOff, u64)>,
}

/// The log file on the clean volume on `disk`; `None` if there is none.
///
/// # Errors
/// The file exists, but is not a valid log file; or the disk fails.
pub async fn place_of_log(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock) -> Result<Option<LogPlace>, NotReplayed> {
    place_of(rt, disk, sb, ordo_ondisk::redo::FILE).await
}

async fn place_of(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    name: &'static str,
) -> Result<Option<LogPlace>, NotReplayed> {
    let mut volume = Replay::new(disk, sb.clone(), rt.wall().0);
    let Some(ino) = volume.file_in_root(name).await? else { return Ok(None) };
    let extents = volume.log_extents(Ino(ino)).await?;
    Ok(Some(LogPlace { ino: Ino(ino), extents }))
}

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileBlock {
    /// Its number in the file.
    pub lbn: u64,
    /// Where it lies.
    pub at: DiskOff,
    /// Bytes: whole fragments.
    pub len: u64,
}

/// A file, as its inode says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileShape {
    /// What it is, as its mode says; 0 if there is none.
    pub kind: u16,
    /// Its generation: another file with the same number has another one.
    pub generation: u32,
    /// Bytes.
    pub size: u64,
    /// Time of the last change of its contents: seconds and nanoseconds.
    pub mtime: (i64, u32),
    /// Where its inode lies, and bytes.
    pub inode: (DiskOff, u64),
    /// Its blocks, in order; holes have none.
    pub blocks: Vec<FileBlock>,
    /// Its indirect blocks.
    pub indirect: Vec<(DiskOff, u64)>,
}

/// A file on the volume on `disk`.
///
/// # Errors
/// The inode or its tree is damaged; or the disk fails.
pub async fn shape_of_file(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock, ino: Ino) -> Result<FileShape, NotReplayed> {
    let mut volume = Replay::new(disk, sb.clone(), rt.wall().0);
    if !volume.geo.is_valid_ino(ino) {
        return Err(NotReplayed::Inode { ino: ino.0, what: "there is no such inode" });
    }
    let dinode = volume.dinode(ino.0).await?;
    let inode = (DiskOff(dinode::Dinode::place(&volume.geo, ino).0), u64::from(volume.geo.dinode_size));
    let mut shape = FileShape {
        kind: dinode.kind(),
        generation: dinode.gen_,
        size: dinode.size,
        mtime: (dinode.mtime.sec, dinode.mtime.nsec),
        inode,
        blocks: Vec::new(),
        indirect: Vec::new(),
    };
    let mut walk = Walk::new(&volume.geo, &dinode);
    while let Some(pointer) = volume.step(ino.0, &mut walk).await? {
        let (at, len) = (volume.geo.byte(pointer.frag).0, u64::from(pointer.count) * u64::from(volume.geo.fsize));
        match (pointer.level, pointer.slot) {
            (_, Slot::Ext(_)) => {}
            (0, _) => shape.blocks.push(FileBlock { lbn: pointer.lbn, at: DiskOff(at), len }),
            _ => shape.indirect.push((DiskOff(at), len)),
        }
    }
    Ok(shape)
}

/// The names in a directory of the volume on `disk`, without `.` and `..`.
///
/// # Errors
/// It is no directory, or damaged; or the disk fails.
pub async fn names_of_directory(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    ino: Ino,
) -> Result<BTreeMap<Vec<u8>, Ino>, NotReplayed> {
    let mut volume = Replay::new(disk, sb.clone(), rt.wall().0);
    let none = || NotReplayed::Inode { ino: ino.0, what: "it is no directory" };
    let valid = volume.geo.is_valid_ino(ino).then_some(ino).ok_or_else(none)?;
    let dinode = volume.dinode(valid.0).await?;
    if !dinode.is_dir() {
        return Err(none());
    }
    let mut names = BTreeMap::new();
    let each = |_, entry: &dirent::Dirent<'_>| {
        names.insert(entry.name.to_vec(), entry.ino);
        None::<()>
    };
    volume.look_at_names(ino.0, &dinode, each).await?;
    names.retain(|name, _| name != b"." && name != b"..");
    Ok(names)
}

/// The active disk over `disk`, with its journal in these extents of the volume. Its map counts if the superblock says
/// that an active disk was the last to write to the volume.
///
/// # Errors
/// The extents are too short for an active journal; or the disk fails.
pub(super) async fn active_over(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    extents: &[(DiskOff, u64)],
    options: ordo_active::Options,
) -> Result<Active, NotReplayed> {
    let keeper = sb.keeper().filter(|(keeper, untouched)| *untouched && keeper.form() == LogForm::Active);
    let kept = ordo_active::Kept { by: keeper.map(|(keeper, _)| keeper.id), dirty: !sb.is_clean() };
    Ok(Active::open(rt, disk, extents, sb.geometry().fsize, kept, options).await?)
}

/// The same, if the clean volume on `disk` has an active journal; with its file.
///
/// # Errors
/// The file exists, but is not a valid one; or the disk fails.
pub async fn active_disk(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    options: ordo_active::Options,
) -> Result<Option<(Ino, Active)>, NotReplayed> {
    let place = place_of(rt, disk.clone(), sb, ordo_ondisk::redo::ACTIVE).await?;
    let Some(LogPlace { ino, extents }) = place else { return Ok(None) };
    Ok(Some((ino, active_over(rt, disk, sb, &extents, options).await?)))
}

/// The disk of a clean volume through the map of its active journal, for who is not its writer; `None` if it has no map
/// that counts, or none of that map can be read. Where places that are nowhere right are errors, a write makes the map
/// void first; who takes them as they are does that by himself.
///
/// # Errors
/// The disk fails.
pub async fn verified(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    nowhere: NowhereRight,
) -> Result<Option<Verified>, DiskError> {
    if !sb.is_clean() || !sb.has_live_map() {
        return Ok(None);
    }
    let options = ordo_active::Options { read_only: true, ..ordo_active::Options::default() };
    match active_disk(rt, disk.clone(), sb, options).await {
        Ok(None) => Ok(None),
        // Its root is damaged.
        Ok(Some((_, active))) if active.state().is_void => Ok(None),
        Ok(Some((_, active))) if nowhere == NowhereRight::IsAsItIs => Ok(Some(Verified::new(active, disk, nowhere))),
        Ok(Some((_, active))) => {
            // The superblock without its keeper, and nothing else changed.
            let mut void = sb.clone();
            let bytes = void.encode(sb.fields.time);
            let sector = u64::from(disk.info().sector);
            let whole = sb.at.0.is_multiple_of(sector) && (bytes.len() as u64).is_multiple_of(sector);
            Ok(whole.then(|| Verified::voiding(active, disk, nowhere, (DiskOff(sb.at.0), bytes))))
        }
        Err(why) => why.of_disk().map_or(Ok(None), |failed| Err(failed.clone())),
    }
}

/// Writes home what the map of a clean volume's active journal finds wrong there and right in a copy: before the map is
/// given up, since a reader of homes alone would find damage that a reader through the map did not see.
///
/// # Errors
/// The disk fails.
pub async fn heal(rt: &Rt, disk: Rc<dyn Disk>, sb: &Superblock) -> Result<(), DiskError> {
    let options = ordo_active::Options::default();
    match active_disk(rt, disk, sb, options).await {
        Ok(Some((_, active))) => {
            active.scrub().await?;
            active.settled().await?;
            active.flush().await
        }
        Ok(None) => Ok(()),
        Err(why) => why.of_disk().map_or(Ok(()), |failed| Err(failed.clone())),
    }
}

impl Replay {
    /// The extents of the log file. It never changes, so a crash leaves it intact.
    pub(super) async fn log_extents(&mut self, ino: Ino) -> Result<Vec<(DiskOff, u64)>, NotReplayed> {
        let wrong = |what| NotReplayed::Inode { ino: ino.0, what };
        if !self.geo.is_valid_ino(ino) {
            return Err(wrong("it is said to be the log, and there is no such inode"));
        }
        let dinode = self.dinode(ino.0).await?;
        let is_log =
            dinode.kind() == dinode::mode::REG && dinode.flags & ordo_ondisk::redo::FLAGS == ordo_ondisk::redo::FLAGS;
        if !is_log || dinode.size == 0 || self.geo.blkoff(dinode.size) != 0 {
            return Err(wrong("it is said to be the log, and is no such file"));
        }
        let bsize = u64::from(self.geo.bsize);
        let found = self.extents(ino.0, &dinode).await?;
        Ok(found.into_iter().map(|(at, blocks)| (DiskOff(self.geo.byte(at).0), blocks as u64 * bsize)).collect())
    }
}

/// Tries to take a log over whose dead writer's last messages still come.
const TRIES: u32 = 5;

/// The place of a log.
#[derive(Clone)]
pub(super) enum Where {
    Within(Rc<dyn Disk>, Vec<(DiskOff, u64)>),
    Active(Active),
    Elsewhere(Rc<dyn Disk>),
    Stream(LogStream),
}

/// An open log.
pub(super) enum Source {
    /// A log of changed bytes. One on a disk has a place.
    Records { place: Option<ordo_wafs::Place>, log: AnyLog, last: Last<ordo_wafs::Lsn> },
    /// A log of whole blocks, perhaps on an active disk.
    Blocks {
        place: ordo_blockjournal::Place,
        found: ordo_blockjournal::Inspected,
        last: Last<ordo_blockjournal::Seq>,
        active: Option<Active>,
    },
}

/// The last complete transaction.
#[derive(Clone, Copy)]
pub(super) struct Last<P> {
    /// Where it begins.
    at: Option<P>,
    /// It contains lists and nothing else.
    is_lists: bool,
}

/// A log that is open for writing; its last transaction contains lists and nothing else.
pub(super) enum Kept {
    Records(AnyLog, ordo_wafs::Lsn),
    Blocks(ordo_blockjournal::Journal, ordo_blockjournal::Seq),
}

/// The contents of a log.
pub(super) struct Held {
    /// The complete transactions, in their order. Those of a block log have no blocks here.
    pub(super) transactions: Vec<Transaction>,
    /// The newest state of each block in a block log.
    pub(super) blocks: Vec<(DiskOff, ordo_disk::Block)>,
}

impl Source {
    /// Opens the log that the superblock names, and no other (recover-redo-1).
    pub(super) async fn open(rt: &Rt, place: Where, keeper: &Keeper) -> Result<Source, NotReplayed> {
        let is_the_one = |id: u64| match id == keeper.id {
            true => Ok(()),
            false => Err(NotReplayed::OtherLog { found: id, wanted: keeper.id }),
        };
        let active = if let Where::Active(active) = &place { Some(active.clone()) } else { None };
        let (queue, extents) = match place {
            Where::Within(disk, extents) => (Queue::new(rt, disk, QueueOptions::default()), extents),
            Where::Active(active) => {
                (Queue::new(rt, Rc::new(active.clone()), QueueOptions::default()), vec![active.journal()])
            }
            Where::Elsewhere(disk) => {
                let (size, sector) = (disk.info().size, u64::from(disk.info().sector));
                let all = (DiskOff(0), size / sector * sector);
                (Queue::new(rt, disk, QueueOptions::default()), vec![all])
            }
            Where::Stream(stream) => {
                let log = StreamLog::open(rt, stream).await?;
                is_the_one(log.id())?;
                let last = Last { at: None, is_lists: false };
                return Ok(Source::Records { place: None, log: AnyLog::Stream(log), last });
            }
        };
        if keeper.form() != LogForm::Records {
            let place = ordo_blockjournal::Place::new(&queue, &extents).map_err(ordo_blockjournal::Error::from)?;
            let found = ordo_blockjournal::Journal::inspect(place.clone()).await?;
            is_the_one(found.id)?;
            if let Some(damage) = &found.damage {
                return Err(ordo_blockjournal::Error::from(*damage).into());
            }
            let last = Last { at: None, is_lists: false };
            return Ok(Source::Blocks { place, found, last, active });
        }
        let place = ordo_wafs::Place::new(&queue, &extents).map_err(ordo_wafs::Error::from)?;
        let log = ordo_wafs::Log::open(place.clone()).await?;
        is_the_one(log.id())?;
        if let Some(damage) = &log.recovery().damage {
            return Err(ordo_wafs::Error::from(*damage).into());
        }
        let last = Last { at: None, is_lists: false };
        Ok(Source::Records { place: Some(place), log: AnyLog::Disk(log), last })
    }

    /// Everything that is complete in it (recover-redo-2).
    pub(super) async fn held(&mut self) -> Result<Held, NotReplayed> {
        let mut held = Held { transactions: Vec::new(), blocks: Vec::new() };
        match self {
            Source::Records { log, last, .. } => {
                let (mut scan, mut joined, mut first) = (log.scan(), Joined::default(), None);
                while let Some(record) = scan.next().await? {
                    first.get_or_insert(record.lsn);
                    if let Some(bytes) = joined.add(&record.data)? {
                        let transaction = Transaction::decode(&bytes)?;
                        let is_lists = transaction.blocks.is_empty() && transaction.void.is_empty();
                        *last = Last { at: first.take(), is_lists };
                        held.transactions.push(transaction);
                    }
                }
            }
            Source::Blocks { found, last, active, .. } => {
                if let Some(active) = active {
                    // The map carries them home before the replay sees where they lead.
                    let end = active.journal().0.0;
                    for (at, block) in found.recovered.transactions.iter().flat_map(|one| &one.blocks) {
                        let len = block.len() as u32;
                        if at.0.checked_add(len.into()).is_none_or(|last| last > end) {
                            return Err(NotReplayed::Outside { at: at.0, len });
                        }
                    }
                    let all = found.recovered.transactions.iter();
                    active.recovered(found.id, all.map(|one| (one.seq.0, &one.stored[..], &one.revoked[..])));
                }
                for transaction in &found.recovered.transactions {
                    *last = Last { at: Some(transaction.seq), is_lists: transaction.blocks.is_empty() };
                    held.transactions.push(Transaction::decode(&transaction.note)?);
                }
                let newest = found.recovered.replay();
                held.blocks = newest.into_iter().map(|(at, block)| (at, block.clone())).collect();
                found.recovered.transactions.clear();
            }
        }
        Ok(held)
    }

    /// Opens and reads the log at `place`. From then on nobody else writes it (recover-redo-6).
    ///
    /// What a writer had sent before it died may arrive while the log is read, when servers that were away are back.
    /// Then it is read again. A writer that lives sends more.
    pub(super) async fn taken_over(rt: &Rt, place: Where, keeper: &Keeper) -> Result<(Source, Held), NotReplayed> {
        let mut tries = 1;
        loop {
            let mut source = Source::open(rt, place.clone(), keeper).await?;
            let held = source.held().await?;
            let Source::Records { log: AnyLog::Stream(log), .. } = &source else { return Ok((source, held)) };
            match log.take_over().await {
                Ok(()) => return Ok((source, held)),
                Err(ordo_wafs::Error::Fenced { .. }) if tries < TRIES && log.is_quiet().await? => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens the log for writing. It then ends with only the lists of its last transaction, `of`: if that contains
    /// more, another transaction is appended (recover-redo-3). After a crash from now on, recovery finds the same
    /// lists.
    pub(super) async fn keep_lists(self, of: &Transaction) -> Result<Kept, NotReplayed> {
        let (waiting, nameless) = (of.waiting.clone(), of.nameless.clone());
        let lists = Transaction { waiting, nameless, ..Transaction::default() }.encode();
        match self {
            Source::Records { place, mut log, last } => {
                if let Some(place) = place {
                    let options = ordo_wafs::MountOptions { mode: ordo_wafs::Mode::Async };
                    log = AnyLog::Disk(ordo_wafs::Log::mount(place, options).await?);
                }
                let mut first = last.at.filter(|_| last.is_lists);
                if first.is_none() {
                    for part in ordo_ondisk::redo::parts(&lists, log.record_most()) {
                        let at = log.append(&part).await?;
                        first.get_or_insert(at);
                    }
                    log.force(log.last()).await?;
                }
                let first = first.unwrap_or(log.last());
                Ok(Kept::Records(log, first))
            }
            Source::Blocks { place, last, active, .. } => {
                let (journal, _) =
                    ordo_blockjournal::Journal::open(place, ordo_blockjournal::Options::default()).await?;
                active.into_iter().for_each(|active| {
                    journal.tell(Rc::new(active));
                });
                let seq = match last.at.filter(|_| last.is_lists) {
                    Some(seq) => seq,
                    None => {
                        journal.commit(ordo_blockjournal::Transaction { note: lists, ..Default::default() }).await?
                    }
                };
                Ok(Kept::Blocks(journal, seq))
            }
        }
    }
}

impl Kept {
    /// Everything before the lists is durable in place: the log now starts with the lists.
    pub(super) async fn forget_the_rest(self) -> Result<(), NotReplayed> {
        match self {
            Kept::Records(log, first) => {
                log.reclaim(first)?;
                Ok(log.checkpoint().await?)
            }
            Kept::Blocks(journal, seq) => {
                Ok(journal.checkpoint(ordo_blockjournal::Seq(seq.0.saturating_sub(1))).await?)
            }
        }
    }
}
