//! Removals on a volume with an active journal: what older versions of directories and inodes bring back.

use crate::active::{Bed, contents};
use ordo_ondisk::{Endian, Format, Ino};
use ordofs::path::resolve;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{
    JournalChange, MountOptions, Mounted, NewVolume, Piece, Sought, Versions, locate_on, sought, versions_of,
};
use std::time::Duration;

fn who() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// A step, and the transactions that it needs.
fn step(bed: &Bed, mounted: &Mounted, work: impl AsyncFnOnce()) {
    bed.rt.block_on(async {
        work().await;
        mounted.fs().syncfs().await.unwrap();
        bed.rt.sleep(Duration::from_secs(9)).await;
    });
}

fn remove(bed: &Bed, mounted: &Mounted, dir: &str, name: &str, is_dir: bool) {
    step(bed, mounted, async || {
        let (fs, name) = (mounted.fs(), Name::new(name.as_bytes()).unwrap());
        let dir = resolve(fs, dir.as_bytes(), true).await.unwrap();
        match is_dir {
            true => fs.rmdir(dir.node(), name).await.unwrap(),
            false => fs.unlink(dir.node(), name).await.unwrap(),
        }
    });
}

fn make(bed: &Bed, mounted: &Mounted, dir: &str, name: &str, bytes: &[u8]) {
    step(bed, mounted, async || {
        let (fs, name) = (mounted.fs(), Name::new(name.as_bytes()).unwrap());
        let dir = resolve(fs, dir.as_bytes(), true).await.unwrap();
        let file = fs.mknod(&who(), dir.node(), name, Kind::Regular, Mode::new(0o644), 0).await.unwrap();
        // What is too long for a transaction is written past the journal.
        for (piece, at) in bytes.chunks(1 << 16).zip((0..).step_by(1 << 16)) {
            fs.write(&who(), file.node, at, piece).await.unwrap();
            fs.syncfs().await.unwrap();
        }
        fs.forget(file.node, 1);
    });
}

fn versions(bed: &Bed, path: &str) -> Versions {
    let (mounted, _) = bed.mount_with(MountOptions { read_only: true, ..MountOptions::default() });
    let sought = bed.rt.block_on(sought(mounted.fs(), path.as_bytes())).unwrap();
    bed.unmount(mounted);
    versions_of(&bed.rt, &locate_on(&bed.rt, bed.disk()).unwrap(), &sought).unwrap()
}

fn read(bed: &Bed, versions: &Versions, number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let done = versions.read::<ordofs::disk::DiskError>(&bed.rt, number, |some| {
        bytes.extend_from_slice(some);
        Ok(())
    });
    assert!(done.unwrap(), "no version {number}");
    bytes
}

/// All versions of a file, the newest first.
fn all(bed: &Bed, path: &str) -> Vec<Vec<u8>> {
    let versions = versions(bed, path);
    versions.list().map(|version| read(bed, &versions, version.number)).collect()
}

/// The names that the versions of a directory have and it has no more, with what they lack.
fn gone(bed: &Bed, path: &str) -> Vec<(String, Option<Piece>)> {
    let versions = versions(bed, path);
    let names = versions.list().flat_map(|version| version.gone.clone());
    let mut names: Vec<_> = names.map(|one| (String::from_utf8(one.name).unwrap(), one.lacks)).collect();
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    names.dedup();
    names
}

