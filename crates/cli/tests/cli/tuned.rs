//! `ordo tune`: fsck and info confirm each change afterwards, and impossible changes are refused.

use crate::common::{Scratch, fails, ok, ordo};
use ordo_ondisk::superblock::SBLOCKSIZE;
use ordo_ondisk::{ByteOff, Cgx, Dialect, Dinode, Geometry, Ino, Superblock};

fn tune(options: &str, image: &str) -> std::process::Output {
    ordo(["tune", "-o", options, image])
}

fn info(image: &str) -> serde_json::Value {
    serde_json::from_str(&ok(ordo(["info", "--json", image]))).unwrap()
}

fn is_whole(image: &str) {
    let said = ok(ordo(["fsck", "-n", image]));
    assert!(said.contains(": clean;"), "{said}");
}

#[test]
fn journal_is_made_as_freebsd_makes_it_and_taken_away_again() {
    for kind in ["ufs1", "ufs2"] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--type", kind, "--size", "64M", &image]));
        let before = info(&image);
        assert_eq!(ok(tune("journal=on", &image)), "softupdates: on (was: off)\njournal: on (was: off)\n");
        is_whole(&image);
        assert_eq!(info(&image)["flags"].as_u64().unwrap() & 0xa, 0xa);
        let stat: serde_json::Value =
            serde_json::from_str(&ok(ordo(["stat", "--json", &format!("{image}:/.sujournal")]))).unwrap();
        let stat = stat.get(0).cloned().unwrap_or(stat);
        let (size, blocks) = (stat["size"].as_u64().unwrap(), stat["blocks"].as_u64());
        assert!((4 << 20..=32 << 20).contains(&size) && size % 32768 == 0, "{stat}");
        // Data and at most one block of pointers: no holes.
        assert!(blocks.is_none_or(|blocks| (size / 512..=size / 512 + 64).contains(&blocks)), "{stat}");
        assert_eq!(ok(tune("suj=4M", &image)), "softupdates: on (was: on)\njournal: on (was: on)\n");
        is_whole(&image);
        assert!(fails(3, tune("softupdates=off", &image)).contains("journal=off"));
        ok(tune("journal=off,softupdates=off", &image));
        is_whole(&image);
        let after = info(&image);
        assert_eq!((&after["flags"], &after["free_blocks"]), (&before["flags"], &before["free_blocks"]));
        fails(3, ordo(["stat", &format!("{image}:/.sujournal")]));
    }
}

#[test]
fn journal_is_one_that_a_crashed_volume_is_repaired_from() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    ok(ordo(["mkfs", "-q", "--size", "64M", &image]));
    ok(tune("journal=on", &image));
    // As left by a mount that writes to the journal.
    let mut bytes = std::fs::read(&image).unwrap();
    let mut sb = Superblock::decode(&bytes[65536..65536 + 8192], ByteOff(65536)).unwrap();
    sb.fields.clean = 0;
    let stored = sb.encode(sb.fields.time);
    bytes[65536..][..stored.len()].copy_from_slice(&stored);
    let stat: serde_json::Value =
        serde_json::from_str(&ok(ordo(["stat", "--json", &format!("{image}:/.sujournal")]))).unwrap();
    let ino = Ino(stat.get(0).unwrap_or(&stat)["ino"].as_u64().unwrap() as u32);
    let (g, place) = (sb.geometry(), Dinode::place(&sb.geometry(), ino).0 as usize);
    let mut inode = Dinode::decode(&bytes[place..], &g, ino).unwrap();
    inode.modrev = sb.fields.mtime as u64;
    inode.encode(&mut bytes[place..], &g).unwrap();
    std::fs::write(&image, &bytes).unwrap();

    let said = String::from_utf8(ordo(["fsck", "-n", &image]).stdout).unwrap();
    assert!(said.contains("its log waits"), "{said}");
    let said: serde_json::Value = serde_json::from_str(&ok(ordo(["fsck", "-p", "--json", &image]))).unwrap();
    assert_eq!((&said["journal"]["state"], &said["scanned"]), (&"replayed".into(), &false.into()), "{said}");
    assert_eq!(said["journal"]["records"], 0);
    is_whole(&image);
}

#[test]
fn label_and_reserve_are_changed() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let said = ok(ordo(["tune", "--json", "-o", "label=home", "-o", "minfree=3", &image]));
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["changes"][0], serde_json::json!({"name": "label", "was": "", "is": "home"}));
    assert_eq!(said["changes"][1], serde_json::json!({"name": "minfree", "was": "8", "is": "3"}));
    is_whole(&image);
    let info = info(&image);
    assert_eq!((&info["label"], &info["minfree"]), (&"home".into(), &3.into()));
}

