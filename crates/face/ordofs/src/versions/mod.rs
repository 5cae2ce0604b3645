//! Older versions of files and directories, as far as the group journals of an active journal still have them.
//!
//! A version is what the file was directly before its inode changed, of a directory also before one of its blocks did.
//!
//! O1. A version counts only if all of it is known: the inode, the indirect blocks and the contents, each fragment with
//!     its checksum. Contents are known only if the journal had them: with `data=journal`. What lies beside a piece is
//!     read as it is now where it is gone ([`Past::mixed`]): nothing is taken from it.
//! O2. A file that is gone is found by an older version of its directory, and is what its inode was then. Another file
//!     with its number has another generation.

mod group;

pub use group::{GroupVersion, versions_of_group};

use crate::active::active_at_rest;
use crate::located::Located;
use crate::path::{self, Held};
use crate::{ActiveState, OpenError};
use ordo_active::{Active, Moment, Past};
use ordo_disk::{Block, Disk, DiskError, DiskOff, ReadPart, Tag};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::superblock::Keeper;
use ordo_ondisk::{Dinode, Ino, Superblock};
use ordo_recover::{FileShape, NotReplayed, names_of_directory, shape_of_file};
use ordo_rt::Rt;
use ordo_vfs::{FileSystem, Kind, Refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An older version of a file or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its number, from 1: the newest of the older ones. Older ones have greater numbers.
    pub number: u32,
    /// The number of its inode, and the generation: a name may have had several files, and an inode, too.
    pub ino: Ino,
    /// See there.
    pub generation: u32,
    /// Bytes.
    pub size: u64,
    /// When its contents had changed last: seconds and nanoseconds.
    pub mtime: (i64, u32),
    /// Of a directory: the names that it had and has no more, or has for another file.
    pub gone: Vec<GoneName>,
}

/// A name that a directory had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoneName {
    /// The name.
    pub name: Vec<u8>,
    /// What it named; `None` if its inode is gone.
    pub kind: Option<Kind>,
    /// Bytes.
    pub size: u64,
    /// Why it cannot be read as it was; `None`: it can.
    pub lacks: Option<Piece>,
}

/// A piece of a file that is not known as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Piece {
    /// The inode.
    #[error("its inode is not known as it was")]
    Inode,
    /// A block of pointers.
    #[error("its indirect blocks are not known as they were")]
    Pointers,
    /// A block of contents.
    #[error("block {lbn} of its contents, at byte {at} of the volume, is not known as it was")]
    Block {
        /// Its number in the file.
        lbn: u64,
        /// Where it lay, in bytes.
        at: u64,
    },
}

/// What versions are sought of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sought {
    /// A file that is there; with the directory and the name by which it was found, but through a symbolic link.
    Here(Ino, Option<(Ino, Vec<u8>)>),
    /// Names, each in the one before, the first in a directory that is there and has it no more.
    Gone(Ino, Vec<Vec<u8>>),
}

/// The older versions of a file.
pub struct Versions {
    /// What it is, or was; `None` if no directory has or had it.
    pub kind: Option<Kind>,
    /// Of a file that is gone: what its last state lacks. `None`: that is a version.
    pub lacks: Option<Piece>,
    found: Vec<(FileVersion, Past, FileShape)>,
    block: u64,
}

/// What a path of a volume names, or named.
///
/// # Errors
/// As [`path::resolve`], but of a path of which the first directories are there.
pub async fn sought<F: FileSystem>(fs: &Rc<F>, path: &[u8]) -> ordo_vfs::Result<Sought> {
    let ino = |held: &Held<F>| u32::try_from(held.attr().ino).map(Ino).map_err(|_| Refusal::NotFound);
    let error = match path::resolve(fs, path, true).await {
        Ok(held) => {
            let Ok((dir, name)) = path::parent(fs, path).await else { return Ok(Sought::Here(ino(&held)?, None)) };
            let is_its_name = dir.find(name.bytes()).await?.is_some_and(|named| named.attr().ino == held.attr().ino);
            let named = if is_its_name { Some((ino(&dir)?, name.bytes().to_vec())) } else { None };
            return Ok(Sought::Here(ino(&held)?, named));
        }
        Err(error @ ordo_vfs::Error::Refused(Refusal::NotFound)) => error,
        Err(error) => return Err(error),
    };
    let names: Vec<Vec<u8>> = path::components(path).into_iter().rev().collect();
    for there in (0..names.len()).rev() {
        let (above, gone) = names.split_at(there);
        if gone[0] == b"." || gone[0] == b".." {
            break;
        }
        if let Ok(dir) = path::resolve(fs, &above.join(&b'/'), true).await {
            return Ok(Sought::Gone(ino(&dir)?, gone.to_vec()));
        }
    }
    Err(error)
}

