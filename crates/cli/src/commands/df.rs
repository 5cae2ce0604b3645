//! `ordo df`

use crate::image::{self, Start};
use crate::out::{Outcome, Status, print};
use crate::text;
use crate::{place::Inside, size};
use anyhow::Context;
use ordo_vfs::{FileSystem, StatFs};
use serde::Serialize;
use std::ffi::OsString;

/// Shows the space of volumes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo df disk.img\n  ordo df -H a.img b.img@s1a\n  ordo df --json disk.img")]
pub(crate) struct Args {
    /// Images; a path in one counts as the image
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<OsString>,
    /// Sizes with suffixes
    #[arg(short = 'H', long)]
    human: bool,
    /// One JSON list
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    start: Start,
}

#[derive(Serialize)]
struct Space {
    image: String,
    size: u64,
    used: u64,
    free: u64,
    /// Without the reserve.
    available: u64,
    inodes: u64,
    free_inodes: u64,
}

impl Space {
    fn new(image: String, stat: &StatFs) -> Space {
        let bytes = |frags: u64| frags.saturating_mul(u64::from(stat.frag_size));
        Space {
            image,
            size: bytes(stat.frags),
            used: bytes(stat.frags.saturating_sub(stat.free_frags)),
            free: bytes(stat.free_frags),
            available: bytes(stat.avail_frags),
            inodes: stat.inodes,
            free_inodes: stat.free_inodes,
        }
    }

    /// Used, in percent of the space that users can have, rounded up as in df(1).
    fn percent(&self) -> u64 {
        let usable = self.used.saturating_add(self.available);
        if usable == 0 { 0 } else { (u128::from(self.used) * 100).div_ceil(u128::from(usable)) as u64 }
    }

    fn row(&self, human: bool) -> Vec<String> {
        let shown = |bytes: u64| if human { size::human(bytes) } else { (bytes / 1024).to_string() };
        let numbers = [shown(self.size), shown(self.used), shown(self.available), format!("{}%", self.percent())];
        let inodes = [self.inodes.saturating_sub(self.free_inodes).to_string(), self.free_inodes.to_string()];
        [vec![self.image.clone()], numbers.to_vec(), inodes.to_vec()].concat()
    }
}

/// Shows the space of each.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut spaces = Vec::new();
    for argument in &args.images {
        let place = Inside::parse(argument);
        let spec = image::spec(&place.image, args.start)?;
        let shown = spec.to_string();
        let stat = image::read(&spec, async |fs| fs.statfs().await.with_context(|| shown.clone()))?;
        spaces.push(Space::new(text::one_line(&shown), &stat));
    }
    print(|out| {
        if args.json {
            return out.json(&spaces);
        }
        let unit = if args.human { "size" } else { "1k-blocks" };
        let heading = ["image", unit, "used", "available", "use%", "inodes used", "free"].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(heading).chain(spaces.iter().map(|space| space.row(args.human))).collect();
        out.bytes(text::table(1, &rows).as_bytes())
    })?;
    Ok(Status::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_counts_what_users_can_have_and_never_divides_by_zero() {
        let stat = StatFs { frag_size: 4096, frags: 100, free_frags: 58, avail_frags: 50, ..StatFs::default() };
        let space = Space::new(String::new(), &stat);
        assert_eq!((space.used, space.percent()), (42 * 4096, 46));
        assert_eq!(Space::new(String::new(), &StatFs::default()).percent(), 0);
        let huge = StatFs { frag_size: u32::MAX, frags: u64::MAX, ..StatFs::default() };
        assert_eq!(Space::new(String::new(), &huge).percent(), 100);
    }
}
