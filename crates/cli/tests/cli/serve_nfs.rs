//! `ordo serve nfs`: what clients were promised, across kills of the server; handles; hostile bytes; other people's
//! clients.
//!
//! The client here is a socket and the types of `nfs3_types`; libnfs's tools, where they are installed, are the second.

use crate::common::{Scratch, fails, ok, ordo};
use crate::serving::serving;
use nfs3_types::mount::{dirpath, mountres3, mountstat3};
use nfs3_types::nfs3::*;
use nfs3_types::xdr_codec::{Opaque, Pack, Unpack};
use nfs3_types::{mount, nfs3};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A server, killed at the end.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(image: &str, more: &[&str]) -> Server {
        let key = format!("{image}.key");
        let mut all = vec!["serve", "nfs", image, "--listen", "127.0.0.1:0", "--squash", "none", "--key", &key];
        all.extend(more);
        let (child, url) = serving(all);
        let address = url.strip_prefix("nfs://").unwrap().trim_end_matches('/').to_owned();
        Server { child, address }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it as a service manager does.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    fn client(&self) -> Client {
        Client::connect(&self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Two clients that number their calls alike would be one that repeats itself.
static XIDS: AtomicU32 = AtomicU32::new(0);

struct Client {
    stream: TcpStream,
    xid: u32,
    uid: u32,
}

impl Client {
    fn connect(address: &str) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, xid: XIDS.fetch_add(1 << 16, Ordering::Relaxed), uid: 0 }
    }

    fn record(&mut self, program: u32, procedure: u32, args: &impl Pack) -> Vec<u8> {
        self.xid += 1;
        let mut record = vec![0; 4];
        let head = [self.xid, 0, 2, program, 3, procedure, 1, 20, 0, 0, self.uid, self.uid, 0, 0, 0];
        head.iter().for_each(|word| record.extend(word.to_be_bytes()));
        args.pack(&mut record).unwrap();
        let len = (record.len() - 4) as u32 | 1 << 31;
        record[..4].copy_from_slice(&len.to_be_bytes());
        record
    }

    fn reply(&mut self) -> std::io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        let mut reply = vec![0; (u32::from_be_bytes(head) & !(1 << 31)) as usize];
        self.stream.read_exact(&mut reply)?;
        Ok(reply)
    }

    fn call<R: Unpack>(&mut self, procedure: NFS_PROGRAM, args: &impl Pack) -> R {
        let record = self.record(nfs3::PROGRAM, procedure as u32, args);
        self.stream.write_all(&record).unwrap();
        result(&self.reply().unwrap())
    }

    fn root(&mut self) -> nfs_fh3 {
        self.mount(b"/").unwrap()
    }

    fn mount(&mut self, path: &[u8]) -> Result<nfs_fh3, mountstat3> {
        let record = self.record(mount::PROGRAM, 1, &dirpath(Opaque::borrowed(path)));
        self.stream.write_all(&record).unwrap();
        match result::<mountres3<'static>>(&self.reply().unwrap()) {
            mountres3::Ok(found) => Ok(nfs_fh3 { data: Opaque::owned(found.fhandle.0.to_vec()) }),
            mountres3::Err(status) => Err(status),
        }
    }

    fn mkdir(&mut self, dir: &nfs_fh3, name: &[u8], mode: u32) -> nfs_fh3 {
        let attributes = sattr3 { mode: Nfs3Option::Some(mode), ..sattr3::default() };
        let args = MKDIR3args { where_: entry(dir, name), attributes };
        match self.call(NFS_PROGRAM::NFSPROC3_MKDIR, &args) {
            MKDIR3res::Ok(made) => made.obj.unwrap(),
            MKDIR3res::Err((status, _)) => panic!("{status}"),
        }
    }

    fn create(&mut self, dir: &nfs_fh3, name: &[u8]) -> Result<nfs_fh3, nfsstat3> {
        let how = createhow3::GUARDED(sattr3 { mode: Nfs3Option::Some(0o666), ..sattr3::default() });
        match self.call(NFS_PROGRAM::NFSPROC3_CREATE, &CREATE3args { where_: entry(dir, name), how }) {
            CREATE3res::Ok(made) => Ok(made.obj.unwrap()),
            CREATE3res::Err((status, _)) => Err(status),
        }
    }

    fn lookup(&mut self, dir: &nfs_fh3, name: &[u8]) -> Result<nfs_fh3, nfsstat3> {
        match self.call(NFS_PROGRAM::NFSPROC3_LOOKUP, &LOOKUP3args { what: entry(dir, name) }) {
            LOOKUP3res::Ok(found) => Ok(found.object),
            LOOKUP3res::Err((status, _)) => Err(status),
        }
    }

    fn remove(&mut self, dir: &nfs_fh3, name: &[u8]) -> Result<(), nfsstat3> {
        match self.call(NFS_PROGRAM::NFSPROC3_REMOVE, &REMOVE3args { object: entry(dir, name) }) {
            REMOVE3res::Ok(_) => Ok(()),
            REMOVE3res::Err((status, _)) => Err(status),
        }
    }

    fn write(&mut self, file: &nfs_fh3, at: u64, bytes: &[u8], stable: stable_how) -> Result<writeverf3, nfsstat3> {
        let (count, data) = (bytes.len() as u32, Opaque::borrowed(bytes));
        let args = WRITE3args { file: file.clone(), offset: at, count, stable, data };
        match self.call(NFS_PROGRAM::NFSPROC3_WRITE, &args) {
            WRITE3res::Ok(written) => {
                assert_eq!((written.count, written.committed), (count, stable));
                Ok(written.verf)
            }
            WRITE3res::Err((status, _)) => Err(status),
        }
    }

    fn commit(&mut self, file: &nfs_fh3) -> writeverf3 {
        let args = COMMIT3args { file: file.clone(), offset: 0, count: 0 };
        self.call::<COMMIT3res>(NFS_PROGRAM::NFSPROC3_COMMIT, &args).unwrap().verf
    }

    fn read(&mut self, file: &nfs_fh3) -> Result<Vec<u8>, nfsstat3> {
        let mut all = Vec::new();
        loop {
            let args = READ3args { file: file.clone(), offset: all.len() as u64, count: 100_000 };
            match self.call(NFS_PROGRAM::NFSPROC3_READ, &args) {
                READ3res::<'static>::Ok(piece) => {
                    all.extend_from_slice(&piece.data);
                    if piece.eof {
                        return Ok(all);
                    }
                }
                READ3res::Err((status, _)) => return Err(status),
            }
        }
    }

    fn set(&mut self, object: &nfs_fh3, new_attributes: sattr3, guard: sattrguard3) -> Result<(), nfsstat3> {
        let args = SETATTR3args { object: object.clone(), new_attributes, guard };
        match self.call(NFS_PROGRAM::NFSPROC3_SETATTR, &args) {
            SETATTR3res::Ok(_) => Ok(()),
            SETATTR3res::Err((status, _)) => Err(status),
        }
    }

    fn attributes(&mut self, object: &nfs_fh3) -> Result<fattr3, nfsstat3> {
        match self.call(NFS_PROGRAM::NFSPROC3_GETATTR, &GETATTR3args { object: object.clone() }) {
            GETATTR3res::Ok(found) => Ok(found.obj_attributes),
            GETATTR3res::Err((status, _)) => Err(status),
        }
    }

    /// All names of a directory, a few at a time.
    fn names(&mut self, dir: &nfs_fh3) -> Vec<Vec<u8>> {
        let (mut all, mut cookie) = (Vec::new(), 0);
        loop {
            let cookieverf = cookieverf3::default();
            let args = READDIRPLUS3args { dir: dir.clone(), cookie, cookieverf, dircount: 512, maxcount: 1024 };
            let found = self.call::<READDIRPLUS3res<'static>>(NFS_PROGRAM::NFSPROC3_READDIRPLUS, &args).unwrap();
            for entry in &found.reply.entries.0 {
                cookie = entry.cookie;
                all.push(entry.name.as_ref().to_vec());
            }
            if found.reply.eof {
                all.retain(|name| name != b"." && name != b"..");
                return all;
            }
        }
    }
}

