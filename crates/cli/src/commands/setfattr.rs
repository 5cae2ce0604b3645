//! `ordo setfattr`

use crate::image::{self, Start};
use crate::out::{Outcome, Status};
use crate::place::Inside;
use anyhow::Context;
use ordo_vfs::{FileSystem, XattrMode};
use ordofs::Fs;
use ordofs::path::resolve;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::rc::Rc;

/// Sets or removes an extended attribute of files of an image
///
/// Names are Linux's, as ordo getfattr shows them: user.NAME, trusted.NAME, security.NAME. VALUE is text, bytes in
/// hexadecimal (0x...), or text in double quotes, in which a backslash comes before a quote and a backslash. Only a
/// UFS2 keeps attributes.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Examples:\n  ordo setfattr -n user.origin -v 'the old disk' disk.img:/etc/motd\n  \
    ordo setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 disk.img:/bin/ping\n  \
    ordo setfattr -x user.origin disk.img:/etc/motd")]
pub(crate) struct Args {
    /// Set this attribute
    #[arg(short, long, required_unless_present = "remove", conflicts_with = "remove")]
    name: Option<OsString>,
    /// Its value; without this option it is empty
    #[arg(short, long, requires = "name", allow_hyphen_values = true)]
    value: Option<OsString>,
    /// Remove this attribute
    #[arg(short = 'x', long, value_name = "NAME")]
    remove: Option<OsString>,
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

/// Sets it.
pub(crate) fn run(args: &Args) -> Outcome {
    for name in [&args.name, &args.remove].into_iter().flatten() {
        if !name.as_bytes().contains(&b'.') {
            let name = crate::text::escape(name.as_bytes());
            return Err(crate::out::usage(format!("{name}: a name begins with what it is for; write user.{name}")));
        }
    }
    let value = bytes(args.value.as_deref().unwrap_or_default()).map_err(crate::out::usage)?;
    image::change_each(&args.places, args.start, "not all attributes are set", async |fs, place| {
        on(fs, place, args, &value).await
    })
}

async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args, value: &[u8]) -> Outcome {
    let file = resolve(fs, &place.path, !args.no_dereference).await.with_context(|| place.shown())?;
    let changed = match (&args.name, &args.remove) {
        (Some(name), _) => fs.setxattr(&image::owner(), file.node(), name.as_bytes(), value, XattrMode::Set).await,
        (None, Some(name)) => fs.removexattr(file.node(), name.as_bytes()).await,
        (None, None) => Ok(()),
    };
    changed.with_context(|| place.shown())?;
    Ok(Status::DONE)
}

/// The bytes of a value.
fn bytes(text: &OsStr) -> Result<Vec<u8>, String> {
    let text = text.as_bytes();
    if let Some(digits) = text.strip_prefix(b"0x").or(text.strip_prefix(b"0X")) {
        let pairs = digits.chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
            pair.filter(|pair| pair.len() == 2).and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        return pairs.collect::<Option<_>>().ok_or("a value that begins with 0x is pairs of hexadecimal digits".into());
    }
    let Some(quoted) = text.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return Ok(text.to_vec());
    };
    let (mut value, mut rest) = (Vec::new(), quoted.iter());
    while let Some(&b) = rest.next() {
        value.push(if b == b'\\' { *rest.next().unwrap_or(&b) } else { b });
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_text_quoted_text_or_hexadecimal_digits() {
        let of = |text: &str| bytes(OsStr::new(text));
        assert_eq!((of("a b"), of("\"a \\\"b\\\\\"")), (Ok(b"a b".to_vec()), Ok(b"a \"b\\".to_vec())));
        assert_eq!((of("0x00fF"), of("\"")), (Ok(vec![0, 255]), Ok(b"\"".to_vec())));
        assert!(of("0x0").is_err() && of("0x+1").is_err());
    }
}
