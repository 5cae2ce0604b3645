//! Files of text that may be compressed.

use anyhow::{Context, bail};
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::Path;

/// A file as text; gzip is recognized by its first bytes.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path)?;
    let bytes = match bytes.starts_with(&[0x1f, 0x8b]) {
        false => bytes,
        true => {
            let mut plain = Vec::new();
            MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain).context("the gzip is damaged")?;
            plain
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(_) => bail!("it is neither text nor gzip"),
    }
}

/// The name of a file without `.gz` and then without its ending.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_without_its_endings() {
        assert_eq!(
            ["a/b.trace.gz", "b.trace", "b.gz", "b", ".gz"].map(|path| stem(Path::new(path))),
            ["b", "b", "b", "b", ""]
        );
    }
}