fn entry<'a>(dir: &nfs_fh3, name: &'a [u8]) -> diropargs3<'a> {
    diropargs3 { dir: dir.clone(), name: filename3::from(name) }
}

/// The result in a reply, which must be of a procedure that ran.
fn result<R: Unpack>(reply: &[u8]) -> R {
    assert_eq!(reply[4..24], [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let mut rest = &reply[24..];
    let (result, _) = R::unpack(&mut rest).unwrap();
    assert!(rest.is_empty());
    result
}

/// A volume that `scheme` can use; `None`: a log-structured one.
fn volume(scratch: &Scratch, scheme: Option<&str>) -> (String, Vec<&'static str>) {
    let image = scratch.path("v.img");
    match scheme {
        None => ok(ordo(["mkfs", "-q", "--type", "lfs", "--size", "24M", &image])),
        Some(_) => ok(ordo(["mkfs", "-q", "--size", "24M", &image])),
    };
    match scheme {
        Some("wafs") => {
            assert!(ordo(["tune", "-o", "log=on", &image]).status.success());
            (image, vec!["-o", "scheme=wafs"])
        }
        Some("sync") => (image, vec!["-o", "scheme=sync"]),
        _ => (image, vec![]),
    }
}

/// Serves it after a kill; the scheme `sync` wants a check before.
fn restarted(image: &str, options: &[&str]) -> Server {
    if options.contains(&"scheme=sync") {
        // With the maps as the crash has left them it can be read.
        let server = Server::start(image, options);
        let mut client = server.client();
        let root = client.root();
        assert_eq!(client.create(&root, b"no").map(drop), Err(nfsstat3::NFS3ERR_ROFS));
        server.stop();
        assert!(matches!(ordo(["fsck", "-p", image]).status.code(), Some(0 | 1)));
    }
    Server::start(image, options)
}

#[test]
fn what_is_in_a_closed_directory_is_reached_neither_by_a_path_nor_by_a_handle_that_was_made_up() {
    for scheme in [Some("softupdates"), None] {
        let scratch = Scratch::new();
        let (image, options) = volume(&scratch, scheme);
        let server = Server::start(&image, &options);
        let (mut owner, mut other) = (server.client(), server.client());
        other.uid = 1000;
        let root = owner.root();
        let private = owner.mkdir(&root, b"private", 0o700);
        let sub = owner.mkdir(&private, b"sub", 0o755);
        let file = owner.create(&sub, b"file").unwrap();
        owner.write(&file, 0, b"secret", stable_how::FILE_SYNC).unwrap();
        assert!(owner.mount(b"/private/sub").is_ok_and(|handle| handle.data == sub.data));
        assert!(matches!(other.mount(b"/private/sub"), Err(mountstat3::MNT3ERR_ACCES)));
        assert!(
            matches!(other.mount(b"/private/none"), Err(mountstat3::MNT3ERR_ACCES)),
            "which names there are is not said"
        );
        assert!(other.mount(b"/private").is_ok(), "as a LOOKUP would give it");
        assert_eq!(other.lookup(&private, b"sub").map(drop), Err(nfsstat3::NFS3ERR_ACCES));
        // Behind the mark: the volume, the number, the generation.
        let known = other.root().data.to_vec();
        let says = |ino: u64, generation: u32| [&ino.to_be_bytes()[..], &generation.to_be_bytes()].concat();
        for (ino, generation) in (0..300).flat_map(|ino| [1, 2, 3].map(|generation| (ino, generation))) {
            let mut made_up = known.clone();
            made_up[12..24].copy_from_slice(&says(ino, generation));
            let made_up = nfs_fh3 { data: Opaque::owned(made_up) };
            assert!(other.attributes(&made_up).is_err() || made_up.data.to_vec() == known, "{scheme:?}: {ino}");
        }
        // With another key handles are no good, and nobody is told more than that.
        server.stop();
        let server = Server::start(&image, &[&options[..], &["--read-only"]].concat());
        assert_eq!(server.client().read(&file).as_deref(), Ok(&b"secret"[..]), "after a restart it is good");
        drop(server);
        std::fs::remove_file(format!("{image}.key")).unwrap();
        let server = Server::start(&image, &[&options[..], &["--read-only"]].concat());
        assert_eq!(server.client().read(&file), Err(nfsstat3::NFS3ERR_STALE));
    }
}

#[test]
fn what_was_answered_survives_a_kill_and_handles_do_too() {
    for scheme in [Some("softupdates"), Some("sync"), Some("wafs"), None] {
        let scratch = Scratch::new();
        let (image, options) = volume(&scratch, scheme);
        let server = Server::start(&image, &options);
        let mut client = server.client();
        let root = client.root();
        // Each call is the last one before a kill, so none is made durable by the next.
        let file = client.create(&root, b"committed").unwrap();
        client.write(&file, 0, &[7; 100_000], stable_how::UNSTABLE).unwrap();
        let verifier = client.commit(&file);
        server.kill();

        let server = restarted(&image, &options);
        let mut client = server.client();
        let by_name = client.lookup(&root, b"committed");
        assert_eq!(by_name.as_ref(), Ok(&file), "{scheme:?}");
        assert!(client.read(&file).unwrap() == [7; 100_000], "{scheme:?}: by the old handle");
        assert_ne!(client.commit(&file), verifier, "the client must learn of the restart");
        client.write(&file, 0, b"synced", stable_how::FILE_SYNC).unwrap();
        server.kill();

        let server = restarted(&image, &options);
        let mut client = server.client();
        assert_eq!(client.read(&file).unwrap()[..6], *b"synced", "{scheme:?}");
        client.create(&root, &[0xff; 255]).unwrap();
        server.kill();

        let server = restarted(&image, &options);
        let mut client = server.client();
        assert_eq!(client.names(&root).iter().filter(|name| **name == [0xff; 255]).count(), 1, "{scheme:?}");
        client.remove(&root, b"committed").unwrap();
        assert!(client.read(&file) == Err(nfsstat3::NFS3ERR_STALE), "{scheme:?}");
        server.kill();

        let server = restarted(&image, &options);
        let mut client = server.client();
        assert_eq!(client.lookup(&root, b"committed"), Err(nfsstat3::NFS3ERR_NOENT), "{scheme:?}");
        let again = client.create(&root, b"again").unwrap();
        let mode = sattr3 { mode: Nfs3Option::Some(0o640), ..sattr3::default() };
        client.set(&again, mode, Nfs3Option::None).unwrap();
        server.kill();

        let server = restarted(&image, &options);
        assert_eq!(server.client().attributes(&again).unwrap().mode, 0o640, "{scheme:?}");
        server.stop();
        // A server that ends before the scan for lost blocks does leaves an unclean volume, and preening is enough.
        let clean = !ok(ordo(["info", &image])).contains("clean       no");
        let preened = ordo(["fsck", "-p", &image]);
        assert!(preened.status.success() || (!clean && preened.status.code() == Some(1)), "{scheme:?}: {preened:?}");
        ok(ordo(["fsck", "-n", &image]));
    }
}

#[test]
fn random_writes_and_cuts_are_those_of_a_model_across_kills() {
    let mut random = 88_172_645_463_325_252_u64;
    let mut below = move |limit: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % limit
    };
    for scheme in [Some("softupdates"), Some("wafs"), None] {
        let scratch = Scratch::new();
        let (image, options) = volume(&scratch, scheme);
        let mut server = Server::start(&image, &options);
        let mut client = server.client();
        let root = client.root();
        let file = client.create(&root, b"fsx").unwrap();
        let (mut model, mut unstable, mut verifier) =
            (Vec::<u8>::new(), Vec::<(u64, Vec<u8>)>::new(), client.commit(&file));
        for step in 0..300 {
            match below(12) {
                0 => {
                    let size = below(300_000);
                    let cut = sattr3 { size: Nfs3Option::Some(size), ..sattr3::default() };
                    client.set(&file, cut, Nfs3Option::None).unwrap();
                    model.resize(size as usize, 0);
                    // Durable with all that came before it.
                    unstable.clear();
                }
                1 => {
                    assert_eq!(client.commit(&file), verifier);
                    unstable.clear();
                }
                2 if step % 3 == 0 => {
                    server.kill();
                    server = Server::start(&image, &options);
                    client = server.client();
                    let now = client.commit(&file);
                    assert_ne!(now, verifier);
                    verifier = now;
                    // As a client does that sees another verifier.
                    for (at, bytes) in unstable.drain(..) {
                        client.write(&file, at, &bytes, stable_how::FILE_SYNC).unwrap();
                    }
                    assert!(client.read(&file).unwrap() == model, "{scheme:?}: step {step}, after a kill");
                }
                3 => assert!(client.read(&file).unwrap() == model, "{scheme:?}: step {step}"),
                how => {
                    let (at, bytes) = (below(300_000), vec![step as u8; 1 + below(40_000) as usize]);
                    let stable = [stable_how::UNSTABLE, stable_how::DATA_SYNC, stable_how::FILE_SYNC];
                    let stable = stable[(how as usize).saturating_sub(9)];
                    assert_eq!(client.write(&file, at, &bytes, stable), Ok(verifier));
                    let end = at as usize + bytes.len();
                    model.resize(model.len().max(end), 0);
                    model[at as usize..end].copy_from_slice(&bytes);
                    match stable {
                        stable_how::UNSTABLE => unstable.push((at, bytes)),
                        _ => unstable.clear(),
                    }
                }
            }
        }
        assert!(client.read(&file).unwrap() == model);
        server.stop();
        ok(ordo(["fsck", "-n", &image]));
    }
}

#[test]
fn a_call_that_comes_again_on_another_connection_is_answered_as_before() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.volume(), &[]);
    let mut client = server.client();
    let root = client.root();
    client.create(&root, b"once").unwrap();
    let args = REMOVE3args { object: entry(&root, b"once") };
    let record = client.record(nfs3::PROGRAM, NFS_PROGRAM::NFSPROC3_REMOVE as u32, &args);
    let mut replies = Vec::new();
    for _ in 0..3 {
        let mut again = server.client();
        again.stream.write_all(&record).unwrap();
        replies.push(again.reply().unwrap());
    }
    assert!(matches!(result(&replies[0]), REMOVE3res::Ok(_)));
    assert!(replies.iter().all(|reply| *reply == replies[0]));
    assert_eq!(client.remove(&root, b"once"), Err(nfsstat3::NFS3ERR_NOENT), "a new call is made");
}