/// A file until a moment; `None`: as it is now.
#[derive(Debug, Clone, Copy)]
struct Was {
    ino: Ino,
    kind: u16,
    generation: u32,
    until: Option<Moment>,
}

impl Was {
    fn of(ino: Ino, shape: &FileShape, until: Option<Moment>) -> Was {
        Was { ino, kind: shape.kind, generation: shape.generation, until }
    }

    fn is_same(&self, other: &Was) -> bool {
        (self.ino, self.generation) == (other.ino, other.generation)
    }
}

/// The names in a directory.
type Names = BTreeMap<Vec<u8>, Ino>;

/// What a file was, and which names it had if it was a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    shape: FileShape,
    names: Names,
}

/// A volume of which older versions are known.
struct History<'a> {
    rt: &'a Rt,
    sb: &'a Superblock,
    active: Active,
}

/// The older versions of a file of a volume that is not mounted, the newest first: those of the file that is there,
/// then those of others that had its name.
///
/// # Errors
/// The volume has no active journal, or is damaged, or was not unmounted; or the disk fails.
pub fn versions_of(rt: &Rt, located: &Located, sought: &Sought) -> Result<Versions, OpenError> {
    let (sb, active) = of_clean(rt, located)?;
    let history = History { rt, sb, active };
    rt.block_on(async {
        match sought {
            Sought::Here(ino, named) => {
                let now = history.now(*ino).await?;
                let mut files = vec![now];
                if let Some((dir, name)) = named {
                    files.extend(history.had(&history.now(*dir).await?, name, Some(&now)).await.0);
                }
                history.versions(&files, None).await
            }
            Sought::Gone(dir, names) => {
                let (mut files, mut lacks) = (vec![history.now(*dir).await?], None);
                for name in names {
                    // Of all that had a name the newest directory.
                    (files, lacks) = match files.iter().find(|file| file.kind == mode::DIR) {
                        Some(dir) => history.had(dir, name, None).await,
                        None => (Vec::new(), lacks),
                    };
                }
                history.versions(&files, lacks).await
            }
        }
    })
}

