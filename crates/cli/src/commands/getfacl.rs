//! `ordo getfacl`

use crate::acl::{self, lines, of_mode};
use crate::image::{self, Start};
use crate::names::Owners;
use crate::out::{Out, Outcome};
use crate::text;
use crate::walk::Walk;
use anyhow::{Context, bail};
use ordo_ondisk::acl::Acl;
use ordo_vfs::{FileSystem, Kind, Refusal};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use std::ffi::OsString;
use std::rc::Rc;

/// Shows the access control lists of files of an image
///
/// POSIX.1e's are shown as getfacl(1) of Linux prints them, NFSv4's as that of FreeBSD does. Whether a mount obeys them
/// is a setting of the volume (ordo tune -o acls=).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo getfacl disk.img:/home/ann\n  ordo getfacl -R disk.img:/srv > lists\n  \
    ordo setfacl --restore lists copy.img")]
pub(crate) struct Args {
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    /// Directories with all their contents
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Owners and groups as numbers
    #[arg(short, long)]
    numeric: bool,
    #[command(flatten)]
    start: Start,
}

/// Shows them.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    let worst = image::read_each(&args.places, args.start, async |fs, place| {
        let owners = Owners::of(fs, args.numeric).await?;
        let file = resolve(fs, &place.path, true).await.with_context(|| place.shown())?;
        let mut walk = Walk::new(&place.path, file, args.recursive);
        while let Some((path, file)) = walk.next().await? {
            if file.attr().kind == Kind::Symlink {
                continue;
            }
            let shown = show(&file, &path, &owners).await;
            if let Some(text) = walk.tally.judge(&text::escape(&path), shown.map_err(|e| format!("{e:#}"))) {
                out.line(text)?;
            }
        }
        Ok(walk.tally.status())
    })?;
    out.end()?;
    Ok(worst)
}

/// The block of lines of a file.
async fn show(file: &Held<Fs>, path: &[u8], owners: &Owners) -> anyhow::Result<String> {
    let attr = file.attr();
    let mut text = vec![
        format!("# file: {}", text::escape(path)),
        format!("# owner: {}", owners.user(attr.uid)),
        format!("# group: {}", owners.group(attr.gid)),
    ];
    let special = attr.mode.bits() >> 9 & 7;
    if special != 0 {
        let flags = [(4, 's'), (2, 's'), (1, 't')].map(|(bit, c)| if special & bit != 0 { c } else { '-' });
        text.push(format!("# flags: {}", flags.iter().collect::<String>()));
    }
    let (user, group) = (|id| owners.user(id), |id| owners.group(id));
    if let Some(value) = attribute(file, b"system.nfs4_acl").await? {
        text.extend(acl::nfs4_lines(&value, user, group)?);
        return Ok(text.join("\n") + "\n");
    }
    let access = stored(file, false).await?.map_or_else(|| acl::build(of_mode(attr.mode.bits()), true), Ok)?;
    text.extend(lines(&access, "", user, group));
    if let Some(default) = stored(file, true).await? {
        text.extend(lines(&default, "default:", user, group));
    }
    Ok(text.join("\n") + "\n")
}

/// The list that is stored for a file, if there is one.
pub(super) async fn stored(file: &Held<Fs>, default: bool) -> anyhow::Result<Option<Acl>> {
    if default && !file.is_dir() {
        return Ok(None);
    }
    let Some(value) = attribute(file, name(default)).await? else { return Ok(None) };
    match Acl::from_linux(&value) {
        Some(list) => Ok(Some(list)),
        None => bail!("the stored list is none that Linux has"),
    }
}

/// Linux's name of the attribute.
pub(super) fn name(default: bool) -> &'static [u8] {
    if default { b"system.posix_acl_default" } else { b"system.posix_acl_access" }
}

async fn attribute(file: &Held<Fs>, name: &[u8]) -> anyhow::Result<Option<Vec<u8>>> {
    let fs: &Rc<Fs> = file.fs();
    match fs.getxattr(file.node(), name).await {
        Ok(value) => Ok(Some(value.to_vec())),
        Err(ordo_vfs::Error::Refused(Refusal::NoAttribute | Refusal::NotSupported)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
