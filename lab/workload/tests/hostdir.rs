//! A directory of the host as a file system: nodes outlive their names, and descriptors are few.

use ordo_hostdir::HostDir;
use ordo_model::ready;
use ordo_vfs::{FileSystem, Name, RenameMode};
use ordo_workload::Session;

#[test]
fn a_file_stays_readable_after_its_last_name_went_by_unlink_or_rename() {
    let dir = tempfile::tempdir().unwrap();
    let fs = HostDir::open(dir.path()).unwrap();
    let session = Session::new(&fs);
    ready(async {
        for path in ["a", "b", "c"] {
            session.write_file(path, path.as_bytes()).await.unwrap();
        }
        let (a, b) = (session.resolve("a").await.unwrap(), session.resolve("b").await.unwrap());
        let root = fs.root();
        let name = |name: &'static str| Name::new(name.as_bytes()).unwrap();
        fs.unlink(root, name("a")).await.unwrap();
        fs.rename(root, name("c"), root, name("b"), RenameMode::Replace).await.unwrap();
        assert_eq!(session.read_at(&a, 0, 9).await.unwrap(), b"a");
        assert_eq!(session.read_at(&b, 0, 9).await.unwrap(), b"b");
        assert_eq!(fs.getattr(b.node()).await.unwrap().nlink, 0);
        assert_eq!(session.read_file("b").await.unwrap(), b"c");
    });
    assert_eq!(fs.held(), 1, "only the root is left");
}

#[test]
fn a_thousand_held_files_do_not_exhaust_descriptors() {
    let dir = tempfile::tempdir().unwrap();
    let fs = HostDir::open(dir.path()).unwrap();
    let session = Session::new(&fs);
    ready(async {
        let mut held = Vec::new();
        for n in 0..3 * ordo_hostdir::MAX_OPEN {
            let path = format!("{n}");
            session.write_file(&path, path.as_bytes()).await.unwrap();
            let file = session.resolve(&path).await.unwrap();
            session.read_at(&file, 0, 1).await.unwrap();
            held.push(file);
        }
        for (n, file) in held.iter().enumerate() {
            assert_eq!(session.read_at(file, 0, 99).await.unwrap(), n.to_string().as_bytes());
        }
    });
    assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() < 2 * ordo_hostdir::MAX_OPEN);
    assert_eq!(fs.held(), 1);
}

#[test]
fn a_moved_directory_is_the_same_node_and_knows_its_new_parent() {
    let dir = tempfile::tempdir().unwrap();
    let fs = HostDir::open(dir.path()).unwrap();
    let session = Session::new(&fs);
    ready(async {
        let a = session.mkdir_all("x/a").await.unwrap();
        let y = session.mkdir_all("y").await.unwrap();
        let x = session.resolve("x").await.unwrap();
        let name = Name::new(b"a").unwrap();
        fs.rename(x.node(), name, y.node(), name, RenameMode::NoReplace).await.unwrap();
        assert_eq!(session.resolve("y/a").await.unwrap().node(), a.node());
        let up = session.lookup(&a, Name::new(b"..").unwrap()).await.unwrap();
        assert_eq!(up.node(), y.node());
        let root = session.root().await.unwrap();
        assert_eq!(session.lookup(&root, Name::new(b"..").unwrap()).await.unwrap().node(), fs.root());
    });
}