#[test]
fn names_guards_and_callers_are_those_of_the_protocol() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.volume(), &[]);
    let (mut one, mut two) = (server.client(), server.client());
    let root = one.root();
    // Two clients see each other's files at once.
    let file = one.create(&root, b"shared").unwrap();
    two.write(&file, 0, b"from two", stable_how::UNSTABLE).unwrap();
    assert_eq!(one.read(&file).unwrap(), b"from two");
    assert_eq!(two.create(&root, b"shared").map(drop), Err(nfsstat3::NFS3ERR_EXIST));
    // An exclusive create that comes again is the same file; with another verifier it is not.
    let exclusive = |client: &mut Client, verifier: u8| -> CREATE3res {
        let how = createhow3::EXCLUSIVE(createverf3([verifier; 8]));
        let args = CREATE3args { where_: entry(&root, b"exclusive"), how };
        client.call(NFS_PROGRAM::NFSPROC3_CREATE, &args)
    };
    let first = exclusive(&mut one, 9).unwrap().obj.unwrap();
    assert_eq!(exclusive(&mut two, 9).unwrap().obj.unwrap(), first);
    assert!(matches!(exclusive(&mut two, 8), CREATE3res::Err((nfsstat3::NFS3ERR_EXIST, _))));
    // A guard that is not the file's time refuses.
    let mode = || sattr3 { mode: Nfs3Option::Some(0o600), ..sattr3::default() };
    let ctime = one.attributes(&file).unwrap().ctime;
    let wrong = nfstime3 { seconds: 1, nseconds: 1 };
    assert_eq!(one.set(&file, mode(), Nfs3Option::Some(wrong)), Err(nfsstat3::NFS3ERR_NOT_SYNC));
    assert_eq!(one.set(&file, mode(), Nfs3Option::Some(ctime)), Ok(()));
    // Somebody else.
    two.uid = 1000;
    assert_eq!(two.read(&file), Err(nfsstat3::NFS3ERR_ACCES));
    assert_eq!(two.create(&root, b"mine").map(drop), Err(nfsstat3::NFS3ERR_ACCES));
    assert_eq!(two.set(&file, mode(), Nfs3Option::None), Err(nfsstat3::NFS3ERR_PERM));
    // Names that cannot be, and cookies that no directory has.
    assert_eq!(one.create(&root, &[b'x'; 256]).map(drop), Err(nfsstat3::NFS3ERR_NAMETOOLONG));
    assert_eq!(one.create(&root, b"a/b").map(drop), Err(nfsstat3::NFS3ERR_INVAL));
    let args = READDIR3args { dir: root.clone(), cookie: u64::MAX, cookieverf: cookieverf3::default(), count: 4096 };
    let refused: READDIR3res<'static> = one.call(NFS_PROGRAM::NFSPROC3_READDIR, &args);
    assert!(matches!(refused, READDIR3res::Err((nfsstat3::NFS3ERR_BAD_COOKIE, _))));
    assert_eq!(one.write(&file, u64::MAX - 2, b"far", stable_how::UNSTABLE), Err(nfsstat3::NFS3ERR_FBIG));
    let garbled = nfs_fh3 { data: Opaque::owned(vec![1; 24]) };
    assert_eq!(one.attributes(&garbled).map(drop), Err(nfsstat3::NFS3ERR_BADHANDLE));
    // What is made while a listing goes on does not disturb it.
    for i in 0..100 {
        one.create(&root, format!("many{i}").as_bytes()).unwrap();
    }
    assert_eq!(one.names(&root).len(), 103, "with .snap");
    // A client may have room for as many bytes as it says, and not for one more.
    for count in 108..700 {
        let (cookie, cookieverf) = (0, cookieverf3::default());
        let args = READDIR3args { dir: root.clone(), cookie, cookieverf, count };
        let listed: READDIR3res<'static> = one.call(NFS_PROGRAM::NFSPROC3_READDIR, &args);
        assert!(!matches!(listed, READDIR3res::Ok(found) if found.packed_size() > count as usize), "{count}");
        let args = READDIRPLUS3args { dir: root.clone(), cookie, cookieverf, dircount: count, maxcount: count };
        let listed: READDIRPLUS3res<'static> = one.call(NFS_PROGRAM::NFSPROC3_READDIRPLUS, &args);
        assert!(!matches!(listed, READDIRPLUS3res::Ok(found) if found.packed_size() > count as usize), "{count}");
    }
    server.stop();
}

