//! `ordo serve nfs`

use super::ending::Ending;
use super::key;
use super::mounting::{wanted, while_mounted};
use super::ready::ready;
use crate::image::ImageArg;
use crate::messages::Messages;
use crate::out::{Outcome, print};
use anyhow::Context;
use ordo_nfs::{Address, Identity, Listener, Names, Options, Squash};
use ordo_vfs::FileSystem as _;
use ordofs::rt::Rt;
use ordofs::{CrashLeaves, Durable, ImageSpec, Mounted, Weight};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

const HELP: &str = "\
The volume is mounted by the server, under any scheme (-o scheme=NAME), and clients mount it from there: no kernel \
extension is needed on macOS or Windows. The commands for that are printed when it serves. No portmapper is needed \
where the port can be named; Windows cannot, and asks at port 111: --listen 127.0.0.1:111.

What a client has been told is stable is durable: WRITE with DATA_SYNC or FILE_SYNC, COMMIT (close and fsync of a \
program), and each call that changes names or attributes. --async-names gives up the last: such a call is then answered \
at once, and a crash of the server within the next seconds takes it back. Clients do not notice, and do not repeat it.

Who a caller is, he says himself (AUTH_SYS). Only root must prove it: by default he is believed where his connection \
comes from a port below 1024, and is nobody elsewhere. Everybody who reaches the address may claim to be any other \
user, so listen on 127.0.0.1, the default, and go through a tunnel from other machines.

A file handle can be guessed by nobody: it is sealed with a secret, by default in /var/lib/ordo/nfs.key for root and in \
~/.local/state/ordo/nfs.key for others. Handles are good after a restart as long as the server finds the same secret, \
and the image at the same path.

Locks (NLM) are not served: the client keeps them to itself (nolock, nolocks). docs/nfs.md says more.

Examples:
  ordo serve nfs disk.img
  ordo serve nfs disk.img@p2 --listen 127.0.0.1:0 --read-only
  ordo serve nfs disk.img --squash all --as 501:20      every file is this user's business
  ordo serve nfs disk.img -o scheme=wafs,logmode=group";

/// Serves a volume to NFS clients (NFSv3): to Linux, macOS and Windows without a kernel extension
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// Listen at this address; port 0 takes one that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:2049")]
    listen: String,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Whose claim to be root is not believed: those from ports of 1024 and above, nobody's, everybody's; or all
    /// callers are one user
    #[arg(long, value_name = "WHOSE", value_enum, default_value_t = Whose::Ports)]
    squash: Whose,
    /// The user and group for whom calls are made that are not believed
    #[arg(long = "as", value_name = "UID:GID", value_parser = identity, default_value = "65534:65534")]
    squashed: Identity,
    /// Answer calls that change names or attributes before the change is durable
    #[arg(long)]
    async_names: bool,
    /// The secret that seals file handles; made if it is missing, for this user alone
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Options of the mount, between commas: see ordo mount
    #[arg(short, long = "options", value_name = "OPTION,...")]
    options: Vec<OsString>,
}

/// See [`Squash`].
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Whose {
    /// Root is believed where the connection comes from a port below 1024
    Ports,
    /// Every caller is believed
    None,
    /// Root is never believed
    Root,
    /// Every call is made for the user of --as
    All,
}

fn identity(text: &str) -> Result<Identity, String> {
    let numbers = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
    let (uid, gid) = numbers.ok_or("a user and a group, as numbers: 501:20")?;
    Ok(Identity { uid, gid })
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    // Before anything is opened: a signal in between would leave a volume marked as in use.
    let ending = Ending::by_signals()?;
    let listener = Listener::bind(&Address::Tcp(args.listen.clone())).with_context(|| {
        format!("cannot listen at {}; with --listen 127.0.0.1:0 the system chooses a port that is free", args.listen)
    })?;
    let spec = args.image.spec()?;
    let wanted = wanted(&spec, &args.options)?;
    let acls = wanted.acl;
    while_mounted(&spec, wanted.volume, args.read_only, |rt, mounted| {
        serve(args, rt, &spec, mounted, acls, listener, &ending)
    })
}

