//! `ordo cp`

use super::{cat, touch, versions};
use crate::copy::{Copier, Rules};
use crate::expand;
use crate::image::{self, Forensic, Opened, Start};
use crate::interrupt;
use crate::listing::kind_name;
use crate::out::{Out, Outcome, Status, say, usage};
use crate::place::{Inside, Location, last_name};
use crate::{size, text, weigh};
use anyhow::{Context, bail};
use ordo_hostdir::HostDir;
use ordo_vfs::{Caller, FileSystem, Kind, Refusal, SetAttr};
use ordofs::path::{Held, parent, resolve};
use ordofs::rt::Rt;
use ordofs::{Fs, ImageSpec};
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Copies between the host and images, or between images
///
/// A source in an image may be a pattern ('disk.img:/etc/*.conf'). No mount and no root rights are needed. Sparse files
/// stay sparse. DIR/. and IMAGE:/ name the contents of a directory, not the directory itself. As a source, - is
/// standard input, and as the target standard output.
///
/// The contents of an image are not trusted: no file is ever written outside the target, device files are left out and
/// set-user-id bits are cleared. Files copied into an image belong to root there, or with -p to their owner.
///
/// An image is changed under the scheme that a mount would choose. Ctrl-C and SIGTERM end a copy into it after the
/// current file (a long one is removed); the volume is left clean, and a line says how far the copy came. A second
/// signal ends it at once, as a crash would; the next command or mount then repairs the volume if its scheme allows it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo cp rc.conf disk.img:/etc\n  ordo cp -r -p tree/. disk.img:/\n  \
    ordo cp -r old.img:/home new.img@s1a:/home\n  ordo cp disk.img:/var/log/messages .\n  \
    tar c tree | ordo cp - disk.img:/tree.tar")]
pub(crate) struct Args {
    /// The sources, then the target; each as IMAGE:/path or a path of the host
    #[arg(value_name = "PATH", required = true, num_args = 2..)]
    places: Vec<OsString>,
    /// Copy directories and their contents
    #[arg(short, long, short_alias = 'R')]
    recursive: bool,
    /// Keep modes, owners, times, hard links and extended attributes
    #[arg(short, long)]
    preserve: bool,
    /// Same as -r -p
    #[arg(short, long)]
    archive: bool,
    /// Make device files, also on the host
    #[arg(long)]
    devices: bool,
    /// Keep set-user-id and set-group-id bits, also on the host (with -p)
    #[arg(long)]
    setuid: bool,
    /// Copy an older version of one file to the host, by its number in ordo versions
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    #[command(flatten)]
    forensic: Forensic,
    #[command(flatten)]
    start: Start,
}

/// Copies everything; files that cannot be copied are reported, and the rest is copied.
pub(crate) fn run(args: &Args) -> Outcome {
    let Some((target, sources)) = args.places.split_last() else {
        return Err(usage("cp: name what to copy and where to"));
    };
    let sources: Vec<_> = sources.iter().map(|source| Location::parse(source)).collect();
    if args.forensic.forensic && matches!(Location::parse(target), Location::Inside { .. }) {
        return Err(usage("cp: --forensic writes to no image, and the target is in one"));
    }
    if args.version.is_none() && is_stream(target, &["-", "/dev/stdout"]) {
        return to_output(args, &sources);
    }
    if let Some(number) = args.version {
        return older(args, number, &sources, &Location::parse(target));
    }
    let rt = Rt::real_time();
    let copy = Copy { args, rt: &rt, many: Cell::new(sources.len() > 1), copied: Cell::default() };
    let skipped = match Location::parse(target) {
        Location::Inside { image, path } => copy.to_image(&sources, &Inside { image, path })?,
        Location::Host(path) => copy.to_host(&sources, &path)?,
    };
    Ok(if skipped == 0 { Status::DONE } else { Status(3) })
}

