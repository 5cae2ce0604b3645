//! `-o` of mount: names, values, and options that are common in fstab.

use crate::image::kept;
use crate::out::usage;
use crate::size;
use ordo_fuse::TransportChoice;
use ordofs::{LFS_SCHEME, Limits, MountOptions, QuotaLimits, schemes};
use rustix::process::{Resource, getrlimit};
use std::ffi::{OsStr, OsString};

/// The parsed options of a mount.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) volume: MountOptions,
    pub(crate) kernel: ordo_fuse::MountOptions,
    pub(crate) transport: TransportChoice,
    /// The server's thread moves to the CPU of a caller that is alone.
    pub(crate) follow: bool,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) umask: u16,
    /// Enable access control lists, even if the volume's own flag is off.
    pub(crate) acl: bool,
    /// Show the files' extended attributes. Without them the kernel does not ask for any.
    pub(crate) xattr: bool,
    pub(crate) offset: Option<u64>,
    pub(crate) snapshot: Option<&'static str>,
    /// The user and group as whom the server runs once the volume is open.
    pub(crate) run_as: Option<(u32, u32)>,
    /// `nosuid`, `nodev` were said.
    refused: Refused,
}

/// See [`Wanted`].
#[derive(Debug, Clone, Copy, Default)]
struct Refused {
    suid: bool,
    dev: bool,
}

/// The smallest cache with which every call works, in bytes.
const LEAST_CACHE: usize = 8 << 20;
/// Options for mount(8), systemd or libfuse, or implied by every OrdoFS mount: accepted and ignored.
const SWALLOWED: [&str; 31] = [
    "defaults",
    "nofail",
    "_netdev",
    "user",
    "users",
    "nouser",
    "owner",
    "group",
    "auto",
    "noauto",
    "loop",
    "rw",
    "async",
    "exec",
    "atime",
    "relatime",
    "norelatime",
    "strictatime",
    "nostrictatime",
    "lazytime",
    "nolazytime",
    "diratime",
    "nodiratime",
    "iversion",
    "noiversion",
    "silent",
    "loud",
    "mand",
    "nomand",
    "default_permissions",
    "noacl",
];
/// The same, with a value.
const SWALLOWED_WITH_VALUE: [&str; 8] =
    ["comment", "loop", "sizelimit", "user", "fsname", "subtype", "max_read", "max_write"];

/// An option that is known by name.
#[derive(Debug)]
pub(crate) struct Known {
    name: &'static str,
    takes: Takes,
}

/// What an option has behind its name.
#[derive(Debug)]
enum Takes {
    Nothing,
    /// A value: a number, a size, a name.
    Any,
    OneOf(&'static [&'static str]),
}

impl Known {
    /// As it is typed, up to its value.
    pub(crate) fn typed(&self) -> String {
        let equals = if matches!(self.takes, Takes::Nothing) { "" } else { "=" };
        format!("{}{equals}", self.name)
    }
}

/// The values that an option may have, if they have names.
pub(crate) fn values(name: &str) -> &'static [&'static str] {
    match KNOWN.iter().find(|known| known.name == name) {
        Some(Known { takes: Takes::OneOf(values), .. }) => values,
        _ => &[],
    }
}

const fn known(name: &'static str, takes: Takes) -> Known {
    Known { name, takes }
}

