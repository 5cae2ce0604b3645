//! BSD's file flags by the names of chflags(1): shown, in manifests and in archives.

use crate::text;
use anyhow::anyhow;

/// Names that are shown. `snapshot` is the system's own, and is never set by name.
const SHOWN: [(u32, &str); 12] = [
    (0x0000_0001, "nodump"),
    (0x0000_0002, "uchg"),
    (0x0000_0004, "uappnd"),
    (0x0000_0008, "opaque"),
    (0x0000_0010, "uunlnk"),
    (0x0000_0800, "uarch"),
    (0x0000_8000, "hidden"),
    (0x0001_0000, "arch"),
    (0x0002_0000, "schg"),
    (0x0004_0000, "sappnd"),
    (0x0010_0000, "sunlnk"),
    (0x0020_0000, "snapshot"),
];

/// Other names of the same flags.
const ALSO: [(&str, &str); 12] = [
    ("uchange", "uchg"),
    ("uimmutable", "uchg"),
    ("uappend", "uappnd"),
    ("uunlink", "uunlnk"),
    ("uarchive", "uarch"),
    ("uhidden", "hidden"),
    ("archived", "arch"),
    ("schange", "schg"),
    ("simmutable", "schg"),
    ("sappend", "sappnd"),
    ("sunlink", "sunlnk"),
    ("uopaque", "opaque"),
];

/// The flag of a snapshot.
const SNAPSHOT: u32 = 0x0020_0000;

/// The flags that are set, by name; unknown ones as a number.
pub(crate) fn names(bits: u32) -> Vec<String> {
    let known = SHOWN.iter().fold(0, |known, (bit, _)| known | bit);
    let mut names: Vec<String> =
        SHOWN.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| (*name).to_owned()).collect();
    if bits & !known != 0 {
        names.push(format!("{:#x}", bits & !known));
    }
    names
}

/// The flags that a file of an archive has: not that of a snapshot, which an unpacked file is not.
pub(crate) fn for_archive(bits: u32) -> String {
    names(bits & !SNAPSHOT).join(",")
}

/// The flags of a list of names joined by commas; `none` is no flag, and `no` before a name takes it away.
///
/// # Errors
/// When a name is not known.
pub(crate) fn parse(value: &[u8]) -> anyhow::Result<u32> {
    let of = |name: &[u8]| {
        let name = ALSO.iter().find(|(also, _)| also.as_bytes() == name).map_or(name, |(_, name)| name.as_bytes());
        let shown = SHOWN.iter().find(|(bit, shown)| shown.as_bytes() == name && *bit != SNAPSHOT);
        let number = || u32::from_str_radix(std::str::from_utf8(name.strip_prefix(b"0x")?).ok()?, 16).ok();
        shown.map(|(bit, _)| *bit).or_else(number)
    };
    let mut flags = 0;
    for name in value.split(|&b| b == b',').filter(|name| !name.is_empty() && *name != b"none") {
        match (of(name), name.strip_prefix(b"no").and_then(of)) {
            (Some(flag), _) => flags |= flag,
            (None, Some(flag)) => flags &= !flag,
            // Of `nodump` the opposite is `dump`.
            (None, None) if name == b"dump" => flags &= !1,
            (None, None) => return Err(anyhow!("the flag {} is not known", text::escape(name))),
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_again_and_strange_flags_are_numbers() {
        assert_eq!(names(0x2_0001), ["nodump", "schg"]);
        assert_eq!(names(0x8000_0000), ["0x80000000"]);
        assert!(names(0).is_empty());
        for bit in 0..32 {
            let flag = 1 << bit;
            let shown = for_archive(flag | 0x2);
            let right = if flag == SNAPSHOT { 0x2 } else { flag | 0x2 };
            assert_eq!(parse(shown.as_bytes()).unwrap(), right, "{shown}");
        }
    }

    #[test]
    fn names_of_chflags_are_known() {
        let read = |text: &str| parse(text.as_bytes());
        assert_eq!(read("uimmutable,archived,nodump").unwrap(), 0x1_0003);
        assert_eq!(read("none").unwrap(), 0);
        assert_eq!(read("schg,noschg,nodump,dump").unwrap(), 0);
        assert!(read("snapshot").is_err() && read("compressed").unwrap_err().to_string().contains("compressed"));
    }
}