#[test]
fn a_handle_is_of_its_volume_also_where_volumes_have_no_number() {
    let scratch = Scratch::new();
    let [one, other] = ["one.img", "other.img"].map(|name| {
        let image = scratch.path(name);
        ok(ordo(["mkfs", "-q", "--type", "lfs", "--lfs-version", "1", "--size", "24M", &image]));
        image
    });
    let server = Server::start(&one, &[]);
    let mut client = server.client();
    let root = client.root();
    let file = client.create(&root, b"file").unwrap();
    server.stop();
    let server = Server::start(&other, &[]);
    let mut client = server.client();
    let others = client.root();
    client.create(&others, b"other").unwrap();
    assert_eq!(client.write(&file, 0, b"x", stable_how::FILE_SYNC).map(drop), Err(nfsstat3::NFS3ERR_STALE));
    assert_eq!(client.attributes(&root).map(drop), Err(nfsstat3::NFS3ERR_STALE));
    server.stop();
    let server = Server::start(&one, &[]);
    assert_eq!(server.client().write(&file, 0, b"x", stable_how::FILE_SYNC).map(drop), Ok(()));
    server.stop();
    // A volume that says that it is another one is not believed, though the same secret is used for both.
    let (image, twin) = (scratch.volume(), scratch.path("twin.img"));
    std::fs::copy(&image, &twin).unwrap();
    let server = Server::start(&image, &[]);
    std::os::unix::fs::symlink(format!("{image}.key"), format!("{twin}.key")).unwrap();
    let twins = Server::start(&twin, &[]);
    let root = twins.client().root();
    assert!(twins.client().attributes(&root).is_ok());
    assert_eq!(server.client().attributes(&root).map(drop), Err(nfsstat3::NFS3ERR_STALE));
    server.stop();
    twins.stop();
    std::fs::remove_file(&image).unwrap();
    // A snapshot has the inodes of its volume, and other contents.
    let image = scratch.volume();
    ok(ordo(["snapshot", &format!("{image}:/.snap/then")]));
    let server = Server::start(&image, &["--snapshot", "then"]);
    let then = server.client().root();
    server.stop();
    let server = Server::start(&image, &[]);
    assert_eq!(server.client().attributes(&then).map(drop), Err(nfsstat3::NFS3ERR_STALE));
    server.stop();
    let server = Server::start(&image, &["--snapshot", "then"]);
    assert!(server.client().attributes(&then).is_ok());
    server.stop();
}

