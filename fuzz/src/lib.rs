//! What several targets share: the geometries of real volumes, and images with changed bytes.
//!
//! A target gets the bytes of one structure. Checksums are made right before it is read, since a fuzzer finds no
//! checksum by chance, and whoever makes a hostile image computes them, too.

use ordo_ondisk::lfs::{self, NewfsOptions, Version};
use ordo_ondisk::{ByteOff, Endian, Geometry, Superblock};

macro_rules! sb {
    ($name:literal) => {
        include_bytes!(concat!("../../crates/base/ondisk/tests/images/", $name, ".sb"))
    };
}

/// The geometry of one of eight real volumes: of FreeBSD, makefs and NetBSD.
pub fn ufs(which: u8) -> Geometry {
    let sbs: [(&[u8], u64); 8] = [
        (sb!("ufs-little"), 65536),
        (sb!("ufs-big"), 65536),
        (sb!("u1le"), 8192),
        (sb!("u2le"), 8192),
        (sb!("u2be"), 8192),
        (sb!("netbsd-ffs0-be"), 8192),
        (sb!("netbsd-ffs1-be"), 8192),
        (sb!("netbsd-ffs2-le"), 65536),
    ];
    let (bytes, at) = sbs[usize::from(which) % sbs.len()];
    Superblock::decode(bytes, ByteOff(at)).expect("a real superblock").geometry()
}

/// The geometry of a log-structured volume: NetBSD's, or a new one of any version and order of bytes.
pub fn log(which: u8) -> lfs::Geometry {
    let version = [Version::V1, Version::V2, Version::Lfs64][usize::from(which >> 1) % 3];
    let endian = if which & 1 == 0 { Endian::Little } else { Endian::Big };
    if which % 8 == 7 {
        return lfs::Superblock::decode(sb!("netbsd-lfs2")).expect("a real superblock").geometry();
    }
    let of = NewfsOptions { endian, ident: 77, now: 1_000, ..NewfsOptions::new(version, 16 << 20) };
    of.superblock().expect("a superblock").geometry()
}

/// `image` with some bytes changed. A change is a place (two bytes), a length (one byte), and so many bytes.
pub fn changed(image: &[u8], mut changes: &[u8]) -> Vec<u8> {
    let mut image = image.to_vec();
    while let Some((&[low, high, len], rest)) = changes.split_first_chunk() {
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(len)));
        for (at, byte) in (usize::from(u16::from_le_bytes([low, high]))..).zip(bytes) {
            if let Some(place) = image.get_mut(at) {
                *place = *byte;
            }
        }
        changes = rest;
    }
    image
}
