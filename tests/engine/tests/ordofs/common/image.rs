//! A volume in a file.

use ordofs::{NewVolume, OpenVolume, Volume};
use std::path::PathBuf;

/// An image in a directory of its own, which is removed with it.
pub struct Image {
    pub dir: tempfile::TempDir,
}

impl Image {
    pub fn new() -> Image {
        let image = Image { dir: tempfile::tempdir().expect("a directory") };
        NewVolume::new(16 << 20).create(image.path()).expect("there is room for an image");
        image
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("disk.img")
    }

    pub fn open(&self) -> OpenVolume {
        Volume::open(self.path()).expect("a plain path")
    }
}
