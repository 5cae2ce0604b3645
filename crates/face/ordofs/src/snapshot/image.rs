//! A snapshot as a disk that can only be read: the volume as it was.

use super::map::Map;
use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, Tag, WritePart, read_len, write_len,
};
use ordo_ondisk::snapshot::Held;
use ordo_ondisk::{ByteOff, FragNo, Geometry};
use std::rc::Rc;

/// The volume of a snapshot.
pub(super) struct SnapshotDisk {
    below: Rc<dyn Disk>,
    map: Rc<Map>,
    g: Rc<Geometry>,
    info: DiskInfo,
}

impl SnapshotDisk {
    pub(super) fn new(below: Rc<dyn Disk>, map: Map, g: Rc<Geometry>) -> SnapshotDisk {
        let volume = g.byte(FragNo(g.size)).0;
        let size = volume.min(below.info().size);
        let info = DiskInfo { read_only: true, immediate: false, size, ..below.info() };
        SnapshotDisk { below, map: Rc::new(map), g, info }
    }
}

/// Bytes that lie together: where on the disk below, or zeros.
struct Run {
    at: Option<u64>,
    len: u64,
}

/// What `len` bytes from `at` on are made of.
fn runs(map: &Map, g: &Geometry, at: u64, len: u64) -> Vec<Run> {
    let bsize = u64::from(g.bsize);
    let (mut runs, mut next, end): (Vec<Run>, u64, u64) = (vec![], at, at + len);
    while next < end {
        let (lbn, within) = (next / bsize, next % bsize);
        let n = (bsize - within).min(end - next);
        let place = match Held::of(map.get(lbn)) {
            Held::Current => Some(next),
            Held::Nothing => None,
            Held::Own(own) => Some(g.byte(own).0 + within),
        };
        match runs.last_mut() {
            Some(last) if last.at.map(|at| at + last.len) == place => last.len += n,
            _ => runs.push(Run { at: place, len: n }),
        }
        next += n;
    }
    runs
}

async fn fill(below: Rc<dyn Disk>, runs: Vec<Run>, mut parts: Vec<ReadPart>) -> Result<Vec<ReadPart>, DiskError> {
    let mut bytes = Vec::with_capacity(read_len(&parts) as usize);
    let tag = parts.first().map_or(Tag::default(), |part| part.tag);
    for Run { at, len } in runs {
        match at {
            None => bytes.resize(bytes.len() + len as usize, 0),
            Some(at) => {
                let part = ReadPart { block: Block::zeroed(len as usize), tag };
                for part in below.read(DiskOff(at), vec![part]).await? {
                    bytes.extend_from_slice(&part.block);
                }
            }
        }
    }
    let mut rest = &bytes[..];
    for part in &mut parts {
        let n = part.block.len().min(rest.len());
        part.block[..n].copy_from_slice(&rest[..n]);
        rest = &rest[n..];
    }
    Ok(parts)
}

/// Bytes of the volume as it was, whole fragments.
pub(super) async fn read_then(disk: &Rc<dyn Disk>, map: &Map, at: ByteOff, len: usize) -> Result<Vec<u8>, DiskError> {
    let runs = runs(map, map.geometry(), at.0, len as u64);
    let part = ReadPart { block: Block::zeroed(len), tag: Tag::default() };
    let parts = fill(disk.clone(), runs, vec![part]).await?;
    Ok(parts.into_iter().flat_map(|part| part.block.to_vec()).collect())
}

impl Disk for SnapshotDisk {
    fn info(&self) -> DiskInfo {
        self.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let len = read_len(&parts);
        if let Err(error) = self.info.check(DiskOp::Read, at, len) {
            return DiskFuture::now(Err(error));
        }
        let runs = runs(&self.map, &self.g, at.0, len);
        DiskFuture::later(fill(self.below.clone(), runs, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, _fua: bool) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Err(DiskError::new(DiskOp::Write, at, write_len(&parts), Cause::ReadOnly)))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(Err(DiskError::flush(Cause::ReadOnly)))
    }
}
