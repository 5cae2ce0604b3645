//! `--layout` beside `--scheme`: a log-structured volume is its own order, and takes no scheme.

use crate::out::usage;
use ordofs::LFS_SCHEME;

/// The layout of a volume that a command makes for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LayoutArg {
    /// UFS: the fast file system
    Ffs,
    /// A log-structured volume, which takes no scheme
    Lfs,
}

/// Whether these options mean a log-structured volume: its layout is named, or the scheme of its log.
///
/// # Errors
/// Wrong usage: they contradict each other.
pub(crate) fn is_lfs(layout: Option<LayoutArg>, schemes: &[&str]) -> anyhow::Result<bool> {
    let other = schemes.iter().find(|name| **name != LFS_SCHEME);
    match (layout, other) {
        (Some(LayoutArg::Lfs), Some(name)) => {
            Err(usage(format!("--scheme {name}: a log-structured volume (--layout lfs) takes no scheme; leave it out")))
        }
        (Some(LayoutArg::Ffs), _) if schemes.contains(&LFS_SCHEME) => {
            Err(usage("--scheme lfs: the order of a log-structured volume is not for --layout ffs"))
        }
        (Some(layout), _) => Ok(layout == LayoutArg::Lfs),
        (None, _) => Ok(other.is_none() && !schemes.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_or_the_scheme_of_its_log_is_enough_and_no_other_goes_with_it() {
        let lfs = Some(LayoutArg::Lfs);
        for (layout, schemes) in [(lfs, &[][..]), (lfs, &["lfs"]), (None, &["lfs"])] {
            assert!(is_lfs(layout, schemes).unwrap(), "{layout:?} {schemes:?}");
        }
        for (layout, schemes) in [(None, &[][..]), (Some(LayoutArg::Ffs), &[]), (None, &["sync", "lfs"])] {
            assert!(!is_lfs(layout, schemes).unwrap(), "{layout:?} {schemes:?}");
        }
        for (layout, scheme) in [(lfs, "sync"), (Some(LayoutArg::Ffs), "lfs")] {
            assert!(is_lfs(layout, &[scheme]).unwrap_err().to_string().contains(scheme));
        }
    }
}
