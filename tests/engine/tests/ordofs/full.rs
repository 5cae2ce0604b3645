//! A full volume: every call that allocates fails at the first missing fragment, at the second, and so on until it
//! succeeds, and at the first inode. A failed call has changed nothing: the tree is the same, the counts are the same,
//! fsck finds nothing; and when there is space again the call succeeds.

use crate::common;

use common::tree::{Tree, look};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Endian, Format};
use ordo_workload::Session;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{
    Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result, SetAttr, XattrMode,
};
use ordofs::{Mounted, NewVolume};
use std::rc::Rc;

const BLOCK: u64 = 4096;
const FRAG: u64 = 512;
/// Fragments with which each of the calls succeeds: three blocks of pointers, one of data, one for a tail.
const MOST: u64 = 64;
/// Fragments in as many blocks: many calls need a whole block, and would never succeed.
const FEW: u64 = 9;

/// Calls that allocate. The directory `full` has no room for another name.
const CALLS: &[&str] = &[
    "create in full",
    "mkdir",
    "mkdir in full",
    "long symlink",
    "long symlink in full",
    "extend a fragment",
    "write behind a fragment",
    "write behind direct blocks",
    "write behind single indirect blocks",
    "write far behind a fragment",
    "grow",
    "allocate",
    "allocate behind a fragment",
    "allocate in a hole",
    "zero in a hole",
    "link into full",
    "rename into full",
    "rename a directory into full",
    "link an unnamed file into full",
];

/// Calls that only UFS2 supports.
const ATTRIBUTES: &[&str] = &[
    "first attribute",
    "longer attributes",
    "second block of attributes",
    "mkdir that inherits",
    "create that inherits",
];

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).expect("a name")
}

/// An access control list with a named user.
const ACL: &[u8] = b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x02\0\x06\0\x07\0\0\0\x04\0\x05\0\xff\xff\xff\xff\
    \x10\0\x07\0\xff\xff\xff\xff\x20\0\x05\0\xff\xff\xff\xff";

/// Prepares the files for the calls.
async fn prepare<F: FileSystem>(fs: &F, format: Format) -> Result<()> {
    let s = Session::new(fs);
    s.write_file("fragment", &[1; 700]).await?;
    s.write_file("direct", &[2; 12 * BLOCK as usize]).await?;
    s.write_file("empty", b"").await?;
    s.write_file("hole", b"head").await?;
    let hole = s.resolve("hole").await?;
    s.write_at(&hole, 9 * BLOCK, b"tail").await?;
    s.mkdir_all("moved").await?;
    s.mkdir_all("heir").await?;
    let _full = s.mkdir_all("full").await?;
    // Entries of 16 bytes after two of 12: the rest of the first chunk is too short for another one.
    for i in 0..30 {
        s.write_file(&format!("full/{i:07}"), b"").await?;
    }
    if format == Format::Ufs2 {
        let heir = s.resolve("heir").await?;
        fs.setxattr(&s.who, heir.node(), b"system.posix_acl_default", ACL, XattrMode::Set).await?;
        for (path, len) in [("fragment", 300), ("direct", BLOCK as usize - 100)] {
            let file = s.resolve(path).await?;
            fs.setxattr(&s.who, file.node(), b"user.old", &vec![3; len], XattrMode::Set).await?;
        }
    }
    s.mkdir_all("fill").await?;
    for i in 0..300 {
        s.write_file(&format!("fill/{i}"), b"").await?;
    }
    Ok(())
}

/// Allocates all space: whole blocks first, then fragments.
async fn fill<F: FileSystem>(fs: &F) -> Result<()> {
    let s = Session::new(fs);
    for i in 0..300 {
        let file = s.resolve(&format!("fill/{i}")).await?;
        if s.write_at(&file, 0, &[7; BLOCK as usize]).await.is_err() {
            let _ = s.write_at(&file, 0, &[7; FRAG as usize]).await;
        }
    }
    assert_eq!(fs.statfs().await?.free_frags, 0);
    Ok(())
}

/// Frees `frags` fragments: adjacent, or no two of them in one block.
async fn free<F: FileSystem>(fs: &F, frags: u64, scattered: bool) -> Result<()> {
    let s = Session::new(fs);
    let was = fs.statfs().await?.free_frags;
    let per_block = if scattered { 1 } else { BLOCK / FRAG };
    let mut left = frags;
    for i in 0.. {
        let gone = left.min(per_block);
        let file = s.resolve(&format!("fill/{i}")).await?;
        fs.setattr(file.node(), &SetAttr { size: Some(BLOCK - gone * FRAG), ..SetAttr::default() }).await?;
        left -= gone;
        if left == 0 {
            break;
        }
    }
    assert_eq!(fs.statfs().await?.free_frags, was + frags);
    Ok(())
}