/// Writes an older version of a file to the host.
fn older(args: &Args, number: u32, sources: &[Location], target: &Location) -> Outcome {
    let ([Location::Inside { image, path }], Location::Host(to)) = (sources, target) else {
        return Err(usage("cp: --version copies one file of an image to the host"));
    };
    if is_stream(to.as_os_str(), &["-", "/dev/stdout"]) {
        let mut out = Out::new();
        versions::older(&Inside { image: image.clone(), path: path.clone() }, args.start, number)?
            .read(|bytes| out.bytes(bytes))?;
        out.end()?;
        return Ok(Status::DONE);
    }
    let (from, name) = (Inside { image: image.clone(), path: path.clone() }, last_name(path));
    // A link that the user names is followed; one below the target never is.
    let to = match to.is_dir() {
        true => to.join(OsStr::from_bytes(name)),
        false => to.canonicalize().unwrap_or_else(|_| to.clone()),
    };
    let older = versions::older(&from, args.start, number)?;
    replaced(&to, Path::new(image), |file| {
        older.read(|bytes| sparse(file, bytes).with_context(|| to.display().to_string()))
    })?;
    Ok(Status::DONE)
}

/// Makes a new file of this name when all of it was written: what is there is not emptied for a version that is rotten
/// in the middle, and nothing is written through a link.
fn replaced(to: &Path, image: &Path, write: impl FnOnce(&mut File) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let shown = || to.display().to_string();
    let (there, of_image) = (to.symlink_metadata().ok(), image.metadata().ok());
    let id = |of: &Metadata| (of.dev(), of.ino());
    if let Some(there) = &there {
        if of_image.is_some_and(|image| id(&image) == id(there)) {
            bail!("{}: the image itself; name another target", shown());
        }
        if !there.is_file() && !there.is_symlink() {
            bail!("{}: not a plain file; name another target", shown());
        }
    }
    let name = to.file_name().with_context(|| format!("{}: not a name for a file", shown()))?;
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}", std::process::id()));
    let beside = to.with_file_name(beside);
    let unmade = || beside.display().to_string();
    // Who may not read what is there may not open this, even while it is empty. What the umask takes is given back.
    let as_there = there.filter(Metadata::is_file).map(|there| there.permissions());
    let most = as_there.as_ref().map_or(0o666, |there| there.mode() & 0o777);
    let mut file = File::options().write(true).create_new(true).mode(most).open(&beside).with_context(unmade)?;
    let mode = as_there.map_or(Ok(()), |there| file.set_permissions(there));
    let written = mode.with_context(unmade).and_then(|()| write(&mut file)).and_then(|()| {
        // What ends with a hole.
        let end = file.stream_position().with_context(shown)?;
        file.set_len(end).with_context(shown)?;
        std::fs::rename(&beside, to).with_context(shown)
    });
    if written.is_err() {
        // OK to ignore: the error that is told is the one before.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Zeros are left out.
fn sparse(file: &mut File, bytes: &[u8]) -> std::io::Result<()> {
    match bytes.iter().all(|byte| *byte == 0) {
        true => file.seek(SeekFrom::Current(bytes.len() as i64)).map(drop),
        false => file.write_all(bytes),
    }
}

/// Whether an argument stands for a standard stream.
fn is_stream(argument: &OsStr, names: &[&str]) -> bool {
    names.iter().any(|name| argument == *name)
}

/// Writes files of images to standard output.
fn to_output(args: &Args, sources: &[Location]) -> Outcome {
    let mut out = Out::new();
    for source in sources {
        let Location::Inside { image, path } = source else {
            return Err(usage("cp: neither side is inside an image; use cp(1), or write IMAGE:/path"));
        };
        let place = Inside { image: image.clone(), path: path.clone() };
        image::read(&image::spec(image, args.start)?, async |fs| cat::stream(fs, &place, &mut out).await)?;
    }
    out.end()?;
    Ok(Status::DONE)
}

impl Args {
    /// The target, and what to copy there.
    pub(super) fn split(&self) -> anyhow::Result<(&OsStr, Vec<Location>)> {
        let (target, sources) = self.places.split_last().ok_or_else(|| usage("cp: name what to copy and where to"))?;
        Ok((target, sources.iter().map(|source| Location::parse(source)).collect()))
    }
}

/// Copies into an image that is open already.
pub(super) fn into(args: &Args, opened: &Opened, spec: &ImageSpec, sources: &[Location], to: &Inside) -> Outcome {
    if args.version.is_some() {
        return Err(usage("cp: --version copies one file of an image to the host"));
    }
    let copy = Copy { args, rt: &opened.rt, many: Cell::new(sources.len() > 1), copied: Cell::default() };
    let copied = sources.iter().map(|source| copy.one_inside(source, opened, spec, to));
    let skipped = copied.sum::<anyhow::Result<u64>>()?;
    Ok(if skipped == 0 { Status::DONE } else { Status(3) })
}

struct Copy<'a> {
    args: &'a Args,
    rt: &'a Rt,
    /// Several sources: the target must be a directory.
    many: Cell<bool>,
    /// Files and bytes so far.
    copied: Cell<(u64, u64)>,
}