/// What else there is, for who mistypes it, and for who asks in the middle of a word.
#[rustfmt::skip]
pub(crate) const KNOWN: &[Known] = &[
    known("quota", Takes::Nothing),
    known("usrquota", Takes::Nothing),
    known("grpquota", Takes::Nothing),
    known("noquota", Takes::Nothing),
    known("acl", Takes::Nothing),
    known("ro", Takes::Nothing),
    known("force", Takes::Nothing),
    known("noatime", Takes::Nothing),
    known("direct", Takes::Nothing),
    known("allow_other", Takes::Nothing),
    known("sync", Takes::Nothing),
    known("dirsync", Takes::Nothing),
    known("noexec", Takes::Nothing),
    known("suid", Takes::Nothing),
    known("nosuid", Takes::Nothing),
    known("dev", Takes::Nothing),
    known("nodev", Takes::Nothing),
    known("scheme", Takes::Any),
    known("cache", Takes::Any),
    known("cleaner", Takes::OneOf(&["greedy", "cost-benefit"])),
    known("log", Takes::Any),
    known("volatile_cache", Takes::OneOf(&["yes", "no"])),
    known("head", Takes::OneOf(&["yes", "no"])),
    known("follow", Takes::OneOf(&["on", "off"])),
    known("xattr", Takes::OneOf(&["on", "off"])),
    known("transport", Takes::OneOf(&["classic", "uring"])),
    known("uid", Takes::Any),
    known("gid", Takes::Any),
    known("umask", Takes::Any),
    known("runas", Takes::Any),
    known("offset", Takes::Any),
    known("snapshot", Takes::Any),
    known("allocinit", Takes::OneOf(&["none", "dirs", "all"])),
    known("logmode", Takes::OneOf(&["sync", "async", "group"])),
    known("data", Takes::OneOf(&["journal", "ordered", "writeback"])),
    known("learning", Takes::OneOf(&["yes", "no", "docks", "jumps"])),
    known("scrub", Takes::Any),
    known("commit", Takes::Any),
];

/// The limits in NetBSD's tables apply on every mount, as they do there; those of old files only if asked for.
const TABLES: QuotaLimits = QuotaLimits { users: Limits::Off, groups: Limits::Off, tables: true };

