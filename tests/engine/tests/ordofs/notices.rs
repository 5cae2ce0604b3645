//! Notices of a volume: dropped, read from a backup superblock, failing, recovered.

use crate::common::image::Image;
use ordofs::vfs::{Error, Refusal};
use ordofs::{Notice, OpenError, OpenVolume, Tuning, Volume};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex};

/// Where UFS2 has its first superblock.
const FIRST: u64 = 65536;

fn file(image: &Image) -> File {
    File::options().read(true).write(true).open(image.path()).expect("it is there")
}

/// All notices so far.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Notice>>>);

impl Heard {
    fn listens_to(&self, volume: OpenVolume) -> Volume {
        let to = self.clone();
        volume.on_notice(move |notice| to.0.lock().expect("no panic").push(notice.clone())).mount().expect("a volume")
    }

    fn taken(&self) -> Vec<Notice> {
        std::mem::take(&mut self.0.lock().expect("no panic"))
    }
}

#[test]
fn a_volume_that_is_dropped_is_unmounted_and_says_so() {
    let (image, heard) = (Image::new(), Heard::default());
    let volume = heard.listens_to(image.open());
    volume.write("/f", "not synced").expect("there is room");
    drop(volume);
    assert_eq!(heard.taken(), [Notice::Dropped(Ok(()))]);
    let volume = heard.listens_to(image.open());
    assert!(!volume.is_read_only());
    assert_eq!(volume.read("/f").expect("it was written"), b"not synced");
    volume.unmount().expect("the disk is well");
    drop(heard.listens_to(image.open().read_only()));
    assert_eq!(heard.taken(), []);
}

#[test]
fn a_volume_whose_disk_fails_says_so_at_once_and_when_it_is_dropped() {
    let (image, heard) = (Image::new(), Heard::default());
    let volume = heard.listens_to(image.open());
    volume.write("/f", vec![7; 1 << 20]).expect("there is room");
    file(&image).set_len(FIRST).expect("files can be cut");
    drop(volume);
    let said = heard.taken();
    assert!(said.iter().any(|notice| matches!(notice, Notice::TurnedReadOnly(_))), "{said:?}");
    assert!(matches!(said.last(), Some(Notice::Dropped(Err(_)))), "{said:?}");
}

#[test]
fn a_volume_that_a_panic_drops_is_as_after_a_crash() {
    let (image, heard) = (Image::new(), Heard::default());
    let volume = heard.listens_to(image.open().scheme("async"));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        volume.write("/f", "in the middle").expect("there is room");
        panic!("of the program that uses it");
    }));
    assert!(outcome.is_err());
    assert!(matches!(&heard.taken()[..], [Notice::Dropped(Err(why))] if why.contains("panic")));
    assert!(heard.listens_to(image.open()).is_read_only());
}

#[test]
fn without_its_first_superblock_a_volume_is_read_from_a_copy_and_not_written() {
    let (image, heard) = (Image::new(), Heard::default());
    let volume = heard.listens_to(image.open());
    volume.write("/f", "to be rescued").expect("there is room");
    volume.unmount().expect("the disk is well");
    file(&image).write_all_at(&[0; 8192], FIRST).expect("files can be written");
    let before = std::fs::read(image.path()).expect("it is there");
    for (open, asked) in [(image.open().read_only(), true), (image.open(), false), (image.open().force(), false)] {
        let volume = heard.listens_to(open);
        assert_eq!(volume.read("/f").expect("it is there"), b"to be rescued");
        assert!(matches!(volume.write("/g", "x"), Err(Error::Refused(Refusal::ReadOnly))));
        match (&heard.taken()[..], asked) {
            ([Notice::FromCopy { group: 0 }], true) => assert_eq!(volume.mounted().why_read_only(), None),
            ([Notice::ReadOnly(why)], false) => assert!(why.contains("copy") && why.contains("fsck"), "{why}"),
            (said, _) => panic!("{said:?}"),
        }
        volume.unmount().expect("there is nothing to write");
    }
    assert!(std::fs::read(image.path()).expect("it is there") == before, "reading has changed the image");
}

#[test]
fn a_file_without_a_volume_is_reported_by_type() {
    let image = Image::new();
    for contents in [vec![0; 16 << 20], b"short".to_vec(), b"no volume, ".repeat(1 << 16)] {
        std::fs::write(image.path(), contents).expect("files can be written");
        let error = image.open().mount().map(drop).expect_err("there is no volume");
        assert!(matches!(error, OpenError::NotFound(_) | OpenError::NoVolume(_)), "{error:?}");
    }
    assert!(matches!(Volume::open(image.dir.path()).expect("a plain path").mount(), Err(OpenError::Disk(_))));
}

#[test]
fn reclaimed_leaks_and_a_replayed_log_are_reported() {
    let (image, heard) = (Image::new(), Heard::default());
    let volume = heard.listens_to(image.open());
    volume.sync().expect("the disk is well");
    volume.abandon();
    let volume = heard.listens_to(image.open());
    volume.rt().block_on(volume.mounted().leaks_ended());
    volume.rt().run_until_idle();
    assert!(matches!(&heard.taken()[..], [Notice::Reclaimed(_)]));
    volume.unmount().expect("the disk is well");

    let spec = ordofs::ImageSpec::parse(&image.path()).expect("a plain path");
    let log = Some(ordofs::JournalChange::On(Some(1 << 20)));
    Tuning { log, ..Tuning::default() }.apply(&spec).expect("there is room for a log");
    let volume = heard.listens_to(image.open().scheme("wafs"));
    let mut file = volume.create("/logged").expect("there is room");
    file.write_all(b"x").expect("there is room");
    drop(file);
    volume.abandon();
    let volume = heard.listens_to(image.open());
    assert!(matches!(&heard.taken()[..], [Notice::Replayed(_)]));
    assert!(volume.exists("/logged").expect("the disk is well"));
}
