//! `ordo getfattr`

use crate::image::{self, Start};
use crate::out::{Out, Outcome, Status, say};
use crate::text;
use crate::walk::Walk;
use anyhow::Context;
use ordo_vfs::{FileSystem, Refusal};
use ordofs::Fs;
use ordofs::path::{Held, resolve};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

/// Shows the extended attributes of files of an image
///
/// Without options it lists the names of the user's attributes. Names are Linux's: user.NAME, and for what FreeBSD
/// keeps in its system namespace trusted.NAME, security.NAME and system.NAME. A value that is text is quoted, any other
/// is in hexadecimal (0x...).
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Examples:\n  ordo getfattr -d disk.img:/etc/motd\n  \
    ordo getfattr -n user.origin disk.img:/etc/motd\n  ordo getfattr -R -d -m - disk.img:/srv")]
pub(crate) struct Args {
    /// The value of this attribute
    #[arg(short = 'n', long, value_name = "NAME", conflicts_with_all = ["dump", "matching"])]
    name: Option<OsString>,
    /// Values, too
    #[arg(short, long)]
    dump: bool,
    /// Attributes whose names begin so; - for all [default: user.]
    #[arg(short = 'm', long = "match", value_name = "PREFIX", allow_hyphen_values = true)]
    matching: Option<OsString>,
    /// Only the value, as it is stored
    #[arg(long, requires = "name")]
    only_values: bool,
    /// Directories with all their contents
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Of a symbolic link itself, not of its target
    #[arg(short = 'h', long)]
    no_dereference: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    places: Vec<OsString>,
    #[command(flatten)]
    start: Start,
}

/// Shows them. Status 1: a file does not have the attribute that was asked for.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut out = Out::new();
    let worst = image::read_each(&args.places, args.start, async |fs, place| {
        let file = resolve(fs, &place.path, !args.no_dereference).await.with_context(|| place.shown())?;
        let (mut walk, mut worst) = (Walk::new(&place.path, file, args.recursive), Status::DONE);
        while let Some((path, file)) = walk.next().await? {
            let shown = show(args, &mut out, &path, &file).await.map_err(|error| format!("{error:#}"));
            let status = walk.tally.judge(&text::escape(&path), shown);
            worst = worst.worse(status.unwrap_or(Status::DONE));
        }
        Ok(worst.worse(walk.tally.status()))
    })?;
    out.end()?;
    Ok(worst)
}

async fn show(args: &Args, out: &mut Out, path: &[u8], file: &Held<Fs>) -> Outcome {
    let fs = file.fs();
    let names = match &args.name {
        Some(name) => vec![name.as_bytes().to_vec()],
        None => {
            let prefix = args.matching.as_ref().map_or(&b"user."[..], |prefix| prefix.as_bytes());
            let mut names = fs.listxattr(file.node()).await?;
            names.retain(|name| prefix == b"-" || name.starts_with(prefix));
            names.sort();
            names
        }
    };
    let (mut rows, wants_values) = (Vec::new(), args.dump || args.name.is_some());
    for name in &names {
        if !wants_values {
            rows.push(text::escape(name));
            continue;
        }
        let value = match fs.getxattr(file.node(), name).await {
            Ok(value) => value,
            Err(ordo_vfs::Error::Refused(Refusal::NoAttribute | Refusal::NotSupported)) if args.name.is_some() => {
                say(&format!("{}: no attribute {}", text::escape(path), text::escape(name)));
                return Ok(Status::NO);
            }
            Err(error) => return Err(error.into()),
        };
        if args.only_values {
            out.bytes(&value)?;
            return Ok(Status::DONE);
        }
        rows.push(format!("{}={}", text::escape(name), quoted(&value)));
    }
    if !rows.is_empty() {
        out.line(format!("# file: {}\n{}\n", text::escape(path), rows.join("\n")))?;
    }
    Ok(Status::DONE)
}

/// Text in quotes, with backslashes before quotes and backslashes; other bytes in hexadecimal.
fn quoted(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) if !text.chars().any(char::is_control) => {
            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
        _ => format!("0x{}", text::hex(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_text_or_hexadecimal_digits() {
        assert_eq!(quoted(b"a \"b\" \\"), "\"a \\\"b\\\" \\\\\"");
        assert_eq!((quoted(b""), quoted(b"\0\xff")), ("\"\"".into(), "0x00ff".into()));
    }
}
