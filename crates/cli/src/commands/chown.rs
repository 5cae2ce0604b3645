//! `ordo chown`

use crate::image::{self, Start};
use crate::names::{self, Table};
use crate::out::Outcome;
use crate::place::Inside;
use crate::text;
use crate::walk::Walk;
use anyhow::Context;
use ordo_vfs::{FileSystem, SetAttr};
use ordofs::Fs;
use ordofs::path::resolve;
use std::ffi::OsString;
use std::rc::Rc;

/// Changes the owners of files of an image
///
/// OWNER is USER, USER:GROUP or :GROUP, as numbers or as names of the image's own /etc/passwd and /etc/group. A
/// symbolic link is changed itself, and never followed. Modes stay as they are, set-user-id bits included: whoever
/// changes an image could set them anyway.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
#[command(after_help = "Examples:\n  ordo chown 0:0 disk.img:/etc/motd\n  ordo chown -R www:www disk.img:/srv/www\n  \
    ordo chown :operator disk.img:/dev")]
pub(crate) struct Args {
    /// The new owner
    #[arg(value_parser = Owner::parse)]
    owner: Owner,
    /// IMAGE:/path
    #[arg(value_name = "IMAGE:/PATH", required = true)]
    pub(super) places: Vec<OsString>,
    /// Directories with all their contents
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Change symbolic links themselves: always so
    #[arg(short = 'h', long)]
    no_dereference: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(flatten)]
    start: Start,
}

/// An owner as it was given: numbers or names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owner {
    user: Option<String>,
    group: Option<String>,
}

impl Owner {
    fn parse(text: &str) -> Result<Owner, String> {
        let (user, group) = text.split_once(':').map_or((text, None), |(user, group)| (user, Some(group)));
        let owner =
            Owner { user: Some(user.to_owned()).filter(|user| !user.is_empty()), group: group.map(str::to_owned) };
        match owner.group.as_deref() {
            Some("") => Err(format!("{text:?} names no group; write USER, USER:GROUP or :GROUP")),
            None if owner.user.is_none() => Err("no owner; write USER, USER:GROUP or :GROUP".to_owned()),
            _ => Ok(owner),
        }
    }
}

/// Changes them.
pub(crate) fn run(args: &Args) -> Outcome {
    image::change_each(&args.places, args.start, "not all owners are changed", async |fs, place| {
        on(fs, place, args).await
    })
}

/// Changes the owner of a file, and with -R of everything below it.
pub(super) async fn on(fs: &Rc<Fs>, place: &Inside, args: &Args) -> Outcome {
    let number = async |table, text: &Option<String>| match text {
        Some(text) => names::id(fs, table, text).await.map(Some).with_context(|| place.shown()),
        None => Ok(None),
    };
    let uid = number(Table::Users, &args.owner.user).await?;
    let gid = number(Table::Groups, &args.owner.group).await?;
    let file = resolve(fs, &place.path, false).await.with_context(|| place.shown())?;
    let mut walk = Walk::new(&place.path, file, args.recursive);
    while let Some((path, file)) = walk.next().await? {
        let owner = SetAttr { uid, gid, ..SetAttr::default() };
        let mode = SetAttr { mode: Some(file.attr().mode), ..SetAttr::default() };
        let changed = async {
            fs.setattr(file.node(), &owner).await?;
            // A change of owner clears the set-user-id bits of a program.
            if file.attr().mode.bits() & 0o6000 != 0 { fs.setattr(file.node(), &mode).await.map(drop) } else { Ok(()) }
        };
        let changed = changed.await;
        walk.tally.judge(&text::escape(&path), changed);
    }
    Ok(walk.tally.status())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_a_user_a_group_or_both() {
        let of = |text: &str| Owner::parse(text).map(|owner| (owner.user, owner.group));
        assert_eq!(of("12:34"), Ok((Some("12".into()), Some("34".into()))));
        assert_eq!(of("ann"), Ok((Some("ann".into()), None)));
        assert_eq!(of(":wheel"), Ok((None, Some("wheel".into()))));
        for wrong in ["", ":", "ann:"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
