//! `ordo serve nbd`

use super::ending::Ending;
use super::mounting::{wanted, while_mounted};
use super::ready::ready;
use crate::image::{self, Start};
use crate::messages::Messages;
use crate::out::{Outcome, Status, usage};
use crate::place::{self, Location};
use anyhow::{Context, anyhow};
use ordo_nbd::{Address, Export, Inside, Listener, Server, ServerOptions, Whole};
use ordo_vfs::Kind;
use ordofs::disk::{Disk, FileOptions, Overlay};
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, Located, Mounted, Weight};
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

const HELP: &str = "\
PLACE is one of:
  disk.img, /dev/sdb, disk.img@p2
      the file or device as it is, or a partition of it. It is locked;
      what is written goes through to it
  vol.img:/vm.raw
      a regular file inside a volume, which is mounted as long as it is
      served, with the options -o. A flush is then an fsync of the file
  --recovered vol.img
      the volume as a mount recovers it from a crash: in memory, nothing
      is written to the volume
  --snapshot NAME vol.img
      the volume as it was when the snapshot was taken

The export has the name of --name; clients may also leave the name out. Anybody who reaches the address may read and \
write: there are neither users nor TLS. A Unix socket is for the user who runs the server; for other machines use a \
tunnel (docs/serve-nbd.md).

If a flush fails, every later flush fails, too, until the server is started again: the system may have dropped what it \
could not write.

Examples:
  ordo serve nbd disk.img
  ordo serve nbd vol.img:/vm.raw --socket vm.socket -o scheme=wafs
  qemu-system-x86_64 -drive file=nbd:unix:vm.socket,format=raw
  qemu-img compare vol.raw nbd://127.0.0.1:10809
  ordo serve nbd --recovered crashed.img --listen 127.0.0.1:0";

/// Serves a disk, or a file inside a volume, as a network block device (NBD)
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Args {
    /// What is served: IMAGE, or IMAGE:/path
    place: OsString,
    /// Listen at this Unix socket; its file is made for this user alone
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    socket: Option<PathBuf>,
    /// Listen at this address; port 0 takes one that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:10809")]
    listen: String,
    /// The name of the export; clients may also leave it out [default: none]
    #[arg(long, value_name = "EXPORT", default_value = "", hide_default_value = true)]
    name: String,
    /// Refuse every change
    #[arg(long)]
    read_only: bool,
    /// Serve the volume as a mount after a crash would make it; read-only
    #[arg(long)]
    recovered: bool,
    /// Options of the mount, between commas, for a file inside a volume and for --recovered: see ordo mount
    #[arg(short, long = "options", value_name = "OPTION,...")]
    options: Vec<OsString>,
    #[command(flatten)]
    start: Start,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.name.len() > 255 {
        return Err(usage("--name: the name of an export has at most 255 bytes"));
    }
    let place = match Location::parse(&args.place) {
        Location::Inside { image, path } => (image, Some(path)),
        Location::Host(image) => (image, None),
    };
    if place.1.is_none() && !args.recovered && !args.options.is_empty() {
        return Err(usage("-o is for a file inside a volume (IMAGE:/path) and for --recovered: a disk is not mounted"));
    }
    // Before anything is opened: a signal in between would leave a volume marked as in use.
    let ending = Ending::by_signals()?;
    let (image, spec) = (place.0, |image: &PathBuf| image::spec(image, args.start));
    match place.1 {
        Some(_) if args.recovered => Err(usage("--recovered is for a whole volume, not for a file inside")),
        Some(path) => serve_inside(args, &spec(&image)?, &path, &ending),
        None if args.recovered => serve_recovered(args, &spec(&image)?, &ending),
        None => serve_whole(args, &spec(&image)?, &ending),
    }
}

/// Listens, says so, and serves until the end.
fn serve(args: &Args, rt: &Rt, spec: &ImageSpec, export: impl Export + 'static, ending: &Ending) -> anyhow::Result<()> {
    let address = args.socket.clone().map_or_else(|| Address::Tcp(args.listen.clone()), Address::Unix);
    let listener = Listener::bind(&address).with_context(|| format!("cannot listen at {address}"))?;
    let url = ordo_nbd::url(listener.address(), &args.name);
    let messages = Messages::of(spec, false);
    let complain = Arc::new(move |what: &str| messages.tell(Weight::Warning, what));
    let server = Server::new(listener, ServerOptions { name: args.name.clone(), complain })?;
    let stopper = server.stopper();
    ready(&url)?;
    ending.stop_with(move || stopper.stop());
    server.run(rt, export).with_context(|| spec.to_string())
}

