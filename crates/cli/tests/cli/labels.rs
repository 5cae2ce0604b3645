//! Disks of other systems: volumes behind the labels of Sun, Apple and NeXT, and Solaris's volumes. All are made here
//! byte by byte, after the formats; none of the real ones was at hand.

use crate::common::{Scratch, fails, ok, ordo};
use std::fs;
use std::os::unix::fs::FileExt;

const SIZE: u64 = 16 << 20;
/// Where the volume begins.
const AT: u64 = 640 * 512;

fn words(bytes: &mut [u8], words: &[(usize, &[u8])]) {
    words.iter().for_each(|(at, word)| bytes[*at..at + word.len()].copy_from_slice(word));
}

/// Sun's label: cylinders of 64 sectors; the slice is `b`.
fn sun() -> Vec<u8> {
    let mut label = vec![0; 512];
    words(&mut label, &[(188, &[0x60, 0x0d, 0xde, 0xee]), (436, &[0, 4]), (438, &[0, 16]), (508, &[0xda, 0xbe])]);
    words(&mut label, &[(142 + 4, &[0, 4]), (444 + 8, &10_u32.to_be_bytes()), (448 + 8, &16384_u32.to_be_bytes())]);
    words(&mut label, &[(142 + 8, &[0, 5]), (448 + 16, &32768_u32.to_be_bytes())]);
    let sum = label.chunks(2).fold([0, 0], |sum, word| [sum[0] ^ word[0], sum[1] ^ word[1]]);
    words(&mut label, &[(510, &sum)]);
    label
}

/// Apple's map in blocks of 512 bytes; the volume is partition 2.
fn apple() -> Vec<u8> {
    let mut map = vec![0; 1536];
    words(&mut map, &[(0, b"ER"), (2, &[2, 0])]);
    for (n, kind, first, count) in [(1, "Apple_partition_map", 1_u32, 63_u32), (2, "Apple_UFS", 640, 16384)] {
        let entry = &mut map[512 * n..];
        words(entry, &[(0, b"PM"), (4, &2_u32.to_be_bytes()), (8, &first.to_be_bytes()), (12, &count.to_be_bytes())]);
        words(entry, &[(48, kind.as_bytes())]);
    }
    map
}

/// NeXT's label in sectors of 1024 bytes, with a front porch of 160; the volume is `a`.
fn next() -> Vec<u8> {
    let mut label = vec![0; 8192];
    words(&mut label, &[(0, b"dlV3"), (92, &1024_u32.to_be_bytes()), (112, &160_u16.to_be_bytes())]);
    (0..8).for_each(|n| words(&mut label, &[(190 + 46 * n, &[0xff; 8])]));
    words(&mut label, &[(190, &160_u32.to_be_bytes()), (194, &8192_u32.to_be_bytes()), (227, b"4.3BSD")]);
    let sum: u32 = label[..558].chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    words(&mut label, &[(558, &(sum as u16).to_be_bytes())]);
    label
}

#[test]
fn a_volume_behind_a_label_of_sun_apple_or_next_is_found_and_named() {
    let scratch = Scratch::new();
    let (volume, disk) = (scratch.path("volume"), scratch.path("disk.img"));
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--endian", "big", "--size", "8M", &volume]));
    ok(ordo(["mkdir", &format!("{volume}:/behind")]));
    let bytes = fs::read(&volume).unwrap();
    for (label, name, kind) in [(sun(), "b", "Sun usr"), (apple(), "p2", "Apple_UFS"), (next(), "a", "NeXT 4.3BSD")] {
        let at = if name == "a" { 320 * 1024 } else { AT };
        let file = fs::File::create(&disk).unwrap();
        file.set_len(SIZE).unwrap();
        file.write_all_at(&label, 0).unwrap();
        file.write_all_at(&bytes, at).unwrap();
        assert!(ok(ordo(["ls", &format!("{disk}:/")])).contains("behind"), "{kind}");
        assert!(ok(ordo(["ls", &format!("{disk}@{name}:/")])).contains("behind"), "{kind}");
        // It is written to like any other.
        ok(ordo(["mkdir", &format!("{disk}@{name}:/more")]));
        ok(ordo(["fsck", "-n", &format!("{disk}@{name}")]));
        let said = fails(3, ordo(["ls", &format!("{disk}@p9:/")]));
        assert!(said.contains(kind) && said.contains(&format!("at {at}")), "{said}");
        assert_eq!(fs::read(&disk).unwrap()[..512], label[..512], "{kind}: the label was written to");
    }
}

