//! `ordo timeline`

use crate::image::{Forensic, ImageArg};
use crate::listing::{json_text, permissions};
use crate::out::{Out, Outcome, Status};
use crate::place::join;
use crate::rescue;
use crate::rescue::deleted::kind_name;
use crate::text;
use ordo_ondisk::dinode::{Dinode, Timestamp, mode};
use ordo_ondisk::{Format, Ino};
use ordo_rescue::{Entered, Event, Inode, State, Volume};
use ordo_vfs::Kind;
use serde::Serialize;
use std::collections::HashSet;

/// Lists the times of all files of a UFS volume, removed ones too, as a body file of The Sleuth Kit
///
/// A line for each name: MD5|name|inode|mode|UID|GID|size|atime|mtime|ctime|crtime, with 0 for the MD5; mactime sorts
/// them by time. Names whose bytes are still in their directory have "(deleted)" behind them, and show what their
/// inode says now if it is free. Inodes in use without a name are in /$OrphanFiles. Nothing is written to the image.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo timeline disk.img > body\n  ordo timeline --json disk.img@s1a | jq .name\n\n\
                        Exit status: 0 done, 1 a part of the names cannot be read."
)]
pub(crate) struct Args {
    #[command(flatten)]
    image: ImageArg,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    _forensic: Forensic,
}

/// A line.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    inode: u32,
    #[serde(rename = "type")]
    kind: &'static str,
    mode: String,
    uid: u32,
    gid: u32,
    size: u64,
    atime: f64,
    mtime: f64,
    ctime: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    crtime: Option<f64>,
    deleted: bool,
    /// What has become of the inode of a removed name.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

struct Lines<'a> {
    volume: &'a Volume,
    json: bool,
    out: Out,
    met: HashSet<Ino>,
    incomplete: bool,
}

/// The letter of a kind of file in The Sleuth Kit, by the type of its directory entry.
fn letter(kind: u8) -> char {
    match kind {
        1 => 'p',
        2 => 'c',
        4 => 'd',
        6 => 'b',
        8 => 'r',
        10 => 'l',
        12 => 's',
        _ => '-',
    }
}

/// `r/rrwxr-xr-x`: the kind by the name, the kind by the inode, the permissions.
fn mode_text(by_name: u8, of: &Dinode) -> String {
    let by_inode = (of.mode >> 12) as u8;
    let bits = permissions(Kind::Regular, of.mode & 0o7777);
    format!("{}/{}{}", letter(by_name), letter(by_inode), bits.get(1..).unwrap_or_default())
}

/// Prints a line for each name.
pub(crate) fn run(args: &Args) -> Outcome {
    let damaged = rescue::open(&args.image.spec()?, None)?;
    let volume = &damaged.volume;
    let mut lines = Lines { volume, json: args.json, out: Out::new(), met: HashSet::new(), incomplete: false };
    let mut entered = Entered::default();
    for event in volume.walk(Vec::new(), Ino::ROOT, &mut entered) {
        match event {
            Event::File { path, inode } => lines.file(&path, &inode)?,
            Event::Lost { .. } | Event::Hidden { .. } | Event::Again { .. } => lines.incomplete = true,
        }
    }
    for (_, found) in volume.inodes() {
        match found {
            Ok(inode) if !lines.met.contains(&inode.ino) => {
                let name = format!("/$OrphanFiles/OrphanFile-{}", inode.ino.0);
                lines.row(name.as_bytes(), entry_kind(&inode.dinode), Some(&inode), inode.ino, true, None)?;
            }
            Ok(_) => {}
            Err(_) => lines.incomplete = true,
        }
    }
    let incomplete = lines.incomplete;
    lines.out.end()?;
    Ok(if incomplete { Status::NO } else { Status::DONE })
}

fn entry_kind(dinode: &Dinode) -> u8 {
    (dinode.mode >> 12) as u8
}

impl Lines<'_> {
    fn file(&mut self, path: &[u8], inode: &Inode) -> anyhow::Result<()> {
        self.met.insert(inode.ino);
        let path = join(b"/", path);
        self.row(&path, entry_kind(&inode.dinode), Some(inode), inode.ino, false, None)?;
        if !inode.dinode.is_dir() {
            return Ok(());
        }
        for entry in self.volume.deleted(inode) {
            // An inode in use says nothing of the file that was removed.
            let ino = entry.ino.unwrap_or(Ino::NONE);
            let left = entry.ino.filter(|_| entry.state == State::Free).and_then(|ino| self.volume.raw_inode(ino).ok());
            let state = Some(entry.state.word());
            self.row(&join(&path, &entry.name), entry.kind, left.as_ref(), ino, true, state)?;
        }
        Ok(())
    }

    fn row(
        &mut self,
        path: &[u8],
        kind: u8,
        inode: Option<&Inode>,
        ino: Ino,
        deleted: bool,
        state: Option<&'static str>,
    ) -> anyhow::Result<()> {
        let gone = Dinode::default();
        let of = inode.map_or(&gone, |inode| &inode.dinode);
        let target = match (inode, of.kind()) {
            (Some(inode), mode::LNK) => self.volume.link_target(inode).ok(),
            _ => None,
        };
        let birth = (self.volume.geometry().format == Format::Ufs2).then_some(of.birth);
        if !self.json {
            let target = target.map_or(String::new(), |target| format!(" -> {}", body_name(&target)));
            let mark = if deleted { " (deleted)" } else { "" };
            let (name, mode) = (body_name(path), mode_text(kind, of));
            let times =
                [of.atime, of.mtime, of.ctime, birth.unwrap_or_default()].map(|at| at.sec.to_string()).join("|");
            let (ino, uid, gid, size) = (ino.0, of.uid, of.gid, of.size);
            return self.out.line(format!("0|{name}{target}{mark}|{ino}|{mode}|{uid}|{gid}|{size}|{times}"));
        }
        let seconds = |at: Timestamp| at.sec as f64 + f64::from(at.nsec) / 1e9;
        let (name, name_hex) = json_text(path);
        let row = Row {
            name,
            name_hex,
            target: target.map(|target| json_text(&target).0),
            inode: ino.0,
            kind: kind_name(kind),
            mode: format!("{:04o}", of.mode & 0o7777),
            uid: of.uid,
            gid: of.gid,
            size: of.size,
            atime: seconds(of.atime),
            mtime: seconds(of.mtime),
            ctime: seconds(of.ctime),
            crtime: birth.map(seconds),
            deleted,
            state,
        };
        self.out.line(serde_json::to_string(&row)?)
    }
}

/// A name that is one field of one line.
fn body_name(name: &[u8]) -> String {
    text::escape(name).replace('|', "\\x7c")
}
