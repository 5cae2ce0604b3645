//! The blocking interface, each call once, as used by a program that knows `std::fs`; and the state of a volume whose
//! program dies.

use crate::common::image::Image;
use ordofs::disk::FileOptions;
use ordofs::ondisk::Format;
use ordofs::rt::Rt;
use ordofs::vfs::{Error, Kind, Mode, Refusal, SetAttr};
use ordofs::{FileTimes, ImageSpec, NewLfs, NewVolume, OpenError, OpenOptions, Volume, locate};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

fn mounted(image: &Image, scheme: &str) -> Volume {
    image.open().scheme(scheme).mount().expect("there is a volume")
}

/// The number of fsck's findings.
fn findings(image: &Image) -> u64 {
    let rt = Rt::real_time();
    let spec = ImageSpec::parse(&image.path()).expect("a plain path");
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let disk = locate(&rt, &spec, options).expect("there is a volume").disk;
    let options = ordo_fsck::Options::new(ordo_fsck::Mode::Check);
    rt.block_on(ordo_fsck::check(&rt, disk, options)).expect("the disk is well").count()
}

/// Runs `work` on a volume, which is unmounted and checked at the end.
fn with_volume(work: impl FnOnce(&Volume) -> io::Result<()>) {
    let image = Image::new();
    let volume = mounted(&image, "async");
    work(&volume).expect("every call succeeds, or is seen to be refused");
    volume.unmount().expect("the disk is well");
    assert_eq!(findings(&image), 0);
}

fn kind<T>(outcome: Result<T, impl Into<io::Error>>) -> ErrorKind {
    outcome.map(drop).map_err(Into::into).expect_err("it must be refused").kind()
}

#[test]
fn files_are_opened_as_std_opens_them() {
    with_volume(|v| {
        let open = |options: &OpenOptions| options.open(v, "/f").map(drop);
        assert_eq!(kind(v.open_file("/f")), ErrorKind::NotFound);
        assert_eq!(kind(open(OpenOptions::new().write(true))), ErrorKind::NotFound);
        open(OpenOptions::new().write(true).create_new(true).mode(Mode::new(0o600)))?;
        assert_eq!(kind(open(OpenOptions::new().write(true).create_new(true))), ErrorKind::AlreadyExists);
        assert_eq!(v.metadata("/f")?.permissions().bits(), 0o600);
        for wrong in [
            &mut OpenOptions::new(),
            OpenOptions::new().read(true).create(true),
            OpenOptions::new().read(true).truncate(true),
            OpenOptions::new().append(true).truncate(true),
        ] {
            assert_eq!(kind(open(wrong)), ErrorKind::InvalidInput, "{wrong:?}");
        }
        v.write("/f", "12345")?;
        open(OpenOptions::new().write(true))?;
        assert_eq!(v.read("/f")?, b"12345");
        open(OpenOptions::new().append(true).create(true))?;
        open(OpenOptions::new().write(true).truncate(true))?;
        assert_eq!(v.metadata("/f")?.len(), 0);

        let read = v.open_file("/f")?;
        assert_eq!(kind(read.write_at(0, b"x")), ErrorKind::PermissionDenied);
        assert_eq!(kind((&read).write(b"x")), ErrorKind::PermissionDenied);
        assert_eq!(kind(read.set_len(0)), ErrorKind::PermissionDenied);
        let write = v.create("/f")?;
        assert_eq!(kind(write.read_at(0, 1)), ErrorKind::PermissionDenied);
        assert_eq!(kind(OpenOptions::new().write(true).open(v, "/")), ErrorKind::IsADirectory);
        assert_eq!(kind(v.create("/f/below")), ErrorKind::NotADirectory);

        // A dangling symbolic link: the file is made at its target, unless it must be new.
        v.create_dir("/d")?;
        v.symlink("../made", "/d/link")?;
        assert_eq!(kind(OpenOptions::new().write(true).create_new(true).open(v, "/d/link")), ErrorKind::AlreadyExists);
        v.write("/d/link", "through a link")?;
        assert_eq!(v.read_to_string("/made")?, "through a link");
        v.symlink("loop", "/loop")?;
        assert_eq!(kind(v.create("/loop")), ErrorKind::InvalidInput);
        Ok(())
    });
}