#[test]
fn a_full_volume_says_so_and_serves_on() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.volume(), &[]);
    let mut client = server.client();
    let root = client.root();
    let file = client.create(&root, b"big").unwrap();
    // As much as there is at once, so that no write is cut short.
    let piece = [1; 4096];
    let full = (0..8192_u64).find_map(|n| client.write(&file, n * 4096, &piece, stable_how::UNSTABLE).err());
    assert_eq!(full, Some(nfsstat3::NFS3ERR_NOSPC));
    client.remove(&root, b"big").unwrap();
    let file = client.create(&root, b"small").unwrap();
    client.write(&file, 0, &piece, stable_how::FILE_SYNC).unwrap();
    server.stop();
}

#[test]
fn bytes_that_mean_ill_end_their_connection_and_nothing_else() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.volume(), &[]);
    let mut friend = server.client();
    let root = friend.root();
    let hostile: [Vec<u8>; 4] = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0x7f, 0xff, 0xff, 0xff],
        vec![0; 1 << 16],
        [&[0x80, 0, 0, 4][..], &[1, 2, 3, 4]].concat(),
    ];
    for bytes in hostile {
        let mut client = server.client();
        let _ = client.stream.write_all(&bytes);
        assert!(client.reply().is_err(), "{:?}", &bytes[..4]);
    }
    // A length that is not there, in arguments: refused, and the connection goes on.
    let mut client = server.client();
    let record = client.record(nfs3::PROGRAM, 1, &u32::MAX);
    client.stream.write_all(&record).unwrap();
    assert_eq!(client.reply().unwrap()[20..24], [0, 0, 0, 4], "GARBAGE_ARGS");
    assert!(client.attributes(&root).is_ok());
    // More connections than there may be, and none of them does anything.
    let idle: Vec<Client> = (0..80).map(|_| server.client()).collect();
    assert!(server.client().attributes(&root).is_ok());
    drop(idle);
    server.stop();
}

