//! File handles: a file's volume, number and generation (nfs-3).

use nfs3_types::nfs3::{nfs_fh3, nfsstat3};
use nfs3_types::xdr_codec::Opaque;
use ordo_vfs::Attr;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of each handle; another layout of the rest gets others.
const MARK: &[u8; 4] = b"ofs1";
const LEN: usize = 24;

/// The number of a volume that has none of its own (LFS version 1, old UFS), from the name of its place. Else a handle
/// of one such volume would name a file of another that is served at the same address later: numbers are small there,
/// and the first generation is 1.
pub fn number_by_place(place: &[u8]) -> u64 {
    xxh3_64(place)
}

/// A file's number and generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumber {
    pub(crate) ino: u64,
    pub(crate) generation: u32,
}

/// The handle of a file of `volume`.
pub(crate) fn handle(volume: u64, attr: &Attr) -> nfs_fh3 {
    let mut bytes = Vec::with_capacity(LEN);
    bytes.extend(MARK);
    bytes.extend(volume.to_be_bytes());
    bytes.extend(attr.ino.to_be_bytes());
    bytes.extend(attr.generation.to_be_bytes());
    nfs_fh3 { data: Opaque::owned(bytes) }
}

/// The file that a handle names.
///
/// # Errors
/// `BADHANDLE` for bytes that no version of this server made, `STALE` for a file of another volume.
pub(crate) fn file(volume: u64, handle: &[u8]) -> Result<FileNumber, nfsstat3> {
    let bad = nfsstat3::NFS3ERR_BADHANDLE;
    let rest = handle.strip_prefix(MARK).ok_or(bad)?;
    let (of_volume, rest) = rest.split_first_chunk().ok_or(bad)?;
    let (ino, rest) = rest.split_first_chunk().ok_or(bad)?;
    let generation = rest.try_into().map_err(|_| bad)?;
    if u64::from_be_bytes(*of_volume) != volume {
        return Err(nfsstat3::NFS3ERR_STALE);
    }
    Ok(FileNumber { ino: u64::from_be_bytes(*ino), generation: u32::from_be_bytes(generation) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_model::MemFs;
    use ordo_rt::Rt;
    use ordo_vfs::FileSystem;

    #[test]
    fn a_handle_names_its_file_and_is_good_for_its_volume_only() {
        let fs = MemFs::timeless();
        let attr = Rt::virtual_time(1).block_on(fs.getattr(fs.root())).unwrap();
        let made = handle(77, &attr);
        let number = FileNumber { ino: attr.ino, generation: attr.generation };
        assert_eq!(file(77, &made.data), Ok(number));
        assert_eq!(file(78, &made.data), Err(nfsstat3::NFS3ERR_STALE));
        for wrong in [&made.data[..23], b"", b"ofs1", &[made.data.to_vec(), vec![0]].concat()] {
            assert_eq!(file(77, wrong), Err(nfsstat3::NFS3ERR_BADHANDLE), "{wrong:?}");
        }
    }
}
