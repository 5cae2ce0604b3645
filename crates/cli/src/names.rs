//! Owners by name, from the image's own `/etc/passwd` and `/etc/group`.
//!
//! N1. A name on the command line is one of the image: the users and groups of the host have no part in its files.
//! N2. To show an owner, the host's names do where the image has none, as they do for ls(1) on a mount.

use anyhow::{Context, bail};
use ordo_vfs::{FileSystem, Kind, Refusal};
use ordofs::Fs;
use ordofs::path::resolve;
use std::collections::HashMap;
use std::rc::Rc;

/// Most bytes that are read of each file.
const MOST: usize = 16 << 20;

/// Names and numbers of one of the two files.
#[derive(Debug, Default)]
pub(crate) struct Names {
    ids: HashMap<Vec<u8>, u32>,
    names: HashMap<u32, Vec<u8>>,
}

/// The two files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Table {
    Users,
    Groups,
}

impl Table {
    fn path(self) -> &'static str {
        match self {
            Table::Users => "/etc/passwd",
            Table::Groups => "/etc/group",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Table::Users => "user",
            Table::Groups => "group",
        }
    }
}

impl Names {
    /// Reads a file of the image. Without the file there are no names.
    pub(crate) async fn of(fs: &Rc<Fs>, table: Table) -> anyhow::Result<Names> {
        match read(fs, table.path()).await {
            Err(ordo_vfs::Error::Refused(Refusal::NotFound | Refusal::NotDirectory)) => Ok(Names::default()),
            text => Ok(Names::parse(&text.with_context(|| table.path())?)),
        }
    }

    /// `name:password:number:...`; the first line with a name counts, as for getpwnam(3).
    fn parse(text: &[u8]) -> Names {
        let mut names = Names::default();
        for line in text.split(|&b| b == b'\n') {
            let mut fields = line.split(|&b| b == b':');
            let (Some(name), Some(id)) = (fields.next(), fields.nth(1)) else { continue };
            let Some(id) = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok()) else { continue };
            if !name.is_empty() && !name.starts_with(b"#") {
                names.ids.entry(name.to_vec()).or_insert(id);
                names.names.entry(id).or_insert_with(|| name.to_vec());
            }
        }
        names
    }
}

/// The names of owners, to show them (N2).
#[derive(Debug, Default)]
pub(crate) struct Owners {
    users: Names,
    groups: Names,
}

impl Owners {
    /// The names for the files of an image; none if they are wanted as numbers.
    ///
    /// # Errors
    /// When the image has a file of names that cannot be read.
    pub(crate) async fn of(fs: &Rc<Fs>, numeric: bool) -> anyhow::Result<Owners> {
        if numeric {
            return Ok(Owners::default());
        }
        Ok(Owners { users: Owners::table(fs, Table::Users).await?, groups: Owners::table(fs, Table::Groups).await? })
    }

    async fn table(fs: &Rc<Fs>, table: Table) -> anyhow::Result<Names> {
        let names = Names::of(fs, table).await?;
        let is_empty = names.ids.is_empty();
        // Without the host's file there are numbers.
        Ok(if is_empty { Names::parse(&std::fs::read(table.path()).unwrap_or_default()) } else { names })
    }

    /// A user's number.
    pub(crate) fn user_id(&self, name: &str) -> Option<u32> {
        self.users.ids.get(name.as_bytes()).copied()
    }

    /// A group's number.
    pub(crate) fn group_id(&self, name: &str) -> Option<u32> {
        self.groups.ids.get(name.as_bytes()).copied()
    }

    /// A user's name, or number.
    pub(crate) fn user(&self, id: u32) -> String {
        shown(&self.users, id)
    }

    /// A group's name, or number.
    pub(crate) fn group(&self, id: u32) -> String {
        shown(&self.groups, id)
    }
}

fn shown(names: &Names, id: u32) -> String {
    names.names.get(&id).map_or_else(|| id.to_string(), |name| crate::text::escape(name))
}

/// The number of an owner: the text itself, or that of the name in the image.
pub(crate) async fn id(fs: &Rc<Fs>, table: Table, text: &str) -> anyhow::Result<u32> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    if text.strip_prefix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit()) {
        bail!("no owner has the number {text}; numbers are 0 to {}", u32::MAX);
    }
    let found = Names::of(fs, table).await?.ids.get(text.as_bytes()).copied();
    found.with_context(|| {
        let (word, path) = (table.word(), table.path());
        format!("no {word} {text:?} in the image's {path}; give a number, since the host's names do not hold there")
    })
}

async fn read(fs: &Rc<Fs>, path: &str) -> ordo_vfs::Result<Vec<u8>> {
    let file = resolve(fs, path.as_bytes(), true).await?;
    let mut text = Vec::new();
    while file.attr().kind == Kind::Regular && text.len() < MOST {
        let piece = fs.read(file.node(), text.len() as u64, 1 << 20).await?.concat();
        if piece.is_empty() {
            break;
        }
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_passwd_and_group_are_read_and_nonsense_is_not() {
        let names =
            Names::parse(b"root:*:0:0::/root:/bin/sh\n#x:*:3\nbad\nworse:*:x\n\nann:x:1001:20\nann:x:7:7\n:x:4:");
        let mut all: Vec<_> = names.ids.iter().map(|(name, id)| (String::from_utf8_lossy(name), *id)).collect();
        all.sort();
        assert_eq!(all, [("ann".into(), 1001), ("root".into(), 0)]);
    }
}