/// Serves until the end.
fn serve(
    args: &Args,
    rt: &Rt,
    spec: &ImageSpec,
    mounted: &Mounted,
    acls: bool,
    listener: Listener,
    ending: &Ending,
) -> anyhow::Result<()> {
    let messages = Messages::of(spec, false);
    let promises = mounted.fs().layout_name().promises(&**mounted.scheme());
    if promises.crash_leaves == CrashLeaves::Anything {
        let scheme = mounted.scheme().name();
        let note = format!("the scheme {scheme} promises nothing after a crash, whatever a client was told is stable");
        messages.tell(Weight::Warning, &note);
    }
    let on_return = [promises.name_added, promises.name_removed].iter().all(|when| *when == Durable::OnReturn);
    let key = key::key(args.key.as_deref(), |what| messages.tell(Weight::Warning, what))?;
    let options = Options {
        key: key.of_place(place(spec).as_bytes()),
        volume: volume_number(spec, mounted.id()),
        read_only: args.read_only || mounted.fs().read_only(),
        squash: match args.squash {
            Whose::Ports => Squash::Ports,
            Whose::None => Squash::Nobody,
            Whose::Root => Squash::Root,
            Whose::All => Squash::All,
        },
        squashed: args.squashed,
        names: match args.async_names {
            true => Names::Later,
            false if on_return => Names::OnReturn,
            false => Names::AfterFsync,
        },
        acls: mounted.has_acls() || (acls && mounted.has_xattrs()),
        max_file_size: mounted.max_file_size(),
        link_max: i16::MAX as u32,
        complain: Box::new(move |error| messages.tell(Weight::Error, &error.to_string())),
    };
    let address = listener.tcp_address().context("the address of the listener")?;
    // What the other thread has of the server: a socket, which is readable when it is dropped.
    let (stopped, stop) = UnixStream::pair().context("a socket")?;
    ready(&format!("nfs://{address}/"))?;
    // A script that waited for that line may be gone.
    let _ = print(|out| commands(address).iter().try_for_each(|line| out.line(line)));
    ending.stop_with(move || drop(stopped));
    let served = ordo_nfs::serve(rt, mounted.fs().clone(), listener, options, rt.readable(stop));
    rt.block_on(served).with_context(|| spec.to_string())
}

/// The volume's number in handles: the same after a restart. A snapshot has its volume's number and inodes, and is
/// another volume all the same: who has mounted it must not find the files of today.
fn volume_number(spec: &ImageSpec, id: u64) -> u64 {
    match (id, &spec.snapshot) {
        (0, _) => ordo_nfs::number_by_place(place(spec).as_bytes()),
        (_, None) => id,
        (_, Some(snapshot)) => ordo_nfs::number_by_place(format!("{snapshot:?} of {id:016x}").as_bytes()),
    }
}

/// Where the volume is: file, partition, offset, snapshot. A device keeps the name that was given, as those below
/// /dev/disk/by-id stay the same at the next start, and what they lead to does not.
fn place(spec: &ImageSpec) -> String {
    let is_device = std::fs::metadata(&spec.path).is_ok_and(|file| file.file_type().is_block_device());
    let path = match is_device {
        true => std::path::absolute(&spec.path),
        false => std::fs::canonicalize(&spec.path),
    };
    let path = path.unwrap_or_else(|_| spec.path.clone());
    format!("{:?} {:?} {:?} {:?}", path, spec.part, spec.offset, spec.snapshot)
}

/// How clients mount it.
fn commands(address: SocketAddr) -> Vec<String> {
    let (host, port) = (address.ip(), address.port());
    let host = if host.is_unspecified() { "HOST".to_owned() } else { host.to_string() };
    let windows = match port {
        111 => format!("mount -o anon,nolock,mtype=soft \\\\{host}\\! X:"),
        _ => format!("only with --listen {host}:111"),
    };
    vec![
        format!(
            "Linux:   mount -t nfs -o vers=3,proto=tcp,port={port},mountport={port},mountproto=tcp,nolock {host}:/ DIR"
        ),
        format!("macOS:   mount_nfs -o vers=3,tcp,port={port},mountport={port},nolocks,resvport {host}:/ DIR"),
        format!("Windows: {windows}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_name_the_port_where_it_can_be_named() {
        let lines = commands("127.0.0.1:4000".parse().unwrap());
        assert!(lines[0].contains("port=4000,mountport=4000") && lines[0].contains("127.0.0.1:/"), "{lines:?}");
        assert!(lines[2].contains("--listen 127.0.0.1:111"));
        assert!(commands("0.0.0.0:111".parse().unwrap())[2].contains(r"\\HOST\!"));
    }

    #[test]
    fn each_volume_has_a_place_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("image"), "").unwrap();
        std::os::unix::fs::symlink("image", at("link")).unwrap();
        let spec = |name: &str| ImageSpec { path: at(name), part: None, offset: None, snapshot: None };
        assert_eq!(place(&spec("image")), place(&spec("link")));
        let others = [
            spec("other"),
            ImageSpec { offset: Some(512), ..spec("image") },
            ImageSpec { snapshot: Some("/.snap/a".into()), ..spec("image") },
            ImageSpec { part: Some("p2".parse().unwrap()), ..spec("image") },
        ];
        assert!(others.iter().all(|other| place(other) != place(&spec("image"))));
    }

    #[test]
    fn a_user_and_a_group_are_two_numbers() {
        assert_eq!(identity("501:20"), Ok(Identity { uid: 501, gid: 20 }));
        assert!(["501", "ann:20", "1:2:3", ":"].iter().all(|text| identity(text).is_err()));
    }
}
