//! The message when no volume was found: what is there instead, and what to do.

use super::{ContentsKind, NoVolume, Signature, contents, of_file};
use crate::image::{self, ImageSpec};
use ordo_disk::{Disk, FileOptions};
use ordo_ondisk::partition::{Partition, Table, select};
use ordo_rt::Rt;
use std::fs::File;
use std::io::Read;
use std::rc::Rc;

/// The most partitions that are listed with their contents.
const MOST_NAMED: usize = 6;

/// The message for the place that was examined; `None` where nothing is known of it. `table` has the partitions on
/// `disk`.
pub(crate) fn no_volume(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, table: &Table) -> Option<NoVolume> {
    let whole = spec.part.is_none() && spec.offset.is_none();
    if let Ok(file) = File::open(&spec.path)
        && file.metadata().is_ok_and(|file| file.is_file())
        && whole
    {
        let (size, found, head) = of_file(&file).ok()?;
        let first = found.first().map(|found| known(found, spec, rt, disk, table));
        return first.or_else(|| unmarked(size, &head, file));
    }
    let found = contents(rt, disk).ok()?;
    found.first().map(|found| known(found, spec, rt, disk, table)).or_else(|| unknown_partition(rt, spec))
}

/// The message for a disk with a signature.
fn known(found: &Signature, spec: &ImageSpec, rt: &Rt, disk: &Rc<dyn Disk>, table: &Table) -> NoVolume {
    let name = found.name;
    match found.kind {
        ContentsKind::Packed => NoVolume::new(format!("it is packed with {name}"), unpack(name, spec)),
        ContentsKind::Archive => {
            NoVolume::new(format!("it is a {name} archive"), "unpack it first: it may hold an image")
        }
        ContentsKind::Image => NoVolume::new(format!("it is {} {name}", article(name)), reach(name, spec)),
        ContentsKind::Table => partitioned(name, rt, disk, table),
        ContentsKind::Crypt if name.starts_with("GELI") => NoVolume::new(
            format!("it holds {name}"),
            "nothing on Linux opens that: attach it on FreeBSD (geli attach), and copy the disk that appears",
        ),
        ContentsKind::Crypt => {
            NoVolume::new(format!("it holds {name}"), "open that first, and name the device below it")
        }
        ContentsKind::Member if name.starts_with("GEOM") => NoVolume::new(
            format!("it is a {name}"),
            "FreeBSD puts it together, and has a device for the whole; ordo scan searches this disk for volumes",
        ),
        ContentsKind::Member => {
            NoVolume::new(format!("it is a {name}"), "assemble the array or volume group, and name its device")
        }
        ContentsKind::Log => NoVolume::new(format!("it is a {name}"), "name the volume that it belongs to"),
        ContentsKind::Swap => NoVolume::new(format!("it holds {name}"), "name the volume"),
        ContentsKind::Bsd | ContentsKind::Lfs => {
            NoVolume::new(format!("it holds what is left of an {name}"), "ordo fsck says what is damaged")
        }
        ContentsKind::Ufs => NoVolume::new(format!("it holds what is left of a {name}"), "ordo fsck may find a backup"),
        ContentsKind::FileSystem => {
            NoVolume::new(format!("it holds {name}"), "mount(8) mounts it if the system supports it")
        }
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
        "lzma" => "xz --format=lzma -dc",
        _ => "uncompress -c",
    };
    format!("unpack it first: {with} {} > plain.img", word(spec))
}

fn article(name: &str) -> &'static str {
    if name.starts_with(['A', 'E']) { "an" } else { "a" }
}

/// How to reach the disk in an image that has a format of its own.
fn reach(name: &str, spec: &ImageSpec) -> String {
    let path = word(spec);
    let format = match name {
        "GEOM_UZIP image" => {
            return format!(
                "unpack it first, on FreeBSD: kldload geom_uzip; mdconfig -u 9 {path}; dd if=/dev/md9.uzip of=plain.img"
            );
        }
        "EnCase image (E01)" | "EnCase image (Ex01)" => {
            return format!("show its disk with: ewfmount {path} DIR, and name DIR/ewf1 instead");
        }
        "AFF image" => return format!("show its disk with: affuse {path} DIR, and name the file in DIR instead"),
        "Android sparse image" => return format!("unpack it first: simg2img {path} plain.img"),
        "qcow image" => "qcow",
        "qcow2 image" => "qcow2",
        "QED image" => "qed",
        "VMDK image" => "vmdk",
        "VHD image" => "vpc",
        "VHDX image" => "vhdx",
        "VDI image" => "vdi",
        "DMG image" => "dmg",
        _ => "parallels",
    };
    // A disk that is opened for reading does not change, whoever asks.
    let nbd = format!("qemu-nbd -r -t -f {format} -k /tmp/disk.sock {path} &");
    format!(
        "serve its disk with: {nbd} and name nbd+unix:///?socket=/tmp/disk.sock instead; or make a plain image: \
         qemu-img convert -f {format} -O raw {path} plain.img"
    )
}

/// A disk with a table. Nothing here advises to write to it: what the table does not say may be somewhere on it.
fn partitioned(name: &str, rt: &Rt, disk: &Rc<dyn Disk>, table: &Table) -> NoVolume {
    let parts = &table.partitions;
    let named = parts.iter().take(MOST_NAMED).map(|part| {
        let held = ordo_disk::Slice::new(disk.clone(), part.start, part.len).map(|slice| {
            let slice: Rc<dyn Disk> = Rc::new(slice);
            contents(rt, &slice).ok().and_then(|found| found.first().map(|found| found.name))
        });
        format!("@{} ({}: {})", part.name, part.kind, held.ok().flatten().unwrap_or("nothing known"))
    });
    let named: Vec<_> = named.collect();
    let more = if parts.len() > MOST_NAMED { " and more" } else { "" };
    let scan = "ordo scan searches the whole disk for volumes";
    match (parts.is_empty(), table.refused.first()) {
        (false, _) => NoVolume::new(format!("it has a {name} with {}{more}", named.join(", ")), scan),
        (true, Some(refused)) => {
            let why = format!("{}: {}", refused.name, refused.reason);
            NoVolume::new(format!("it has a {name} with no partition that can be used ({why})"), scan)
        }
        (true, None) if table.is_read => NoVolume::new(format!("it has a {name} without partitions"), scan),
        (true, None) => NoVolume::new(format!("it has {} {name}, which cannot be read here", article(name)), scan),
    }
}

/// A partition that was named and holds nothing known: what its table says of it.
fn unknown_partition(rt: &Rt, spec: &ImageSpec) -> Option<NoVolume> {
    let wanted = spec.part.as_ref()?;
    let whole = ImageSpec { part: None, ..spec.clone() };
    let disk = image::open(rt, &whole, &FileOptions { read_only: true, ..FileOptions::default() }).ok()?;
    let table = image::partitions(rt, &disk).ok()?;
    let Partition { name, kind, start, len, .. } = select(&table, wanted).ok()?;
    let is = format!("it is partition {name} ({kind}), {len} bytes from byte {start} on, with nothing known in it");
    Some(NoVolume::new(is, "ordo scan searches the whole disk for volumes"))
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
        let advice = "ordo mkfs makes a volume in it if it is new; ordo scan searches all of it for volumes";
        return Some(NoVolume::new("it begins with zeroes", advice));
    }
    (size < 65536).then(|| NoVolume::new(format!("it is too short, {size} bytes"), "name the image itself"))
}