/// A BSD label of `(letter, first sector, sectors)`, in this byte order.
fn bsd(parts: &[(u8, u32, u32)], big: bool) -> Vec<u8> {
    let mut label = vec![0; 404];
    let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
    words(&mut label, &[(0, &word(0x8256_4557)), (40, &word(512)), (132, &word(0x8256_4557)), (138, &half(8))]);
    for (letter, first, count) in parts {
        let at = 148 + 16 * usize::from(letter - b'a');
        words(&mut label, &[(at, &word(*count)), (at + 4, &word(*first)), (at + 12, &[7])]);
    }
    let sum = label.chunks(2).fold([0, 0], |sum, two| [sum[0] ^ two[0], sum[1] ^ two[1]]);
    words(&mut label, &[(136, &sum)]);
    label
}

/// A volume of 8 MiB with a file in it.
fn behind(scratch: &Scratch, kind: &[&str]) -> Vec<u8> {
    let volume = scratch.path("volume");
    ok(ordo([&["mkfs", "-q", "--force"], kind, &["--size", "8M", &volume]].concat()));
    ok(ordo(["mkdir", &format!("{volume}:/behind")]));
    fs::read(&volume).unwrap()
}

#[test]
fn two_names_of_the_same_sectors_are_one_volume() {
    let scratch = Scratch::new();
    let disk = scratch.path("disk.img");
    for kind in [&["--type", "ufs2"][..], &["--type", "ufs1", "--endian", "big"], &["--type", "lfs"]] {
        let volume = behind(&scratch, kind);
        // A slice of FreeBSD with its label, and `a` at its start.
        let file = fs::File::create(&disk).unwrap();
        file.set_len(32 << 20).unwrap();
        let mut entry = [0; 66];
        words(&mut entry, &[(4, &[0xa5]), (8, &63_u32.to_le_bytes()), (12, &60_000_u32.to_le_bytes())]);
        words(&mut entry, &[(64, &[0x55, 0xaa])]);
        file.write_all_at(&entry, 446).unwrap();
        file.write_all_at(&volume, 63 * 512).unwrap();
        let sectors = (volume.len() / 512) as u32;
        let label =
            bsd(&[(b'a', 0, sectors), (b'b', sectors, 1000), (b'c', 0, 60_000), (b'e', 0, sectors + 500)], false);
        file.write_all_at(&label, 64 * 512).unwrap();
        for name in ["", "@s1", "@s1a"] {
            assert!(ok(ordo(["ls", &format!("{disk}{name}:/")])).contains("behind"), "{kind:?} {name}");
        }
        ok(ordo(["mkdir", &format!("{disk}:/more")]));
        ok(ordo(["fsck", "-n", &disk]));
        // It is `a` that was found: growing stops where `b` begins.
        if kind[1] != "lfs" {
            let said = fails(3, ordo(["resize", "-s", "12M", &disk]));
            assert!(said.contains("8388608") || said.contains("8M") || said.contains("8.0"), "{said}");
        }
        // Another volume is another volume.
        file.write_all_at(&volume, 63 * 512 + (12 << 20)).unwrap();
        let label = bsd(&[(b'a', 0, sectors), (b'd', (12 << 20) / 512, sectors)], false);
        file.write_all_at(&label, 64 * 512).unwrap();
        let said = fails(3, ordo(["ls", &format!("{disk}:/")]));
        assert!(said.contains("several") && said.contains("@s1d"), "{said}");
    }
}

