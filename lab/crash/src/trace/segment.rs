//! What one write to a log-structured volume holds, in words: a partial segment, or a superblock that leads to one.

use ordo_ondisk::lfs::summary::{Finfo, SumFlags};
use ordo_ondisk::lfs::{Geometry, IFILE, Item, Superblock, inode_block, summary::Summary};
use ordo_ondisk::{ByteOff, Ino, Lbn};

/// The name of a block by its file and number, where the trace has one.
pub(super) type Names<'a> = &'a dyn Fn(Ino, Lbn) -> Option<String>;

/// A line for the write at byte `at`, and one for each thing in it. `None` for a write that is neither.
pub(super) fn in_words(g: &Geometry, at: u64, image: &[u8], names: Names<'_>) -> Option<(String, Vec<String>)> {
    partial_segment(g, at, image, names).or_else(|| superblock(at, image))
}

fn superblock(at: u64, image: &[u8]) -> Option<(String, Vec<String>)> {
    let sb = Superblock::decode(image).ok()?;
    let holds = format!("the log up to partial segment {}; a mount reads on from there", sb.fields.serial.0);
    Some((format!("superblock at byte {at}, a checkpoint"), vec![holds]))
}

fn partial_segment(g: &Geometry, at: u64, image: &[u8], names: Names<'_>) -> Option<(String, Vec<String>)> {
    let summary = Summary::decode(image, g).ok()?;
    let place = g.daddr(ByteOff(at))?;
    let pseg = summary.walk(g, place).ok()?;
    let (bytes, segment) = (pseg.bytes(g), pseg.segment.0);
    let says = format!("partial segment {} in segment {segment}, {bytes} bytes in one write", summary.serial.0);
    let place = |item: &Item| format!("@{}+{}", item.at().0, item.units(g));
    let mut holds =
        vec![format!("summary @{}+{}: {}{}", pseg.at.0, g.summary_units(), contents(&summary), chain(summary.flags))];
    let mut records = summary.finfos.iter();
    let mut left = 0;
    for item in &pseg.items {
        match item {
            Item::Block { ino, lbn, bytes, .. } => {
                if left == 0 {
                    let record = records.next()?;
                    left = record.lbns.len();
                    holds.push(finfo(record));
                }
                left -= 1;
                holds.push(format!("{} {}: {bytes} bytes", block(g, *ino, *lbn, names), place(item)));
            }
            Item::Inodes { at } => {
                let from = usize::try_from(g.bytes(at.since(pseg.at))).ok()?;
                let inodes = image.get(from..).map(|block| inodes(block.get(..g.ibsize as usize).unwrap_or(block), g));
                holds.push(format!("inode block {}: {}", place(item), inodes.unwrap_or_default()));
            }
        }
    }
    Some((says, holds))
}

fn plural(n: usize, one: &str, several: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {several}") }
}

fn contents(summary: &Summary) -> String {
    let files = plural(summary.finfos.len(), "file info", "file infos");
    let blocks = plural(summary.nblocks(), "block", "blocks");
    format!("{files}, {blocks}, {}", plural(summary.ninos.into(), "inode", "inodes"))
}

/// What the flags say of the chain of partial segments that calls on directories leave in.
fn chain(flags: SumFlags) -> &'static str {
    match (flags.has(SumFlags::DIROP), flags.has(SumFlags::CONT)) {
        (true, true) => "; whole calls on directories, which go on in the next one",
        (true, false) => "; whole calls on directories, and their end",
        (false, _) => "",
    }
}

fn finfo(record: &Finfo) -> String {
    let Finfo { version, ino, lastlength, lbns } = record;
    let of = if *ino == IFILE { "the ifile".to_owned() } else { format!("inode {}", ino.0) };
    let count = plural(lbns.len(), "block", "blocks");
    format!("file info: {of}, generation {version}, {count}, the last of {lastlength} bytes")
}

fn block(g: &Geometry, ino: Ino, lbn: Lbn, names: Names<'_>) -> String {
    if let Some(name) = names(ino, lbn) {
        return name;
    }
    let Ok(n) = u64::try_from(lbn.0) else { return format!("indirect block {} of inode {}", lbn.0, ino.0) };
    if ino != IFILE {
        return format!("block {n} of inode {}", ino.0);
    }
    let part = match n {
        n if n < u64::from(g.cleansz) => "the counts for the cleaner",
        n if n < g.inode_map_start() => "the segment usage table",
        _ => "the inode map",
    };
    format!("block {n} of the ifile, {part},")
}

fn inodes(block: &[u8], g: &Geometry) -> String {
    let name = |ino: Ino| if ino == IFILE { "the ifile".to_owned() } else { ino.0.to_string() };
    let numbers: Vec<String> = inode_block::slots(block, g).map(|(_, ino)| name(ino)).collect();
    match &numbers[..] {
        [one] => {
            if one.starts_with(char::is_numeric) {
                format!("inode {one}")
            } else {
                format!("the inode of {one}")
            }
        }
        several => format!("inodes {}", several.join(", ")),
    }
}
