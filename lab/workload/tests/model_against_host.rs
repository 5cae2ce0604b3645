//! Compares the model with the host's own file system: each checks the other.
//!
//! What the host cannot do (as another user, on another file system) is detected first and left out.

use ordo_hostdir::HostDir;
use ordo_model::{MemFs, Options, ready};
use ordo_vfs::{Caller, FileSystem, SetAttr, Stamp};
use ordo_workload::random::{Divergence, Features, Generator, Op, Rules, Shape, differential, shrink};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Scratch directories: the usual one, and one in memory if there is one.
fn scratch() -> Vec<PathBuf> {
    [std::env::temp_dir(), PathBuf::from("/dev/shm")].into_iter().filter(|dir| dir.is_dir()).collect()
}

/// An empty model that belongs to `who`.
fn model(who: Caller) -> MemFs {
    let fs = MemFs::new(Options::default(), || Stamp { secs: 1_000_000_000, nanos: 0 });
    let owner = SetAttr { uid: Some(who.uid), gid: Some(who.gid), ..SetAttr::default() };
    ready(fs.setattr(fs.root(), &owner)).unwrap();
    fs
}

/// The user who runs the tests.
fn user() -> Caller {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    Caller { uid, gid, umask: 0, privileged: uid == 0 }
}

/// Plays `ops` on a model and in a new directory below `scratch`.
fn play(scratch: &Path, ops: &[Op]) -> Result<(), Divergence> {
    let dir = tempfile::tempdir_in(scratch).unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (model, host) = (model(user()), HostDir::open(dir.path()).unwrap());
    let result = ready(differential(&model, &host, ops, Rules { who: user(), every: 100 }));
    assert_eq!(model.lookups(), 0);
    unlock(&host);
    result
}

/// Clears the flags that would keep the directory from being removed.
fn unlock(host: &HostDir) {
    let session = ordo_workload::Session::new(host);
    let mut paths = vec![String::new()];
    ready(session.walk("", |path, attr| {
        if attr.flags != 0 {
            paths.push(path.to_owned());
        }
    }))
    .unwrap();
    for path in paths {
        let held = ready(session.resolve(&path)).unwrap();
        let clear = SetAttr { flags: Some(0), ..SetAttr::default() };
        // Without flags on the host, none was set.
        let cleared = ready(host.setattr(held.node(), &clear));
        assert!(cleared.is_ok() || path.is_empty(), "{path}: {cleared:?}");
    }
}

/// What both the model and a directory below `scratch` can do.
fn features(scratch: &Path) -> Features {
    let dir = tempfile::tempdir_in(scratch).unwrap();
    let host = ready(Features::probe(&HostDir::open(dir.path()).unwrap())).unwrap();
    let both = host.and(ready(Features::probe(&model(user()))).unwrap());
    // Linux lets new files inherit this flag, which BSD does not.
    Features { flags: both.flags & !ordo_model::flags::UF_NODUMP, ..both }
}

#[test]
fn the_model_and_the_host_agree_on_thousands_of_random_operations() {
    rustix::process::umask(rustix::fs::Mode::empty());
    for scratch in scratch() {
        let features = features(&scratch);
        for seed in 0..12 {
            let ops: Vec<Op> = Generator::new(seed, Shape::default(), features).take(1500).collect();
            if let Err(first) = play(&scratch, &ops) {
                let short = shrink(&ops[..first.steps()], |ops| play(&scratch, ops).is_err());
                let lines: Vec<String> = short.iter().map(Op::to_string).collect();
                let last = play(&scratch, &short);
                panic!("seed {seed} in {}: {first}\nshrunk: {last:?}\n{}", scratch.display(), lines.join("\n"));
            }
        }
    }
}
