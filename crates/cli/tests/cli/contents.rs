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
    let mut rigid = [0; 256];
    rigid[..8].copy_from_slice(b"RDSK\0\0\0\x40");
    let sum = rigid.chunks(4).fold(0_u32, |sum, word| sum.wrapping_sub(u32::from_be_bytes(word.try_into().unwrap())));
    rigid[8..12].copy_from_slice(&sum.to_be_bytes());
    let more: [(&str, Parts<'_>); 9] = [
        ("GELI", &[(SIZE - 512, b"GEOM::ELI\0")]),
        ("DragonFly", &[(512, &[0x59, 0x4c, 0x46, 0xc4])]),
        ("Amiga", &[(0, &rigid)]),
        ("Amiga", &[(1024, &rigid)]),
        ("VxFS", &[(1024, &[0xf5, 0xfc, 0x01, 0xa5])]),
        ("VxFS", &[(8192, &[0xa5, 0x01, 0xfc, 0xf5])]),
        ("Xenix", &[(2040, &[0x44, 0x55, 0x2b, 0, 2, 0, 0, 0])]),
        ("System V", &[(1016, &[0x20, 0x7e, 0x18, 0xfd, 2, 0, 0, 0])]),
        ("System V", &[(9 * 1024 + 1016, &[0xfd, 0x18, 0x7e, 0x20, 0, 0, 0, 1])]),
    ];
    for (named, parts) in more {
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
    let cases: [(&[u8], &str, &str); 17] = [
        (b"\x1f\x8b\x08\0\0\0", "gzip", "gzip -dc"),
        (b"\xfd7zXZ\0\0", "xz", "xz -dc"),
        (b"\x28\xb5\x2f\xfd\0", "zstd", "zstd -dc"),
        (b"BZh91AY&SY", "bzip2", "bzip2 -dc"),
        (b"QFI\xfb\0\0\0\x03", "qcow2", "qemu-img"),
        (b"QFI\xfb\0\0\0\x01", "qcow image", "-f qcow "),
        (b"#!/bin/sh\n#V2.0 Format\n", "GEOM_UZIP", "md9.uzip"),
        (b"#L3.0\n#!/bin/sh\n", "GEOM_UZIP", "md9.uzip"),
        (b"EVF\x09\x0d\x0a\xff\0", "E01", "ewfmount"),
        (b"EVF2\x0d\x0a\x81\0", "Ex01", "ewfmount"),
        (b"AFF10\r\n\0", "AFF", "affuse"),
        (&[0x3a, 0xff, 0x26, 0xed], "Android sparse", "simg2img"),
        (&[0x5d, 0, 0, 0x80, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0], "lzma", "xz --format=lzma"),
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
    assert!(said.contains("@s1 (FreeBSD: btrfs)") && !said.contains("mkfs"), "{said}");
}

/// A volume with NetBSD's log in use whose place is within the volume, where none can be.
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

/// A volume as a crash of NetBSD leaves it: what `change` did is in a log after the volume, and not in its places. The
/// log is made byte by byte.
fn crashed_netbsd(image: &str, change: impl FnOnce()) {
    let volume = 16_u64 << 20;
    ok(ordo(["mkfs", "-q", "--for", "netbsd", "--type", "ufs1", "--size", "16M", image]));
    let file = fs::OpenOptions::new().read(true).write(true).open(image).unwrap();
    file.set_len(volume + (256 << 10)).unwrap();
    let at = |offset: u64, bytes: &[u8]| file.write_all_at(bytes, offset).unwrap();
    at(8192 + 864, &[1, 1, 0, 0, 0, 0, 0, 0]);
    for (n, number) in [volume / 512, 512, 512_u64].into_iter().enumerate() {
        at(8192 + 872 + 8 * n as u64, &number.to_le_bytes());
    }
    let before = fs::read(image).unwrap();
    change();
    // In use, and clean before that: the images have it, too.
    let in_use = || {
        at(8192 + 1312, &0x100_u32.to_le_bytes());
        at(8192 + 209, &[2]);
    };
    in_use();
    let after = fs::read(image).unwrap();
    file.write_all_at(&before, 0).unwrap();
    in_use();
    let sectors: Vec<usize> =
        (0..before.len() / 512).filter(|n| before[n * 512..][..512] != after[n * 512..][..512]).collect();
    let mut records = Vec::new();
    for some in sectors.chunks(31) {
        let mut head = vec![0; 512];
        head[..4].copy_from_slice(&0x5741_424f_u32.to_le_bytes());
        head[4..8].copy_from_slice(&(512 + 512 * some.len() as u32).to_le_bytes());
        head[8..12].copy_from_slice(&(some.len() as u32).to_le_bytes());
        for (n, sector) in some.iter().enumerate() {
            head[16 + 16 * n..][..8].copy_from_slice(&(*sector as u64).to_le_bytes());
            head[28 + 16 * n..][..4].copy_from_slice(&512_u32.to_le_bytes());
        }
        records.extend(head);
        some.iter().for_each(|n| records.extend(&after[n * 512..][..512]));
    }
    at(volume + 1024, &records);
    for generation in 0..2_u32 {
        let mut head = [0; 512];
        let words = [(0, 0x5741_424c), (4, 512), (12, generation), (36, 1), (40, 9), (44, 9)];
        words.into_iter().for_each(|(at, word): (usize, u32)| head[at..at + 4].copy_from_slice(&word.to_le_bytes()));
        let wide = [(48, 1024 + records.len() as u64), (56, 1024), (64, 1024), (72, (256 << 10) - 1024)];
        wide.into_iter().for_each(|(at, wide): (usize, u64)| head[at..at + 8].copy_from_slice(&wide.to_le_bytes()));
        at(volume + 512 * u64::from(generation), &head);
    }
}

#[test]
fn a_volume_that_netbsd_left_with_its_log_is_read_through_it_and_then_replayed() {
    let scratch = Scratch::new();
    let (image, text) = (scratch.path("netbsd.img"), scratch.path("text"));
    let inside = |name: &str| format!("{image}:/{name}");
    fs::write(&text, "of the log\n").unwrap();
    crashed_netbsd(&image, || {
        ok(ordo(["mkdir", &inside("dir")]));
        ok(ordo(["cp", &text, &inside("dir/text")]));
    });
    let before = fs::read(&image).unwrap();
    let out = scratch.path("out");
    let readers: [&[&str]; 6] = [
        &["ls", &inside("dir/text")],
        &["cat", "--forensic", &inside("dir/text")],
        &["tree", &image],
        &["cp", &inside("dir/text"), &out],
        &["ls", "--forensic", "-l", &inside("dir")],
        &["recover", &image, &scratch.path("rescued")],
    ];
    for arguments in readers {
        let output = ordo(arguments);
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(output.status.success() && said.contains("in memory"), "{arguments:?}: {said}");
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "of the log\n");
    let said = ok(ordo(["fsck", "-n", &image]));
    assert!(said.contains("its log waits") && said.contains("nothing wrong"), "{said}");
    assert!(fs::read(&image).unwrap() == before, "a reader wrote");

    let preened = scratch.path("preened.img");
    fs::copy(&image, &preened).unwrap();
    let said = ok(ordo(["fsck", "-p", &preened]));
    assert!(said.contains("was replayed, clean"), "{said}");
    ok(ordo(["fsck", "-n", &preened]));
    // A command that writes replays it first.
    ok(ordo(["mkdir", &inside("dir/more")]));
    let said = ok(ordo(["fsck", "-n", &image]));
    assert!(said.contains("clean") && !said.contains("log"), "{said}");
    assert_eq!(ok(ordo(["cat", &inside("dir/text")])), "of the log\n");

    // A damaged log is named, and nothing is written.
    fs::remove_file(&image).unwrap();
    crashed_netbsd(&image, || drop(ok(ordo(["mkdir", &inside("dir")]))));
    let file = fs::OpenOptions::new().write(true).open(&image).unwrap();
    file.write_all_at(&[0x77], (16 << 20) + 1024).unwrap();
    let before = fs::read(&image).unwrap();
    let said = fails(3, ordo(["mkdir", &inside("x")]));
    assert!(said.contains("NetBSD's log (WAPBL) at byte 16778240: field wc_type") && said.contains("fsck"), "{said}");
    let output = ordo(["ls", &inside("")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("wc_type") && said.contains("fsck -y"), "{said}");
    let said = fails(4, ordo(["fsck", "-p", &image]));
    assert!(said.contains("give the log up (-y)"), "{said}");
    assert!(fs::read(&image).unwrap() == before, "something was written");
    assert!(ordo(["fsck", "-y", &image]).status.success());
    ok(ordo(["mkdir", &inside("x")]));
}
