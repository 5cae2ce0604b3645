//! `ordo scrub`

use crate::image::{self, Start};
use crate::listing::json_text;
use crate::messages::Messages;
use crate::out::{Outcome, Status, print};
use anyhow::{Context, anyhow, bail};
use ordofs::disk::{Cause, FileOptions};
use ordofs::rt::Rt;
use ordofs::{Adopted, Mounted, OpenError, Scrubbed, Weight};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// Reads all that an active journal knows, verifies it, and heals what is wrong from its copies
///
/// Of what is on the volume, the map of an active journal (ordo tune -o active=on) knows the checksum of each fragment
/// that a transaction has written, and of what was adopted. If the volume is mounted, its server does the work beside
/// its calls. If not, it must be clean. Exit code 4 if a fragment has no good copy, 3 if the map has no room for what
/// was to be adopted.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo scrub disk.img\n  ordo scrub --adopt archive.img\n  ordo scrub --json disk.img@s1a\n  ordo scrub /mnt\n  ordo scrub --adopt /mnt"
)]
pub(crate) struct Args {
    /// A file, a block device, or a partition in one; or the directory on which it is mounted
    #[arg(value_name = "IMAGE|DIR")]
    place: PathBuf,
    #[command(flatten)]
    start: Start,
    /// Then takes the checksums of everything else that lies on the volume: from then on it is verified, too, until it,
    /// or what shares its eight fragments, is overwritten
    #[arg(long)]
    adopt: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

/// What was read, and healed.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Counts {
    /// Fragments whose checksum is known.
    fragments: u64,
    /// Of these, healed at home.
    healed: u64,
    /// Copies that were wrong, and count no more.
    bad_copies: u64,
    /// Fragments without a good copy.
    rotten: u64,
    /// With `--adopt`: fragments whose checksum was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adopted: Option<u64>,
    /// The same: fragments for which the map has no room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_adopted: Option<u64>,
}

impl Counts {
    fn add(&mut self, more: &Counts) {
        self.fragments += more.fragments;
        self.healed += more.healed;
        self.bad_copies += more.bad_copies;
        self.rotten += more.rotten;
        let sum =
            |all: &mut Option<u64>, more: Option<u64>| *all = all.map_or(more, |all| Some(all + more.unwrap_or(0)));
        sum(&mut self.adopted, more.adopted);
        sum(&mut self.not_adopted, more.not_adopted);
    }
}

/// The server's answer.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    #[serde(flatten)]
    found: Counts,
    /// Where the next part begins.
    next: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    image: String,
    #[serde(flatten)]
    found: &'a Counts,
}

impl From<Scrubbed> for Counts {
    fn from(done: Scrubbed) -> Counts {
        let Scrubbed { blocks: fragments, healed, bad_copies, rotten, .. } = done;
        Counts { fragments, healed, bad_copies, rotten, ..Counts::default() }
    }
}

impl From<Adopted> for Counts {
    fn from(done: Adopted) -> Counts {
        Counts { adopted: Some(done.new), not_adopted: Some(done.left), ..Counts::default() }
    }
}

const UNMOUNTED: &str = "it was unmounted before the scrub had ended";

/// Scrubs it.
pub(crate) fn run(args: &Args) -> Outcome {
    let place = &args.place;
    let in_use = mounted(place, args.adopt).with_context(|| place.display().to_string())?;
    let (shown, found) = match in_use {
        Some(found) => (place.clone(), found),
        None => at_rest(args)?,
    };
    let image = json_text(shown.as_os_str().as_bytes()).0;
    print(|out| match args.json {
        true => out.json(&Document { image, found: &found }),
        false => {
            out.line(format!(
                "{image}: {} fragments read, {} healed, {} bad copies dropped, {} rotten",
                found.fragments, found.healed, found.bad_copies, found.rotten
            ))?;
            match (found.adopted, found.not_adopted) {
                (Some(adopted), Some(0)) => out.line(format!("{image}: {adopted} fragments adopted")),
                (Some(adopted), Some(left)) => out.line(format!(
                    "{image}: {adopted} fragments adopted; the map has no room for {left} others: give it a larger file \
                     (ordo tune -o active=off, then active=SIZE)"
                )),
                _ => Ok(()),
            }
        }
    })?;
    Ok(match (found.rotten, found.not_adopted) {
        (1.., _) => Status(4),
        (0, Some(1..)) => Status(3),
        _ => Status::DONE,
    })
}

