//! Headers and records, whole and damaged, that are made byte by byte.

use super::*;
use crate::superblock::Wapbl;
use crate::{Endian, Ino};

/// Bytes of the log: 8 blocks of 512 bytes, at byte 8192 of a volume of 1 MiB.
const START: u64 = 8192;

fn place() -> Place {
    let at = Wapbl { within: true, first_block: 16, blocks: 8, block_bytes: 512, order: Endian::Little };
    Place::of(&at, 1 << 20, 1 << 20).unwrap()
}

/// A header, byte by byte as the format has it.
fn header(order: Endian, generation: u32, head: i64, tail: i64) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    for (at, value) in [(0, 0x5741_424c), (4, 512), (12, generation), (36, 1), (40, 9), (44, 9)] {
        order.put_u32(&mut bytes, at, value).unwrap();
    }
    for (at, value) in [(48, head), (56, tail), (64, 1024), (72, 3072)] {
        order.put_i64(&mut bytes, at, value).unwrap();
    }
    bytes
}

fn both(order: Endian, first: u32, second: u32) -> Vec<u8> {
    [header(order, first, 1536, 1024), header(order, second, 2048, 1024)].concat()
}

#[test]
fn the_header_with_the_larger_generation_counts() {
    for order in [Endian::Little, Endian::Big] {
        let head = |first, second| Header::choose(&both(order, first, second), &place()).unwrap().head;
        assert_eq!((head(2, 1), head(2, 3), head(4, 3), head(2, 2)), (1536, 2048, 1536, 1536));
        // As NetBSD: generations are compared as numbers. After the largest one it writes 0 and 1.
        assert_eq!((head(0, u32::MAX), head(0, 1)), (2048, 2048));
        assert_eq!(Header::choose(&both(order, 2, 1), &place()).unwrap().order, order);
    }
    let mixed = [header(Endian::Little, 2, 0, 0), header(Endian::Big, 1, 0, 0)].concat();
    assert!(Header::choose(&mixed, &place()).is_err());
    assert!(Header::choose(&both(Endian::Big, 2, 1)[..512], &place()).is_err());
}

#[test]
fn each_wrong_field_of_either_header_is_damage_that_says_where() {
    let fields: [(&str, usize, u32); 8] = [
        ("wc_type", 0, 0x5741_424d),
        ("wc_len", 4, 1024),
        ("wc_checksum", 8, 1),
        ("wc_version", 36, 2),
        ("wc_log_dev_bshift", 40, 12),
        ("wc_fs_dev_bshift", 44, 8),
        ("wc_circ_off", 64, 512),
        ("wc_circ_size", 72, 3584),
    ];
    for (field, at, value) in fields {
        for slot in [0, 1] {
            let mut bytes = both(Endian::Little, 2, 1);
            Endian::Little.put_u32(&mut bytes, slot * 512 + at, value).unwrap();
            let damage = Header::choose(&bytes, &place()).unwrap_err();
            assert_eq!((damage.structure, damage.field), (Structure::Wapbl, field));
            assert_eq!(damage.at, Some(ByteOff(START + 512 * slot as u64)), "{field}");
        }
    }
    for (head, tail) in [(0, 1024), (1024, 0), (4096, 1024), (1024, 4096), (1000, 1024), (-512, 1024), (512, 512)] {
        let bytes = [header(Endian::Little, 2, head, tail), header(Endian::Little, 1, 0, 0)].concat();
        assert!(Header::choose(&bytes, &place()).is_err(), "{head} {tail}");
    }
    // What NetBSD never sets is not looked at.
    let mut bytes = both(Endian::Little, 2, 1);
    bytes[16..36].fill(0xa5);
    assert!(Header::choose(&bytes, &place()).is_ok());
}

#[test]
fn the_circle_is_walked_and_its_use_is_counted() {
    let of = |head, tail| {
        let bytes = [header(Endian::Little, 2, head, tail), header(Endian::Little, 1, 0, 0)].concat();
        Header::choose(&bytes, &place()).unwrap()
    };
    assert_eq!(
        [of(0, 0).used(), of(2048, 1024).used(), of(1024, 3584).used(), of(2048, 2048).used()],
        [0, 1024, 512, 3072]
    );
    let circle = of(0, 0).circle;
    assert_eq!((circle.advance(1024, 512), circle.advance(3584, 512), circle.advance(3584, 1024)), (1536, 1024, 1536));
    assert_eq!((circle.before_wrap(3584), circle.advance(1024, 3072)), (512, 1024));
}

#[test]
fn a_narrowed_log_has_the_next_generation_in_the_other_block() {
    for order in [Endian::Little, Endian::Big] {
        for (first, second, slots) in [(6, 5, &[1][..]), (6, 7, &[0]), (4, u32::MAX, &[0, 1])] {
            let mut bytes = both(order, first, second);
            let now = Header::choose(&bytes, &place()).unwrap();
            let headers = now.narrowed(3584, 1024, 99);
            let at: Vec<u64> = headers.iter().map(|(at, _)| at / 512).collect();
            assert_eq!(at, slots);
            for (at, header) in headers {
                let before = Header::choose(&bytes, &place()).unwrap();
                bytes[at as usize..][..512].copy_from_slice(&header);
                let after = Header::choose(&bytes, &place()).unwrap();
                let is_narrow = (after.tail, after.head, after.used()) == (3584, 1024, 512);
                assert!(is_narrow || after == before, "{after:?}");
            }
            let after = Header::choose(&bytes, &place()).unwrap();
            assert_eq!((after.tail, after.head, after.order, after.circle), (3584, 1024, order, now.circle));
        }
    }
}

