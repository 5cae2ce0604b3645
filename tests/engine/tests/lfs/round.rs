//! At edges: the last free inode is taken by a roll-forward, and the log has gone round when the power fails.

use crate::{Made, SMALL, disk_of, made_in, mount, wrong};
use ordo_disk::RamDisk;
use ordo_fsck::{Mode as Fsck, Options};
use ordo_ondisk::Endian;
use ordo_ondisk::lfs::Version;
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name};
use std::rc::Rc;

const VERSIONS: [Version; 3] = [Version::V1, Version::V2, Version::Lfs64];

fn privileged() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

async fn create(fs: &ordo_ufs::Ufs<ordo_lfs::Lfs>, name: &str) -> ordo_vfs::NodeId {
    let name = Name::new(name.as_bytes()).expect("a short name");
    fs.mknod(&privileged(), fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.expect("room").node
}

/// Repairs as after a crash.
fn preened(image: &RamDisk) -> RamDisk {
    let (rt, ram) = (Rt::virtual_time(7), image.snapshot());
    let report = rt.block_on(ordo_fsck::check(&rt, Rc::new(ram.clone()), Options::new(Fsck::Preen)));
    let report = report.expect("it can be checked");
    let told: Vec<String> = report.findings.iter().map(|found| found.finding.to_string()).collect();
    assert!(report.clean && report.refused.is_none(), "{:?} {told:?}", report.refused);
    rt.drop_tasks();
    ram
}

#[test]
fn a_roll_forward_leaves_an_inode_free() {
    let of = Made { block: 512, fragment: 512, segment: 64 << 10, endian: Endian::Little, size: 8 << 20 };
    for version in VERSIONS {
        let entries = of.block / version.ifile_entry_size();
        for files in 2 * entries - 8..2 * entries + 2 {
            let (rt, ram) = (Rt::virtual_time(1), made_in(version, of));
            let image = rt.block_on(async {
                let mounted = mount(&rt, &ram).await;
                let mut last = None;
                for i in 0..files {
                    last = Some(create(&mounted.fs, &format!("f{i}")).await);
                }
                mounted.fs.fsync(last.expect("a file"), false).await.expect("the disk is well");
                ram.snapshot()
            });
            rt.drop_tasks();
            for image in [preened(&image), image] {
                let rt = Rt::virtual_time(2);
                let again = rt.block_on(mount(&rt, &image));
                rt.block_on(again.fs.unmount()).expect("the disk is well");
                assert_eq!(rt.block_on(wrong(&rt, &image)), [""; 0], "{version:?}: {files} files");
                rt.drop_tasks();
            }
        }
    }
}

#[test]
fn a_log_that_has_gone_round_is_repaired_after_a_crash() {
    let shapes = [
        Made { size: 12 << 20, segment: 128 << 10, ..SMALL },
        Made { block: 8192, fragment: 1024, segment: 32 << 10, endian: Endian::Little, size: 12 << 20 },
    ];
    for (version, of) in VERSIONS.into_iter().flat_map(|version| shapes.map(|of| (version, of))) {
        let (rt, ram) = (Rt::virtual_time(3), made_in(version, of));
        let mut images = Vec::new();
        rt.block_on(async {
            let mounted = mount(&rt, &ram).await;
            let mut nodes = Vec::new();
            for i in 0..20 {
                nodes.push(create(&mounted.fs, &format!("f{i}")).await);
            }
            for turn in 0..2600usize {
                let node = nodes[turn % nodes.len()];
                mounted.fs.write(&privileged(), node, 0, &[turn as u8; 3000]).await.expect("room");
                mounted.fs.fsync(node, false).await.expect("the disk is well");
                if turn % 61 == 60 {
                    images.push((turn, ram.snapshot()));
                }
            }
        });
        rt.drop_tasks();
        for (turn, image) in images {
            let ram = preened(&image);
            let rt = Rt::virtual_time(4);
            assert_eq!(rt.block_on(wrong(&rt, &ram)), [""; 0], "{version:?}, {of:?}, {turn}");
            let repaired = disk_of(&ram.to_vec());
            let again = rt.block_on(mount(&rt, &repaired));
            assert_eq!(crate::accounts::miscounted(&again.fs, &repaired), [""; 0], "{version:?}, {of:?}, {turn}");
            let found = rt.block_on(async {
                let name = format!("f{}", turn % 20);
                let node = again.fs.lookup(again.fs.root(), Name::new(name.as_bytes()).expect("a name")).await;
                again.fs.read(node.expect("it was synced").node, 0, 5000).await.expect("it can be read").concat()
            });
            assert!(found == vec![turn as u8; 3000], "{version:?}, {of:?}, {turn}");
            rt.drop_tasks();
        }
    }
}
