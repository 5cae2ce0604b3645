//! Tests without a counterpart on a host: limits, other callers, flags that Linux lacks, stale nodes.

use ordo_model::{MemFs, Options, flags, ready};
use ordo_vfs::{
    Caller, Entry, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Result, SetAttr,
    Stamp, XattrMode,
};

const ROOT_USER: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };

fn limited(options: Options) -> MemFs {
    MemFs::new(options, Stamp::default)
}

fn name(text: &str) -> Name<'_> {
    Name::new(text.as_bytes()).unwrap()
}

fn create(fs: &MemFs, who: &Caller, dir: NodeId, text: &str, mode: u32) -> Result<Entry> {
    ready(fs.mknod(who, dir, name(text), Kind::Regular, Mode::new(mode), 0))
}

fn refused<T: std::fmt::Debug>(result: Result<T>, wanted: Refusal) {
    assert!(matches!(result, Err(Error::Refused(refusal)) if refusal == wanted), "{result:?}, wanted {wanted:?}");
}

fn set_flags(fs: &MemFs, node: NodeId, flags: u32) {
    ready(fs.setattr(node, &SetAttr { flags: Some(flags), ..SetAttr::default() })).unwrap();
}

#[test]
fn umask_and_set_group_id_directories_decide_owner_and_mode() {
    let fs = MemFs::timeless();
    let who = Caller { uid: 7, gid: 8, umask: 0o027, privileged: false };
    let plain = create(&fs, &who, fs.root(), "plain", 0o666).unwrap().attr;
    assert_eq!((plain.uid, plain.gid, plain.mode.bits()), (7, 8, 0o640));
    let shared = ready(fs.mkdir(&ROOT_USER, fs.root(), name("shared"), Mode::new(0o777))).unwrap();
    let set = SetAttr { mode: Some(Mode::new(0o2777)), gid: Some(100), ..SetAttr::default() };
    ready(fs.setattr(shared.node, &set)).unwrap();
    let file = create(&fs, &who, shared.node, "file", 0o666).unwrap().attr;
    assert_eq!((file.uid, file.gid, file.mode.bits()), (7, 100, 0o640));
    let dir = ready(fs.mkdir(&who, shared.node, name("dir"), Mode::new(0o777))).unwrap().attr;
    assert_eq!((dir.uid, dir.gid, dir.mode.bits()), (7, 100, 0o2750));
}

#[test]
fn a_default_list_takes_the_place_of_the_umask() {
    let fs = MemFs::timeless();
    let entry = |tag: u8, perm: u8, id: u8| [tag, 0, perm, 0, id, 0, 0, 0];
    let entries = [entry(1, 7, 0), entry(2, 6, 9), entry(4, 7, 0), entry(0x10, 7, 0), entry(0x20, 5, 0)];
    let acl = [vec![2, 0, 0, 0], entries.concat()].concat();
    let default = b"system.posix_acl_default";
    ready(fs.setxattr(&ROOT_USER, fs.root(), default, &acl, XattrMode::Set)).unwrap();
    let who = Caller { umask: 0o077, ..ROOT_USER };
    let file = create(&fs, &who, fs.root(), "file", 0o664).unwrap();
    assert_eq!(file.attr.mode.bits(), 0o664);
    assert_eq!(ready(fs.listxattr(file.node)).unwrap(), [b"system.posix_acl_access".to_vec()]);
    let dir = ready(fs.mkdir(&who, fs.root(), name("dir"), Mode::new(0o700))).unwrap();
    assert_eq!(ready(fs.getxattr(dir.node, default)).unwrap(), acl);
}

#[test]
fn a_full_volume_refuses_and_changes_nothing() {
    let fs = limited(Options { blocks: 4, inodes: 3, ..Options::default() });
    let file = create(&fs, &ROOT_USER, fs.root(), "a", 0o644).unwrap().node;
    ready(fs.write(&ROOT_USER, file, 0, &[1; 3 * 4096])).unwrap();
    refused(ready(fs.write(&ROOT_USER, file, 3 * 4096, &[1; 4097])), Refusal::NoSpace);
    let allocate = FallocMode::Allocate { keep_size: false };
    refused(ready(fs.fallocate(&ROOT_USER, file, 0, 1 << 40, allocate)), Refusal::NoSpace);
    assert_eq!(ready(fs.getattr(file)).unwrap().size, 3 * 4096);
    assert_eq!(ready(fs.statfs()).unwrap().free_frags, 1);
    create(&fs, &ROOT_USER, fs.root(), "b", 0o644).unwrap();
    refused(create(&fs, &ROOT_USER, fs.root(), "c", 0o644), Refusal::NoInodes);
    ready(fs.unlink(fs.root(), name("a"))).unwrap();
    assert_eq!(ready(fs.statfs()).unwrap().free_frags, 1, "still looked up");
    fs.forget(file, 1);
    assert_eq!(ready(fs.statfs()).unwrap().free_frags, 4);
    refused(ready(fs.getattr(file)), Refusal::Stale);
    let again = create(&fs, &ROOT_USER, fs.root(), "c", 0o644).unwrap();
    assert_eq!(again.attr.ino, file.0 & 0xffff_ffff, "the number is used again");
    refused(ready(fs.getattr(file)), Refusal::Stale);
}

