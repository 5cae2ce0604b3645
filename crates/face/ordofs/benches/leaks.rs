//! How fast a volume of 1 TiB with 1,000,000 files is mounted after a crash, how fast the leaked space is reclaimed,
//! and how long calls wait meanwhile: `cargo bench -p ordofs --bench leaks`.
//!
//! `ORDO_LEAKS_DIR` says where the sparse image goes (about 5 GiB are written; default: the temporary directory),
//! `ORDO_LEAKS_FILES` and `ORDO_LEAKS_DIRS` how many files and in how many directories. The page cache is emptied
//! before the mount where the system permits it.

use ordo_ondisk::superblock::fields::flag;
use ordofs::disk::FileOptions;
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
use ordofs::{ImageSpec, MountOptions, Mounted, NewVolume, locate};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn spec(image: &Path) -> ImageSpec {
    ImageSpec { path: image.to_owned(), part: None, offset: None, snapshot: None }
}

/// Makes the volume and its files.
fn fill(image: &Path, files: u64, dirs: u64) {
    NewVolume::new(1 << 40).create(image).expect("there is room");
    let rt = Rt::real_time();
    let options = MountOptions { scheme: Some("async".into()), ..MountOptions::default() };
    let mounted = Mounted::open(&rt, &spec(image), &options).expect("the volume can be mounted");
    rt.block_on(async {
        let fs = mounted.fs();
        for d in 0..dirs {
            let name = format!("directory {d}");
            let dir = fs.mkdir(&WHO, fs.root(), Name::new(name.as_bytes()).expect("a name"), Mode::new(0o755)).await;
            let dir = dir.expect("room").node;
            for i in 0..files / dirs {
                let name = format!("file {i}");
                let name = Name::new(name.as_bytes()).expect("a name");
                let made = fs.mknod(&WHO, dir, name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
                fs.write(&WHO, made.node, 0, &[7; 100]).await.expect("room");
                fs.forget(made.node, 1);
            }
            fs.forget(dir, 1);
        }
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
}

/// Removes one file in twenty under soft updates, and stops while that is being made durable: what is not freed by then
/// is leaked.
fn lose(image: &Path, files: u64, dirs: u64) {
    let rt = Rt::real_time();
    let options = MountOptions { scheme: Some("softupdates".into()), ..MountOptions::default() };
    let mounted = Mounted::open(&rt, &spec(image), &options).expect("the volume can be mounted");
    rt.block_on(async {
        let fs = mounted.fs();
        for d in 0..dirs {
            let name = format!("directory {d}");
            let dir =
                fs.lookup(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.expect("it is there").node;
            for i in 0..files / dirs / 20 {
                let name = format!("file {i}");
                fs.unlink(dir, Name::new(name.as_bytes()).expect("a name")).await.expect("it is there");
            }
            fs.forget(dir, 1);
        }
    });
    let fs = mounted.fs().clone();
    rt.spawn(async move { drop(fs.syncfs().await) });
    // Names are removed as soon as the first ticket behind them is returned; the other effects take longer.
    let waiting = mounted.cache().ledger().outstanding();
    rt.block_on(async {
        while mounted.cache().ledger().outstanding() > waiting - waiting / 10 {
            rt.sleep(Duration::from_micros(200)).await;
        }
    });
    rt.drop_tasks();
    drop(mounted);
}

/// Writes the superblock of a volume that crashed under soft updates.
fn crash(image: &Path) {
    let rt = Rt::real_time();
    let mut sb = locate(&rt, &spec(image), FileOptions::default())
        .expect("there is a volume")
        .found
        .into_ufs()
        .expect("it is UFS")
        .superblock;
    sb.fields.clean = 0;
    sb.fields.flags |= flag::DOSOFTDEP;
    sb.fields.cs_nbfree -= 1000;
    let bytes = sb.encode(1_000_000_000);
    let file = std::fs::OpenOptions::new().write(true).open(image).expect("the image is there");
    file.write_all_at(&bytes, sb.at.0).expect("it can be written");
    file.sync_all().expect("it can be written");
    // Only root may do this.
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
}

/// Measures a call while the scan runs: a file is made, looked up, written and removed.
async fn call(mounted: &Mounted, rt: &Rt, i: u64) -> Duration {
    let from = rt.now();
    let fs = mounted.fs();
    let name = format!("beside {i}");
    let name = Name::new(name.as_bytes()).expect("a name");
    let made = fs.mknod(&WHO, fs.root(), name, Kind::Regular, Mode::new(0o644), 0).await.expect("room");
    fs.write(&WHO, made.node, 0, &[9; 4096]).await.expect("room");
    fs.forget(made.node, 1);
    fs.unlink(fs.root(), name).await.expect("it is there");
    rt.now().since(from)
}

fn main() {
    let dir = std::env::var_os("ORDO_LEAKS_DIR").map_or_else(std::env::temp_dir, Into::into);
    let (files, dirs) = (number("ORDO_LEAKS_FILES", 1_000_000), number("ORDO_LEAKS_DIRS", 5_000));
    let image = dir.join("ordo-leaks.img");
    fill(&image, files, dirs);
    for calls in [false, true] {
        if !calls {
            lose(&image, files, dirs);
        }
        crash(&image);
        let rt = Rt::real_time();
        let start = rt.now();
        let options = MountOptions { scheme: Some("softupdates".into()), ..MountOptions::default() };
        let mounted = Mounted::open(&rt, &spec(&image), &options).expect("the volume can be mounted");
        assert_eq!(mounted.why_read_only(), None);
        // One call, as the volume's first user would make it.
        let last = format!("/directory 0/file {}", files / dirs - 1);
        rt.block_on(resolve(mounted.fs(), last.as_bytes(), false)).map(drop).expect("it is there");
        println!("mount, and a first look: {:.3} s", rt.now().since(start).as_secs_f64());
        let (mut phase, mut since) = (mounted.leaks().phase, rt.now());
        let (from, mut waits) = (rt.now(), Vec::new());
        rt.block_on(async {
            while !mounted.leaks().phase.is_over() {
                if calls {
                    waits.push(call(&mounted, &rt, waits.len() as u64).await);
                }
                rt.sleep(Duration::from_millis(1)).await;
                let now = mounted.leaks().phase;
                if now != phase {
                    println!("  {}: {:.3} s", phase.name(), rt.now().since(since).as_secs_f64());
                    (phase, since) = (now, rt.now());
                }
            }
        });
        let (ended, took) = (mounted.leaks(), rt.now().since(from).as_secs_f64());
        println!("reclaim: {took:.3} s, {:.0} inodes a second; {ended:?}", ended.inodes as f64 / took);
        waits.sort_unstable();
        if let (Some(longest), Some(usual)) = (waits.last(), waits.get(waits.len() / 2)) {
            let most = waits[waits.len() * 99 / 100];
            println!("{} calls beside it: median {usual:?}, 99% below {most:?}, longest {longest:?}", waits.len());
        }
        rt.block_on(mounted.unmount()).expect("the disk is well");
        rt.drop_tasks();
    }
    // OK to ignore: an image that stays only takes space.
    let _ = std::fs::remove_file(&image);
}