#[test]
fn what_was_removed_is_read_as_it_was_on_every_format() {
    for (format, endian) in [
        (Format::Ufs2, Endian::Little),
        (Format::Ufs2, Endian::Big),
        (Format::Ufs1, Endian::Little),
        (Format::Ufs1, Endian::Big),
    ] {
        let bed = Bed::of(NewVolume::new(64 << 20).with(|shape| (shape.format, shape.endian) = (format, endian)));
        // Room for all copies of what follows.
        [JournalChange::Off, JournalChange::On(Some(24 << 20))].into_iter().for_each(|change| bed.tune(change));
        let mounted = bed.mount("active", "journal");
        // Long enough for an indirect block.
        let long: Vec<u8> = (0..130_000u32).flat_map(|n| n.wrapping_mul(77).to_le_bytes()).collect();
        make(&bed, &mounted, "/", "kept", b"kept");
        make(&bed, &mounted, "/", "short", b"short");
        make(&bed, &mounted, "/", "long", &long);
        make(&bed, &mounted, "/", "twice", b"the first");
        step(&bed, &mounted, async || {
            let (fs, name) = (mounted.fs(), Name::new(b"d").unwrap());
            let made = fs.mkdir(&who(), fs.root(), name, Mode::new(0o755)).await.unwrap();
            fs.forget(made.node, 1);
        });
        make(&bed, &mounted, "/d", "within", b"within");
        ["short", "long", "twice"].into_iter().for_each(|name| remove(&bed, &mounted, "/", name, false));
        make(&bed, &mounted, "/", "twice", b"the second");
        remove(&bed, &mounted, "/d", "within", false);
        remove(&bed, &mounted, "/", "d", true);
        bed.unmount(mounted);
        let names: Vec<String> = gone(&bed, "/").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["d", "long", "short", "twice"], "{format:?} {endian:?}");
        assert!(gone(&bed, "/").iter().all(|(_, lacks)| lacks.is_none()), "{:?}", gone(&bed, "/"));
        assert_eq!(gone(&bed, "/d"), [("within".to_owned(), None)]);
        assert_eq!(all(&bed, "/short"), [b"short"]);
        let of_long = all(&bed, "/long");
        assert!(of_long[0] == long && of_long.iter().all(|grew| long.starts_with(grew)));
        assert_eq!(all(&bed, "/d/within"), [b"within"]);
        assert!(all(&bed, "/twice").contains(&b"the first".to_vec()), "of the file that had the name before");
        let none = versions(&bed, "/never");
        assert_eq!((none.kind, none.list().count()), (None, 0));
        bed.is_right();
    }
}

#[test]
fn of_contents_that_no_transaction_had_the_first_block_is_named() {
    let bed = Bed::new();
    let mounted = bed.mount("active", "ordered");
    make(&bed, &mounted, "/", "file", &contents(9, 1));
    remove(&bed, &mounted, "/", "file", false);
    bed.unmount(mounted);
    let is_block = |piece: &Option<Piece>| matches!(piece, Some(Piece::Block { lbn: 0, .. }));
    let found = gone(&bed, "/");
    assert!(found.len() == 1 && found[0].0 == "file" && is_block(&found[0].1), "{found:?}");
    let versions = versions(&bed, "/file");
    assert!(versions.list().count() == 0 && is_block(&versions.lacks), "{:?}", versions.lacks);
}

/// The journal comes round, power is cut, and inodes and blocks get new owners: a version has the right bytes, or is
/// none.
#[test]
fn a_version_of_what_was_removed_is_right_or_gone() {
    let bed = Bed::of(NewVolume::new(64 << 20).with(|shape| shape.format = Format::Ufs1));
    let mounted = bed.mount("active", "journal");
    make(&bed, &mounted, "/", "lost", &contents(3, 99));
    remove(&bed, &mounted, "/", "lost", false);
    bed.unmount(mounted);
    let (mut seen, mut gone_at) = (0, None);
    for word in 1..12 {
        let found = all(&bed, "/lost");
        assert!(found.iter().all(|bytes| *bytes == contents(3, 99)), "word {word}");
        seen += found.len();
        if found.is_empty() && gone_at.is_none() {
            gone_at = Some(word);
        }
        let mounted = bed.mount("active", "journal");
        bed.write(&mounted, word, true);
        if word % 3 == 0 {
            bed.cut(mounted);
            bed.unmount(bed.mount("active", "journal"));
        } else {
            bed.unmount(mounted);
        }
    }
    assert!(seen > 0 && gone_at.is_some(), "{seen} {gone_at:?}");
    let root = versions_of(&bed.rt, &locate_on(&bed.rt, bed.disk()).unwrap(), &Sought::Here(Ino::ROOT, None)).unwrap();
    assert!(root.kind == Some(Kind::Directory));
}