#[test]
fn links_and_subdirectories_stop_at_the_limit() {
    let fs = limited(Options { link_max: 3, ..Options::default() });
    let root = fs.root();
    let file = create(&fs, &ROOT_USER, root, "a", 0o644).unwrap().node;
    ready(fs.link(file, root, name("b"))).unwrap();
    ready(fs.link(file, root, name("c"))).unwrap();
    refused(ready(fs.link(file, root, name("e"))), Refusal::TooManyLinks);
    let dir = ready(fs.mkdir(&ROOT_USER, root, name("d"), Mode::new(0o755))).unwrap().node;
    refused(ready(fs.mkdir(&ROOT_USER, root, name("e"), Mode::new(0o755))), Refusal::TooManyLinks);
    ready(fs.mkdir(&ROOT_USER, dir, name("sub"), Mode::new(0o755))).unwrap();
    refused(ready(fs.rename(dir, name("sub"), root, name("e"), RenameMode::Replace)), Refusal::TooManyLinks);
    refused(ready(fs.rename(dir, name("sub"), root, name("a"), RenameMode::Exchange)), Refusal::TooManyLinks);
}

#[test]
fn files_end_at_the_longest_length() {
    let fs = limited(Options { max_file_size: 10_000, ..Options::default() });
    let file = create(&fs, &ROOT_USER, fs.root(), "a", 0o644).unwrap().node;
    let resize = |size| ready(fs.setattr(file, &SetAttr { size: Some(size), ..SetAttr::default() }));
    refused(ready(fs.write(&ROOT_USER, file, 9_999, b"xy")), Refusal::TooBig);
    refused(ready(fs.write(&ROOT_USER, file, u64::MAX, b"x")), Refusal::TooBig);
    refused(resize(10_001), Refusal::TooBig);
    assert_eq!(resize(10_000).unwrap().size, 10_000);
    assert_eq!(ready(fs.read(file, 9_990, 100)).unwrap().concat(), [0; 10]);
}

#[test]
fn flags_of_either_owner_forbid_what_they_say() {
    let fs = MemFs::timeless();
    let root = fs.root();
    let file = create(&fs, &ROOT_USER, root, "a", 0o644).unwrap().node;
    for append in [flags::UF_APPEND, flags::SF_APPEND] {
        set_flags(&fs, file, append);
        let size = ready(fs.getattr(file)).unwrap().size;
        ready(fs.write(&ROOT_USER, file, size, b"xy")).unwrap();
        refused(ready(fs.write(&ROOT_USER, file, size, b"x")), Refusal::NotPermitted);
        refused(ready(fs.unlink(root, name("a"))), Refusal::NotPermitted);
    }
    for immutable in [flags::UF_IMMUTABLE, flags::SF_IMMUTABLE] {
        set_flags(&fs, file, immutable);
        refused(ready(fs.write(&ROOT_USER, file, 4, b"x")), Refusal::NotPermitted);
        refused(ready(fs.link(file, root, name("b"))), Refusal::NotPermitted);
    }
    for nounlink in [flags::UF_NOUNLINK, flags::SF_NOUNLINK] {
        set_flags(&fs, file, nounlink);
        ready(fs.write(&ROOT_USER, file, 0, b"x")).unwrap();
        refused(ready(fs.unlink(root, name("a"))), Refusal::NotPermitted);
        refused(ready(fs.rename(root, name("a"), root, name("b"), RenameMode::Replace)), Refusal::NotPermitted);
    }
    set_flags(&fs, file, flags::UF_NODUMP);
    ready(fs.unlink(root, name("a"))).unwrap();
}

#[test]
fn a_file_without_names_gets_one_only_if_it_was_made_so() {
    let fs = MemFs::timeless();
    let root = fs.root();
    let file = ready(fs.tmpfile(&ROOT_USER, root, Mode::new(0o600))).unwrap();
    assert_eq!(file.attr.nlink, 0);
    assert_eq!(ready(fs.link(file.node, root, name("a"))).unwrap().attr.nlink, 1);
    ready(fs.unlink(root, name("a"))).unwrap();
    refused(ready(fs.link(file.node, root, name("b"))), Refusal::NotFound);
    fs.forget(file.node, 2);
    refused(ready(fs.getattr(file.node)), Refusal::Stale);
    assert_eq!(fs.lookups(), 0);
}

#[test]
fn a_removed_directory_that_is_held_is_empty_and_takes_nothing() {
    let fs = MemFs::timeless();
    let dir = ready(fs.mkdir(&ROOT_USER, fs.root(), name("d"), Mode::new(0o755))).unwrap().node;
    ready(fs.rmdir(fs.root(), name("d"))).unwrap();
    refused(create(&fs, &ROOT_USER, dir, "a", 0o644), Refusal::NotFound);
    refused(ready(fs.lookup(dir, name(".."))), Refusal::NotFound);
    let mut entries = 0;
    ready(fs.readdir(dir, 0, &mut |_| {
        entries += 1;
        true
    }))
    .unwrap();
    assert_eq!((entries, ready(fs.getattr(dir)).unwrap().nlink), (0, 0));
}

#[test]
fn times_come_from_the_clock_that_was_given() {
    let clock = std::rc::Rc::new(std::cell::Cell::new(-5));
    let hands = clock.clone();
    let fs = MemFs::new(Options::default(), move || Stamp { secs: hands.get(), nanos: 1 });
    let file = create(&fs, &ROOT_USER, fs.root(), "a", 0o644).unwrap();
    assert_eq!(file.attr.birth.map(|birth| birth.secs), Some(-5));
    clock.set(1 << 40);
    ready(fs.write(&ROOT_USER, file.node, 0, b"x")).unwrap();
    let attr = ready(fs.getattr(file.node)).unwrap();
    assert_eq!((attr.mtime.secs, attr.ctime.secs, attr.atime.secs), (1 << 40, 1 << 40, -5));
}