impl History<'_> {
    async fn shape(&self, disk: Rc<dyn Disk>, ino: Ino) -> Result<FileShape, NotReplayed> {
        shape_of_file(self.rt, disk, self.sb, ino).await
    }

    async fn names(&self, disk: Rc<dyn Disk>, ino: Ino, shape: &FileShape) -> Result<Names, NotReplayed> {
        match shape.kind {
            mode::DIR => names_of_directory(self.rt, disk, self.sb, ino).await,
            _ => Ok(Names::new()),
        }
    }

    async fn now(&self, ino: Ino) -> Result<Was, OpenError> {
        let shape = self.shape(Rc::new(self.active.clone()), ino).await.map_err(OpenError::active)?;
        Ok(Was::of(ino, &shape, None))
    }

    async fn state_now(&self, ino: Ino) -> Result<State, NotReplayed> {
        let disk: Rc<dyn Disk> = Rc::new(self.active.clone());
        let shape = self.shape(disk.clone(), ino).await?;
        let names = self.names(disk, ino, &shape).await?;
        Ok(State { shape, names })
    }

    /// Where an inode lies, and bytes.
    fn place(&self, ino: Ino) -> (DiskOff, u64) {
        let g = self.sb.geometry();
        (DiskOff(Dinode::place(&g, ino).0), g.dinode_size.into())
    }

    /// A file by its inode of then, whatever of its contents is known.
    async fn shape_then(&self, past: &Past, ino: Ino) -> Result<FileShape, Piece> {
        let (at, len) = match self.sb.geometry().is_valid_ino(ino) {
            true => self.place(ino),
            false => return Err(Piece::Inode),
        };
        if !past.knows(at, len) {
            return Err(Piece::Inode);
        }
        self.shape(Rc::new(past.mixed()), ino).await.map_err(|_| Piece::Pointers)
    }

    /// What the file was, all of it (versions-1); `None` if its inode was another file's.
    async fn state_then(&self, past: &Past, of: &Was) -> Result<Option<State>, Piece> {
        let shape = self.shape_then(past, of.ino).await?;
        if (shape.kind, shape.generation) != (of.kind, of.generation) {
            return Ok(None);
        }
        if let Some(piece) = lacks(past, &shape) {
            return Err(piece);
        }
        let names = self.names(Rc::new(past.mixed()), of.ino, &shape).await.map_err(|_| Piece::Pointers)?;
        Ok(Some(State { shape, names }))
    }

    /// The versions of a file, the newest first; and what its state at the moment until which it is sought lacks.
    async fn states(&self, of: &Was) -> (Vec<(Moment, State)>, Option<Piece>) {
        let (mut found, mut lacks) = (Vec::new(), None);
        let (at, len) = self.place(of.ino);
        let is_earlier = |moment: &Moment| of.until.is_none_or(|until| *moment < until);
        let mut todo: BTreeSet<Moment> = self.active.moments(at, len).into_iter().filter(is_earlier).collect();
        todo.extend(of.until);
        let blocks = |state: &State| -> Vec<Moment> {
            let blocks = state.shape.blocks.iter().filter(|_| state.shape.kind == mode::DIR);
            blocks.flat_map(|block| self.active.moments(block.at, block.len)).collect()
        };
        let mut newer = match of.until {
            Some(_) => None,
            None => self.state_now(of.ino).await.ok(),
        };
        newer.iter().for_each(|now| todo.extend(blocks(now)));
        while let Some(moment) = todo.pop_last() {
            let state = match self.state_then(&self.active.past(moment), of).await {
                Ok(Some(state)) => state,
                Ok(None) => continue,
                Err(piece) => {
                    lacks = lacks.or((Some(moment) == of.until).then_some(piece));
                    continue;
                }
            };
            todo.extend(blocks(&state).into_iter().filter(|earlier| *earlier < moment));
            if newer.as_ref() != Some(&state) {
                found.push((moment, state.clone()));
                newer = Some(state);
            }
        }
        (found, lacks)
    }

    /// The files that had this name in a directory, but `now`, the newest first (versions-2); and what the newest lacks
    /// if it cannot be told which file it was.
    async fn had(&self, dir: &Was, name: &[u8], now: Option<&Was>) -> (Vec<Was>, Option<Piece>) {
        let (mut files, mut lacks) = (Vec::<Was>::new(), None);
        for (moment, state) in self.states(dir).await.0 {
            let Some(ino) = state.names.get(name) else { continue };
            match self.shape_then(&self.active.past(moment), *ino).await {
                Ok(shape) => {
                    let was = Was::of(*ino, &shape, Some(moment));
                    if !files.iter().chain(now).any(|other| other.is_same(&was)) {
                        files.push(was);
                    }
                }
                Err(piece) if files.is_empty() => lacks = lacks.or(Some(piece)),
                Err(_) => {}
            }
        }
        (files, lacks)
    }

    async fn versions(&self, files: &[Was], mut lacks: Option<Piece>) -> Result<Versions, OpenError> {
        let kind = files.first().and_then(|file| Kind::from_bits(file.kind >> 12));
        let mut found = Vec::new();
        // A number is that of one kind of files.
        for file in files.iter().filter(|file| Kind::from_bits(file.kind >> 12) == kind) {
            let now = match (file.until, file.kind) {
                (None, mode::DIR) => self.state_now(file.ino).await.map_err(OpenError::active)?.names,
                _ => Names::new(),
            };
            let (states, its_last_lacks) = self.states(file).await;
            let is_gone = files.first().is_some_and(|first| first.until.is_some());
            lacks = lacks.or(its_last_lacks.filter(|_| is_gone && found.is_empty()));
            for (moment, State { shape, names }) in states {
                let (number, past) = (found.len() as u32 + 1, self.active.past(moment));
                let gone = self.gone(&past, &names, &now).await;
                let (Was { ino, generation, .. }, FileShape { size, mtime, .. }) = (*file, &shape);
                let (size, mtime) = (*size, *mtime);
                found.push((FileVersion { number, ino, generation, size, mtime, gone }, past, shape));
            }
        }
        Ok(Versions { kind, lacks, found, block: self.sb.geometry().bsize.into() })
    }

    /// Those of these names which a directory has no more, or has for another file.
    async fn gone(&self, past: &Past, names: &Names, now: &Names) -> Vec<GoneName> {
        let mut gone = Vec::new();
        for (name, ino) in names {
            if now.get(name) == Some(ino) && self.is_still(past, *ino).await {
                continue;
            }
            let (kind, size, lacks) = match self.shape_then(past, *ino).await {
                Ok(shape) => (Kind::from_bits(shape.kind >> 12), shape.size, lacks(past, &shape)),
                Err(piece) => (None, 0, Some(piece)),
            };
            gone.push(GoneName { name: name.clone(), kind, size, lacks });
        }
        gone
    }

    /// This inode is that of the same file now, as far as its older version is known.
    async fn is_still(&self, past: &Past, ino: Ino) -> bool {
        let (at, len) = self.place(ino);
        if !self.sb.geometry().is_valid_ino(ino) || past.is_now(at, len) {
            return true;
        }
        match self.shape_then(past, ino).await {
            Ok(then) => self.now(ino).await.is_ok_and(|now| now.is_same(&Was::of(ino, &then, None))),
            Err(_) => true,
        }
    }
}

