//! Nothing stays open of what has ended. One test, alone in its program: it counts the descriptors of the process.

use ordo_wafs::{Log, MakeOptions};
use ordofs::ondisk::Format;
use ordofs::{ImageSpec, NewLfs, NewVolume, SharedVolume, Tuning, Volume, resize};
use std::path::Path;

fn open_now() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Does it several times: what the first time keeps for the whole program is no leak.
fn leaves_nothing_open(what: &str, mut work: impl FnMut()) {
    work();
    let before = open_now();
    (0..3).for_each(|_| work());
    assert_eq!(open_now(), before, "{what}");
}

fn retuned(image: &Path, label: &str) -> bool {
    let tuning = Tuning { label: Some(label.into()), ..Tuning::default() };
    tuning.apply(&ImageSpec::parse(image).unwrap()).is_ok()
}

#[test]
fn what_has_ended_has_nothing_open_whether_it_succeeded_or_was_refused() {
    let dir = tempfile::tempdir().unwrap();
    let [image, log, wafs, text] = ["v.img", "log.img", "wafs.img", "text"].map(|name| dir.path().join(name));
    std::fs::write(&text, "no volume\n".repeat(10_000)).unwrap();
    let new = NewVolume::new(16 << 20);
    leaves_nothing_open("making", || new.overwrite(&image).unwrap());
    leaves_nothing_open("making over what exists", || assert!(new.create(&image).is_err()));
    leaves_nothing_open("an impossible shape", || {
        let shape = |shape: &mut ordofs::ondisk::superblock::newfs::NewfsParams| {
            (shape.format, shape.bsize) = (Format::Ufs1, 12345);
        };
        assert!(NewVolume::new(16 << 20).with(shape).overwrite(&image).is_err());
    });
    leaves_nothing_open("making a log", || NewLfs::new(16 << 20).overwrite(&log).unwrap());
    leaves_nothing_open("making a log over what exists", || assert!(NewLfs::new(16 << 20).create(&log).is_err()));
    leaves_nothing_open("making WAFS", || Log::overwrite(&wafs, 4 << 20, MakeOptions::default()).unwrap());
    leaves_nothing_open("making WAFS over what exists", || {
        assert!(Log::create(&wafs, 4 << 20, MakeOptions::default()).is_err());
    });
    leaves_nothing_open("opening", || Volume::open(&image).unwrap().mount().unwrap().write("/f", "x").unwrap());
    leaves_nothing_open("opening what is none", || assert!(Volume::open(&text).unwrap().mount().is_err()));
    leaves_nothing_open("opening with an impossible scheme", || {
        assert!(Volume::open(&image).unwrap().scheme("none").mount().is_err());
    });
    leaves_nothing_open("a shared one", || {
        let open = image.clone();
        let volume = SharedVolume::start(move || Volume::open(&open)?.mount()).unwrap();
        volume.call(|volume| volume.read("/f")).wait().unwrap();
        volume.unmount().unwrap();
    });
    leaves_nothing_open("a shared one of what is none", || {
        let open = text.clone();
        assert!(SharedVolume::start(move || Volume::open(&open)?.mount()).is_err());
    });
    leaves_nothing_open("tuning", || assert!(retuned(&image, "here") && retuned(&image, "there")));
    leaves_nothing_open("tuning what is none", || assert!(!retuned(&text, "here")));
    let spec = ImageSpec::parse(&image).unwrap();
    leaves_nothing_open("resizing", || {
        resize(&spec, 24 << 20).unwrap();
        resize(&spec, 16 << 20).unwrap();
    });
    leaves_nothing_open("resizing to nothing", || assert!(resize(&spec, 1).is_err()));
}
