//! Names of users and groups, and their numbers: of the host, or of a directory with the files of another system.

use crate::text;
use anyhow::{Context, anyhow};
use std::collections::HashMap;
use std::path::Path;

/// Both tables.
#[derive(Debug)]
pub(in super::super) struct Users {
    users: HashMap<Vec<u8>, u32>,
    groups: HashMap<Vec<u8>, u32>,
    /// Where they are from, for messages.
    from: String,
}

impl Users {
    /// The tables of `dir`; of the host without it. A directory of BSD may have `master.passwd` instead of `passwd`.
    ///
    /// # Errors
    /// When a table of a directory that the user named cannot be read.
    pub(in super::super) fn read(dir: Option<&Path>) -> anyhow::Result<Users> {
        let base = dir.unwrap_or(Path::new("/etc"));
        let table = |name: &str| match std::fs::read(base.join(name)) {
            Ok(bytes) => Ok(parse(&bytes)),
            // A host may have none, and the manifest no names.
            Err(_) if dir.is_none() => Ok(HashMap::new()),
            Err(error) => Err(error).with_context(|| text::one_line(&base.join(name).display().to_string())),
        };
        let users = table("passwd").or_else(|error| table("master.passwd").map_err(|_| error))?;
        let from = text::one_line(&base.display().to_string());
        Ok(Users { users, groups: table("group")?, from })
    }

    /// The number of a user.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(in super::super) fn uid(&self, name: &[u8]) -> anyhow::Result<u32> {
        self.users.get(name).copied().ok_or_else(|| self.unknown("user", name, "passwd"))
    }

    /// The number of a group.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(in super::super) fn gid(&self, name: &[u8]) -> anyhow::Result<u32> {
        self.groups.get(name).copied().ok_or_else(|| self.unknown("group", name, "group"))
    }

    fn unknown(&self, what: &str, name: &[u8], table: &str) -> anyhow::Error {
        let (name, from) = (text::escape(name), &self.from);
        anyhow!("the {what} {name} is not in {from}/{table}; give --user-db a directory whose tables have it")
    }
}

/// `name:password:number:...`, one a line; the first line of a name counts.
fn parse(bytes: &[u8]) -> HashMap<Vec<u8>, u32> {
    let mut table = HashMap::new();
    for line in bytes.split(|&b| b == b'\n') {
        let mut fields = line.split(|&b| b == b':');
        let (Some(name), Some(number)) = (fields.next(), fields.nth(1)) else { continue };
        if let Some(number) = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()) {
            table.entry(name.to_vec()).or_insert(number);
        }
    }
    table
}