#[test]
fn impossible_options_are_refused_and_nothing_is_written() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let before = std::fs::read(&image).unwrap();
    for (status, options, why) in [
        (2, "minfree=100", "99"),
        (2, "label=a-name-that-is-longer-than-its-place", "31"),
        (2, "journal=1M", "4194304"),
        (2, "journal=64M", "33554432"),
        (2, "color=red", "softupdates"),
        (3, "journal=32M", "does not fit"),
        (3, "journal=on,softupdates=off", "journal=off"),
    ] {
        let said = fails(status, tune(options, &image));
        assert!(said.contains(why), "{options}: {said}");
    }
    assert!(std::fs::read(&image).unwrap() == before, "something was written");
    std::fs::write(scratch.path("mine"), "mine").unwrap();
    ok(ordo(["cp", &scratch.path("mine"), &format!("{image}:/.sujournal")]));
    assert!(fails(3, tune("journal=on", &image)).contains("is no journal"));
    is_whole(&image);
    // Not unmounted cleanly: byte 209 of the superblock is 0.
    let mut dirty = before;
    dirty[65536 + 209] = 0;
    let sum = ordo_ondisk::check_hash_without(&dirty[65536..65536 + 2048], 1304);
    dirty[65536 + 1304..65536 + 1308].copy_from_slice(&sum.to_le_bytes());
    std::fs::write(&image, &dirty).unwrap();
    let said = fails(3, tune("label=x", &image));
    assert!(said.contains("fsck"), "{said}");
}

/// The superblock at its standard place; also its bytes.
fn superblock(bytes: &[u8], at: usize) -> Superblock {
    Superblock::decode(&bytes[at..at + SBLOCKSIZE], ByteOff(at as u64)).unwrap()
}

/// The hash fields of all groups, and of all inodes in use.
fn hashes(bytes: &[u8], g: &Geometry) -> (Vec<u32>, Vec<u32>) {
    let word = |at: usize| g.endian.get_u32(bytes, at).unwrap();
    let (mut groups, mut inodes) = (vec![], vec![]);
    for c in (0..g.ncg).map(Cgx) {
        let group = g.byte(g.cgtod(c)).0 as usize;
        groups.push(word(group + 132));
        for ino in (0..word(group + 120)).map(|i| Ino(c.0 * g.ipg + i)) {
            let place = Dinode::place(g, ino).0 as usize;
            if g.endian.get_u16(bytes, place).unwrap() != 0 {
                inodes.push(word(place + 244));
            }
        }
    }
    (groups, inodes)
}

#[test]
fn check_hashes_are_cleared_and_computed_again_in_both_orders() {
    for endian in ["little", "big"] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--endian", endian, "--size", "32M", &image]));
        std::fs::write(scratch.path("mine"), "mine").unwrap();
        for name in ["one", "two", "three"] {
            ok(ordo(["cp", &scratch.path("mine"), &format!("{image}:/{name}")]));
        }
        let before = std::fs::read(&image).unwrap();
        let g = superblock(&before, 65536).geometry();
        let full = hashes(&before, &g);
        assert!(full.1.len() == 5 && full.0.iter().chain(&full.1).all(|&hash| hash != 0));
        assert_eq!(info(&image)["fit_for"], serde_json::json!(["freebsd"]));
        assert_eq!(info(&image)["unfit_for"][0]["system"], "netbsd");

        assert_eq!(ok(tune("check-hashes=off", &image)), "check-hashes: off (was: on)\n");
        is_whole(&image);
        let off = std::fs::read(&image).unwrap();
        let (groups, inodes) = hashes(&off, &g);
        assert!(groups.iter().chain(&inodes).all(|&hash| hash == 0), "{endian}: {groups:x?} {inodes:x?}");
        for at in std::iter::once(65536).chain((0..g.ncg).map(|c| g.byte(g.cgsblock(Cgx(c))).0 as usize)) {
            let sb = superblock(&off, at);
            assert_eq!((sb.hashes(), sb.fields.flags, sb.fields.metackhash), (0, 0, 0), "{endian}, byte {at}");
        }
        assert_eq!(info(&image)["fit_for"], serde_json::json!(["freebsd", "netbsd"]));

        assert_eq!(ok(tune("check-hashes=on", &image)), "check-hashes: on (was: off)\n");
        is_whole(&image);
        let on = std::fs::read(&image).unwrap();
        assert!(hashes(&on, &g) == full, "{endian}: other hashes than before");
        let last = g.byte(g.cgsblock(Cgx(g.ncg - 1))).0 as usize;
        assert_eq!((superblock(&on, 65536).hashes(), superblock(&on, last).hashes()), (7, 7));
        // What is already on stays unchanged.
        assert_eq!(ok(tune("check-hashes=on", &image)), "check-hashes: on (was: on)\n");
        let again = std::fs::read(&image).unwrap();
        assert!(hashes(&again, &g) == full);
    }
}

