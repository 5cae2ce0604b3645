//! The file of the journal, made and removed as any file is.

use super::TuneError;
use crate::path::Held;
use crate::{Fs, MountOptions, Mounted, locate_on};
use disk::Disk;
use ondisk::{Cgx, Superblock, suj};
use rt::Rt;
use std::rc::Rc;
use vfs::{Caller, Error, FileSystem, Kind, Mode, Name, Refusal, SetAttr};

/// Bytes that one write takes: whole blocks of any volume.
const PIECE: u64 = 1 << 20;

/// Bytes of the journal: what was asked for, or as FreeBSD's tunefs has it, which multiplies the fragments of the volume
/// with the bytes of a block; within a group, and within the limits.
pub(super) fn size(sb: &Superblock, asked: Option<u64>) -> Result<u64, TuneError> {
    let g = sb.geometry();
    let data = g.fpg.saturating_sub(g.cgdmin(Cgx(0)).0 as u32) / g.frag;
    let in_group = u64::from(data) * u64::from(g.bsize);
    let (least, most) = (g.blkroundup(suj::SUJ_MIN), suj::SUJ_MAX);
    let usual = (g.size.saturating_mul(g.bsize.into()) / 1024).min(in_group).clamp(least, most);
    let size = g.blkroundup(asked.unwrap_or(usual));
    if !(least..=most).contains(&size) {
        return Err(TuneError::JournalSize { found: asked.unwrap_or(usual), least, most });
    }
    // The block of pointers, and a directory that may have to grow.
    let needed = size + 3 * u64::from(g.bsize);
    let free = u64::try_from(sb.totals().nbfree).unwrap_or(0) * u64::from(g.bsize);
    if needed > free { Err(TuneError::NoRoom { needed: size, free }) } else { Ok(size) }
}

/// Removes the journal that there is, and makes one of `size` bytes.
pub(super) fn change(rt: &Rt, disk: &Rc<dyn Disk>, size: Option<u64>) -> Result<(), TuneError> {
    let located = locate_on(rt, disk.clone())?;
    let options = MountOptions { scheme: Some("sync".into()), ..MountOptions::default() };
    let mounted = rt.block_on(Mounted::mount(rt, located, &options))?;
    let done = rt.block_on(async {
        remove(mounted.fs()).await?;
        match size {
            Some(size) => make(mounted.fs(), size).await,
            None => Ok(()),
        }
    });
    // Clean in any case: what failed left a whole volume.
    let unmounted = rt.block_on(mounted.unmount());
    done?;
    Ok(unmounted?)
}

fn root() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// Removes the journal, if there is one.
async fn remove(fs: &Rc<Fs>) -> Result<(), TuneError> {
    let file = match Held::root(fs).await?.lookup(suj::NAME.as_bytes()).await {
        Ok(file) => file,
        Err(Error::Refused(Refusal::NotFound)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let journal = file.attr().kind == Kind::Regular && file.attr().flags & suj::FLAGS == suj::FLAGS;
    if !journal {
        return Err(TuneError::NameTaken);
    }
    fs.setattr(file.node(), &SetAttr { flags: Some(0), ..SetAttr::default() }).await?;
    fs.unlink(fs.root(), Name::new(suj::NAME.as_bytes())?).await?;
    Ok(())
}

/// Makes a journal of zeroes, in which no old segment is found.
async fn make(fs: &Rc<Fs>, size: u64) -> Result<(), TuneError> {
    let (who, name) = (root(), Name::new(suj::NAME.as_bytes())?);
    let file = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new((suj::MODE & 0o7777).into()), 0).await?;
    let file = Held::new(fs, file);
    let written = fill(fs, &file, size).await;
    let flags = SetAttr { flags: Some(suj::NEW_FLAGS), ..SetAttr::default() };
    let done = match written {
        Ok(()) => fs.setattr(file.node(), &flags).await.map(|_| ()),
        Err(error) => Err(error),
    };
    if done.is_err() {
        fs.unlink(fs.root(), name).await?;
    }
    Ok(done?)
}

async fn fill(fs: &Rc<Fs>, file: &Held<Fs>, size: u64) -> vfs::Result<()> {
    let (zeroes, mut at) = (vec![0; PIECE as usize], 0);
    while at < size {
        let piece = (size - at).min(PIECE) as usize;
        let written = fs.write(&root(), file.node(), at, zeroes.get(..piece).unwrap_or_default()).await?;
        at += u64::from(written);
    }
    fs.fsync(file.node(), false).await
}
