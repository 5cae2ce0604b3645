//! Space and inodes that wait to be freed are not missing: on a full volume what was just removed can be used again at
//! once, by every call that allocates.

use crate::common;

use common::{SHAPES, assert_clean, fresh, mount};
use ordo_workload::Session;
use ordofs::rt::Rt;
use ordofs::vfs::{Caller, FallocMode, FileSystem, Kind, Mode, Name, RenameMode, Result, XattrMode};
use ordofs::{JournalChange, Mounted, Tuning};
use std::rc::Rc;

const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0o022, privileged: true };

async fn make(mounted: &Mounted, name: &str) -> Result<()> {
    let fs = mounted.fs();
    let made = fs.mknod(&WHO, fs.root(), Name::new(name.as_bytes())?, Kind::Regular, Mode::new(0o644), 0).await?;
    fs.forget(made.node, 1);
    Ok(())
}

async fn remove(mounted: &Mounted, name: &str) {
    let fs = mounted.fs();
    fs.unlink(fs.root(), Name::new(name.as_bytes()).expect("a name")).await.expect("it is there");
}

/// Allocates every inode, frees some, and needs them again.
async fn all_numbers(mounted: &Mounted) {
    let mut made = 0;
    while make(mounted, &format!("n{made}")).await.is_ok() {
        made += 1;
    }
    mounted.fs().syncfs().await.expect("the disk is well");
    for at in 0..100 {
        remove(mounted, &format!("n{at}")).await;
    }
    for at in 0..100 {
        let again = make(mounted, &format!("m{at}")).await;
        assert!(again.is_ok(), "file {at} of 100 that fit, with {made} before: {again:?}");
    }
    for at in 100..made {
        remove(mounted, &format!("n{at}")).await;
    }
}

/// Allocates all space, frees some, and needs it again in each of the ways.
async fn all_space(mounted: &Mounted) {
    let fs = mounted.fs();
    let root = fs.root();
    let name = |name: &'static str| Name::new(name.as_bytes()).expect("a name");
    let session = Session::new(&**fs);
    for call in ["mkdir", "symlink", "write", "attribute", "allocate", "name"] {
        session.write_file("kept", b"").await.expect("a number");
        for at in 0..40 {
            session.write_file(&format!("room{at}"), &[1; 32768]).await.expect("room");
        }
        session.write_file("rest", b"").await.expect("a number");
        let rest = session.resolve("rest").await.expect("it is there");
        let (mut at, mut len) = (0, 32768);
        while len >= 512 {
            match session.write_at(&rest, at, &vec![2; len]).await {
                Ok(()) => at += len as u64,
                Err(_) => len /= 2,
            }
        }
        fs.syncfs().await.expect("the disk is well");
        for at in 0..40 {
            remove(mounted, &format!("room{at}")).await;
        }
        let kept = session.resolve("kept").await.expect("it is there");
        let outcome = match call {
            "mkdir" => fs.mkdir(&WHO, root, name("new"), Mode::new(0o755)).await.map(drop),
            "symlink" => fs.symlink(&WHO, root, name("new"), &[b'x'; 900]).await.map(drop),
            "write" => session.write_at(&kept, 0, &[3; 65536]).await,
            "attribute" => fs.setxattr(&WHO, kept.node(), b"user.a", &[4; 2000], XattrMode::Set).await,
            "allocate" => {
                let mode = FallocMode::Allocate { keep_size: false };
                fs.fallocate(&WHO, kept.node(), 0, 1 << 20, mode).await
            }
            _ => fs.rename(root, name("kept"), root, name("new"), RenameMode::NoReplace).await,
        };
        assert!(outcome.is_ok(), "{call}: {outcome:?}");
        drop((kept, rest));
        for gone in ["kept", "rest", "new"] {
            let _ = match call {
                "mkdir" if gone == "new" => fs.rmdir(root, name(gone)).await,
                _ => fs.unlink(root, name(gone)).await,
            };
        }
        fs.syncfs().await.expect("the disk is well");
    }
}

#[test]
fn space_of_a_removed_file_can_be_used_again_at_once() {
    for scheme in ["softupdates", "suj", "async", "sync"] {
        let rt = Rt::virtual_time(1);
        let ram = fresh(&rt, SHAPES[0], 24 << 20);
        if scheme == "suj" {
            let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
            journal.apply_on(&rt, Rc::new(ram.clone())).expect("there is room for a journal");
        }
        let mounted = mount(&rt, &ram, scheme);
        rt.block_on(all_numbers(&mounted));
        rt.block_on(all_space(&mounted));
        rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&rt, &ram, scheme);
    }
}
