//! What a disk or a file contains, of any format: the question that libblkid answers. It is answered before a volume is
//! made, and when no volume is found. No well-maintained crate answers it without the C library, hence this table.
//!
//! N1. A signature is looked for at every place where its format puts one, including copies and the end of the disk,
//!     and each that is found is reported separately. Wiping what was found therefore leaves none behind.
//! N2. Only signatures are read: no size or place of a foreign structure is used, except those of its own copies, and a
//!     copy counts only where its signature is.
//! N3. Wiping changes the signature and nothing else, so that a mistake can be repaired: boot code, keys and contents
//!     stay. Boot sectors that are used only by their file system, and the labels of ZFS, are wiped as a whole.

mod bytes;
mod kind;
mod no_volume;
mod table;
pub(crate) mod told;

pub use kind::ContentsKind;
pub use no_volume::NoVolume;

use crate::OpenError;
use crate::sectors::read_bytes;
use bytes::Bytes;
use ordo_disk::{Block, Disk, DiskOff, ReadPart, Tag, WritePart};
use ordo_rt::Rt;
use std::io;
use std::rc::Rc;
use table::ROWS;

/// A signature that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The common name of the format.
    pub name: &'static str,
    /// What that says about the disk.
    pub kind: ContentsKind,
    /// Its first byte.
    pub at: u64,
    /// The bytes that wiping zeroes: the first, and how many.
    pub wiped: (u64, u64),
}

/// All signatures in the bytes, the one that names the contents best first.
///
/// # Errors
/// When they cannot be read.
fn signatures(bytes: &mut Bytes<'_>) -> Vec<Signature> {
    let mut found = Vec::new();
    for row in ROWS {
        let mut places: Vec<u64> = row.places.iter().filter_map(|place| place.on(bytes.size())).collect();
        let mut next = 0;
        while let Some(&at) = places.get(next) {
            next += 1;
            let is_there = bytes.has(at, row.magic) && row.also.is_none_or(|also| also(bytes, at));
            if !is_there || found.iter().any(|known: &Signature| (known.at, known.name) == (at, row.name)) {
                continue;
            }
            if let Some(copies) = row.copies.filter(|_| next <= row.places.len()) {
                places.extend(copies(bytes, at));
            }
            let (from, len) = row.wipe.unwrap_or((0, row.magic.len() as u64));
            found.push(Signature { name: row.name, kind: row.kind, at, wiped: (at.saturating_add_signed(from), len) });
        }
    }
    found
}

/// All signatures on a disk, the one that names the contents best first.
///
/// # Errors
/// When it cannot be read.
pub fn contents(rt: &Rt, disk: &Rc<dyn Disk>) -> Result<Vec<Signature>, OpenError> {
    let mut read = |at, bytes: &mut [u8]| read_bytes(rt, disk, at, bytes);
    let mut bytes = Bytes::new(&mut read, disk.info().size);
    let found = signatures(&mut bytes);
    bytes.failure().map_err(OpenError::Contents)?;
    Ok(found)
}

/// Zeroes what [`contents`] has found; durable when this returns.
///
/// # Errors
/// When the disk fails: some of it may be wiped then.
pub fn wipe(rt: &Rt, disk: &Rc<dyn Disk>, found: &[Signature]) -> Result<(), OpenError> {
    let info = disk.info();
    let sector = u64::from(info.sector);
    for &Signature { wiped: (from, len), .. } in found {
        let (start, end) = (from - from % sector, (from + len).next_multiple_of(sector).min(info.size));
        let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::default() };
        rt.block_on(async {
            let parts = disk.read(DiskOff(start), vec![part]).await?;
            let mut whole: Vec<u8> = parts.iter().flat_map(|part| part.block.iter().copied()).collect();
            let (first, past) = ((from - start) as usize, (from + len).min(end) - start);
            whole[first..past as usize].fill(0);
            let part = WritePart { image: Block::copy_of(&whole).image(), tag: Tag::default() };
            disk.write(DiskOff(start), vec![part], false).await
        })?;
    }
    Ok(rt.block_on(disk.flush())?)
}

