//! Checks that the tables of `docs/format/ufs.md` and `docs/format/lfs.md` equal the declarations.

use ordo_ondisk::FieldPlace;
use ordo_ondisk::cg::CgHeader;
use ordo_ondisk::csum::Csum;
use ordo_ondisk::dinode::{RawDinode1, RawDinode2};
use ordo_ondisk::lfs::ifile::{
    RawCleanerInfo1, RawCleanerInfo2, RawCleanerInfo64, RawEntry1, RawEntry2, RawEntry64, RawSegUse1, RawSegUse2,
};
use ordo_ondisk::lfs::summary::{RawFinfo32, RawFinfo64, RawSummary1, RawSummary2, RawSummary64};
use ordo_ondisk::lfs::superblock::{RawSb32, RawSb64};
use ordo_ondisk::suj::{RawBlock, RawMove, RawReference, RawSegment, RawTruncation};
use ordo_ondisk::superblock::fields::SbFields;

/// The rows of the first field table below `heading`: byte, type, name.
fn rows(document: &str, heading: &str) -> Vec<(usize, String, String)> {
    let below = document.split_once(&format!("\n{heading}\n")).expect(heading).1;
    let table = below.split_once("| byte | type | field | meaning |\n|---|---|---|---|\n").expect("a table").1;
    let cells = |row: &str| row.split('|').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let row = |row: &str| match cells(row).as_slice() {
        [_, byte, kind, name, meaning, _] if !meaning.is_empty() => (byte.parse().unwrap(), kind.clone(), name.clone()),
        other => panic!("{other:?}"),
    };
    table.lines().take_while(|line| line.starts_with('|')).map(row).collect()
}

fn compare(path: &str, tables: &[(&str, &[FieldPlace])]) {
    let document = std::fs::read_to_string(path).expect(path);
    for (heading, fields) in tables {
        let declared: Vec<_> = fields.iter().map(|f| (f.offset, f.kind.to_string(), f.name.to_string())).collect();
        assert_eq!(rows(&document, heading), declared, "{heading}");
    }
}

#[test]
fn every_field_is_documented_where_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/format/ufs.md");
    let tables: [(&str, &[FieldPlace]); 10] = [
        ("## Superblock", SbFields::FIELDS),
        ("### Summary", Csum::FIELDS),
        ("## Cylinder group", CgHeader::FIELDS),
        ("### UFS1", RawDinode1::FIELDS),
        ("### UFS2", RawDinode2::FIELDS),
        ("### Segment", RawSegment::FIELDS),
        ("### Link records", RawReference::FIELDS),
        ("### Block records", RawBlock::FIELDS),
        ("### Move records", RawMove::FIELDS),
        ("### Truncation records", RawTruncation::FIELDS),
    ];
    compare(path, &tables);
}

#[test]
fn every_field_of_lfs_is_documented_where_it_is() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/format/lfs.md");
    let tables: [(&str, &[FieldPlace]); 15] = [
        ("### Versions 1 and 2", RawSb32::FIELDS),
        ("### LFS64", RawSb64::FIELDS),
        ("### Summary of version 1", RawSummary1::FIELDS),
        ("### Summary of version 2", RawSummary2::FIELDS),
        ("### Summary of LFS64", RawSummary64::FIELDS),
        ("### Record of a file", RawFinfo32::FIELDS),
        ("### Record of a file in LFS64", RawFinfo64::FIELDS),
        ("### Cleaner information of version 1", RawCleanerInfo1::FIELDS),
        ("### Cleaner information of version 2", RawCleanerInfo2::FIELDS),
        ("### Cleaner information of LFS64", RawCleanerInfo64::FIELDS),
        ("### Segment usage of version 1", RawSegUse1::FIELDS),
        ("### Segment usage", RawSegUse2::FIELDS),
        ("### Inode map of version 1", RawEntry1::FIELDS),
        ("### Inode map of version 2", RawEntry2::FIELDS),
        ("### Inode map of LFS64", RawEntry64::FIELDS),
    ];
    compare(path, &tables);
}