#[test]
fn open_files_read_write_seek_and_sync() {
    with_volume(|v| {
        let mut file = OpenOptions::new().read(true).write(true).create(true).open(v, "f")?;
        file.write_all(b"hello, world")?;
        assert_eq!(file.seek(SeekFrom::End(-5))?, 7);
        let mut rest = String::new();
        file.read_to_string(&mut rest)?;
        assert_eq!(rest, "world");
        file.seek(SeekFrom::Current(-12))?;
        assert_eq!(kind(file.seek(SeekFrom::Current(-1))), ErrorKind::InvalidInput);
        file.write_all(b"H")?;
        file.flush()?;
        assert_eq!(file.read_at(0, 5)?, b"Hello");
        file.write_at(3 << 20, &[7; (2 << 20) + 1])?;
        assert_eq!(file.metadata()?.len(), (5 << 20) + 1);
        assert_eq!(file.stream_position()?, 1, "calls with an offset leave it");
        let mut all = Vec::new();
        file.rewind()?;
        assert_eq!(file.read_to_end(&mut all)?, (5 << 20) + 1);
        assert!(all[..12] == *b"Hello, world" && all[12..3 << 20].iter().all(|&b| b == 0) && all[3 << 20] == 7);
        file.set_len(5)?;
        file.sync_data()?;
        file.sync_all()?;
        file.set_permissions(Mode::new(0o444))?;
        file.set_times(FileTimes::new().set_accessed(UNIX_EPOCH + Duration::from_secs(9)))?;
        let metadata = file.metadata()?;
        assert_eq!((metadata.len(), metadata.permissions().bits(), metadata.accessed()), (5, 0o444, at(9)));

        let mut log = OpenOptions::new().append(true).open(v, "f")?;
        v.write("f", "shorter, then longer")?;
        log.write_all(b"!")?;
        assert_eq!(v.read_to_string("f")?, "shorter, then longer!");
        v.remove_file("f")?;
        assert_eq!(file.read_at(0, 7)?, b"shorter", "it stays readable without a name");
        assert_eq!(v.open_file("/")?.metadata()?.kind(), Kind::Directory);
        v.open_file("/")?.sync_all()?;
        Ok(())
    });
}

fn at(secs: u64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_secs(secs)
}

#[test]
fn whole_files_are_read_written_and_copied() {
    with_volume(|v| {
        v.write("/a", [0xff, 0xfe])?;
        assert_eq!(kind(v.read_to_string("/a")), ErrorKind::InvalidInput);
        assert_eq!(kind(v.read("/")), ErrorKind::IsADirectory);
        assert!(v.exists("/a")? && !v.exists("/b")? && kind(v.exists("/a/b")) == ErrorKind::NotADirectory);

        let sparse = OpenOptions::new().write(true).create(true).mode(Mode::new(0o640)).open(v, "/sparse")?;
        sparse.write_at(1 << 40, b"far away")?;
        sparse.set_len((1 << 40) + 5000)?;
        assert_eq!(v.copy("/sparse", "/copy")?, (1 << 40) + 5000);
        let copied = v.metadata("/copy")?;
        assert_eq!((copied.len(), copied.permissions().bits()), ((1 << 40) + 5000, 0o640));
        assert_eq!(copied.attr().sectors, v.metadata("/sparse")?.attr().sectors, "holes stay holes");
        assert_eq!(v.open_file("/copy")?.read_at(1 << 40, 8)?, b"far away");
        v.hard_link("/a", "/same")?;
        for (from, to, why) in [
            ("/a", "/same", ErrorKind::InvalidInput),
            ("/", "/c", ErrorKind::InvalidInput),
            ("/a", "/", ErrorKind::IsADirectory),
            ("/none", "/c", ErrorKind::NotFound),
        ] {
            assert_eq!(kind(v.copy(from, to)), why, "{from} {to}");
        }
        assert_eq!(v.read("/a")?, [0xff, 0xfe]);
        assert_eq!(kind(v.write("/big", vec![1; 20 << 20])), ErrorKind::StorageFull);
        Ok(())
    });
}