/// The signatures of a file, including its last bytes if they do not fill a sector.
pub(crate) fn of_file(file: &std::fs::File) -> io::Result<(u64, Vec<Signature>, Vec<u8>)> {
    let size = file.metadata()?.len();
    let mut read = |at, bytes: &mut [u8]| std::os::unix::fs::FileExt::read_exact_at(file, bytes, at);
    let mut bytes = Bytes::new(&mut read, size);
    let found = signatures(&mut bytes);
    let head = bytes.get(0, size.min(512) as usize).unwrap_or_default();
    bytes.failure()?;
    Ok((size, found, head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_disk::RamDisk;

    /// Large enough for the places of all but the largest copies.
    const SIZE: u64 = 80 << 20;

    fn disk() -> Rc<dyn Disk> {
        Rc::new(RamDisk::new(SIZE))
    }

    fn put(rt: &Rt, disk: &Rc<dyn Disk>, at: u64, bytes: &[u8]) {
        let start = at - at % 512;
        let end = (at + bytes.len() as u64).next_multiple_of(512);
        let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::default() };
        rt.block_on(async {
            let parts = disk.read(DiskOff(start), vec![part]).await.unwrap();
            let mut whole = parts[0].block.to_vec();
            whole[(at - start) as usize..][..bytes.len()].copy_from_slice(bytes);
            let part = WritePart { image: Block::copy_of(&whole).image(), tag: Tag::default() };
            disk.write(DiskOff(start), vec![part], false).await.unwrap();
        });
    }

    fn names(rt: &Rt, disk: &Rc<dyn Disk>) -> Vec<&'static str> {
        contents(rt, disk).unwrap().iter().map(|found| found.name).collect()
    }

    #[test]
    fn each_mark_is_found_at_each_place_and_wiping_leaves_none() {
        let rt = Rt::virtual_time(1);
        for row in ROWS.iter().filter(|row| row.also.is_none()) {
            for place in row.places {
                let Some(at) = place.on(SIZE).filter(|at| at + row.magic.len() as u64 <= SIZE) else { continue };
                let disk = disk();
                assert!(names(&rt, &disk).is_empty());
                put(&rt, &disk, at, row.magic);
                let found = contents(&rt, &disk).unwrap();
                assert!(found.iter().any(|found| (found.name, found.at) == (row.name, at)), "{} at {at}", row.name);
                wipe(&rt, &disk, &found).unwrap();
                assert!(names(&rt, &disk).is_empty(), "{} at {at}: a rest is left", row.name);
            }
        }
    }

    #[test]
    fn short_marks_need_more_than_themselves() {
        let rt = Rt::virtual_time(1);
        for row in ROWS.iter().filter(|row| row.also.is_some()) {
            for at in row.places.iter().filter_map(|place| place.on(SIZE)) {
                let disk = disk();
                put(&rt, &disk, at, row.magic);
                assert!(names(&rt, &disk).is_empty(), "{} at {at}", row.name);
            }
        }
    }

    #[test]
    fn what_needs_more_is_found_where_it_is() {
        let rt = Rt::virtual_time(1);
        let mut zfs = vec![1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 36, 0, 0, 0, 32, 0, 0, 0, 7];
        zfs.extend_from_slice(b"version\0");
        let entry = [0, 0, 2, 0, 0x83, 0xfe, 0xff, 0xff, 0, 8, 0, 0, 0, 0, 1, 0];
        let mbr = [&entry[..], &[0; 48], &[0x55, 0xaa]].concat();
        let label = [&[0x57, 0x45, 0x56, 0x82][..], &[0; 128], &[0x57, 0x45, 0x56, 0x82]].concat();
        let ext = |compat: u32, incompat: u32| {
            let mut sb = vec![0; 104];
            (sb[0], sb[4], sb[56], sb[57]) = (1, 1, 0x53, 0xef);
            sb[92..96].copy_from_slice(&compat.to_le_bytes());
            sb[96..100].copy_from_slice(&incompat.to_le_bytes());
            sb
        };
        let cases: [(&str, u64, &[u8]); 11] = [
            ("ZFS member", 16384, &zfs),
            ("ZFS member", SIZE - (256 << 10) + 16384, &zfs),
            ("MBR partition table", 446, &mbr),
            ("BSD disklabel", 512, &label),
            ("LVM2 physical volume", 512, b"LABELONE----------------LVM2 001"),
            ("bzip2", 0, b"BZh91AY&SY"),
            ("ext2", 1024, &ext(0, 0x2)),
            ("ext3", 1024, &ext(4, 0x2)),
            ("ext4", 1024, &ext(4, 0x42)),
            ("journal of an ext file system", 1024, &ext(0, 0x8)),
            ("NILFS2", 1024, &[2, 0, 0, 0, 0, 0, 0x34, 0x34, 0, 1]),
        ];
        for (name, at, bytes) in cases {
            let disk = disk();
            put(&rt, &disk, at, bytes);
            let found = contents(&rt, &disk).unwrap();
            assert_eq!(found.iter().map(|found| found.name).collect::<Vec<_>>(), [name]);
            wipe(&rt, &disk, &found).unwrap();
            assert!(names(&rt, &disk).is_empty(), "{name}");
        }
    }

    #[test]
    fn boot_code_that_looks_like_a_table_is_none() {
        let rt = Rt::virtual_time(1);
        let disk = disk();
        // FreeBSD's boot1 has an entry of 50,000 sectors that starts at 0.
        let entry = [0x80, 0, 1, 0, 0xa5, 0xfe, 0xff, 0xff, 0, 0, 0, 0, 0x50, 0xc3, 0, 0];
        put(&rt, &disk, 446, &[&[0; 48], &entry[..], &[0x55, 0xaa]].concat());
        assert!(names(&rt, &disk).is_empty());
    }

    #[test]
    fn copies_are_found_where_the_first_one_says() {
        let rt = Rt::virtual_time(1);
        let disk = disk();
        let mut sb = vec![0; 92];
        sb[..4].copy_from_slice(b"XFSB");
        sb[4..8].copy_from_slice(&4096u32.to_be_bytes());
        sb[84..88].copy_from_slice(&1024u32.to_be_bytes());
        sb[88..92].copy_from_slice(&4u32.to_be_bytes());
        for group in 0..3 {
            put(&rt, &disk, group * (4 << 20), &sb);
        }
        let at: Vec<u64> = contents(&rt, &disk).unwrap().iter().map(|found| found.at).collect();
        assert_eq!(at, [0, 4 << 20, 8 << 20], "the fourth is not there");
    }

    #[test]
    fn a_volume_of_ours_is_known() {
        let rt = Rt::virtual_time(1);
        let disk = disk();
        crate::NewVolume::new(SIZE).create_on(&rt, disk.clone(), true).unwrap();
        assert_eq!(names(&rt, &disk)[0], "UFS2");
        assert!(crate::locate_on(&rt, disk).is_ok());
    }
}