impl Wanted {
    /// Parses option lists; a `sloppy` mount ignores unknown options.
    ///
    /// # Errors
    /// Wrong usage, with the option's name.
    pub(crate) fn parse<'a>(
        source: &OsStr,
        lists: impl IntoIterator<Item = &'a OsStr>,
        sloppy: bool,
    ) -> anyhow::Result<Wanted> {
        let mut wanted = Wanted {
            volume: MountOptions { cache: default_cache(), quotas: TABLES, ..MountOptions::default() },
            kernel: ordo_fuse::MountOptions::new(source),
            transport: TransportChoice::default(),
            follow: true,
            uid: None,
            gid: None,
            umask: 0,
            acl: false,
            xattr: true,
            offset: None,
            snapshot: None,
            run_as: None,
            refused: Refused::default(),
        };
        for list in lists {
            for option in ordofs::split_options(&list.to_string_lossy()) {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (option, None),
                };
                let known = match value {
                    None => wanted.flag(name),
                    Some(value) => wanted.set(name, value)?,
                };
                if !known && !sloppy {
                    return Err(usage(unknown(name, option)));
                }
            }
        }
        if wanted.acl && !wanted.xattr {
            return Err(usage("mount options acl and xattr=off: access control lists are extended attributes"));
        }
        if wanted.run_as.is_some() && !wanted.kernel.allow_other {
            return Err(usage("mount option runas: add allow_other, or nobody but that user could use the mount"));
        }
        wanted.kernel.gives_up_rights = wanted.run_as.is_some();
        wanted.kernel.read_only = wanted.volume.read_only;
        wanted.kernel.noatime = wanted.volume.noatime;
        Ok(wanted)
    }

    /// Obeys `suid` and `dev` in lists that did not arrive, unless those that did refuse them.
    pub(crate) fn trust_as_asked(&mut self, lists: &[OsString]) {
        for list in lists {
            for option in list.to_string_lossy().split(',') {
                match option {
                    "suid" => self.kernel.suid = !self.refused.suid,
                    "nosuid" => self.kernel.suid = false,
                    "dev" => self.kernel.dev = !self.refused.dev,
                    "nodev" => self.kernel.dev = false,
                    _ => {}
                }
            }
        }
    }

    fn flag(&mut self, name: &str) -> bool {
        let (volume, kernel) = (&mut self.volume, &mut self.kernel);
        match name {
            "acl" | "posixacl" => self.acl = true,
            "quota" => volume.quotas = QuotaLimits { users: Limits::IfThere, groups: Limits::IfThere, ..TABLES },
            "usrquota" | "uquota" => volume.quotas.users = Limits::Must,
            "grpquota" | "gquota" => volume.quotas.groups = Limits::Must,
            "noquota" => volume.quotas = QuotaLimits::default(),
            "allow_other" => kernel.allow_other = true,
            "sync" => kernel.sync = true,
            "dirsync" => kernel.dirsync = true,
            "noexec" => kernel.noexec = true,
            "suid" => kernel.suid = true,
            "nosuid" => (kernel.suid, self.refused.suid) = (false, true),
            "dev" => kernel.dev = true,
            "nodev" => (kernel.dev, self.refused.dev) = (false, true),
            _ if volume.set_option(name, None).is_some() => {}
            _ => return name.starts_with("x-") || name.starts_with("X-") || SWALLOWED.contains(&name),
        }
        true
    }

    fn set(&mut self, name: &str, value: &str) -> anyhow::Result<bool> {
        let wrong = |why: String| usage(format!("mount option {name}={value}: {why}"));
        let number = || value.parse::<u32>();
        let bytes = || size::parse(value).map_err(wrong);
        match name {
            "scheme" => self.volume.scheme = Some(scheme(value)?.into()),
            "follow" => {
                self.follow = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(wrong("must be on or off".into())),
                }
            }
            "xattr" => {
                self.xattr = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(wrong("must be on or off".into())),
                }
            }
            "transport" => {
                let known = TransportChoice::by_name(value).ok_or_else(|| wrong("must be classic or uring".into()))?;
                self.transport = known;
            }
            "uid" => self.uid = Some(number().or_else(|_| user(value)).map_err(wrong)?),
            "gid" => self.gid = Some(number().or_else(|_| group(value)).map_err(wrong)?),
            "runas" => self.run_as = Some(run_as(value).map_err(wrong)?),
            "umask" => {
                let mask = u16::from_str_radix(value, 8).ok().filter(|mask| *mask <= 0o777);
                self.umask = mask.ok_or_else(|| wrong("must be octal, 0 to 777".into()))?;
            }
            "offset" => self.offset = Some(bytes()?),
            "snapshot" => self.snapshot = Some(kept(value)),
            _ => match self.volume.set_option(name, Some(value)) {
                Some(set) => set.map_err(wrong)?,
                None => {
                    return Ok(name.starts_with("x-")
                        || name.starts_with("X-")
                        || SWALLOWED_WITH_VALUE.contains(&name));
                }
            },
        }
        Ok(true)
    }
}

/// The default cache of a mount: the library's, and at most an eighth of the memory that `ulimit -v` allows this
/// process. The rest is for tables that grow with the names that the kernel caches.
fn default_cache() -> usize {
    let limit =
        getrlimit(Resource::As).current.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    MountOptions::default().cache.min((limit / 8).max(LEAST_CACHE))
}

/// The scheme of this name, or the order of a log-structured volume.
///
/// # Errors
/// Wrong usage.
pub fn scheme(name: &str) -> anyhow::Result<&'static str> {
    let log = (name == LFS_SCHEME).then_some(LFS_SCHEME);
    let known = log.or_else(|| schemes::by_name(name).map(|known| known.name));
    let all = schemes::ALL.iter().map(|known| known.name);
    known.ok_or_else(|| usage(format!("no scheme is called {name:?}{}; ordo schemes lists them", meant(name, all))))
}

/// The user of this name on this system.
fn user(name: &str) -> Result<u32, String> {
    let found = nix::unistd::User::from_name(name).map_err(|errno| errno.to_string())?;
    found.map(|user| user.uid.as_raw()).ok_or_else(|| "neither a number nor a user of this system".into())
}

fn group(name: &str) -> Result<u32, String> {
    let found = nix::unistd::Group::from_name(name).map_err(|errno| errno.to_string())?;
    found.map(|group| group.gid.as_raw()).ok_or_else(|| "neither a number nor a group of this system".into())
}

