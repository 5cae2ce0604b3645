//! Paths in a tree: where links lead, and that nothing stays looked up.

use ordo_model::{MemFs, ready};
use ordofs::path::{parent, resolve};
use ordofs::vfs::{Caller, Error, FileSystem, Kind, Mode, Name, Refusal};
use std::rc::Rc;

fn volume() -> Rc<MemFs> {
    let fs = Rc::new(MemFs::timeless());
    let (who, name) = (Caller::default(), |text: &'static str| Name::new(text.as_bytes()).unwrap());
    ready(async {
        let dir = fs.mkdir(&who, fs.root(), name("dir"), Mode::new(0o755)).await.unwrap();
        let file = fs.mknod(&who, dir.node, name("file"), Kind::Regular, Mode::new(0o644), 0).await.unwrap();
        fs.forget(file.node, 1);
        for (link, target) in [("out", "/../../dir/file"), ("loop", "loop"), ("up", "../dir")] {
            let link = fs.symlink(&who, dir.node, name(link), target.as_bytes()).await.unwrap();
            fs.forget(link.node, 1);
        }
        fs.forget(dir.node, 1);
    });
    fs
}

#[test]
fn links_are_followed_and_never_lead_out() {
    let fs = volume();
    ready(async {
        let kind = async |path: &str, follow| resolve(&fs, path.as_bytes(), follow).await.map(|h| h.attr().kind);
        assert_eq!(kind("/dir/out", true).await.unwrap(), Kind::Regular);
        assert_eq!(kind("/dir/out", false).await.unwrap(), Kind::Symlink);
        assert_eq!(kind("../../dir/up/up//./file", true).await.unwrap(), Kind::Regular);
        assert_eq!(kind("/", true).await.unwrap(), Kind::Directory);
        let looped = kind("/dir/loop", true).await;
        assert!(matches!(looped, Err(Error::Refused(Refusal::Loop))), "{looped:?}");
        assert!(kind("/dir/file/.", true).await.is_err());
        assert!(kind("/none", true).await.is_err());
    });
    assert_eq!(fs.lookups(), 0);
}

#[test]
fn the_last_name_is_split_off_and_dots_are_none() {
    let fs = volume();
    ready(async {
        let (dir, name) = parent(&fs, b"/dir/new//").await.unwrap();
        assert_eq!((name.bytes(), dir.names().await.0.len()), (&b"new"[..], 4));
        for path in ["/", "", "/dir/..", "."] {
            assert!(parent(&fs, path.as_bytes()).await.is_err(), "{path}");
        }
    });
}
