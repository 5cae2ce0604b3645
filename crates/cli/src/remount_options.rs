//! `-o remount` of mount: what a mount that is there can change.

use crate::mount_options::Wanted;
use ordo_fuse::{AccessTimes, Remount};
use std::ffi::{OsStr, OsString};

/// Words that a remount alone knows, or that mount(8) takes from the kernel's table of mounts.
const OWN: [&str; 4] = ["remount", "bind", "symfollow", "nosymfollow"];
const OF_THE_TABLE: [&str; 4] = ["user_id=", "group_id=", "rootmode=", "blksize="];

/// What `remount` in option lists asks for; `None` without it. The rest of a line of fstab comes with it, and says how
/// the server was started: of the words that are known, only what a mount can change is looked at.
///
/// # Errors
/// Wrong usage: an unknown word, unless the mount is `sloppy`.
pub(crate) fn remount<'a>(lists: impl IntoIterator<Item = &'a OsStr>, sloppy: bool) -> anyhow::Result<Option<Remount>> {
    let lists: Vec<_> = lists.into_iter().map(OsStr::to_string_lossy).collect();
    let words: Vec<&str> = lists.iter().flat_map(|list| ordofs::split_options(list)).collect();
    if !words.contains(&"remount") {
        return Ok(None);
    }
    let others =
        words.iter().filter(|word| !OWN.contains(word) && !OF_THE_TABLE.iter().any(|own| word.starts_with(own)));
    let others: Vec<OsString> = others.map(OsString::from).collect();
    Wanted::parse(OsStr::new(""), others.iter().map(OsString::as_os_str), sloppy)?;
    let mut change = Remount::default();
    for word in words {
        match word {
            "ro" | "rw" => change.read_only = Some(word == "ro"),
            "suid" | "nosuid" => change.nosuid = Some(word == "nosuid"),
            "dev" | "nodev" => change.nodev = Some(word == "nodev"),
            "exec" | "noexec" => change.noexec = Some(word == "noexec"),
            "symfollow" | "nosymfollow" => change.nosymfollow = Some(word == "nosymfollow"),
            "diratime" | "nodiratime" => change.nodiratime = Some(word == "nodiratime"),
            "noatime" => change.access_times = Some(AccessTimes::Never),
            "atime" | "relatime" | "nostrictatime" => change.access_times = Some(AccessTimes::Seldom),
            "strictatime" | "norelatime" => change.access_times = Some(AccessTimes::Always),
            "sync" | "async" => change.sync = Some(word == "sync"),
            "dirsync" => change.dirsync = Some(true),
            "allow_other" => change.allow_other = Some(true),
            _ => {}
        }
    }
    Ok(Some(change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remount_is_known_among_the_options_of_its_line() {
        let of = |list| remount([OsStr::new(list)], false).unwrap();
        assert_eq!(of("ro,nosuid,scheme=sync"), None);
        let change = of("rw,nosuid,scheme=sync,user_id=0,remount").unwrap();
        assert_eq!(change, Remount { read_only: Some(false), nosuid: Some(true), ..Remount::default() });
        assert_eq!(of("ro,remount,rw,ro").unwrap().read_only, Some(true));
        let change = of("remount,nosymfollow,noatime,atime,sync").unwrap();
        assert_eq!((change.nosymfollow, change.access_times), (Some(true), Some(AccessTimes::Seldom)));
        assert_eq!(change.sync, Some(true));
    }

    #[test]
    fn an_unknown_word_of_a_remount_is_refused_as_that_of_a_mount_is() {
        let of = |list, sloppy| remount([OsStr::new(list)], sloppy);
        assert!(of("remount,nonsense", false).unwrap_err().to_string().contains("\"nonsense\""));
        assert!(of("remount,nonsense", true).unwrap().is_some());
        assert!(of("nonsense", false).unwrap().is_none(), "that of a mount is looked at there");
        // What mount(8) takes from the table of mounts, and from a line of fstab.
        let table = "rw,nosuid,nodev,relatime,user_id=0,group_id=0,default_permissions,allow_other,max_read=9";
        assert!(of(&format!("{table},remount,ro,nofail,x-systemd.automount,_netdev"), false).unwrap().is_some());
    }
}
