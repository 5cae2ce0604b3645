//! Every finding of fsck has a class, and none is forgotten.

use super::*;
use Class::{Behind, Damage, Leak};
use Severity::{Manual, Preen};
use ordo_ondisk::Dialect;
use std::collections::BTreeSet;

/// Every finding, with its text and its class, by the list of what soft updates may leave (the specification's section
/// on the states of the disk after a crash).
fn table() -> Vec<(Finding, Severity, Class)> {
    let x = String::new;
    vec![
        (SuperblockDamage::SuperblockRestored { from: 1, why: x() }.into(), Manual, Damage),
        (SuperblockDamage::SuperblockHash { at: 1 }.into(), Preen, Leak),
        (SuperblockDamage::SuperblockForm { found: Dialect::OldBsd, backup: Dialect::NetBsd }.into(), Manual, Damage),
        (SuperblockDamage::BackupHash { group: 1 }.into(), Preen, Behind),
        (Finding::AcrossBlocks { ino: 1, lbn: 1, frag: 1, count: 1 }, Manual, Damage),
        (Finding::GroupGap { group: 1, wrong: 1, first: 1 }, Preen, Behind),
        (SuperblockDamage::SuperblockDiffers { field: "x", found: 1, backup: 1 }.into(), Manual, Damage),
        (SuperblockDamage::BackupUnusable { group: 1, why: x() }.into(), Manual, Damage),
        (SuperblockDamage::Optim { found: 1 }.into(), Manual, Damage),
        (SuperblockDamage::Minfree { found: 1 }.into(), Manual, Damage),
        (SuperblockDamage::SuperblockField { field: "x", found: 1, right: 1 }.into(), Manual, Damage),
        (SuperblockDamage::PendingFrees { blocks: 1, inodes: 1 }.into(), Preen, Leak),
        (SuperblockDamage::UnlinkedList { head: 1 }.into(), Preen, Behind),
        (Finding::SnapshotSlot { slot: 1, ino: 1 }, Manual, Damage),
        (Finding::SnapshotUnlisted { ino: 1 }, Preen, Behind),
        (Finding::SnapshotDamaged { ino: 1, why: "x" }, Manual, Damage),
        (Finding::SnapshotTwice { ino: 1, lbn: 1, frag: 1 }, Preen, Behind),
        (quota(), Preen, Behind),
        (Finding::MapOfCopies { reads: 1 }, Preen, Damage),
        (Finding::QuotaTable { whose: "x", ino: 1, why: x() }, Manual, Damage),
        (Finding::GroupHeader { group: 1, field: "x", found: 1, right: 1 }, Manual, Damage),
        (Finding::InodeHash { ino: 1, found: 1, right: 1 }, Preen, Damage),
        (Finding::FreeInodeNotEmpty { ino: 1 }, Manual, Damage),
        (Finding::UnknownFileType { ino: 1, mode: 1 }, Manual, Damage),
        (Finding::DirectoryModeLost { ino: 1, mode: 1 }, Manual, Damage),
        (Finding::FileTooLarge { ino: 1, size: 1, limit: 1 }, Manual, Damage),
        (Finding::SpecialFileSize { ino: 1, size: 1 }, Manual, Damage),
        (Finding::SpecialFilePointer { ino: 1 }, Manual, Damage),
        (Finding::NoDevice { ino: 1 }, Manual, Damage),
        (Finding::PointerBeyondSize { ino: 1, lbn: 1, size: 1 }, Manual, Damage),
        (Finding::SizeTooSmall { ino: 1, size: 1, right: 1 }, Manual, Damage),
        (Finding::ShortLinkTail { ino: 1, size: 1 }, Manual, Damage),
        (Finding::BadPointer { ino: 1, lbn: 1, frag: 1, count: 1 }, Manual, Damage),
        (Finding::DuplicatePointer { ino: 1, lbn: 1, frag: 1 }, Manual, Damage),
        (Finding::IndirectBeyondSize { ino: 1, lbn: 1, size: 1 }, Preen, Leak),
        (Finding::BlockCount { ino: 1, found: 1, right: 1 }, Preen, Leak),
        (Finding::SizeBeyondBlocks { ino: 1, size: 1, right: 1 }, Preen, Leak),
        (Finding::SizeBeyondBlocks { ino: 1, size: 1, right: 1 }, Manual, Damage),
        (Finding::ExtSize { ino: 1, found: 1, right: 1 }, Manual, Damage),
        (Finding::ExtRecord { ino: 1, at: 1, why: "x" }, Manual, Damage),
        (Finding::RootMissing { why: "x" }, Manual, Damage),
        (Finding::DirectoryTooShort { ino: 1, size: 1 }, Manual, Damage),
        (Finding::DirectorySize { ino: 1, size: 1, right: 1 }, Preen, Damage),
        (Finding::DirectorySize { ino: 1, size: 1, right: 1 }, Manual, Damage),
        (Finding::DirectoryHole { ino: 1, lbn: 1 }, Manual, Damage),
        (Finding::DirectoryDamaged { ino: 1, at: 1, why: "x" }, Manual, Damage),
        (Finding::Dot { ino: 1, why: "x" }, Manual, Damage),
        (Finding::DotDot { ino: 1, why: "x" }, Manual, Damage),
        (Finding::ExtraDot { ino: 1, at: 1 }, Manual, Damage),
        (Finding::EntryOutOfRange { dir: 1, name: x(), ino: 1 }, Manual, Damage),
        (Finding::Whiteout { dir: 1, name: x(), ino: 1, kind: 1 }, Manual, Damage),
        (Finding::EntryUnallocated { dir: 1, name: x(), ino: 1 }, Manual, Damage),
        (Finding::EntryToEmpty { dir: 1, name: x(), ino: 1 }, Preen, Damage),
        (Finding::EntryType { dir: 1, name: x(), ino: 1, found: 1, right: 1 }, Manual, Damage),
        (Finding::ExtraName { dir: 1, name: x(), ino: 1 }, Preen, Leak),
        (Finding::TooManyNames { dir: 1, name: x(), ino: 1 }, Manual, Damage),
        (Finding::WrongParent { ino: 1, found: 1, right: 1 }, Preen, Behind),
        (Finding::DirectoryUnconnected { ino: 1, named: 1 }, Preen, Leak),
        (Finding::DirectoryLoop { ino: 1 }, Manual, Damage),
        (Finding::LinkCount { ino: 1, found: 3, right: 2 }, Preen, Leak),
        (Finding::LinkCount { ino: 1, found: 1, right: 2 }, Manual, Damage),
        (Finding::Unreferenced { ino: 1, size: 1 }, Preen, Leak),
        (Finding::EmptyDirectory { ino: 1 }, Preen, Leak),
        (Finding::GroupHash { group: 1 }, Preen, Leak),
        (Finding::GroupField { group: 1, field: "x", found: 1, right: 1 }, Preen, Behind),
        (Finding::GroupCounts { group: 1, field: "x", found: 1, right: 1 }, Preen, Leak),
        (Finding::FragmentSums { group: 1, run: 1, found: 1, right: 1 }, Preen, Leak),
        (Finding::InodeMap { group: 1, wrong: 1, first: 1, in_use: 0 }, Preen, Leak),
        (Finding::InodeMap { group: 1, wrong: 1, first: 1, in_use: 1 }, Preen, Behind),
        (Finding::FragmentsInUse { group: 1, wrong: 1, first: 1 }, Preen, Behind),
        (Finding::FragmentsLeaked { group: 1, wrong: 1, first: 1 }, Preen, Leak),
        (Finding::ClusterMap { group: 1, wrong: 1, first: 1 }, Preen, Leak),
        (Finding::ClusterSums { group: 1, run: 1, found: 1, right: 1 }, Preen, Leak),
        (Finding::LostDirectories { group: 1, found: 1, recorded: 1 }, Manual, Damage),
        (Finding::Summary { group: 1, field: "x", found: 1, right: 1 }, Preen, Leak),
        (Finding::Totals { field: "x", found: 1, right: 1 }, Preen, Leak),
        (Finding::Log { finding: ordo_fsck::LfsFinding::FreeListEmpty {} }, Preen, Behind),
    ]
}

fn quota() -> Finding {
    Finding::QuotaUsage { whose: "x", id: 1, sectors: 1, inodes: 1, right_sectors: 1, right_inodes: 1 }
}

#[test]
fn every_finding_has_its_class() {
    for (finding, severity, class) in table() {
        assert_eq!(classify(&finding, severity), class, "{}: {finding}", finding.name());
    }
}

#[test]
fn no_finding_is_forgotten() {
    // One row stands for all findings of log-structured volumes, which have names of their own.
    let name = |finding: &Finding| if let Finding::Log { .. } = finding { "Log" } else { finding.name() };
    let told: BTreeSet<&str> = table().iter().map(|(finding, ..)| name(finding)).collect();
    // What is wrong with a superblock has a row each, and names of its own.
    let names = Finding::NAMES.iter().filter(|name| **name != "Superblock").chain(Finding::OF_SUPERBLOCK);
    let all: BTreeSet<&str> = names.copied().collect();
    assert_eq!(told, all);
}

/// A finding whose repair needs a confirmation is not a leak, whatever its name.
#[test]
fn what_asks_a_question_is_damage() {
    for (finding, ..) in table() {
        assert_eq!(classify(&finding, Manual), Damage, "{}", finding.name());
    }
}