/// A user, and his group on this system; or two numbers.
fn run_as(value: &str) -> Result<(u32, u32), String> {
    if let Some((user, group)) = value.split_once(':')
        && let (Ok(user), Ok(group)) = (user.parse(), group.parse())
    {
        return Ok((user, group));
    }
    let found = nix::unistd::User::from_name(value).map_err(|errno| errno.to_string())?;
    let found = found.ok_or("no user of this system; packages make the user ordo with systemd-sysusers")?;
    Ok((found.uid.as_raw(), found.gid.as_raw()))
}

fn unknown(name: &str, option: &str) -> String {
    if ["readonly", "read-only", "read_only"].contains(&name) {
        return format!("unknown mount option {option:?}; write ro");
    }
    let known = KNOWN.iter().map(|known| known.name).chain(SWALLOWED);
    format!("unknown mount option {option:?}{}; ordo mount --help lists them", meant(name, known))
}

/// The known word that is most like `name`, as a question; nothing if none is.
fn meant(name: &str, known: impl Iterator<Item = &'static str>) -> String {
    // Likeness alone favours words that only begin alike: a slip of the fingers is of a third of the letters at most.
    let near = |word: &&str| strsim::damerau_levenshtein(name, word) * 3 <= name.chars().count().max(3);
    let known = known.filter(near);
    let likeness = |word| strsim::jaro_winkler(name, word);
    let best = known.filter(|word| likeness(word) > 0.8).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    best.map_or_else(String::new, |word| format!(" (did you mean {word:?}?)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordofs::AllocInit;
    use ordofs::schemes::{DataMode, LogMode};
    use std::path::Path;
    use std::time::Duration;

    fn parse(list: &str) -> anyhow::Result<Wanted> {
        Wanted::parse(OsStr::new("disk.img"), [OsStr::new(list)], false)
    }

    #[test]
    fn options_of_fstab_lines_are_accepted() {
        let list = "defaults,nofail,_netdev,user,users,noauto,exec,nosuid,nodev,relatime,x-systemd.automount,\
            x-gvfs-name=a,comment=b,loop,loop=/dev/loop0,sizelimit=5,,rw";
        let wanted = parse(list).unwrap();
        assert!(!wanted.kernel.suid && !wanted.kernel.dev && !wanted.kernel.allow_other && !wanted.volume.read_only);
    }

    #[test]
    fn a_word_that_is_mistyped_is_asked_back() {
        let said = |list| parse(list).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said("noatim").contains("did you mean \"noatime\""), "{}", said("noatim"));
        assert!(said("scheme=softupdate").contains("did you mean \"softupdates\""));
        for far in ["zzz", "foo", "bar", "quiet"] {
            assert!(!said(far).contains("did you mean"), "{}", said(far));
        }
        assert!(said("readonly").ends_with("write ro"), "{}", said("readonly"));
    }

    #[test]
    fn each_word_that_is_asked_back_is_an_option() {
        let said = |list: &str| parse(list).err().map_or_else(String::new, |error| error.to_string());
        for Known { name, takes } in KNOWN {
            match takes {
                Takes::Nothing => assert_eq!(said(name).replace("acl and xattr", ""), "", "{name}"),
                Takes::Any => assert!(!said(&format!("{name}=1")).contains("unknown"), "{name}"),
                Takes::OneOf(values) => values.iter().for_each(|value| {
                    assert_eq!(said(&format!("{name}={value}")), "", "{name}={value}");
                }),
            }
        }
    }

    #[test]
    fn what_mount_does_not_pass_on_is_obeyed_unless_it_is_refused() {
        let trusts = |came: &str, asked: &str| {
            let mut wanted = parse(came).unwrap();
            wanted.trust_as_asked(&[asked.into()]);
            (wanted.kernel.suid, wanted.kernel.dev)
        };
        assert_eq!(trusts("rw", "suid,dev,noauto"), (true, true));
        assert_eq!(trusts("rw", "defaults"), (false, false), "silence trusts nothing");
        assert_eq!(trusts("rw,nosuid,nodev", "suid,user"), (false, false));
        assert_eq!(trusts("rw,nodev", "suid,nodev"), (true, false));
    }

    #[test]
    fn owners_are_numbers_or_names_of_this_system() {
        assert_eq!(parse("uid=root,gid=0").map(|w| (w.uid, w.gid)).unwrap(), (Some(0), Some(0)));
        assert!(parse("uid=no-such-user").err().unwrap().to_string().contains("neither a number nor a user"));
    }

    #[test]
    fn options_of_the_volume_arrive() {
        let wanted = parse(
            "ro,scheme=async,cache=16M,uid=5,gid=6,umask=027,allocinit=all,volatile_cache=no,force,\
            noatime,sync,dirsync,allow_other,offset=1M,noexec,transport=uring,follow=off,xattr=off",
        )
        .unwrap();
        let (volume, kernel) = (&wanted.volume, &wanted.kernel);
        assert!(volume.read_only && volume.force && volume.noatime && kernel.read_only && kernel.noatime);
        assert_eq!((volume.scheme.as_deref(), volume.cache), (Some("async"), 16 << 20));
        assert_eq!((wanted.uid, wanted.gid, wanted.umask, wanted.offset), (Some(5), Some(6), 0o27, Some(1 << 20)));
        assert_eq!((volume.settings.alloc_init, volume.volatile_cache), (Some(AllocInit::All), Some(false)));
        assert!(kernel.sync && kernel.dirsync && kernel.allow_other && kernel.noexec && !kernel.suid);
        assert!(!parse("ro,rw").unwrap().volume.read_only);
        for (list, suid, dev) in [("suid", true, false), ("dev,suid", true, true), ("suid,dev,nosuid", false, true)] {
            let kernel = parse(list).unwrap().kernel;
            assert_eq!((kernel.suid, kernel.dev), (suid, dev), "{list}");
        }
        assert_eq!((wanted.transport, wanted.follow, wanted.xattr), (TransportChoice::Uring, false, false));
        assert!(parse("xattr=on").unwrap().xattr && parse("acl").unwrap().xattr);
        assert!(parse("follow=on").unwrap().follow && parse("").unwrap().follow);
        assert_eq!(parse("transport=classic").unwrap().transport, TransportChoice::Classic);
    }

    #[test]
    fn options_of_a_log_arrive() {
        let volume = parse("scheme=wafs,log=/dev/vdb,logmode=sync,data=ordered,commit=5").unwrap().volume;
        assert_eq!((volume.scheme.as_deref(), volume.log.as_deref()), (Some("wafs"), Some(Path::new("/dev/vdb"))));
        let set = &volume.settings;
        assert_eq!((set.log_mode, set.data), (Some(LogMode::Sync), Some(DataMode::Ordered)));
        assert_eq!(set.commit, Some(Duration::from_secs(5)));
    }

    #[test]
    fn unknown_options_and_values_are_named() {
        for (list, named) in [
            ("rw,fast", "\"fast\""),
            ("nofali", "\"nofali\""),
            ("fast=1", "\"fast=1\""),
            ("scheme=best", "\"best\""),
            ("umask=9", "umask=9"),
            ("uid=me", "uid=me"),
            ("cache=lots", "cache=lots"),
            ("allocinit=some", "allocinit=some"),
            ("volatile_cache=maybe", "volatile_cache=maybe"),
            ("logmode=fast", "logmode=fast"),
            ("data=none", "data=none"),
            ("commit=0", "commit=0"),
            ("transport=fast", "transport=fast"),
            ("follow=yes", "follow=yes"),
            ("xattr=no", "xattr=no"),
            ("acl,xattr=off", "xattr=off"),
            ("xattr=off,acl", "xattr=off"),
        ] {
            let error = parse(list).unwrap_err();
            assert!(error.is::<crate::out::Usage>() && error.to_string().contains(named), "{list}: {error}");
        }
        assert!(Wanted::parse(OsStr::new("x"), [OsStr::new("fast")], true).is_ok());
    }
}
