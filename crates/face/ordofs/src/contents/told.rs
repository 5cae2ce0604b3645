//! The message when no volume was found: what is there instead, and what to do.

use super::{Kind, Signature, contents, of_file};
use crate::image::ImageSpec;
use ordo_disk::Disk;
use ordo_ondisk::partition::Partition;
use ordo_rt::Rt;
use std::fs::File;
use std::io::Read;
use std::rc::Rc;

/// The most partitions that are listed with their contents.
const MOST_NAMED: usize = 6;

/// What is there instead of a volume, and what to do about it, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{is}, and no volume of UFS or LFS; {advice}")]
pub struct NoVolume {
    is: String,
    advice: String,
}

impl NoVolume {
    fn new(is: impl Into<String>, advice: impl Into<String>) -> NoVolume {
        NoVolume { is: is.into(), advice: advice.into() }
    }

    /// The message for the place that was examined; `None` where nothing is known of it. `parts` are the partitions of
    /// the disk.
    pub(crate) fn of(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, parts: &[Partition]) -> Option<NoVolume> {
        let whole = spec.part.is_none() && spec.offset.is_none();
        if let Ok(file) = File::open(&spec.path)
            && file.metadata().is_ok_and(|file| file.is_file())
            && whole
        {
            let (size, found, head) = of_file(&file).ok()?;
            let first = found.first().map(|found| known(found, spec, rt, disk, parts));
            return first.or_else(|| unmarked(size, &head, file));
        }
        contents(rt, disk).ok()?.first().map(|found| known(found, spec, rt, disk, parts))
    }
}

/// The message for a disk with a signature.
fn known(found: &Signature, spec: &ImageSpec, rt: &Rt, disk: &Rc<dyn Disk>, parts: &[Partition]) -> NoVolume {
    let name = found.name;
    match found.kind {
        Kind::Packed => NoVolume::new(format!("it is packed with {name}"), unpack(name, spec)),
        Kind::Archive => NoVolume::new(format!("it is a {name} archive"), "unpack it first: it may hold an image"),
        Kind::Image => NoVolume::new(format!("it is a {name}"), serve(name, spec)),
        Kind::Table => partitioned(name, rt, disk, parts),
        Kind::Crypt => NoVolume::new(format!("it holds {name}"), "open that first, and name the device below it"),
        Kind::Member => {
            NoVolume::new(format!("it is a {name}"), "assemble the array or volume group, and name its device")
        }
        Kind::Log => NoVolume::new(format!("it is a {name}"), "name the volume that it belongs to"),
        Kind::Swap => NoVolume::new(format!("it holds {name}"), "ordo mkfs --force overwrites it"),
        Kind::Bsd => NoVolume::new(format!("it holds an {name}"), "this program does not read it; NetBSD does"),
        Kind::Lfs => NoVolume::new(format!("it holds what is left of an {name}"), "ordo fsck says what is damaged"),
        Kind::Ufs => NoVolume::new(format!("it holds what is left of a {name}"), "ordo fsck may find a backup"),
        Kind::FileSystem => NoVolume::new(
            format!("it holds {name}"),
            "mount(8) mounts it if the system supports it; ordo mkfs --force overwrites it",
        ),
    }
}

/// A path as a word of a shell.
fn word(spec: &ImageSpec) -> String {
    let path = spec.path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if path.chars().all(plain) { path } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

fn unpack(name: &str, spec: &ImageSpec) -> String {
    let with = match name {
        "gzip" => "gzip -dc",
        "xz" => "xz -dc",
        "zstd" => "zstd -dc",
        "bzip2" => "bzip2 -dc",
        "lz4" => "lz4 -dc",
        "lzip" => "lzip -dc",
        _ => "uncompress -c",
    };
    format!("unpack it first: {with} {} > plain.img", word(spec))
}

/// How to reach the disk in an image that has a format of its own.
fn serve(name: &str, spec: &ImageSpec) -> String {
    let format = match name {
        "qcow2 image" => "qcow2",
        "QED image" => "qed",
        "VMDK image" => "vmdk",
        "VHD image" => "vpc",
        "VHDX image" => "vhdx",
        "VDI image" => "vdi",
        "DMG image" => "dmg",
        _ => "parallels",
    };
    let path = word(spec);
    // A disk that is opened for reading does not change, whoever asks.
    let nbd = format!("qemu-nbd -r -t -f {format} -k /tmp/disk.sock {path} &");
    format!(
        "serve its disk with: {nbd} and name nbd+unix:///?socket=/tmp/disk.sock instead; or make a plain image: \
         qemu-img convert -f {format} -O raw {path} plain.img"
    )
}

fn partitioned(name: &str, rt: &Rt, disk: &Rc<dyn Disk>, parts: &[Partition]) -> NoVolume {
    let named = parts.iter().take(MOST_NAMED).map(|part| {
        let held = ordo_disk::Slice::new(disk.clone(), part.start, part.len).map(|slice| {
            let slice: Rc<dyn Disk> = Rc::new(slice);
            contents(rt, &slice).ok().and_then(|found| found.first().map(|found| found.name))
        });
        let held = held.ok().flatten().unwrap_or("nothing known");
        format!("@{} ({held})", part.name)
    });
    let named: Vec<_> = named.collect();
    let more = if parts.len() > MOST_NAMED { " and more" } else { "" };
    match named.is_empty() {
        true => NoVolume::new(format!("it has a {name} without partitions"), "ordo mkfs --force overwrites it"),
        false => NoVolume::new(
            format!("it has a {name} with {}{more}", named.join(", ")),
            "ordo mkfs makes a volume in the partition that you name behind the image",
        ),
    }
}

/// The message for a disk without a signature: empty, too small, or text.
fn unmarked(size: u64, head: &[u8], file: File) -> Option<NoVolume> {
    if size == 0 {
        return Some(NoVolume::new("it is empty", "ordo mkfs --size SIZE makes a volume in it"));
    }
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e);
    if head.iter().all(is_text) {
        return Some(NoVolume::new(format!("it is text, {size} bytes"), "name the image itself"));
    }
    let mut zeroes = file.take(1 << 20);
    let mut first = Vec::new();
    let read = zeroes.read_to_end(&mut first).is_ok();
    if read && first.iter().all(|&byte| byte == 0) {
        return Some(NoVolume::new("it begins with zeroes", "ordo mkfs makes a volume in it"));
    }
    (size < 65536).then(|| NoVolume::new(format!("it is too short, {size} bytes"), "name the image itself"))
}