/// Has the server of a mounted volume do it, a part at a time. `None` if nothing is mounted there.
fn mounted(place: &Path, adopt: bool) -> anyhow::Result<Option<Counts>> {
    let Some(mut all) = parts(ordo_fuse::SCRUB, place)? else { return Ok(None) };
    if adopt {
        all.add(&parts(ordo_fuse::ADOPT, place)?.context(UNMOUNTED)?);
    }
    Ok(Some(all))
}

fn parts(work: &str, place: &Path) -> anyhow::Result<Option<Counts>> {
    let (mut all, mut next) = (Counts::default(), Some(0));
    while let Some(from) = next {
        let Some(answer) = ordo_fuse::work(work, place.as_os_str(), from)? else {
            match from {
                0 => return Ok(None),
                _ => bail!(UNMOUNTED),
            }
        };
        let text = answer.map_err(|errno| match errno {
            Errno::OPNOTSUPP => anyhow!("it is mounted without an active journal: mount it with -o scheme=active"),
            Errno::ROFS => anyhow!("it is mounted read-only, and nothing can be healed"),
            errno => anyhow!("the server could not scrub it: {errno}"),
        })?;
        let part: Part = serde_json::from_str(&text).context("the server's answer is of another version")?;
        all.add(&part.found);
        next = part.next;
    }
    Ok(Some(all))
}

fn at_rest(args: &Args) -> anyhow::Result<(PathBuf, Counts)> {
    let (spec, rt) = (image::spec(&args.place, args.start)?, Rt::real_time());
    let notices = Messages::of(&spec, false).listener_once();
    if args.adopt {
        let done = ordofs::locate(&rt, &spec, FileOptions::default())
            .and_then(|located| ordofs::scrub_and_adopt(&rt, located, &notices));
        let (found, adopted) = done.map_err(|error| image::open_error(&spec.path, error))?;
        let (new, left) = (Some(adopted.new), Some(adopted.left));
        return Ok((spec.to_string().into(), Counts { adopted: new, not_adopted: left, ..found.into() }));
    }
    let located = ordofs::locate_to_write(&rt, &spec, &FileOptions::default(), "ordo scrub", &notices, false);
    let scrubbed = located.and_then(|located| {
        let scrubbed = ordofs::scrub(&rt, &located);
        rt.block_on(ordofs::given_back(located.claim.as_ref()));
        scrubbed
    });
    let found = scrubbed.map_err(|error| image::open_error(&spec.path, error))?;
    Ok((spec.to_string().into(), found.into()))
}

/// What the server of a mount does when it is asked for a scrub. It does not keep the file system in memory.
pub(crate) fn of_mounted(mounted: &Mounted, messages: Messages) -> ordo_fuse::Scrub {
    let scrub = mounted.scrubber();
    Box::new(move |from| {
        let part = scrub(from);
        answer(async move { Some(part.await?.map_err(OpenError::Request)) }, messages.clone())
    })
}

/// The same for an adoption.
pub(crate) fn adoption_of_mounted(mounted: &Mounted, messages: Messages) -> ordo_fuse::Scrub {
    let adopt = mounted.adopter();
    Box::new(move |from| answer(adopt(from), messages.clone()))
}

type Answer = Pin<Box<dyn Future<Output = Result<String, Errno>>>>;

fn answer<T: Into<Counts>>(
    part: impl Future<Output = Option<Result<(T, Option<u64>), OpenError>>> + 'static,
    messages: Messages,
) -> Answer {
    Box::pin(async move {
        let (done, next) = part.await.ok_or(Errno::OPNOTSUPP)?.map_err(|error| {
            if matches!(&error, OpenError::Request(error) if error.cause == Cause::ReadOnly) {
                return Errno::ROFS;
            }
            messages.tell(Weight::Error, &format!("scrub: {error}"));
            Errno::IO
        })?;
        serde_json::to_string(&Part { found: done.into(), next }).map_err(|_| Errno::IO)
    })
}
