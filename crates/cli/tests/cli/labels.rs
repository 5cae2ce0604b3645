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
