//! `ordo batch`, also `ordo --batch`
//!
//! B1. One open of the volume for all lines: it is opened, brought to rest and marked clean once.
//! B2. A line that failed is named with its file and number. The lines before it have taken effect, and the volume is
//!     left clean.

use super::{chmod, chown, cp, ln, mkdir, mv, rm, touch, truncate};
use crate::expand;
use crate::image::{ImageArg, Opened};
use crate::interrupt::{self, Interrupted};
use crate::out::{Outcome, Status, describe, say};
use crate::place::{Inside, Location};
use crate::text;
use anyhow::{Context, anyhow};
use clap::Parser;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, MountOptions};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// Does many things to an image, with one open
///
/// FILE has one command a line: mkdir, cp, mv, rm, ln, chmod, chown, touch, truncate, with the options that they have
/// outside. Words are split as a shell splits them, and a # begins a comment. Paths are those in the image, and begin
/// with a slash; only what cp copies is on the host, or in another image as IMAGE:/path.
///
/// The first line that fails ends it, with status 3; what the lines before did is kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ordo batch changes disk.img\n  ordo --batch - disk.img < changes\n  \
    printf 'mkdir -p /a/b\\ncp rc.conf /etc/\\nchown -R 0:0 /etc\\n' | ordo batch - disk.img")]
pub(crate) struct Args {
    /// The commands; - for standard input
    file: PathBuf,
    #[command(flatten)]
    image: ImageArg,
    /// Also do the lines after one that failed
    #[arg(long, short)]
    keep_going: bool,
}

/// A line, as its words are parsed.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_help_subcommand = true)]
struct Line {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Mkdir(mkdir::Args),
    Cp(cp::Args),
    Mv(mv::Args),
    Rm(rm::Args),
    Ln(ln::Args),
    Chmod(chmod::Args),
    Chown(chown::Args),
    Touch(touch::Args),
    Truncate(truncate::Args),
}

/// Does all lines.
pub(crate) fn run(args: &Args) -> Outcome {
    let lines = read(&args.file)?;
    let spec = args.image.spec()?;
    let rt = Rt::real_time();
    let opened = Opened::to_change_with(&rt, &spec, MountOptions::default())?;
    let batch = Batch { args, spec: &spec, opened: &opened };
    let outcome = batch.lines(&lines);
    opened.close(outcome)
}

pub(super) fn read(file: &std::path::Path) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = match file.as_os_str().as_bytes() {
        b"-" => std::io::stdin().read_to_end(&mut text).map(drop),
        _ => std::fs::read(file).map(|all| text = all),
    };
    read.with_context(|| file.display().to_string())?;
    Ok(text)
}

struct Batch<'a> {
    args: &'a Args,
    spec: &'a ImageSpec,
    opened: &'a Opened,
}

impl Batch<'_> {
    fn lines(&self, lines: &[u8]) -> Outcome {
        let mut worst = Status::DONE;
        for (number, line) in (1..).zip(lines.split(|&b| b == b'\n')) {
            let place = format!("{}:{number}", text::one_line(&self.args.file.display().to_string()));
            let outcome = interrupt::check().map_err(Into::into).and_then(|()| self.line(line));
            let error = match outcome {
                Ok(Status::DONE) => continue,
                // What was left out has said so itself.
                Ok(_) => anyhow!("not all of it was done"),
                Err(error) => error,
            };
            if error.is::<Interrupted>() {
                return Err(interrupt::how_far(error, || format!("the lines before {place} are done")));
            }
            say(&format!("{place}: {}", describe(&error)));
            worst = Status(3);
            if !self.args.keep_going {
                break;
            }
        }
        Ok(worst)
    }

    fn line(&self, line: &[u8]) -> Outcome {
        let words = shlex::bytes::split(line).context("a quotation without an end")?;
        if words.is_empty() {
            return Ok(Status::DONE);
        }
        let parsed = Line::try_parse_from(words.into_iter().map(OsString::from_vec));
        match parsed {
            Ok(line) => self.verb(&line.verb),
            Err(error) => {
                // The first of clap's lines says what is wrong.
                let all = error.to_string();
                Err(anyhow!("{}", all.lines().next().unwrap_or_default().trim_start_matches("error: ")))
            }
        }
    }

    fn verb(&self, verb: &Verb) -> Outcome {
        let (rt, fs) = (&self.opened.rt, self.opened.fs());
        match verb {
            Verb::Cp(args) => {
                let (target, sources) = args.split()?;
                return cp::into(args, self.opened, self.spec, &sources, &self.inside(target)?);
            }
            Verb::Mv(args) => {
                let (target, sources) = args.places.split_last().context("mv: name a file and its target")?;
                let (to, mut moved) = (self.inside(target)?, 0);
                let paths = sources.iter().map(|source| Ok(self.inside(source)?.path));
                let paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
                return rt.block_on(mv::on(fs, args, &to, &paths, &mut moved));
            }
            Verb::Ln(args) => {
                let old = if args.symbolic { None } else { Some(self.inside(&args.target)?.path) };
                return rt.block_on(ln::on(fs, args, &self.inside(&args.name)?, old.as_deref()));
            }
            _ => {}
        }
        let places = match verb {
            Verb::Mkdir(args) => &args.places,
            Verb::Rm(args) => &args.places,
            Verb::Chmod(args) => &args.places,
            Verb::Chown(args) => &args.places,
            Verb::Touch(args) => &args.places,
            Verb::Truncate(args) => &args.places,
            Verb::Cp(_) | Verb::Mv(_) | Verb::Ln(_) => return Ok(Status::DONE),
        };
        let (mut worst, mut removed) = (Status::DONE, 0);
        let mut all = Vec::new();
        for place in places {
            let place = self.inside(place)?;
            all.extend(match verb {
                // These make what does not exist, under the name that is given.
                Verb::Mkdir(_) | Verb::Truncate(_) => vec![place],
                _ => rt.block_on(expand::places(fs, &place))?,
            });
        }
        for place in all {
            let status = rt.block_on(async {
                match verb {
                    Verb::Mkdir(args) => mkdir::on(fs, &place, args).await,
                    Verb::Rm(args) => rm::on(fs, &place, args, &mut removed).await,
                    Verb::Chmod(args) => chmod::on(fs, &place, args).await,
                    Verb::Chown(args) => chown::on(fs, &place, args).await,
                    Verb::Touch(args) => {
                        let times = match &args.reference {
                            Some(reference) => touch::times_of(fs, &self.inside(reference)?).await?,
                            None => args.times()?,
                        };
                        touch::on(fs, &place, args, times).await
                    }
                    Verb::Truncate(args) => truncate::on(fs, &place, args).await,
                    Verb::Cp(_) | Verb::Mv(_) | Verb::Ln(_) => Ok(Status::DONE),
                }
            })?;
            worst = worst.worse(status);
        }
        Ok(worst)
    }

    /// A path in the image.
    fn inside(&self, path: &OsStr) -> anyhow::Result<Inside> {
        let image = &self.args.image.image;
        match Location::parse(path) {
            Location::Inside { image: named, path } if named == *image => Ok(Inside { image: named, path }),
            _ if path.as_bytes().starts_with(b"/") => {
                Ok(Inside { image: image.clone(), path: path.as_bytes().to_vec() })
            }
            _ => Err(anyhow!("{}: not a path in the image; it begins with a slash", path.display())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_a_line_holds_together() {
        Line::command().debug_assert();
    }
}