#[test]
fn names_are_made_linked_moved_and_removed() {
    with_volume(|v| {
        v.create_dir_all("/usr/./share//doc")?;
        v.create_dir_all(Path::new("usr/share/doc"))?;
        v.create_dir_all("/")?;
        v.write("/usr/file", "x")?;
        assert_eq!(kind(v.create_dir_all("/usr/file/below")), ErrorKind::NotADirectory);
        assert_eq!(kind(v.create_dir_all("/usr/file")), ErrorKind::NotADirectory);
        assert_eq!(kind(v.create_dir("/usr")), ErrorKind::AlreadyExists);
        assert_eq!(kind(v.create_dir(format!("/{}", "n".repeat(256)))), ErrorKind::InvalidFilename);

        v.hard_link("/usr/file", "/usr/twin")?;
        assert_eq!(v.metadata("/usr/twin")?.attr().nlink, 2);
        assert_eq!(kind(v.hard_link("/usr/share", "/dir")), ErrorKind::PermissionDenied);
        v.symlink("../usr/twin", "/usr/link")?;
        assert_eq!(v.read_link("/usr/link")?, Path::new("../usr/twin"));
        assert_eq!(kind(v.read_link("/usr/twin")), ErrorKind::InvalidInput);
        assert!(v.symlink_metadata("/usr/link")?.is_symlink() && v.metadata("/usr/link")?.is_file());

        v.rename("/usr/file", "/usr/share/moved")?;
        assert_eq!(kind(v.rename("/usr", "/usr/share/doc/usr")), ErrorKind::InvalidInput);
        assert_eq!(kind(v.rename("/usr/twin", "/usr/share")), ErrorKind::IsADirectory);
        v.rename("/usr/share/moved", "/usr/twin")?;
        assert_eq!(v.metadata("/usr/twin")?.attr().nlink, 2, "one file under both names: nothing happens");

        assert_eq!(kind(v.remove_dir("/usr")), ErrorKind::DirectoryNotEmpty);
        assert_eq!(kind(v.remove_dir("/usr/twin")), ErrorKind::NotADirectory);
        assert_eq!(kind(v.remove_file("/usr")), ErrorKind::IsADirectory);
        assert_eq!(kind(v.remove_file("/")), ErrorKind::InvalidInput);
        v.remove_dir("/usr/share/doc")?;
        v.remove_file("/usr/link")?;
        assert!(v.exists("/usr/twin")?);
        Ok(())
    });
}

#[test]
fn trees_are_removed_and_links_are_not_followed() {
    with_volume(|v| {
        v.write("/outside", "stays")?;
        v.create_dir_all("/tree/a/b/c")?;
        v.create_dir_all("/tree/empty")?;
        for i in 0..200 {
            v.write(format!("/tree/a/b/{i}"), vec![1; 100 * i])?;
        }
        v.symlink("/", "/tree/a/root")?;
        v.symlink("/tree/a", "/shortcut")?;
        assert_eq!(kind(v.remove_dir_all("/outside")), ErrorKind::NotADirectory);
        v.remove_dir_all("/shortcut")?;
        assert!(v.exists("/tree/a/b/199")? && !v.exists("/shortcut")?);
        let deep = "/d".repeat(300);
        v.create_dir_all(&deep)?;
        v.write(format!("{deep}/f"), "deep")?;
        v.remove_dir_all("/d")?;
        v.remove_dir_all("/tree")?;
        let mut left: Vec<_> = v.read_dir("/")?.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, [".snap", "outside"]);
        Ok(())
    });
}

#[test]
fn directories_are_read_with_kinds_and_attributes() {
    with_volume(|v| {
        v.create_dir_all("/d/sub")?;
        v.write("/d/file", "12345")?;
        v.symlink("file", "/d/link")?;
        assert_eq!(v.read_dir("/d")?.len(), 3);
        for entry in v.read_dir("/d")? {
            let (name, metadata) = (entry.file_name(), entry.metadata()?);
            assert_eq!((entry.path(), entry.ino()), (Path::new("/d").join(&name), metadata.attr().ino));
            assert_eq!(entry.kind()?, metadata.kind());
            let expected = match name.to_str() {
                Some("sub") => (Kind::Directory, 512),
                Some("file") => (Kind::Regular, 5),
                _ => (Kind::Symlink, 4),
            };
            assert_eq!((metadata.kind(), metadata.len()), expected, "{entry:?}");
        }
        assert_eq!(kind(v.read_dir("/d/file").map(drop)), ErrorKind::NotADirectory);
        Ok(())
    });
}