/// The first piece of a file that is not known as it was.
fn lacks(past: &Past, was: &FileShape) -> Option<Piece> {
    if !was.indirect.iter().all(|(at, len)| past.knows(*at, *len)) {
        return Some(Piece::Pointers);
    }
    let block = was.blocks.iter().find(|block| !past.knows(block.at, block.len));
    block.map(|block| Piece::Block { lbn: block.lbn, at: block.at.0 })
}

impl Versions {
    /// The versions, the newest first.
    pub fn list(&self) -> impl Iterator<Item = &FileVersion> + '_ {
        self.found.iter().map(|(version, ..)| version)
    }

    /// Calls `each` with the contents of a version, in order. Returns false if there is no such version.
    ///
    /// # Errors
    /// The disk fails, or a copy is rotten; or what `each` returns.
    pub fn read<E: From<DiskError>>(
        &self,
        rt: &Rt,
        number: u32,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some((_, past, was)) = self.found.iter().find(|(version, ..)| version.number == number) else {
            return Ok(false);
        };
        let zeros = vec![0; self.block as usize];
        let mut at = 0;
        let hole = |from: u64, to: u64, each: &mut dyn FnMut(&[u8]) -> Result<(), E>| -> Result<(), E> {
            let mut left = to.saturating_sub(from);
            while left > 0 {
                let now = left.min(self.block);
                each(&zeros[..now as usize])?;
                left -= now;
            }
            Ok(())
        };
        for block in &was.blocks {
            let from = block.lbn.saturating_mul(self.block);
            if from >= was.size {
                break;
            }
            hole(at, from, &mut each)?;
            let part = ReadPart { block: Block::unspecified(block.len as usize), tag: Tag::default() };
            let parts = rt.block_on(async { past.read(block.at, vec![part]).await })?;
            let wanted = (was.size - from).min(block.len);
            parts.iter().try_for_each(|part| each(&part.block[..wanted as usize]))?;
            at = from + wanted;
        }
        hole(at, was.size, &mut each)?;
        Ok(true)
    }
}

/// The superblock and the active disk of a volume that is clean and not mounted.
fn of_clean<'a>(rt: &Rt, located: &'a Located) -> Result<(&'a Superblock, Active), OpenError> {
    let sb = &located.found.ufs()?.superblock;
    if !sb.is_clean() {
        return Err(ordo_ffs::MountError::Dirty.into());
    }
    let found: Option<(ActiveState, Active)> = active_at_rest(rt, located)?;
    Ok((sb, found.ok_or(OpenError::NoActive(Keeper::ACTIVE))?.1))
}
