//! How many bytes there are to read below a file: for the line of progress alone.
//!
//! H1. Nobody waits for a number that nobody sees: without a terminal nothing is looked at.
//! H2. What cannot be read weighs nothing here; who reads it in earnest reports it. No directory is entered twice.

use crate::interrupt::{self, Interrupted};
use crate::progress::{self, Unit};
use ordo_vfs::{Attr, FileSystem, Kind};
use ordofs::path::Held;
use std::collections::BTreeSet;

/// The bytes of a file, without its holes.
fn stored(attr: &Attr) -> u64 {
    if attr.kind == Kind::Regular { attr.size.min(attr.sectors.saturating_mul(512)) } else { 0 }
}

/// Begins the line of progress of work that reads all files in `top`, and in what is below it.
///
/// # Errors
/// When the user interrupts it.
pub(crate) async fn begin<S: FileSystem>(top: &Held<S>) -> Result<(), Interrupted> {
    let whole = if progress::is_seen() { weight(top).await? } else { 0 };
    progress::begin(Unit::Bytes, whole);
    Ok(())
}

async fn weight<S: FileSystem>(top: &Held<S>) -> Result<u64, Interrupted> {
    let (mut bytes, mut entered, mut waiting) = (stored(top.attr()), BTreeSet::new(), Vec::new());
    if top.is_dir() {
        waiting.extend(top.lookup(b".").await.ok());
    }
    while let Some(dir) = waiting.pop() {
        if !entered.insert(dir.attr().ino) {
            continue;
        }
        for name in dir.names().await.0 {
            interrupt::check()?;
            let Ok(file) = dir.lookup(&name).await else { continue };
            bytes += stored(file.attr());
            waiting.extend(Some(file).filter(Held::is_dir));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fresh::{Fresh, NewSize};
    use ordo_vfs::{Caller, Mode, Name};
    use ordofs::MountOptions;
    use ordofs::disk::RamDisk;
    use ordofs::rt::Rt;
    use std::rc::Rc;

    #[test]
    fn everything_below_is_weighed_once() {
        let rt = Rt::virtual_time(1);
        let (disk, size) = (Rc::new(RamDisk::new(16 << 20)), NewSize::of(16 << 20));
        let mounted = Fresh::on(&rt, disk, None, size, &MountOptions::default()).unwrap().mounted;
        let fs = mounted.fs();
        let who = Caller { privileged: true, ..Caller::default() };
        let name = |text: &'static str| Name::new(text.as_bytes()).unwrap();
        rt.block_on(async {
            let dir = fs.mkdir(&who, fs.root(), name("d"), Mode::new(0o755)).await.unwrap();
            for (above, text, len) in [(fs.root(), "a", 5000), (dir.node, "b", 300), (dir.node, "c", 0)] {
                let file = fs.mknod(&who, above, name(text), Kind::Regular, Mode::new(0o644), 0).await.unwrap();
                fs.write(&who, file.node, 0, &vec![7; len]).await.unwrap();
            }
            assert_eq!(weight(&Held::root(fs).await.unwrap()).await.unwrap(), 5300);
        });
    }
}