/// The target of copies: a name in a directory, or the directory itself for copied contents.
struct Target<D: FileSystem> {
    dir: Held<D>,
    /// `None`: keeps the source's own name.
    name: Option<Vec<u8>>,
}

/// A source: a file, its path for messages, and its name; without a name, the contents of a directory.
struct Source<S: FileSystem> {
    file: Held<S>,
    shown: Vec<u8>,
    name: Vec<u8>,
}

impl Copy<'_> {
    fn rules(&self) -> Rules {
        let args = self.args;
        Rules {
            recursive: args.recursive || args.archive,
            preserve: args.preserve || args.archive,
            devices: args.devices,
            setuid: args.setuid,
            ..Rules::default()
        }
    }

    /// Copies into an image. Returns how many files were left out.
    fn to_image(&self, sources: &[Location], to: &Inside) -> anyhow::Result<u64> {
        let spec = image::spec(&to.image, self.args.start)?;
        let opened = Opened::to_change(self.rt, &spec)?;
        // An interrupted copy also leaves a clean volume, with what was copied so far.
        let copied = sources.iter().map(|source| {
            interrupt::check()?;
            self.one_inside(source, &opened, &spec, to)
        });
        let outcome: anyhow::Result<u64> = copied.sum();
        let outcome = opened.close(outcome);
        let (files, bytes) = self.copied.get();
        outcome.map_err(|error| interrupt::how_far(error, || how_many(files, bytes)))
    }

    fn one_inside(&self, source: &Location, opened: &Opened, spec: &ImageSpec, to: &Inside) -> anyhow::Result<u64> {
        let target = async || self.target_inside(opened.fs(), to).await.with_context(|| to.shown());
        let (image, path) = match source {
            Location::Host(path) if is_stream(path.as_os_str(), &["-", "/dev/stdin"]) => {
                return self.rt.block_on(self.input_inside(opened.fs(), to));
            }
            Location::Host(path) => {
                return self.rt.block_on(async {
                    let source = self.host_source(path).await?;
                    self.one(source, &target().await?, self.rules()).await
                });
            }
            Location::Inside { image, path } => (image, path),
        };
        let from = image::spec(image, self.args.start)?;
        let rules = Rules { from_image: true, one_volume: is_same(&from, spec), ..self.rules() };
        let other = if rules.one_volume { None } else { Some(Opened::to_read(self.rt, &from)?) };
        self.rt.block_on(async {
            let fs = other.as_ref().map_or(opened.fs(), Opened::fs);
            let mut skipped = 0;
            for place in self.matched(fs, Inside { image: image.clone(), path: path.clone() }).await? {
                let source = self.inner_source(fs, &place).await?;
                skipped += self.one(source, &target().await?, rules).await?;
            }
            Ok(skipped)
        })
    }

    /// Copies standard input into a file; one that is there is emptied first.
    async fn input_inside(&self, fs: &Rc<Fs>, to: &Inside) -> anyhow::Result<u64> {
        let shown = || to.shown();
        let there = touch::found_or_made(fs, to, true).await?;
        let fresh = there.is_none();
        let file = match there {
            Some(file) => file,
            None => touch::found_or_made(fs, to, false).await?.with_context(shown)?,
        };
        if file.attr().kind != Kind::Regular {
            bail!("{}: is a {}; name a file to copy standard input to", shown(), kind_name(file.attr().kind));
        }
        fs.setattr(file.node(), &SetAttr { size: Some(0), ..SetAttr::default() }).await.with_context(shown)?;
        let written = self.pour(fs, &file).await.with_context(shown);
        if written.is_err() && fresh {
            // Only complete files stay.
            let (dir, name) = parent(fs, &to.path).await.with_context(shown)?;
            fs.unlink(dir.node(), name).await.with_context(shown)?;
        }
        let (files, bytes) = self.copied.get();
        self.copied.set((files + 1, bytes + written?));
        Ok(0)
    }

    /// Writes standard input to a file, and returns how many bytes there were.
    async fn pour(&self, fs: &Rc<Fs>, file: &Held<Fs>) -> anyhow::Result<u64> {
        let (mut input, mut piece, mut at) = (std::io::stdin().lock(), vec![0; 1 << 20], 0);
        loop {
            interrupt::check()?;
            let read = input.read(&mut piece).context("standard input")?;
            let mut rest = piece.get(..read).unwrap_or_default();
            if rest.is_empty() {
                return Ok(at);
            }
            while !rest.is_empty() {
                let written = fs.write(&image::owner(), file.node(), at, rest).await?;
                at += u64::from(written);
                rest = rest.get(written as usize..).unwrap_or_default();
            }
        }
    }

    fn to_host(&self, sources: &[Location], to: &Path) -> anyhow::Result<u64> {
        interrupt::catch()?;
        self.each_to_host(sources, to).map_err(|error| {
            let (files, bytes) = self.copied.get();
            let place = match files {
                0 => String::new(),
                _ => format!("; they stay in {}", text::one_line(&to.display().to_string())),
            };
            interrupt::how_far_on_host(error, || how_many(files, bytes) + &place)
        })
    }

    fn each_to_host(&self, sources: &[Location], to: &Path) -> anyhow::Result<u64> {
        let mut skipped = 0;
        for source in sources {
            let Location::Inside { image, path } = source else {
                return Err(usage("cp: neither side is inside an image; use cp(1), or write IMAGE:/path"));
            };
            let from = Opened::to_read(self.rt, &image::spec(image, self.args.start)?)?;
            let rules = Rules { from_image: true, to_host: true, ..self.rules() };
            skipped += self.rt.block_on(async {
                let mut skipped = 0;
                for place in self.matched(from.fs(), Inside { image: image.clone(), path: path.clone() }).await? {
                    let target = self.target_on_host(to).await?;
                    let source = self.inner_source(from.fs(), &place).await?;
                    skipped += self.one(source, &target, rules).await?;
                }
                anyhow::Ok(skipped)
            })?;
        }
        Ok(skipped)
    }

    /// What a source in an image names; several, if it is a pattern.
    async fn matched(&self, fs: &Rc<Fs>, place: Inside) -> anyhow::Result<Vec<Inside>> {
        let places = expand::places(fs, &place).await?;
        self.many.set(self.many.get() || places.len() > 1);
        Ok(places)
    }

    async fn one<S: FileSystem, D: FileSystem>(
        &self,
        from: Source<S>,
        to: &Target<D>,
        rules: Rules,
    ) -> anyhow::Result<u64> {
        let who = Caller { umask: image::umask(), ..image::owner() };
        let mut complain = |path: &[u8], why: &str| say(&format!("{}: {why}", text::escape(path)));
        let shown = text::escape(&from.shown);
        match &from.file {
            dir if dir.is_dir() && !rules.recursive => {}
            file => weigh::begin(file).await?,
        }
        let mut copier = Copier::new(who, rules, &mut complain);
        let copied = match &to.name {
            Some(name) => copier.copy(from.file, &from.shown, &to.dir, name).await,
            None if !from.name.is_empty() => copier.copy(from.file, &from.shown, &to.dir, &from.name).await,
            None if !rules.recursive => return Err(usage(format!("{shown}: is a directory; give -r to copy it"))),
            None => {
                // Another lookup of the same directory, because the copier takes ownership of it.
                let dir = to.dir.lookup(b".").await.with_context(|| shown.clone())?;
                copier.fill(from.file, &from.shown, dir).await
            }
        };
        let (counts, (files, bytes)) = (copier.counts, self.copied.get());
        self.copied.set((files + counts.files, bytes + counts.bytes));
        copied.with_context(|| format!("{shown}: the copy stopped"))?;
        Ok(counts.skipped)
    }

    async fn target_inside(&self, fs: &Rc<Fs>, to: &Inside) -> anyhow::Result<Target<Fs>> {
        match resolve(fs, &to.path, true).await {
            Ok(dir) if dir.is_dir() => return Ok(Target { dir, name: None }),
            Ok(_) | Err(ordo_vfs::Error::Refused(Refusal::NotFound)) if !self.many.get() => {}
            Ok(_) => return Err(ordo_vfs::Error::from(Refusal::NotDirectory).into()),
            Err(error) => return Err(error.into()),
        }
        let (dir, name) = parent(fs, &to.path).await?;
        Ok(Target { name: Some(name.bytes().to_vec()), dir })
    }

    async fn target_on_host(&self, to: &Path) -> anyhow::Result<Target<HostDir>> {
        let shown = || text::one_line(&to.display().to_string());
        if to.is_dir() {
            let dir = Held::root(&open_dir(to)?).await.with_context(shown)?;
            return Ok(Target { dir, name: None });
        }
        if self.many.get() {
            return Err(ordo_vfs::Error::from(Refusal::NotDirectory)).with_context(shown);
        }
        // A link that the user names is followed; links below the target never are.
        let to = to.canonicalize().unwrap_or_else(|_| to.to_owned());
        let name = to.file_name().with_context(|| format!("{}: not a name for a file", shown()))?;
        let dir = Held::root(&open_dir(&above(&to))?).await.with_context(shown)?;
        Ok(Target { dir, name: Some(name.as_bytes().to_vec()) })
    }

    async fn inner_source(&self, fs: &Rc<Fs>, place: &Inside) -> anyhow::Result<Source<Fs>> {
        let follow = !self.rules().recursive;
        let file = resolve(fs, &place.path, follow).await.with_context(|| place.shown())?;
        let name = match last_name(&place.path) {
            b"." | b".." => Vec::new(),
            name => name.to_vec(),
        };
        Ok(Source { file, shown: place.path.clone(), name })
    }

    async fn host_source(&self, path: &Path) -> anyhow::Result<Source<HostDir>> {
        let shown = || text::one_line(&path.display().to_string());
        let bytes = path.as_os_str().as_bytes();
        let contents = path.file_name().is_none() || bytes.ends_with(b"/.");
        let follow = !self.rules().recursive || contents || bytes.ends_with(b"/");
        let real = if follow { path.canonicalize().with_context(shown)? } else { path.to_owned() };
        let name = match contents {
            true => Vec::new(),
            false => path.file_name().unwrap_or_default().as_bytes().to_vec(),
        };
        let file = match real.file_name().filter(|_| !contents) {
            None => Held::root(&open_dir(&real)?).await.with_context(shown)?,
            Some(real_name) => {
                let dir = Held::root(&open_dir(&above(&real))?).await.with_context(shown)?;
                dir.lookup(real_name.as_bytes()).await.with_context(shown)?
            }
        };
        Ok(Source { file, shown: bytes.to_vec(), name })
    }
}

/// How far a copy came, in words: a file that was being copied is removed (copy-5).
fn how_many(files: u64, bytes: u64) -> String {
    match files {
        0 => "nothing is copied; the file that was being copied is removed".to_owned(),
        _ => format!("{files} files with {} are copied, the rest is not", size::human(bytes)),
    }
}

/// Whether two places are the same volume: then it must be opened only once.
fn is_same(a: &ImageSpec, b: &ImageSpec) -> bool {
    let real = |spec: &ImageSpec| spec.path.canonicalize().unwrap_or_else(|_| spec.path.clone());
    real(a) == real(b)
}

/// The directory of a path of the host.
fn above(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn open_dir(path: &Path) -> anyhow::Result<Rc<HostDir>> {
    Ok(Rc::new(HostDir::open(path).with_context(|| text::one_line(&path.display().to_string()))?))
}