#[test]
fn a_label_is_read_at_every_place_of_a_port_and_none_is_called_empty() {
    let scratch = Scratch::new();
    let (disk, volume) = (scratch.path("disk.img"), behind(&scratch, &["--type", "ufs1"]));
    for (at, big) in [(512, true), (64, false), (128, true), (0, false), (1024, true), (4096, false)] {
        let file = fs::File::create(&disk).unwrap();
        file.set_len(48 << 20).unwrap();
        let sectors = (volume.len() / 512) as u32;
        file.write_all_at(&bsd(&[(b'a', 1000, sectors), (b'g', 40_000, sectors)], big), at).unwrap();
        file.write_all_at(&volume, 1000 * 512).unwrap();
        file.write_all_at(&volume, 40_000 * 512).unwrap();
        for name in ["@a", "@g"] {
            assert!(ok(ordo(["ls", &format!("{disk}{name}:/")])).contains("behind"), "{at} {name}");
        }
        let said = fails(3, ordo(["mkfs", &disk]));
        assert!(said.contains("BSD disklabel") && said.contains("@a"), "{said}");
        // Without a volume behind it, it still has partitions; and a table that is damaged or not read is not empty.
        file.write_all_at(&[0; 512], 1000 * 512 + 8192 + 1024).unwrap();
        file.write_all_at(&[0; 512], 40_000 * 512 + 8192 + 1024).unwrap();
        let said = fails(3, ordo(["ls", &format!("{disk}:/")]));
        assert!(said.contains("@a (4.2BSD") && said.contains("ordo scan"), "{said}");
        file.write_all_at(&[0x77], at + 150).unwrap();
        let damaged = fails(3, ordo(["ls", &format!("{disk}:/")]));
        assert!(damaged.contains("cannot be read here"), "{damaged}");
        for said in [said, damaged] {
            assert!(!said.contains("without partitions") && !said.contains("mkfs"), "{said}");
        }
    }
}

/// A volume of ours as Solaris would have it.
struct Solaris {
    bytes: Vec<u8>,
    big: bool,
}

impl Solaris {
    fn get(&self, at: usize) -> u32 {
        let word = self.bytes[at..at + 4].try_into().unwrap();
        if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    }

    fn put(&mut self, at: usize, value: u32) {
        let word = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[at..at + 4].copy_from_slice(&word);
    }

    fn put16(&mut self, at: usize, value: u16) {
        let word = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes[at..at + 2].copy_from_slice(&word);
    }

    fn convert(image: &str, big: bool) -> Solaris {
        let mut volume = Solaris { bytes: fs::read(image).unwrap(), big };
        let sb = 8192;
        let field = |volume: &Solaris, at: usize| volume.get(sb + at) as usize;
        let (iblkno, groups, fsize) = (field(&volume, 16), field(&volume, 44), field(&volume, 52));
        let (ipg, fpg) = (field(&volume, 184), field(&volume, 188));
        for ino in 0..groups * ipg {
            let at = (ino / ipg * fpg + iblkno) * fsize + ino % ipg * 128;
            volume.convert_inode(at, fsize);
        }
        let copies = (0..groups).map(|group| (group * fpg + field(&volume, 8)) * fsize);
        for sb in std::iter::once(sb).chain(copies.collect::<Vec<_>>()) {
            volume.bytes[sb + 860..sb + 1356].fill(0);
            let time = volume.get(sb + 32);
            volume.put(sb + if big { 1336 } else { 132 }, 0x7c26_9d38_u32.wrapping_sub(time));
            volume.put(sb + 1356, 1);
            (volume.bytes[sb + 209], volume.bytes[sb + 211]) = (1, 1);
        }
        volume
    }