#[test]
fn an_export_for_reading_is_not_written() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let before = std::fs::read(&image).unwrap();
    let server = Server::start(&image, &["--read-only"]);
    let mut client = server.client();
    let root = client.root();
    assert_eq!(client.create(&root, b"new").map(drop), Err(nfsstat3::NFS3ERR_ROFS));
    let mode = sattr3 { mode: Nfs3Option::Some(0o777), ..sattr3::default() };
    assert_eq!(client.set(&root, mode, Nfs3Option::None), Err(nfsstat3::NFS3ERR_ROFS));
    server.stop();
    assert!(std::fs::read(&image).unwrap() == before);
    let said = fails(3, ordo(["serve", "nfs", &image, "--listen", "nowhere"]));
    assert!(said.contains("cannot listen"), "{said}");
}

#[test]
fn the_tools_of_libnfs_work() {
    if Command::new("nfs-ls").arg("-h").output().is_err() {
        eprintln!("no libnfs-utils: skipped");
        return;
    }
    let scratch = Scratch::new();
    let server = Server::start(&scratch.volume(), &[]);
    let (host, port) = server.address.split_once(':').unwrap();
    let url = |path: &str| format!("nfs://{host}//{path}?nfsport={port}&mountport={port}&version=3");
    let from = scratch.path("from");
    std::fs::write(&from, vec![5; 3_000_000]).unwrap();
    let run = |tool: &str, args: &[String]| {
        let output = Command::new(tool).args(args).output().unwrap();
        assert!(output.status.success(), "{tool} {args:?}: {output:?}");
        output.stdout
    };
    run("nfs-cp", &[from, url("copy")]);
    assert!(run("nfs-cat", &[url("copy")]) == vec![5; 3_000_000]);
    assert!(String::from_utf8(run("nfs-ls", &[url("")])).unwrap().contains("copy"));
    server.stop();
}
