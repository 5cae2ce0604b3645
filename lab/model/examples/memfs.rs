//! Mounts an empty in-memory tree, in the foreground: shows the cost of the FUSE layer alone.
//!
//! `cargo run --release -p ordo-model --example memfs -- DIR [writeback] [noxattr] [acl] [allow_other] [signals]
//! [uring] [stay]`
use ordo_fuse::{MountOptions, ServeOptions, TransportChoice, mount, serve};
use ordo_model::{MemFs, Options};
use ordo_rt::Rt;
use std::path::Path;
use std::rc::Rc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (dir, flags) = args.split_first().ok_or("usage: memfs DIR [OPTION...]")?;
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let rt = Rt::real_time();
    let clock = rt.clone();
    let now = move || {
        let (secs, nanos) = clock.wall();
        ordo_vfs::Stamp { secs, nanos }
    };
    let fs = Rc::new(MemFs::new(Options { noatime: true, block_size: 32768, ..Options::default() }, now));
    let mount_opts = MountOptions { allow_other: has("allow_other"), ..MountOptions::new("memory") };
    let session = mount(Path::new(dir), &mount_opts)?;
    let opts = ServeOptions {
        transport: if has("uring") { TransportChoice::Uring } else { TransportChoice::Classic },
        follow: !has("stay"),
        writeback: has("writeback"),
        xattrs: !has("noxattr"),
        acls: has("acl"),
        signals: has("signals"),
        complain: Box::new(|error| eprintln!("memfs: {error}")),
        ..ServeOptions::default()
    };
    let ended = rt.block_on(serve(&rt, fs.clone(), session, opts))?;
    eprintln!("memfs: {:?}, {} lookups left", ended.reason, fs.lookups());
    Ok(())
}