    fn convert_inode(&mut self, at: usize, fsize: usize) {
        let kind = if self.big { self.bytes[at] } else { self.bytes[at + 1] } & 0xf0;
        if kind == 0 {
            return;
        }
        let (uid, gid) = (self.get(at + 112), self.get(at + 116));
        self.put16(at + 4, u16::try_from(uid).unwrap_or(u16::MAX));
        self.put16(at + 6, u16::try_from(gid).unwrap_or(u16::MAX));
        [(112, 0), (116, uid), (120, gid), (124, 0)].into_iter().for_each(|(to, word)| self.put(at + to, word));
        [20, 28, 36].into_iter().for_each(|time| self.put(at + time, self.get(at + time) / 1000));
        let size = if self.big { self.get(at + 12) } else { self.get(at + 8) } as usize;
        if kind == 0x40 {
            let start = self.get(at + 40) as usize * fsize;
            let mut entry = start;
            while entry < start + size {
                let len = if self.big {
                    [self.bytes[entry + 4], self.bytes[entry + 5]]
                } else {
                    [self.bytes[entry + 5], self.bytes[entry + 4]]
                };
                let name = self.bytes[entry + 7];
                self.put16(entry + 6, name.into());
                entry += usize::from(u16::from_be_bytes(len));
            }
        }
    }
}

#[test]
fn a_volume_of_solaris_is_read_with_its_owners_and_times_and_never_written() {
    for big in [true, false] {
        let scratch = Scratch::new();
        let (image, text) = (scratch.path("solaris.img"), scratch.path("text"));
        let inside = |name: &str| format!("{image}:/{name}");
        let endian = if big { "big" } else { "little" };
        ok(ordo(["mkfs", "-q", "--type", "ufs1", "--endian", endian, "--size", "8M", &image]));
        fs::write(&text, "from Solaris\n").unwrap();
        ok(ordo(["mkdir", &inside("dir")]));
        ok(ordo(["cp", &text, &inside("dir/file")]));
        ok(ordo(["cp", &text, &inside("small")]));
        ok(ordo(["ln", "-s", "dir/file", &inside("link")]));
        ok(ordo(["chown", "70000:80000", &inside("dir/file")]));
        ok(ordo(["chown", "100:200", &inside("small")]));
        let stat = |name: &str| {
            let said = ok(ordo(["stat", "--json", &inside(name)]));
            serde_json::from_str::<serde_json::Value>(&said).unwrap()[0].take()
        };
        let before = [stat("dir/file"), stat("small")];
        let volume = Solaris::convert(&image, big);
        fs::write(&image, &volume.bytes).unwrap();

        let info = ok(ordo(["info", &image]));
        assert!(info.contains("Solaris"), "{info}");
        assert_eq!(ok(ordo(["cat", &inside("link")])), "from Solaris\n");
        for (name, before) in ["dir/file", "small"].into_iter().zip(before) {
            let after = stat(name);
            for field in ["uid", "gid", "mode", "size"] {
                assert_eq!(after[field], before[field], "{endian} {name}: {field}: {after}");
            }
            let nanos = before["mtime"]["nanoseconds"].as_u64().unwrap() / 1000 * 1000;
            assert_eq!(after["mtime"]["seconds"], before["mtime"]["seconds"], "{endian} {name}");
            assert_eq!(after["mtime"]["nanoseconds"].as_u64(), Some(nanos), "{endian} {name}");
        }
        let said = fails(3, ordo(["mkdir", &inside("x")]));
        assert!(said.contains("Solaris") && said.contains("reading only"), "{said}");
        let said = fails(4, ordo(["fsck", "-y", &image]));
        assert!(said.contains("Solaris"), "{said}");
        assert!(fs::read(&image).unwrap() == volume.bytes, "it was written to");

        // A log that was not rolled is said.
        let mut logged = volume;
        logged.put(8192 + 1324, 4096);
        logged.bytes[8192 + 209] = 0xfd;
        fs::write(&image, &logged.bytes).unwrap();
        let output = ordo(["ls", &inside("dir")]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("Solaris's log"), "{said}");
    }
}