async fn call<F: FileSystem>(fs: &F, what: &str) -> Result<()> {
    let s = Session::new(fs);
    let (who, root) = (&s.who, fs.root());
    let at = async |path| Ok::<NodeId, Error>(s.resolve(path).await?.node());
    let full = at("full").await?;
    let (file, dir) = (Kind::Regular, Mode::new(0o755));
    let write = async |path, offset, len: usize| fs.write(who, at(path).await?, offset, &vec![9; len]).await.map(drop);
    let allocate = async |path, offset, len, mode| fs.fallocate(who, at(path).await?, offset, len, mode).await;
    let tag = async |path, len| fs.setxattr(who, at(path).await?, b"user.new", &vec![5; len], XattrMode::Set).await;
    let grow = FallocMode::Allocate { keep_size: false };
    let target = [b'x'; 300];
    match what {
        "create in full" => fs.mknod(who, full, name("new-name"), file, dir, 0).await.map(drop),
        "mkdir" => fs.mkdir(who, root, name("new"), dir).await.map(drop),
        "mkdir in full" => fs.mkdir(who, full, name("new-name"), dir).await.map(drop),
        "mkdir that inherits" => fs.mkdir(who, at("heir").await?, name("new"), dir).await.map(drop),
        "create that inherits" => fs.mknod(who, at("heir").await?, name("new"), file, dir, 0).await.map(drop),
        "long symlink" => fs.symlink(who, root, name("new"), &target).await.map(drop),
        "long symlink in full" => fs.symlink(who, full, name("new-name"), &target).await.map(drop),
        "extend a fragment" => write("fragment", 700, 2000).await,
        "write behind a fragment" => write("fragment", BLOCK, 1000).await,
        "write behind direct blocks" => write("direct", 12 * BLOCK, 10).await,
        "write behind single indirect blocks" => write("direct", (12 + 1024) * BLOCK, 10).await,
        "write far behind a fragment" => write("fragment", (12 + 1024) * BLOCK, 10).await,
        "grow" => {
            let size = Some(20 * BLOCK + 1);
            fs.setattr(at("fragment").await?, &SetAttr { size, ..SetAttr::default() }).await.map(drop)
        }
        "allocate" => allocate("empty", 0, 5 * BLOCK + 100, grow).await,
        "allocate behind a fragment" => allocate("fragment", 600, 4 * BLOCK, grow).await,
        "allocate in a hole" => allocate("hole", BLOCK, 6 * BLOCK, grow).await,
        "zero in a hole" => allocate("hole", 100, 7 * BLOCK, FallocMode::ZeroRange { keep_size: true }).await,
        "link into full" => fs.link(at("empty").await?, full, name("new-name")).await.map(drop),
        "rename into full" => fs.rename(root, name("empty"), full, name("new-name"), RenameMode::Replace).await,
        "rename a directory into full" => {
            fs.rename(root, name("moved"), full, name("new-name"), RenameMode::NoReplace).await
        }
        "link an unnamed file into full" => {
            let unnamed = fs.tmpfile(who, root, dir).await?;
            let linked = fs.link(unnamed.node, full, name("new-name")).await;
            fs.forget(unnamed.node, if linked.is_ok() { 2 } else { 1 });
            linked.map(drop)
        }
        "first attribute" => tag("empty", 100).await,
        "longer attributes" => tag("fragment", 1200).await,
        "second block of attributes" => tag("direct", 1500).await,
        _ => unreachable!("{what}"),
    }
}

fn base(format: Format, endian: Endian, density: Option<u32>) -> RamDisk {
    let (rt, ram) = (Rt::virtual_time(2), RamDisk::new(1 << 20));
    let (bsize, fsize) = (BLOCK as u32, FRAG as u32);
    let params = NewfsParams { endian, bsize, fsize, density, minfree: 0, ..NewfsParams::new(format, 1 << 20) };
    NewVolume { params }.create_on(&rt, Rc::new(ram.clone()), true).expect("the shape is possible");
    ram
}

/// Changes a volume in one mount.
fn change(ram: &RamDisk, what: &str, work: impl AsyncFnOnce(&Mounted) -> Result<()>) {
    let rt = Rt::virtual_time(4);
    let mounted = common::mount(&rt, ram, "async");
    rt.block_on(work(&mounted)).unwrap_or_else(|error| panic!("{what}: {error}"));
    rt.block_on(mounted.unmount()).expect("the disk is well");
    rt.drop_tasks();
    common::assert_clean(&rt, ram, what);
}