#[test]
fn attributes_are_set_and_extended_ones_kept() {
    with_volume(|v| {
        v.write("/f", "x")?;
        v.symlink("f", "/link")?;
        v.set_permissions("/link", Mode::new(0o751))?;
        v.chown("/link", Some(1000), None)?;
        v.set_times("/link", FileTimes::new().set_accessed(at(5)).set_modified(UNIX_EPOCH - Duration::from_millis(1)))?;
        let metadata = v.metadata("/f")?;
        assert_eq!((metadata.permissions().bits(), metadata.attr().uid, metadata.attr().gid), (0o751, 1000, 0));
        assert_eq!((metadata.accessed(), metadata.modified()), (at(5), UNIX_EPOCH - Duration::from_millis(1)));
        assert!(metadata.created().is_some() && v.symlink_metadata("/link")?.attr().uid == 0);
        let set = SetAttr { uid: Some(7), ..SetAttr::default() };
        assert_eq!(v.set_attributes("/link", &set)?.attr().uid, 7);
        assert_eq!(v.metadata("/f")?.attr().uid, 1000, "the link itself was changed");

        v.set_xattr("/f", "user.a", "one")?;
        v.set_xattr("/f", "user.b", vec![2; 5000])?;
        v.set_xattr("/f", "user.a", "another")?;
        let mut names = v.xattrs("/f")?;
        names.sort();
        assert_eq!(names, [b"user.a", b"user.b"]);
        assert_eq!(v.xattr("/f", "user.a")?.as_deref(), Some(&b"another"[..]));
        v.remove_xattr("/f", "user.a")?;
        assert_eq!(v.xattr("/f", "user.a")?, None);
        assert_eq!(kind(v.remove_xattr("/f", "user.a")), ErrorKind::NotFound);
        assert_eq!(kind(v.set_xattr("/f", "nobody.knows", "x")), ErrorKind::Unsupported);
        Ok(())
    });
}

#[test]
fn space_is_counted_and_a_read_only_volume_refuses() {
    let image = Image::new();
    let volume = mounted(&image, "sync");
    let before = volume.space().expect("the disk is well");
    volume.write("/f", vec![1; 1 << 20]).expect("there is room");
    let after = volume.space().expect("the disk is well");
    let used = (before.free_frags - after.free_frags) * u64::from(after.frag_size);
    assert!((1 << 20..(1 << 20) + (1 << 17)).contains(&used) && before.free_inodes == after.free_inodes + 1, "{used}");
    volume.sync().expect("the disk is well");
    assert!(!volume.is_read_only() && volume.mounted().why_read_only().is_none());
    volume.unmount().expect("the disk is well");

    let volume = Volume::open(image.path()).expect("a plain path").read_only().mount().expect("there is a volume");
    assert!(volume.is_read_only());
    assert_eq!(volume.read("/f").expect("it is there").len(), 1 << 20);
    for refused in [volume.write("/f", "x"), volume.create_dir("/d"), volume.remove_file("/f")] {
        assert!(matches!(refused, Err(Error::Refused(Refusal::ReadOnly))), "{refused:?}");
    }
    volume.unmount().expect("nothing was changed");
}

#[test]
fn a_volume_that_is_abandoned_is_one_after_a_crash() {
    let image = Image::new();
    let volume = mounted(&image, "sync");
    volume.write("/synced", "kept").expect("there is room");
    volume.sync().expect("the disk is well");
    let mut late = volume.create("/late").expect("there is room");
    late.write_all(b"its name is durable, its contents are not").expect("there is room");
    drop(late);
    volume.abandon();

    // The image is free again, and must be checked before it is written to.
    let volume = mounted(&image, "sync");
    assert!(volume.is_read_only());
    let why = volume.mounted().why_read_only().expect("it was not asked for");
    assert!(why.contains("fsck"), "{why}");
    assert_eq!(volume.read("/synced").expect("it was durable"), b"kept");
    assert_eq!(volume.metadata("/late").expect("the name was durable").len(), 0);
    volume.unmount().expect("nothing was changed");

    let forced = Volume::open(image.path()).expect("a plain path").force().mount().expect("there is a volume");
    assert!(!forced.is_read_only());
    forced.abandon();
    let rt = Rt::real_time();
    let spec = ImageSpec::parse(&image.path()).expect("a plain path");
    let disk = locate(&rt, &spec, FileOptions::default()).expect("there is a volume").disk;
    let preen = ordo_fsck::Options::new(ordo_fsck::Mode::Preen);
    let report = rt.block_on(ordo_fsck::check(&rt, disk, preen)).expect("the disk is well");
    assert!(!report.left && report.clean, "{report:#?}");
    rt.drop_tasks();
    drop(rt);
    let volume = mounted(&image, "async");
    assert!(!volume.is_read_only());
    assert_eq!(volume.read("/synced").expect("it was durable"), b"kept");
    volume.unmount().expect("the disk is well");
    assert_eq!(findings(&image), 0);
}

