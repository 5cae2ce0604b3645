//! Seeded bugs in effect: each of them changes what the engine waits for in a small workload, and none of them is
//! visible without a power cut.

use crate::common;

use common::{fresh, located};
use ordo_ondisk::{Endian, Format};
use ordo_probe::{Mutant, MutantSpec, mutants};
use ordo_workload::{Held, Session};
use ordofs::rt::Rt;
use ordofs::schemes::Settings;
use ordofs::vfs::{FileSystem, Mode, Name, RenameMode, Result, SetAttr, XattrMode};
use ordofs::{Fs, MountOptions, Mounted};
use std::rc::Rc;

const BLOCK: u64 = 4096;
const FRAGMENT: u64 = 512;
/// Blocks after which a sequential writer's cluster is full.
const CLUSTER: u64 = (1 << 20) / BLOCK;

/// A mutant of this scheme, and how often it changed the behaviour, in a workload with every kind of step.
fn changes(scheme: &str, spec: MutantSpec) -> u64 {
    let (rt, name) = (Rt::virtual_time(7), spec.name.clone());
    let shape = (Format::Ufs2, Endian::Little, BLOCK as u32, FRAGMENT as u32);
    let ram = fresh(&rt, shape, 16 << 20).volatile(true);
    let inner = ordo_schemes::by_name(scheme).expect("it is known").make(Settings::default());
    let mutant = Mutant::new(inner.expect("it breaks no rule"), spec);
    let (located, options) = (located(&ram, Rc::new(ram.clone())), MountOptions::default());
    let mounted = rt.block_on(Mounted::mount_with(&rt, located, mutant.clone(), &options)).expect("it can be mounted");
    rt.block_on(work(&Session::new(&**mounted.fs()))).unwrap_or_else(|error| panic!("{name}: {error}"));
    rt.block_on(mounted.unmount()).unwrap_or_else(|error| panic!("{name}: {error}"));
    rt.drop_tasks();
    if !name.starts_with("sync:") {
        common::assert_clean(&rt, &ram, &name);
    }
    mutant.changed()
}

#[test]
fn each_bug_of_sync_and_async_changes_something_and_none_shows_without_a_power_cut() {
    for scheme in ["sync", "async"] {
        let idle: Vec<_> = mutants(scheme)
            .into_iter()
            .map(|spec| (spec.name.clone(), changes(scheme, spec)))
            .filter(|(_, changes)| *changes == 0)
            .collect();
        assert!(idle.is_empty(), "{scheme}: these change nothing: {idle:?}");
    }
}

type S<'a> = Session<'a, Fs>;

async fn work(s: &S<'_>) -> Result<()> {
    names(s).await?;
    renames(s).await?;
    fragments(s).await?;
    attributes(s).await?;
    large(s).await?;
    cluster(s).await?;
    s.fs.syncfs().await
}

async fn file<'a>(s: &S<'a>, path: &str) -> Result<Held<'a, Fs>> {
    let (dir, name) = s.parent(path).await?;
    s.create(&dir, name).await
}

/// Creates and removes so many names that directories grow and inodes are initialised.
async fn names(s: &S<'_>) -> Result<()> {
    let root = s.root().await?;
    for i in 0..60 {
        file(s, &format!("{i:0>200}")).await?;
    }
    for i in 0..3 {
        let (dir, link, hard) = (format!("d{i}"), format!("s{i}"), format!("l{i}"));
        let made = s.fs.mkdir(&s.who, root.node(), Name::new(dir.as_bytes())?, Mode::new(0o755)).await?;
        s.fs.forget(made.node, 1);
        let made = s.fs.symlink(&s.who, root.node(), Name::new(link.as_bytes())?, b"target").await?;
        s.fs.forget(made.node, 1);
        s.write_file(&format!("f{i}"), &[1; FRAGMENT as usize]).await?;
        let old = s.resolve(&format!("f{i}")).await?;
        let made = s.fs.link(old.node(), root.node(), Name::new(hard.as_bytes())?).await?;
        s.fs.forget(made.node, 1);
        drop(old);
        s.fs.unlink(root.node(), Name::new(hard.as_bytes())?).await?;
        s.fs.unlink(root.node(), Name::new(format!("f{i}").as_bytes())?).await?;
        s.fs.rmdir(root.node(), Name::new(dir.as_bytes())?).await?;
    }
    Ok(())
}

/// Renames to new names, and over existing ones.
async fn renames(s: &S<'_>) -> Result<()> {
    let root = s.root().await?;
    for i in 0..3 {
        let (a, b, c) = (format!("a{i}"), format!("b{i}"), format!("c{i}"));
        s.write_file(&a, b"new").await?;
        s.write_file(&c, b"old").await?;
        for (from, to) in [(&a, &b), (&b, &c)] {
            let (from, to) = (Name::new(from.as_bytes())?, Name::new(to.as_bytes())?);
            s.fs.rename(root.node(), from, root.node(), to, RenameMode::Replace).await?;
        }
    }
    Ok(())
}

/// Files that grow where the next fragment is in use, and are truncated.
async fn fragments(s: &S<'_>) -> Result<()> {
    for i in 0..3 {
        let path = format!("grows{i}");
        s.write_file(&path, &[1; 3 * FRAGMENT as usize]).await?;
        s.write_file(&format!("in-the-way{i}"), &[2; FRAGMENT as usize]).await?;
        let grows = s.resolve(&path).await?;
        s.fs.fsync(grows.node(), false).await?;
        s.write_at(&grows, 3 * FRAGMENT, &[3; (BLOCK - 3 * FRAGMENT) as usize]).await?;
        s.fs.fsync(grows.node(), false).await?;
        s.fs.setattr(grows.node(), &SetAttr { size: Some(0), ..SetAttr::default() }).await?;
    }
    Ok(())
}

async fn attributes(s: &S<'_>) -> Result<()> {
    for i in 0..2 {
        let file = file(s, &format!("attributes{i}")).await?;
        for len in [900, 1500] {
            s.fs.setxattr(&s.who, file.node(), b"user.a", &vec![1; len], XattrMode::Set).await?;
        }
    }
    Ok(())
}

/// A file with an indirect block, of which a part is cut off.
async fn large(s: &S<'_>) -> Result<()> {
    for i in 0..2 {
        let large = file(s, &format!("large{i}")).await?;
        s.write_at(&large, 0, &[4; 20 * BLOCK as usize]).await?;
        s.fs.fsync(large.node(), false).await?;
        s.fs.setattr(large.node(), &SetAttr { size: Some(14 * BLOCK), ..SetAttr::default() }).await?;
    }
    Ok(())
}

/// A file whose blocks are scattered, and are moved together when all of them are dirty.
async fn cluster(s: &S<'_>) -> Result<()> {
    let (apart, between) = (file(s, "apart").await?, file(s, "between").await?);
    for block in 0..CLUSTER {
        if block == CLUSTER / 2 {
            s.fs.syncfs().await?;
        }
        for file in [&apart, &between] {
            s.write_at(file, block * BLOCK, &[5; BLOCK as usize]).await?;
        }
    }
    for block in 0..CLUSTER {
        s.write_at(&apart, (block + 1) * BLOCK - 1, &[6]).await?;
    }
    Ok(())
}
