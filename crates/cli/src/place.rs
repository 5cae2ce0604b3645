//! Parsing `IMAGE:/path` arguments.
//!
//! An argument names a place inside an image if the part before one of its `:/` is a file, a device, or a partition of
//! one (`disk.img@p2`); the last such `:/` counts. It also does if no file of the host has its whole name, so that a
//! mistyped image is reported as such. Everything else is a path of the host.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The prefixes of network block device addresses.
const URLS: [&[u8]; 4] = [b"nbd://", b"nbds://", b"nbd+unix://", b"nbds+unix://"];

/// The place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// On the host.
    Host(PathBuf),
    /// In an image, at a path from its root, which begins with a slash.
    Inside { image: PathBuf, path: Vec<u8> },
}

impl Location {
    /// Parses an argument.
    pub(crate) fn parse(argument: &OsStr) -> Location {
        Location::parse_with(argument, |path| path.exists() && !path.is_dir(), |path| path.symlink_metadata().is_ok())
    }

    fn parse_with(argument: &OsStr, is_image: impl Fn(&Path) -> bool, is_there: impl Fn(&Path) -> bool) -> Location {
        let bytes = argument.as_bytes();
        let scheme = URLS.into_iter().find(|scheme| bytes.starts_with(scheme)).map_or(0, <[u8]>::len);
        let colons: Vec<usize> = (scheme.max(1)..bytes.len()).filter(|&at| bytes[at..].starts_with(b":/")).collect();
        let split = |at: usize| {
            let image = PathBuf::from(OsStr::from_bytes(&bytes[..at]));
            Location::Inside { image, path: bytes[at + 1..].to_vec() }
        };
        let image = |&at: &usize| {
            let left = &bytes[..at];
            if scheme > 0 {
                return true;
            }
            let disk = left.iter().rposition(|&b| b == b'@').map(|at| &left[..at]);
            [Some(left), disk].into_iter().flatten().any(|path| is_image(Path::new(OsStr::from_bytes(path))))
        };
        match colons.iter().rev().copied().find(|at| image(at)) {
            Some(at) => split(at),
            None if scheme > 0 || is_there(Path::new(argument)) => Location::Host(argument.into()),
            None => colons.first().map_or_else(|| Location::Host(argument.into()), |&at| split(at)),
        }
    }
}

/// Whether an image is the address of a network block device.
pub(crate) fn is_address(image: &Path) -> bool {
    URLS.into_iter().any(|scheme| image.as_os_str().as_bytes().starts_with(scheme))
}

/// An argument that must be inside an image: `IMAGE:/path`, or `IMAGE` alone for its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inside {
    pub(crate) image: PathBuf,
    pub(crate) path: Vec<u8>,
}

impl Inside {
    /// Parses an argument; never fails, because without a `:/` all of it is the image.
    pub(crate) fn parse(argument: &OsStr) -> Inside {
        match Location::parse(argument) {
            Location::Inside { image, path } => Inside { image, path },
            Location::Host(image) => Inside { image, path: b"/".to_vec() },
        }
    }

    /// `IMAGE:/path`, as the user would write it.
    pub(crate) fn shown(&self) -> String {
        let mut whole = self.image.clone().into_os_string().into_vec();
        whole.push(b':');
        whole.extend_from_slice(&self.path);
        crate::text::escape(&whole)
    }
}

/// The last name in a path; empty for the root.
pub(crate) fn last_name(path: &[u8]) -> &[u8] {
    path.split(|&b| b == b'/').rfind(|name| !name.is_empty()).unwrap_or_default()
}

/// A path and a name below it.
pub(crate) fn join(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut joined = path.to_vec();
    if !joined.ends_with(b"/") {
        joined.push(b'/');
    }
    joined.extend_from_slice(name);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(argument: &str, images: &[&str], there: &[&str]) -> (String, String) {
        let of = |list: &[&str], path: &Path| list.iter().any(|known| Path::new(known) == path);
        match Location::parse_with(OsStr::new(argument), |path| of(images, path), |path| of(there, path)) {
            Location::Host(path) => ("host".into(), path.display().to_string()),
            Location::Inside { image, path } => (image.display().to_string(), String::from_utf8(path).unwrap()),
        }
    }

    fn pair(left: &str, right: &str) -> (String, String) {
        (left.into(), right.into())
    }

    #[test]
    fn the_last_colon_behind_an_existing_image_splits() {
        assert_eq!(parse("a.img:/etc/x", &["a.img"], &[]), pair("a.img", "/etc/x"));
        assert_eq!(parse("a.img:/x:/y", &["a.img"], &[]), pair("a.img", "/x:/y"));
        assert_eq!(parse("a:/b.img:/y", &["a:/b.img"], &[]), pair("a:/b.img", "/y"));
        assert_eq!(parse("a.img:/", &["a.img"], &[]), pair("a.img", "/"));
    }

    #[test]
    fn a_partition_belongs_to_the_image() {
        assert_eq!(parse("d.img@s1a:/x", &["d.img"], &[]), pair("d.img@s1a", "/x"));
        assert_eq!(parse("me@home.img:/x", &["me@home.img"], &[]), pair("me@home.img", "/x"));
    }

    #[test]
    fn an_address_is_an_image_whatever_its_colons() {
        assert_eq!(parse("nbd://host:10809/e:/etc", &[], &[]), pair("nbd://host:10809/e", "/etc"));
        assert_eq!(
            parse("nbds://host/e?tls-certificates=/pki&timeout=9:/etc", &[], &[]),
            pair("nbds://host/e?tls-certificates=/pki&timeout=9", "/etc")
        );
        assert_eq!(parse("nbd+unix:///?socket=/s:/", &[], &[]), pair("nbd+unix:///?socket=/s", "/"));
        assert_eq!(parse("nbd://host/e", &[], &[]), pair("host", "nbd://host/e"));
    }

    #[test]
    fn host_paths_stay_host_paths_and_missing_images_are_images() {
        assert_eq!(parse("/tmp/x", &[], &[]), pair("host", "/tmp/x"));
        assert_eq!(parse("odd:/name", &[], &["odd:/name"]), pair("host", "odd:/name"));
        assert_eq!(parse("gone.img:/x", &[], &[]), pair("gone.img", "/x"));
        assert_eq!(parse(":/x", &[], &[]), pair("host", ":/x"));
        assert_eq!(parse("a.img:x", &["a.img"], &[]), pair("host", "a.img:x"));
    }

    #[test]
    fn names_and_joins() {
        assert_eq!(last_name(b"/a/b//"), b"b");
        assert_eq!(last_name(b"///"), b"");
        assert_eq!(join(b"/", b"x"), b"/x");
        assert_eq!(join(b"/a", b"x"), b"/a/x");
        assert_eq!(Inside::parse(OsStr::new("/no/such.img")).path, b"/");
    }
}
