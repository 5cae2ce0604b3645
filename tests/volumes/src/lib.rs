//! Volumes that the kernels of other systems made and filled, for tests. README.md beside this crate says which.
//!
//! Those of NetBSD are in the tree. Those of FreeBSD are another project's, and lie outside: where they are not, a test
//! that needs them is ignored and counted as ignored. The harness of Rust decides that when a test is compiled, so the
//! build script looks for them. With `ORDO_IMAGES=require` such a test is never ignored: it fails without its volume.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

fn file(name: &str, ending: &str) -> PathBuf {
    let own = name.starts_with("netbsd-");
    let folder = if own { env!("CARGO_MANIFEST_DIR") } else { env!("FREEBSDS_VOLUMES") };
    Path::new(folder).join(format!("{name}.{ending}"))
}

/// The bytes of a volume. Panics where it cannot be read.
#[must_use]
pub fn volume(name: &str) -> Vec<u8> {
    unpacked(&file(name, "img.zst"))
}

/// What NetBSD listed as the contents of its volume: a line for each object.
#[must_use]
pub fn manifest(name: &str) -> String {
    let path = file(name, "manifest");
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// A file that Zstandard packed. Panics where it cannot be read: a test that needs it must fail.
#[must_use]
pub fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = File::open(path).map_err(|why| why.to_string()).and_then(|file| {
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(file).map_err(|why| why.to_string())?;
        let mut bytes = Vec::new();
        decoder.read_to_end(&mut bytes).map_err(|why| why.to_string())?;
        Ok(bytes)
    });
    bytes.unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// A test that needs FreeBSD's volumes: `freebsds_volumes!(name, body)`.
#[cfg(freebsds_volumes)]
#[macro_export]
macro_rules! freebsds_volumes {
    ($name:ident, $body:expr) => {
        #[test]
        fn $name() {
            $body
        }
    };
}

/// A test that needs FreeBSD's volumes, which are not here: `freebsds_volumes!(name, body)`.
#[cfg(not(freebsds_volumes))]
#[macro_export]
macro_rules! freebsds_volumes {
    ($name:ident, $body:expr) => {
        #[test]
        #[ignore = "FreeBSD's volumes are not there: tests/volumes/README.md says which, and where they are looked for"]
        fn $name() {
            $body
        }
    };
}