#[test]
fn check_hashes_are_freebsds_ufs2_and_a_damaged_group_gets_none() {
    let scratch = Scratch::new();
    let (ufs1, net, ufs2) = (scratch.path("1.img"), scratch.path("n.img"), scratch.path("2.img"));
    ok(ordo(["mkfs", "-q", "--type", "ufs1", "--size", "16M", &ufs1]));
    assert!(fails(3, tune("check-hashes=on", &ufs1)).contains("UFS1"));
    ok(ordo(["mkfs", "-q", "--for", "netbsd", "--size", "16M", &net]));
    assert!(fails(3, tune("check-hashes=on", &net)).contains("NetBSD"));
    assert_eq!(ok(tune("check-hashes=off", &net)), "check-hashes: off (was: off)\n");
    ok(ordo(["mkfs", "-q", "--size", "16M", &ufs2]));
    ok(tune("check-hashes=off", &ufs2));
    let mut bytes = std::fs::read(&ufs2).unwrap();
    let g = superblock(&bytes, 65536).geometry();
    // The number of the last group in its block.
    bytes[g.byte(g.cgtod(Cgx(g.ncg - 1))).0 as usize + 12] ^= 0x40;
    std::fs::write(&ufs2, &bytes).unwrap();
    assert!(fails(3, tune("check-hashes=on", &ufs2)).contains("fsck"));
    assert_eq!(superblock(&std::fs::read(&ufs2).unwrap(), 65536).hashes(), 0, "a hash calls damage right");
}

/// `FS_KNOWN_FLAGS` of NetBSD: its kernel mounts no volume with another flag.
const NETBSD_KNOWS: u32 = 0x2 | 0x10 | 0x100 | 0x200 | 0x800;

/// What NetBSD's kernel and its fsck require of a superblock and its groups, and another file system could break.
fn is_right_for_netbsd(bytes: &[u8], at: usize) {
    let sb = superblock(bytes, at);
    let (f, g) = (&sb.fields, sb.geometry());
    assert_eq!((sb.dialect, sb.hashes(), f.clean), (Dialect::NetBsd, 0, 1));
    assert_eq!(f.flags & !NETBSD_KNOWS, 0, "flags {:#x}", f.flags);
    // No quotas and no log: their flags, their magic, their place.
    assert_eq!((f.flags & 0x300, f.unrefs, f.providersize, f.metaspace, f.sparecon64), (0, 0, 0, 0, [0; 13]));
    assert_eq!((f.mtime, f.sujfree, f.sparecon32, f.ckhash, f.metackhash), (0, 0, [0; 21], 0, 0));
    assert_eq!((f.old_flags, f.sblockloc as usize, f.maxbsize), (0x80, at, f.bsize));
    assert_eq!((f.qbmask, f.qfmask), (!i64::from(f.bmask), !i64::from(f.fmask)));
    let last = superblock(bytes, g.byte(g.cgsblock(Cgx(g.ncg - 1))).0 as usize).fields;
    let compared = |f: &ordo_ondisk::superblock::fields::SbFields| {
        let places = (f.sblkno, f.cblkno, f.iblkno, f.dblkno, f.ncg, f.bsize, f.fsize, f.frag, f.bmask, f.fmask);
        let rest = (f.bshift, f.fshift, f.fragshift, f.fsbtodb, f.sbsize, f.nindir, f.inopb, f.cssize, f.ipg, f.fpg);
        (places, rest, f.magic)
    };
    assert_eq!(compared(f), compared(&last));
    for c in (0..g.ncg).map(Cgx) {
        let group = g.byte(g.cgtod(c)).0 as usize;
        assert_eq!(bytes[group + 124..group + 136], [0; 12], "group {}: spare words", c.0);
        assert_eq!(bytes[group + 144..group + 168], [0; 24], "group {}: spare words", c.0);
    }
}

