//! What a repair may change in a tree: it removes what leaked, and nothing else.

use super::*;

fn file(kind: Kind, contents: &[u8], names: &[(&[u8], FileId)]) -> File {
    File {
        kind: (kind, 0),
        mode: 0o644,
        owner: (0, 0),
        flags: 0,
        nlink: 1,
        size: contents.len() as u64,
        sectors: 8,
        contents: Rc::new(vec![(0, Bytes::copy_from_slice(contents))]),
        xattrs: BTreeMap::new(),
        names: names.iter().map(|(name, id)| (name.to_vec(), *id)).collect(),
    }
}

const fn id(ino: u64) -> FileId {
    FileId { ino, generation: 1 }
}

/// `/a` is a file, `/d` a directory, which has a second name within itself or not.
fn tree(contents: &[u8], second_name: bool) -> Tree {
    let root = file(Kind::Directory, &[], &[(b"a", id(3)), (b"d", id(4)), (b"e", id(5))]);
    let names: &[(&[u8], FileId)] = &[(b"f", id(5))];
    let dir = file(Kind::Directory, &[], if second_name { names } else { &[] });
    let files = [(id(2), root), (id(3), file(Kind::Regular, contents, &[])), (id(4), dir)];
    let last = (id(5), file(Kind::Directory, &[], &[]));
    Tree { root: id(2), files: files.into_iter().chain([last]).collect(), nameless: BTreeMap::new() }
}

#[test]
fn a_repair_may_take_what_leaks() {
    let mut mounted = tree(b"bytes\0\0\0", true);
    for file in mounted.files.values_mut() {
        (file.nlink, file.sectors) = (file.nlink + 1, file.sectors + 8);
    }
    assert!(mounted.leaks_into(&mounted));
    assert!(mounted.leaks_into(&tree(b"bytes", true)));
}

#[test]
fn a_repair_may_take_nothing_else() {
    let mounted = tree(b"bytes", false);
    assert!(!mounted.leaks_into(&tree(b"byte", false)), "a byte");
    assert!(!mounted.leaks_into(&tree(b"other", false)), "other bytes");
    assert!(!mounted.leaks_into(&tree(b"bytes\0", false)), "a longer file");
    assert!(!mounted.leaks_into(&tree(b"bytes", true)), "a name that was not there");
    assert!(!tree(b"bytes", true).leaks_into(&mounted), "one of two names of a directory");
    let mut without = mounted.clone();
    without.files.get_mut(&id(2)).unwrap().names.remove(b"a".as_slice());
    assert!(!mounted.leaks_into(&without), "the name of a file");
    without.files.remove(&id(3));
    assert!(!mounted.leaks_into(&without), "a file");
}
