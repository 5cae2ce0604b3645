//! Patterns in paths inside images: `IMAGE:/etc/*.conf`.
//!
//! E1. A name that exists as it is written wins over a pattern.
//! E2. As in a shell, matches come in order, and a name that begins with a dot matches only a pattern that does.
//! E3. A pattern that matches nothing is an error: a command that was to remove or change something must say that it
//!     did not.

use crate::glob;
use crate::place::{Inside, join};
use crate::text;
use anyhow::Context;
use ordofs::Fs;
use ordofs::path::resolve;
use std::rc::Rc;

/// A pattern matches nothing.
#[derive(Debug)]
pub(crate) struct NoMatch(String);

impl std::fmt::Display for NoMatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: no file has a name of this pattern", self.0)
    }
}

impl std::error::Error for NoMatch {}

/// The places that an argument names: several, if its path is a pattern. Any other path is left as it is, whether or
/// not there is such a file.
///
/// # Errors
/// [`NoMatch`]; a directory that cannot be read.
pub(crate) async fn places(fs: &Rc<Fs>, place: &Inside) -> anyhow::Result<Vec<Inside>> {
    if !is_pattern(&place.path) || resolve(fs, &place.path, false).await.is_ok() {
        return Ok(vec![place.clone()]);
    }
    let mut found = vec![b"/".to_vec()];
    for part in place.path.split(|&b| b == b'/').filter(|part| !part.is_empty()) {
        found = match is_pattern(part) {
            true => below(fs, &found, part).await?,
            false => found.iter().map(|dir| join(dir, part)).collect(),
        };
    }
    let mut places = Vec::new();
    for path in found {
        if resolve(fs, &path, false).await.is_ok() {
            places.push(Inside { image: place.image.clone(), path });
        }
    }
    if places.is_empty() { Err(NoMatch(place.shown()).into()) } else { Ok(places) }
}

fn is_pattern(path: &[u8]) -> bool {
    path.iter().any(|b| b"*?[".contains(b))
}

/// The names in these directories that match; what is no directory has none.
async fn below(fs: &Rc<Fs>, dirs: &[Vec<u8>], pattern: &[u8]) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for path in dirs {
        let Ok(dir) = resolve(fs, path, true).await else { continue };
        if !dir.is_dir() {
            continue;
        }
        let (mut names, outcome) = dir.names().await;
        outcome.with_context(|| text::escape(path))?;
        names.retain(|name| glob::matches(pattern, name) && name.starts_with(b".") <= pattern.starts_with(b"."));
        names.sort();
        found.extend(names.iter().map(|name| join(path, name)));
    }
    Ok(found)
}