async fn picture(mounted: &Mounted) -> Tree {
    // The upkeep task frees removed files a moment later.
    mounted.cache().rt().yield_now().await;
    look(&**mounted.fs()).await.expect("the disk is well")
}

/// Makes the call on a full volume, and again when it has space. Returns `true` if it succeeded the first time.
fn refused(ram: &RamDisk, scheme: &str, call_name: &str, what: &str, more: impl AsyncFnOnce(&Mounted)) -> bool {
    let rt = Rt::virtual_time(8);
    let mounted = common::mount(&rt, ram, scheme);
    let fs = mounted.fs().clone();
    let had_room = rt.block_on(async {
        let before = picture(&mounted).await;
        match call(&*fs, call_name).await {
            Ok(()) => return true,
            Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes)) => {}
            Err(error) => panic!("{what}: {error}"),
        }
        let after = picture(&mounted).await;
        assert_eq!(after.space, before.space, "{what}: the counts");
        for path in before.leaves.keys().chain(after.leaves.keys()) {
            let (was, is) = (before.leaves.get(path), after.leaves.get(path));
            assert_eq!(was, is, "{what}: {}", String::from_utf8_lossy(path));
        }
        false
    });
    drop(fs);
    rt.block_on(mounted.unmount()).expect("the disk is well");
    common::assert_clean(&rt, ram, what);
    if !had_room {
        let mounted = common::mount(&rt, ram, scheme);
        rt.block_on(async {
            more(&mounted).await;
            let again = call(&**mounted.fs(), call_name).await;
            again.unwrap_or_else(|error| panic!("{what}: there is room now, and still: {error}"));
        });
        rt.block_on(mounted.unmount()).expect("the disk is well");
        common::assert_clean(&rt, ram, what);
    }
    rt.drop_tasks();
    had_room
}

#[test]
fn a_call_without_space_changes_nothing_whichever_fragment_is_missing() {
    for (format, endian) in [(Format::Ufs2, Endian::Little), (Format::Ufs1, Endian::Big)] {
        let ram = base(format, endian, Some(2048));
        change(&ram, "prepare", async |m| prepare(&**m.fs(), format).await);
        change(&ram, "fill", async |m| fill(&**m.fs()).await);
        let calls = CALLS.iter().chain(ATTRIBUTES.iter().filter(|_| format == Format::Ufs2));
        for (call_name, scheme) in calls.flat_map(|call| [(call, "sync"), (call, "async")]) {
            for scattered in [false, true] {
                let mut needed = 0;
                for frags in 0..if scattered { FEW } else { MOST } {
                    let what = format!("{format:?}, {scheme}, {call_name}, {frags} fragments, scattered {scattered}");
                    let ram = ram.snapshot();
                    if frags > 0 {
                        change(&ram, &what, async |m| free(&**m.fs(), frags, scattered).await);
                    }
                    let more = async |m: &Mounted| {
                        // Those in front were used up.
                        let s = Session::new(&**m.fs());
                        for i in 64..100 {
                            s.write_file(&format!("fill/{i}"), b"").await.expect("to cut a file needs no space");
                        }
                    };
                    if refused(&ram, scheme, call_name, &what, more) {
                        break;
                    }
                    needed = frags + 1;
                }
                assert!(needed > 0, "{call_name} needs no space");
                assert!(scattered || needed < MOST, "{call_name} never succeeds");
            }
        }
    }
}

#[test]
fn a_call_without_inodes_changes_nothing() {
    for (format, endian) in [(Format::Ufs2, Endian::Big), (Format::Ufs1, Endian::Little)] {
        let ram = base(format, endian, Some(1024));
        change(&ram, "prepare", async |m| prepare(&**m.fs(), format).await);
        change(&ram, "fill", async |m| {
            let s = Session::new(&**m.fs());
            let mut i = 0;
            while s.write_file(&format!("fill/more-{i}"), b"").await.is_ok() {
                i += 1;
            }
            Ok(())
        });
        let makes = |call: &&&str| ["create", "mkdir", "long", "link an"].iter().any(|word| call.starts_with(word));
        for call_name in CALLS.iter().filter(makes) {
            let what = format!("{format:?}, {call_name}, no inodes");
            let more = async |m: &Mounted| {
                let s = Session::new(&**m.fs());
                for i in 0..10 {
                    s.remove_tree(&format!("fill/{i}")).await.expect("it is there");
                }
            };
            assert!(!refused(&ram.snapshot(), "sync", call_name, &what, more), "{what}: it had one");
        }
    }
}
