//! File handles: a file's volume, number and generation (nfs-3).

use nfs3_types::nfs3::{nfs_fh3, nfsstat3};
use nfs3_types::xdr_codec::Opaque;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of each handle; another layout of the rest gets others.
const MARK: &[u8; 4] = b"ofs2";
/// Bytes of what a handle says, and of the seal behind it.
const SAYS: usize = 24;
const SEAL: usize = 16;

/// The secret that seals handles.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; Key::LEN]);

impl Key {
    /// Bytes of a key.
    pub const LEN: usize = 32;

    /// The key of these bytes, which must be random and known to the server only.
    pub fn new(bytes: [u8; Key::LEN]) -> Key {
        Key(bytes)
    }

    /// The key for the volume at this place. A volume says itself which it is, and whoever has written its bytes may
    /// let it say that it is another one; a server that sealed its handles with the same key would make handles of that
    /// other one for him. What is hashed here begins otherwise than what is sealed.
    #[must_use]
    pub fn of_place(&self, place: &[u8]) -> Key {
        Key(Sha256::new().chain_update(self.0).chain_update(b"place").chain_update(place).finalize().into())
    }

    /// What nobody without the key can make for `says`. All handles are equally long, so that a hash with the key in
    /// front is one: none can be continued into another.
    fn seal(&self, says: &[u8]) -> [u8; SEAL] {
        let hash = Sha256::new().chain_update(self.0).chain_update(says).finalize();
        let mut seal = [0; SEAL];
        seal.copy_from_slice(&hash[..SEAL]);
        seal
    }

    /// Takes the same time for each wrong seal.
    fn has_sealed(&self, says: &[u8], seal: &[u8]) -> bool {
        let own = self.seal(says);
        seal.len() == SEAL && own.iter().zip(seal).fold(0, |differ, (one, other)| differ | (one ^ other)) == 0
    }
}

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
pub(crate) fn handle(key: &Key, volume: u64, file: FileNumber) -> nfs_fh3 {
    let mut bytes = Vec::with_capacity(SAYS + SEAL);
    bytes.extend(MARK);
    bytes.extend(volume.to_be_bytes());
    bytes.extend(file.ino.to_be_bytes());
    bytes.extend(file.generation.to_be_bytes());
    bytes.extend(key.seal(&bytes));
    nfs_fh3 { data: Opaque::owned(bytes) }
}

/// The file that a handle names.
///
/// # Errors
/// `BADHANDLE` for bytes that no version of this server made, `STALE` for a file of another volume, or sealed with
/// another key: a client that has mounted it must mount again.
pub(crate) fn file(key: &Key, volume: u64, handle: &[u8]) -> Result<FileNumber, nfsstat3> {
    let bad = nfsstat3::NFS3ERR_BADHANDLE;
    let (says, seal) = handle.split_at_checked(SAYS).filter(|(_, seal)| seal.len() == SEAL).ok_or(bad)?;
    let rest = says.strip_prefix(MARK).ok_or(bad)?;
    let (of_volume, rest) = rest.split_first_chunk().ok_or(bad)?;
    let (ino, rest) = rest.split_first_chunk().ok_or(bad)?;
    let generation = rest.try_into().map_err(|_| bad)?;
    if !key.has_sealed(says, seal) || u64::from_be_bytes(*of_volume) != volume {
        return Err(nfsstat3::NFS3ERR_STALE);
    }
    Ok(FileNumber { ino: u64::from_be_bytes(*ino), generation: u32::from_be_bytes(generation) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_names_its_file_and_is_good_for_its_volume_and_key_only() {
        let key = Key::new([7; Key::LEN]);
        let number = FileNumber { ino: 2, generation: 9 };
        let made = handle(&key, 77, number);
        assert_eq!(file(&key, 77, &made.data), Ok(number));
        assert_eq!(file(&key, 78, &made.data), Err(nfsstat3::NFS3ERR_STALE));
        assert_eq!(file(&Key::new([8; Key::LEN]), 77, &made.data), Err(nfsstat3::NFS3ERR_STALE));
        let (here, there) = (key.of_place(b"/here"), key.of_place(b"/there"));
        let made_there = handle(&there, 77, number).data;
        assert_eq!(file(&key.of_place(b"/there"), 77, &made_there), Ok(number));
        for other in [&here, &key] {
            assert_eq!(file(other, 77, &made_there), Err(nfsstat3::NFS3ERR_STALE), "a twin at another place");
        }
        for wrong in [&made.data[..39], b"", b"ofs2", &[made.data.to_vec(), vec![0]].concat()] {
            assert_eq!(file(&key, 77, wrong), Err(nfsstat3::NFS3ERR_BADHANDLE), "{wrong:?}");
        }
        for bit in 0..made.data.len() * 8 {
            let mut changed = made.data.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(file(&key, 77, &changed).is_err(), "bit {bit} may be chosen");
        }
    }
}