fn serve_whole(args: &Args, spec: &ImageSpec, ending: &Ending) -> Outcome {
    let rt = Rt::real_time();
    let read_only = args.read_only || spec.snapshot.is_some();
    let options = FileOptions { read_only, ..FileOptions::default() };
    let refused = |error| image::open_error(&spec.path, error);
    let disk = match spec.snapshot {
        Some(_) => ordofs::locate(&rt, spec, options).map_err(refused)?.disk,
        None => {
            let disk = ordofs::open(&rt, spec, &options).map_err(refused)?;
            ordofs::verified(&rt, disk, &Messages::of(spec, false).listener()).map_err(refused)?
        }
    };
    // The same bytes, for questions about holes; the lock is that of `disk`, which stays open longer.
    let host = (spec.part.is_none() && spec.snapshot.is_none() && !place::is_address(&spec.path))
        .then(|| File::open(&spec.path).ok().filter(|file| file.metadata().is_ok_and(|file| file.is_file())))
        .flatten()
        .map(|file| (file, spec.offset.unwrap_or(0)));
    tell_of_tail(spec, host.as_ref(), disk.info().size);
    let export = Whole::new(disk, host, read_only, spec.to_string());
    serve(args, &rt, spec, export, ending).map(|()| Status::DONE)
}

/// A disk ends with a whole sector. Who copies a file by this way must know that its last bytes are missing.
fn tell_of_tail(spec: &ImageSpec, host: Option<&(File, u64)>, size: u64) {
    let len = host.and_then(|(file, begins)| Some(file.metadata().ok()?.len().saturating_sub(*begins)));
    let tail = len.unwrap_or(size).saturating_sub(size);
    if tail > 0 {
        let note = format!("its last {tail} bytes are not a whole sector, and are not served");
        Messages::of(spec, false).tell(Weight::Warning, &note);
    }
}

fn serve_inside(args: &Args, spec: &ImageSpec, path: &[u8], ending: &Ending) -> Outcome {
    let options = wanted(spec, &args.options)?.volume;
    while_mounted(spec, options, args.read_only, |rt, mounted| serve_mounted(args, rt, spec, mounted, path, ending))
}

fn serve_mounted(
    args: &Args,
    rt: &Rt,
    spec: &ImageSpec,
    mounted: &Mounted,
    path: &[u8],
    ending: &Ending,
) -> anyhow::Result<()> {
    if let Some(why) = mounted.why_read_only().filter(|_| !args.read_only) {
        return Err(anyhow!("{spec}: {why}; or serve it with --read-only"));
    }
    let shown = format!("{spec}:{}", crate::text::escape(path));
    let file = rt.block_on(resolve(mounted.fs(), path, true)).with_context(|| shown.clone())?;
    if file.attr().kind != Kind::Regular {
        return Err(anyhow!("{shown}: not a regular file; only a file has bytes to serve"));
    }
    let (fs, node, size) = (mounted.fs().clone(), file.node(), file.attr().size);
    // `file` keeps the node looked up until the server has ended.
    serve(args, rt, spec, Inside::new(fs, node, size, args.read_only, shown), ending)
}

/// Mounts and unmounts the volume over a memory that takes the writes, and serves what that leaves.
fn serve_recovered(args: &Args, spec: &ImageSpec, ending: &Ending) -> Outcome {
    let rt = Rt::real_time();
    let messages = Messages::of(spec, false);
    let file = FileOptions { read_only: true, ..FileOptions::default() };
    let refused = |error| image::open_error(&spec.path, error);
    let mut options = wanted(spec, &args.options)?.volume;
    options.notices = messages.listener();
    let located = ordofs::locate(&rt, spec, file.clone()).map_err(refused)?;
    let view = Rc::new(Overlay::new(located.disk)) as Rc<dyn Disk>;
    let log = match &options.log {
        Some(path) => Some(ordofs::open_log(&rt, path, &file, &options.notices).map_err(refused)?),
        None => located.log,
    };
    let log = log.map(|log| log.overlaid());
    let located = Located { disk: view.clone(), log, ..located };
    let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).map_err(refused)?;
    if let Some(why) = mounted.why_read_only() {
        return Err(anyhow!("{spec}: a mount cannot recover it: {why}"));
    }
    rt.block_on(mounted.leaks_ended());
    rt.block_on(mounted.unmount()).with_context(|| format!("{spec}: could not be recovered"))?;
    rt.drop_tasks();
    let export = Whole::new(view, None, true, format!("{spec}, recovered in memory"));
    serve(args, &rt, spec, export, ending).map(|()| Status::DONE)
}