/// A record's block, byte by byte.
fn record(order: Endian, words: [u32; 4], entries: &[(i64, i32)]) -> Vec<u8> {
    let mut bytes = vec![0; 512];
    for (at, word) in (0..).step_by(4).zip(words) {
        order.put_u32(&mut bytes, at, word).unwrap();
    }
    for (n, (daddr, dlen)) in entries.iter().enumerate() {
        order.put_i64(&mut bytes, 16 + 16 * n, *daddr).unwrap();
        order.put_i32(&mut bytes, 28 + 16 * n, *dlen).unwrap();
    }
    bytes
}

fn read(order: Endian, block: &[u8], room: u64) -> Result<Record, Corrupt> {
    let header = Header::choose(&both(order, 2, 1), &place()).unwrap();
    Record::decode(block, &header, &place(), 1536, room)
}

#[test]
fn records_are_read_in_both_orders() {
    for order in [Endian::Little, Endian::Big] {
        let extents = vec![Extent { at: 51200, len: 1024 }, Extent { at: 65536, len: 512 }];
        let blocks = record(order, [0x5741_424f, 2048, 2, 0], &[(100, 1024), (128, 512)]);
        assert_eq!(read(order, &blocks, 2048), Ok(Record { len: 2048, body: Body::Blocks(extents.clone()) }));
        let void = record(order, [0x5741_424e, 512, 2, 0], &[(100, 1024), (128, 512)]);
        assert_eq!(read(order, &void, 512), Ok(Record { len: 512, body: Body::Revocations(extents) }));
        let mut inodes = record(order, [0x5741_424d, 512, 1, 1], &[]);
        order.put_u32(&mut inodes, 16, 77).unwrap();
        order.put_u32(&mut inodes, 20, 0o100_644).unwrap();
        let list = vec![Unlinked { ino: Ino(77), mode: 0o100_644 }];
        assert_eq!(read(order, &inodes, 512), Ok(Record { len: 512, body: Body::Inodes { clear: true, list } }));
    }
}

#[test]
fn records_that_do_not_fit_are_damage() {
    let blocks = |words, entries: &[(i64, i32)]| {
        let found = read(Endian::Little, &record(Endian::Little, words, entries), 2048);
        found.map(|record| record.len).map_err(|damage| (damage.field, damage.at))
    };
    let at = Some(ByteOff(START + 1536));
    let kind = 0x5741_424f;
    assert_eq!(blocks([kind, 1024, 1, 0], &[(100, 512)]), Ok(1024));
    for (words, entries, field) in [
        ([0x5741_4250, 1024, 1, 0], &[(100, 512)][..], "wc_type"),
        ([0x5741_424c, 512, 0, 0], &[], "wc_type"),
        ([kind, 512, 1, 0], &[(100, 512)], "wc_len"),
        ([kind, 1536, 1, 0], &[(100, 512)], "wc_len"),
        ([kind, 2560, 1, 0], &[(100, 2048)], "wc_len"),
        ([kind, 1024, u32::MAX, 0], &[(100, 512)], "count"),
        ([kind, 1024, 32, 0], &[(100, 512)], "count"),
        ([0x5741_424d, 512, 63, 1], &[], "count"),
        ([kind, 1024, 1, 0], &[(100, 0)], "wc_dlen"),
        ([kind, 1024, 1, 0], &[(100, -512)], "wc_dlen"),
        ([kind, 1024, 1, 0], &[(100, 100)], "wc_dlen"),
        ([kind, 1024, 1, 0], &[(0, 512)], "wc_daddr"),
        ([kind, 1024, 1, 0], &[(-1, 512)], "wc_daddr"),
        ([kind, 1024, 1, 0], &[(2048, 512)], "wc_daddr"),
        ([kind, 1536, 1, 0], &[(2047, 1024)], "wc_daddr"),
        ([kind, 1024, 1, 0], &[(i64::MAX, 512)], "wc_daddr"),
        // In the log: its first and its last block, and from outside into it.
        ([kind, 1024, 1, 0], &[(16, 512)], "wc_daddr"),
        ([kind, 1024, 1, 0], &[(23, 512)], "wc_daddr"),
        ([kind, 1536, 1, 0], &[(15, 1024)], "wc_daddr"),
        ([0x5741_424e, 512, 1, 0], &[(2048, 512)], "wc_daddr"),
    ] {
        assert_eq!(blocks(words, entries), Err((field, at)), "{words:x?} {entries:?}");
    }
    assert!(blocks([kind, 1024, 1, 0], &[(24, 512)]).is_ok() && blocks([kind, 1536, 1, 0], &[(14, 1024)]).is_ok());
}

#[test]
fn a_log_lies_in_its_volume_or_behind_it() {
    let of = |within, first_block, blocks| {
        let at = Wapbl { within, first_block, blocks, block_bytes: 512, order: Endian::Big };
        Place::of(&at, 1 << 20, 2 << 20).map(|place| place.log).map_err(|damage| damage.field)
    };
    assert_eq!(of(true, 2040, 8), Ok(2040 * 512..1 << 20));
    assert_eq!(of(true, 2040, 9), Err("end"));
    assert_eq!(of(false, 2048, 2048), Ok(1 << 20..2 << 20));
    assert_eq!(of(false, 2048, 2049), Err("end"));
    assert_eq!(of(false, 2047, 8), Err("begin"));
    assert_eq!(of(true, 16, 2), Err("blocks"));
}