#[test]
fn an_open_that_fails_says_why() {
    let image = Image::new();
    let dir = image.dir.path();
    let open = |name: &str, scheme: &str| -> Result<Volume, OpenError> {
        Volume::open(dir.join(name))?.scheme(scheme).options(|options| options.cache = 1 << 20).mount()
    };
    std::fs::write(dir.join("zeroes"), vec![0; 1 << 20]).expect("there is room");
    for (name, scheme, why) in [
        ("none", "sync", ErrorKind::NotFound),
        ("zeroes", "sync", ErrorKind::InvalidData),
        ("disk.img@nonsense!", "sync", ErrorKind::InvalidInput),
        ("disk.img", "nonsense", ErrorKind::InvalidInput),
    ] {
        let error = open(name, scheme).map(drop).expect_err("it must be refused");
        assert_eq!(error.kind(), why, "{error}");
    }
    let first = open("disk.img", "sync").expect("nobody has it");
    assert_eq!(kind(open("disk.img", "sync").map(drop)), ErrorKind::ResourceBusy);
    first.unmount().expect("the disk is well");
    let tiny = NewVolume::new(1000).with(|shape| shape.format = Format::Ufs1).create(dir.join("tiny"));
    assert_eq!(kind(tiny), ErrorKind::InvalidInput);
}

#[test]
fn what_waits_to_be_freed_is_let_go_with_a_volume_that_is_abandoned() {
    for scheme in ["softupdates", "sync", "async"] {
        let image = Image::new();
        let volume = mounted(&image, scheme);
        volume.write("/a", [7; 70_000]).expect("there is room");
        volume.sync().expect("the disk is well");
        volume.remove_file("/a").expect("it is there");
        volume.abandon();
    }
}

#[test]
fn a_volume_is_made_over_something_only_if_that_is_said() {
    let image = Image::new();
    let volume = mounted(&image, "async");
    volume.write("/precious", b"data").expect("there is room");
    // In use is in use, whatever is said.
    assert_eq!(kind(NewVolume::new(16 << 20).overwrite(image.path())), ErrorKind::ResourceBusy);
    volume.unmount().expect("the disk is well");
    let (link, text) = (image.dir.path().join("link"), image.dir.path().join("notes.txt"));
    std::os::unix::fs::symlink(image.path(), &link).expect("a link");
    std::fs::write(&text, "my thesis").expect("a text");
    for path in [&image.path(), &link, &text] {
        let before = std::fs::read(path).expect("it is there");
        for made in [NewVolume::new(16 << 20).create(path), NewLfs::new(16 << 20).create(path)] {
            let error = made.expect_err("it holds something");
            assert!(matches!(error, OpenError::Exists { .. }), "{error}");
            let error = io::Error::from(error);
            assert_eq!((error.kind(), ordofs::vfs::errno_of(&error)), (ErrorKind::AlreadyExists, 17));
        }
        assert_eq!(std::fs::read(path).expect("it is there"), before);
    }
    assert!(NewVolume::new(16 << 20).create(image.path()).unwrap_err().to_string().contains("(UFS2)"));
    for path in [&link, &text] {
        NewLfs::new(16 << 20).overwrite(path).expect("that is said");
        NewVolume::new(16 << 20).overwrite(path).expect("that is said");
        let volume = Volume::open(path).expect("a plain path").mount().expect("there is a volume");
        assert!(volume.metadata("/precious").is_err());
        volume.unmount().expect("the disk is well");
    }
    assert!(link.symlink_metadata().expect("it is there").is_symlink());
    let blank = image.dir.path().join("blank");
    std::fs::write(&blank, [0; 4096]).expect("zeroes");
    NewVolume::new(16 << 20).create(&blank).expect("zeroes are nothing");
    assert!(NewVolume::new(16 << 20).create(image.dir.path()).is_err(), "a directory");
}
