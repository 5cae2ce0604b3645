//! Existing contents of a disk: mkfs leaves them alone or wipes them, and a command that finds no volume says what is
//! there.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;
use std::os::unix::fs::FileExt;
use std::process::{Command, Stdio};

const SIZE: u64 = 32 << 20;

/// Bytes, and where they lie.
type Parts<'a> = &'a [(u64, &'a [u8])];

/// A disk of zeroes with these bytes at these places.
fn disk(path: &str, parts: Parts<'_>) {
    let file = fs::File::create(path).unwrap();
    file.set_len(SIZE).unwrap();
    for (at, bytes) in parts {
        file.write_all_at(bytes, *at).unwrap();
    }
}

/// Runs a program that makes something on the disk; `false` where it is not installed.
fn made_by(program: &str, arguments: &[&str], path: &str) -> bool {
    disk(path, &[]);
    let made = Command::new(program).args(arguments).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).status();
    made.is_ok_and(|status| status.success())
}

/// What blkid finds; `None` where it is not installed.
fn blkid(path: &str) -> Option<String> {
    let output = Command::new("blkid").args(["-p", "-o", "export", path]).output().ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    let types = text.lines().filter(|line| line.starts_with("TYPE=") || line.starts_with("PTTYPE="));
    Some(types.collect::<Vec<_>>().join(" "))
}

/// An MBR with one partition, from 1 MiB on, of 16 MiB.
fn mbr() -> Vec<u8> {
    let mut sector = vec![0; 512];
    sector[446 + 4] = 0xa5;
    sector[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&32768u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// The disk is refused, its contents are named, and nothing is changed; with `--force` all signatures are wiped.
fn is_asked_about(path: &str, named: &str) {
    let before = fs::read(path).unwrap();
    for size in [&[][..], &["--size", "16M"]] {
        let said = fails(3, ordo([&["mkfs"], size, &[path]].concat()));
        assert!(said.contains(named) && said.contains("--force") && said.lines().count() == 1, "{named}: {said}");
        assert!(fs::read(path).unwrap() == before, "{named}: changed");
    }
    ok(ordo(["mkfs", "-q", "--force", path]));
    ok(ordo(["fsck", "-n", "-f", path]));
    if let Some(types) = blkid(path) {
        assert_eq!(types, "TYPE=ufs", "{named}");
    }
}

#[test]
fn mkfs_refuses_a_disk_with_contents_and_force_wipes_it() {
    let scratch = Scratch::new();
    let path = &scratch.path("disk");
    let luks2: [(u64, &[u8]); 2] = [(0, b"LUKS\xba\xbe\0\x02"), (16384, b"SKUL\xba\xbe\0\x02")];
    let marks: [(&str, Parts<'_>); 7] = [
        ("LUKS", &luks2),
        ("LUKS2", &luks2[1..]),
        ("qcow2", &[(0, b"QFI\xfb\0\0\0\x03")]),
        ("MBR", &[(0, &mbr())]),
        ("GPT", &[(SIZE - 512, b"EFI PART")]),
        ("GEOM", &[(SIZE - 512, b"GEOM::MIRROR")]),
        ("btrfs", &[(65536 + 64, b"_BHRfS_M")]),
    ];
    for (named, parts) in marks {
        disk(path, parts);
        is_asked_about(path, named);
    }
    for (named, program, arguments) in [
        ("ext4", "mkfs.ext4", &["-q", "-F"][..]),
        ("ext2", "mkfs.ext2", &["-q", "-F"]),
        ("swap", "mkswap", &[]),
        ("FAT", "mkfs.vfat", &[]),
        ("btrfs", "mkfs.btrfs", &["-q"]),
    ] {
        if made_by(program, arguments, path) {
            is_asked_about(path, named);
        }
    }
    ok(ordo(["mkfs", "-q", "--force", path]));
    assert!(fails(3, ordo(["mkfs", path])).contains("UFS volume"));
}

#[test]
fn mkfs_without_force_takes_an_empty_disk_or_file() {
    let scratch = Scratch::new();
    let path = &scratch.path("disk");
    fs::write(path, "").unwrap();
    ok(ordo(["mkfs", "-q", "--size", "16M", path]));
    for size in [&[][..], &["--size", "16M"]] {
        disk(path, &[(1 << 20, &[0; 4096])]);
        ok(ordo([&["mkfs", "-q"], size, &[path]].concat()));
    }
    // With a size everything would be lost, so any contents are refused.
    disk(path, &[(20 << 20, b"x")]);
    let said = fails(3, ordo(["mkfs", "--size", "16M", path]));
    assert!(said.contains("not empty") && said.contains("--force"), "{said}");
}

#[test]
fn a_partition_is_asked_about_by_itself_and_wiped_by_itself() {
    let scratch = Scratch::new();
    let path = &scratch.path("disk");
    disk(path, &[(0, &mbr()), ((1 << 20) + 65536 + 64, b"_BHRfS_M")]);
    let part = &format!("{path}@s1");
    let said = fails(3, ordo(["mkfs", part]));
    assert!(said.contains("btrfs") && said.contains("--force"), "{said}");
    assert!(fails(3, ordo(["mkfs", path])).contains("@s1"));
    ok(ordo(["mkfs", "-q", "--force", part]));
    assert!(fs::read(path).unwrap()[..512] == mbr(), "the table is the disk's");
    ok(ordo(["fsck", "-n", "-f", part]));
}

#[test]
fn mkfs_never_overwrites_a_volume_that_ordo_has_open() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let before = fs::read(&image).unwrap();
    let file = fs::File::open(&image).unwrap();
    file.lock().unwrap();
    for size in [&[][..], &["--size", "8M"]] {
        let said = fails(3, ordo([&["mkfs", "--force"], size, &[&image]].concat()));
        assert!(said.contains("in use"), "{said}");
        assert!(fs::read(&image).unwrap() == before);
    }
}

#[test]
fn a_file_without_a_volume_is_named_with_advice() {
    let scratch = Scratch::new();
    let path = &scratch.path("thing");
    let cases: [(&[u8], &str, &str); 9] = [
        (b"\x1f\x8b\x08\0\0\0", "gzip", "gzip -dc"),
        (b"\xfd7zXZ\0\0", "xz", "xz -dc"),
        (b"\x28\xb5\x2f\xfd\0", "zstd", "zstd -dc"),
        (b"BZh91AY&SY", "bzip2", "bzip2 -dc"),
        (b"QFI\xfb\0\0\0\x03", "qcow2", "qemu-img"),
        (b"", "empty", "--size"),
        (b"hello\n", "text, 6 bytes", "the image itself"),
        (b"\0\x01\x02", "too short, 3 bytes", "the image itself"),
        (&[0; 4096], "zeroes", "mkfs"),
    ];
    for (bytes, named, advice) in cases {
        fs::write(path, bytes).unwrap();
        let inside = &format!("{path}:/x");
        let commands: [(i32, &[&str]); 6] = [
            (3, &["info", path]),
            (3, &["ls", inside]),
            (3, &["cat", inside]),
            (3, &["mkdir", inside]),
            (3, &["mount", path, "/"]),
            (8, &["fsck", "-n", path]),
        ];
        for (status, arguments) in commands {
            let said = fails(status, ordo(arguments)).replace(path, "");
            let told = said.contains(named) && said.contains(advice) && said.lines().count() == 1;
            assert!(told, "{arguments:?}, {named}: {said}");
        }
    }
    disk(path, &[(0, &mbr()), ((1 << 20) + 65536 + 64, b"_BHRfS_M")]);
    let said = fails(3, ordo(["info", path]));
    assert!(said.contains("@s1 (btrfs)"), "{said}");
}

/// A volume with NetBSD's log in use, as a crash there leaves it: the log after the volume, and the flag.
fn with_wapbl(image: &str) {
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--size", "16M", image]));
    let file = fs::OpenOptions::new().write(true).open(image).unwrap();
    let at = |offset: u64, bytes: &[u8]| file.write_all_at(bytes, 8192 + offset).unwrap();
    at(864, &[1, 1, 0, 0, 0, 0, 0, 0]);
    at(872, &30000u64.to_le_bytes());
    at(880, &64u64.to_le_bytes());
    at(888, &512u64.to_le_bytes());
    at(1312, &0x100u32.to_le_bytes());
    at(209, &[0]);
}

#[test]
fn a_reader_is_told_of_a_log_that_was_not_replayed_in_one_line() {
    let scratch = Scratch::new();
    let image = scratch.path("netbsd.img");
    with_wapbl(&image);
    assert!(ok(ordo(["info", "--json", &image])).contains("wapbl-in-use"));
    let root = &format!("{image}:/");
    let out = scratch.path("out");
    let commands: [&[&str]; 6] = [
        &["ls", root, root],
        &["tree", root],
        &["stat", root, root],
        &["df", &image],
        &["cp", "-r", root, &out],
        &["ls", "--json", root],
    ];
    for arguments in commands {
        let output = ordo(arguments);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("WAPBL") && said.contains("NetBSD") && said.lines().count() == 1, "{said}");
    }
    let said = fails(3, ordo(["mkdir", &format!("{image}:/x")]));
    assert!(said.contains("WAPBL"), "{said}");
}