#[test]
fn volume_for_netbsd_is_netbsds_and_stays_so_when_it_is_used() {
    for (kind, at) in [("ufs1", 8192), ("ufs2", 65536)] {
        for endian in ["little", "big"] {
            let scratch = Scratch::new();
            let image = scratch.path("v.img");
            ok(ordo(["mkfs", "-q", "--for", "netbsd", "--type", kind, "--endian", endian, "--size", "32M", &image]));
            is_whole(&image);
            is_right_for_netbsd(&std::fs::read(&image).unwrap(), at);
            assert_eq!(ok(ordo(["ls", &format!("{image}:/")])), "", "{kind}, {endian}: a .snap");
            let shown = info(&image);
            assert_eq!((&shown["dialect"], &shown["directories"]), (&"NetBSD".into(), &1.into()));
            assert!(shown["fit_for"].as_array().unwrap().contains(&"netbsd".into()), "{shown}");
            // In use: each command mounts it for writing.
            std::fs::write(scratch.path("mine"), vec![7; 300_000]).unwrap();
            ok(ordo(["mkdir", &format!("{image}:/dir")]));
            ok(ordo(["cp", &scratch.path("mine"), &format!("{image}:/dir/file")]));
            ok(ordo(["ln", "-s", "dir/file", &format!("{image}:/link")]));
            ok(tune("label=shared,minfree=3", &image));
            is_whole(&image);
            is_right_for_netbsd(&std::fs::read(&image).unwrap(), at);
        }
    }
}

#[test]
fn volume_for_netbsd_gets_nothing_of_freebsds() {
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    assert!(
        fails(2, ordo(["mkfs", "--for", "netbsd", "--size", "16M", "--log-size", "1M", &image])).contains("--log-size")
    );
    assert!(!std::path::Path::new(&image).exists(), "made all the same");
    ok(ordo(["mkfs", "-q", "--for", "netbsd", "--size", "64M", &image]));
    let before = std::fs::read(&image).unwrap();
    for options in ["softupdates=on", "journal=on", "log=on", "check-hashes=on"] {
        assert!(fails(3, tune(options, &image)).contains("NetBSD"), "{options}");
    }
    let volume = || ordofs::Volume::open(&image).unwrap();
    for scheme in ["suj", "wafs", "journal-file", "block-journal"] {
        let said = volume().scheme(scheme).mount().err().map(|why| why.to_string()).unwrap_or_default();
        assert!(said.contains("NetBSD"), "{scheme}: {said:?}");
    }
    assert!(std::fs::read(&image).unwrap() == before, "something was written");
    let mounted = volume().mount().unwrap();
    mounted.write("/file", b"x").unwrap();
    assert!(mounted.set_xattr("/file", "user.a", b"b").is_err(), "NetBSD's fsck would count its block for nothing");
    mounted.unmount().unwrap();
    is_right_for_netbsd(&std::fs::read(&image).unwrap(), 65536);
}

ordo_volumes::freebsds_volumes!(
    hashes_that_are_computed_are_those_of_freebsds_kernel,
    ["ufs-little", "ufs-big"].into_iter().for_each(compute_the_hashes_of)
);

fn compute_the_hashes_of(name: &str) {
    let bytes = ordo_volumes::volume(name);
    let scratch = Scratch::new();
    let image = scratch.path("v.img");
    std::fs::write(&image, &bytes).unwrap();
    let g = superblock(&bytes, 65536).geometry();
    ok(tune("check-hashes=off", &image));
    is_whole(&image);
    assert!(hashes(&std::fs::read(&image).unwrap(), &g) != hashes(&bytes, &g));
    ok(tune("check-hashes=on", &image));
    is_whole(&image);
    let after = std::fs::read(&image).unwrap();
    assert!(hashes(&after, &g) == hashes(&bytes, &g), "{name}");
    // Only superblocks changed, and hashes of free inodes.
    let backups: Vec<usize> = (0..g.ncg).map(|c| g.byte(g.cgsblock(Cgx(c))).0 as usize).chain([65536]).collect();
    let in_superblock = |at: usize| backups.iter().any(|&backup| (backup..backup + 1376).contains(&at));
    let differs = (0..bytes.len()).filter(|&at| bytes[at] != after[at] && !in_superblock(at));
    let of_inodes = |at: usize| {
        (0..g.ncg).map(Cgx).any(|c| {
            let first = g.byte(g.cgimin(c)).0 as usize;
            (first..first + g.ipg as usize * 256).contains(&at) && (244..248).contains(&((at - first) % 256))
        })
    };
    assert_eq!(differs.into_iter().find(|&at| !of_inodes(at)), None, "{name}");
}

#[test]
fn a_forced_mount_leaves_no_flag_that_netbsd_does_not_know() {
    for (system, flags) in [("netbsd", 0), ("freebsd", 1)] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--type", "ufs1", "--for", system, "--size", "16M", &image]));
        let mut bytes = std::fs::read(&image).unwrap();
        bytes[8192 + 209] = 0;
        std::fs::write(&image, &bytes).unwrap();
        let volume = ordofs::Volume::open(&image).unwrap().force().mount().unwrap();
        volume.write("/file", b"x").unwrap();
        volume.unmount().unwrap();
        let sb = superblock(&std::fs::read(&image).unwrap(), 8192);
        assert_eq!((sb.fields.flags & 1, sb.is_clean()), (flags, false), "{system}");
    }
}
