//! The table in a file: magic, number of the first record that is not in it, count, entries, CRC-32C of all before.
//!
//! A new one is written beside the old one and takes its name when it is durable (kv-4).

use crate::table::{Entry, KvError, Table};
use ordo_wafs::Lsn;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"ORDOKV01";
const NAME: &str = "kv.snapshot";

/// Writes the table, which holds all changes before `end`.
pub(crate) fn store(dir: &Path, end: Lsn, table: &Table) -> Result<(), KvError> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&end.0.to_le_bytes());
    let values = || table.iter().filter_map(|(key, entry)| Some((key, entry.value.as_ref()?)));
    bytes.extend_from_slice(&(values().count() as u64).to_le_bytes());
    for (key, value) in values() {
        for part in [key, value] {
            bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
            bytes.extend_from_slice(part);
        }
    }
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    let (path, new) = (dir.join(NAME), dir.join("kv.snapshot.new"));
    let written = || {
        let mut file = File::create(&new)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(dir)?.sync_all()
    };
    written().map_err(|source| KvError::Io { path: path.clone(), source })
}

/// The table, and where to read the log on; an empty one from the beginning if there is none.
pub(crate) fn load(dir: &Path) -> Result<(Lsn, Table), KvError> {
    let path = dir.join(NAME);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Lsn::NONE, Table::default())),
        Err(source) => return Err(KvError::Io { path, source }),
    };
    parse(&bytes).ok_or(KvError::Snapshot(path))
}

fn parse(bytes: &[u8]) -> Option<(Lsn, Table)> {
    let (bytes, told) = bytes.split_last_chunk()?;
    if crc32c::crc32c(bytes) != u32::from_le_bytes(*told) {
        return None;
    }
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let (end, count) = (Lsn(number(&mut rest)?), number(&mut rest)?);
    let mut table = Table::default();
    for _ in 0..count {
        let (key, value) = (part(&mut rest)?, part(&mut rest)?);
        // Any record of the log from `end` on is later.
        table.insert(key, Entry { lsn: Lsn(end.0 - 1), value: Some(value) });
    }
    rest.is_empty().then_some((end, table))
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let (number, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_le_bytes(*number))
}

fn part(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (len, behind) = rest.split_first_chunk()?;
    let (part, behind) = behind.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    *rest = behind;
    Some(part.to_vec())
}
