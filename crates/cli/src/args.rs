//! Top-level arguments, and dispatch on the name by which the program was called.

use crate::commands::*;
use crate::out::Outcome;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Makes, mounts, checks and measures Berkeley file systems
#[derive(Debug, Parser)]
#[command(name = "ordo", version, after_help = crate::first::after(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Mkfs(mkfs::Args),
    Mount(mount::Args),
    Umount(umount::Args),
    Sync(sync::Args),
    Fsck(fsck::Args),
    Recover(recover::Args),
    Scan(scan::Args),
    Timeline(timeline::Args),
    Hash(hash::Args),
    Clean(clean::Args),
    Scrub(scrub::Args),
    Versions(versions::Args),
    Tune(tune::Args),
    Info(info::Args),
    Ls(ls::Args),
    Cat(cat::Args),
    Stat(stat::Args),
    Cp(cp::Args),
    Mv(mv::Args),
    Rm(rm::Args),
    Mkdir(mkdir::Args),
    Ln(ln::Args),
    Chmod(chmod::Args),
    Chown(chown::Args),
    Touch(touch::Args),
    Getfattr(getfattr::Args),
    Setfattr(setfattr::Args),
    Getfacl(getfacl::Args),
    Setfacl(setfacl::Args),
    Truncate(truncate::Args),
    Quota(quota::Args),
    Find(find::Args),
    Tar(tar::Args),
    Batch(lines::Args),
    Resize(resize::Args),
    Snapshot(snapshot::Args),
    Df(df::Args),
    Tree(tree::Args),
    Schemes(schemes::Args),
    Serve(serve::Args),
    Wafs(wafs::Args),
    Demo(demo::Args),
    #[command(hide = true)]
    Man(man::Args),
    #[command(hide = true)]
    Completions(completions::Args),
}

/// The clap definition, for manual pages and completions.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

impl Cli {
    /// These arguments. The help names the laboratory's commands, too.
    pub(crate) fn parsed(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
        Cli::from_arg_matches(&crate::lab::beside(command()).try_get_matches_from(arguments)?)
    }

    /// Runs the command.
    pub(crate) fn run(&self) -> Outcome {
        match &self.command {
            Command::Mkfs(args) => mkfs::run(args),
            Command::Mount(args) => mount::run(args),
            Command::Umount(args) => umount::run(args),
            Command::Sync(args) => sync::run(args),
            Command::Fsck(args) => fsck::run(args),
            Command::Recover(args) => recover::run(args),
            Command::Scan(args) => scan::run(args),
            Command::Timeline(args) => timeline::run(args),
            Command::Hash(args) => hash::run(args),
            Command::Clean(args) => clean::run(args),
            Command::Scrub(args) => scrub::run(args),
            Command::Versions(args) => versions::run(args),
            Command::Tune(args) => tune::run(args),
            Command::Info(args) => info::run(args),
            Command::Ls(args) => ls::run(args),
            Command::Cat(args) => cat::run(args),
            Command::Stat(args) => stat::run(args),
            Command::Cp(args) => cp::run(args),
            Command::Mv(args) => mv::run(args),
            Command::Rm(args) => rm::run(args),
            Command::Mkdir(args) => mkdir::run(args),
            Command::Ln(args) => ln::run(args),
            Command::Chmod(args) => chmod::run(args),
            Command::Chown(args) => chown::run(args),
            Command::Touch(args) => touch::run(args),
            Command::Getfattr(args) => getfattr::run(args),
            Command::Setfattr(args) => setfattr::run(args),
            Command::Getfacl(args) => getfacl::run(args),
            Command::Setfacl(args) => setfacl::run(args),
            Command::Truncate(args) => truncate::run(args),
            Command::Quota(args) => quota::run(args),
            Command::Find(args) => find::run(args),
            Command::Tar(args) => tar::run(args),
            Command::Batch(args) => lines::run(args),
            Command::Resize(args) => resize::run(args),
            Command::Snapshot(args) => snapshot::run(args),
            Command::Df(args) => df::run(args),
            Command::Tree(args) => tree::run(args),
            Command::Schemes(args) => schemes::run(args),
            Command::Serve(args) => serve::run(args),
            Command::Wafs(args) => wafs::run(args),
            Command::Demo(args) => demo::run(args),
            Command::Man(args) => man::run(args, &command()),
            Command::Completions(args) => completions::run(args),
        }
    }
}

/// The role in which the program was called. Each has exit codes of its own for wrong usage and for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `ordo COMMAND`
    Ordo,
    /// `ordo fsck` and `fsck.ordo`: fsck(8).
    Fsck,
    /// `mkfs.ordo`: mkfs(8).
    Mkfs,
    /// `mount.ordo` and `mount.fuse.ordo`: a helper of mount(8). Also `ordo IMAGE DIR`, to which mount.fuse3 translates
    /// `mount -t fuse.ordo`.
    Mount,
    /// `umount.fuse.ordo`: a helper of umount(8), which does not wait by itself.
    Umount,
}

impl Role {
    /// The role, and the arguments in the form of [`Cli`].
    pub(crate) fn of(arguments: Vec<OsString>) -> (Role, Vec<OsString>) {
        let (called, rest) = match arguments.split_first() {
            Some((called, rest)) => (called.clone(), rest),
            None => (OsString::from("ordo"), &[][..]),
        };
        let name = Path::new(&called).file_name().unwrap_or_default().as_bytes();
        let with = |command: &str| [&[called.clone(), command.into()], rest].concat();
        match name {
            _ if name.starts_with(b"mount.") => (Role::Mount, with_own_flags(with("mount"))),
            _ if name.starts_with(b"umount.") => (Role::Umount, with_umount_flags(with("umount"))),
            _ if name.starts_with(b"fsck.") && *rest == ["-V"] => {
                (Role::Ordo, vec![called.clone(), "--version".into()])
            }
            _ if name.starts_with(b"fsck.") => (Role::Fsck, with("fsck")),
            _ if name.starts_with(b"mkfs.") => (Role::Mkfs, with("mkfs")),
            _ if rest.first().is_some_and(|first| first == "fsck") => (Role::Fsck, arguments),
            _ if rest.first().is_some_and(|first| first == "find") => (Role::Ordo, find::long_options(arguments)),
            _ if rest.first().is_some_and(|first| first == "--batch") => {
                (Role::Ordo, [&[called.clone(), "batch".into()], &rest[1..]].concat())
            }
            _ if is_bare_mount(rest) => (Role::Mount, without_added_options(with_own_flags(with("mount")))),
            _ => (Role::Ordo, arguments),
        }
    }

    /// Exit status of wrong usage.
    pub(crate) fn usage(self) -> u8 {
        match self {
            Role::Ordo => 2,
            Role::Fsck | Role::Mkfs => 16,
            Role::Mount | Role::Umount => 1,
        }
    }

    /// Exit status of an error; commands that ran return their own status.
    pub(crate) fn error(self) -> u8 {
        match self {
            Role::Ordo => 3,
            Role::Fsck | Role::Mkfs => 8,
            Role::Mount | Role::Umount => 32,
        }
    }
}

/// `ordo IMAGE DIR [-o ...]`, where IMAGE is not a command.
fn is_bare_mount(rest: &[OsString]) -> bool {
    let [image, dir, ..] = rest else { return false };
    let is_command = |name: &OsStr| {
        crate::lab::beside(command()).get_subcommands().any(|sub| name == sub.get_name()) || name == "help"
    };
    !image.as_bytes().starts_with(b"-") && !is_command(image) && Path::new(dir).is_dir()
}

/// A helper of mount(8) gets `-s -f -n -v -t TYPE`: its `-f` means to do everything except the mount, ours to stay in
/// the foreground.
fn with_own_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut own = Vec::new();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let bytes = argument.as_bytes();
        match bytes {
            b"-o" => own.extend([Some(argument), rest.next()].into_iter().flatten()),
            b"-t" => drop(rest.next()),
            _ if is_flags(bytes) => {
                own.extend(bytes.contains(&b's').then(|| OsString::from("--sloppy")));
                own.extend(bytes.contains(&b'f').then(|| OsString::from("--fake")));
            }
            _ => own.push(argument),
        }
    }
    own
}

/// A helper of umount(8) gets `DIR -f -l -n -r -v -N NAMESPACE -t TYPE`. What has no meaning here is left out; of `-f`
/// and `-l` the first does what both do.
fn with_umount_flags(arguments: Vec<OsString>) -> Vec<OsString> {
    let (mut own, mut force, mut lazy, mut read_only) = (Vec::new(), false, false, false);
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        match argument.as_bytes() {
            b"-t" | b"-N" => drop(rest.next()),
            flags if is_flags(flags) => {
                force |= flags.contains(&b'f');
                lazy |= flags.contains(&b'l');
                read_only |= flags.contains(&b'r');
            }
            _ => own.push(argument),
        }
    }
    own.extend(force.then(|| OsString::from("--force")));
    own.extend((lazy && !force).then(|| OsString::from("--lazy")));
    own.extend((read_only && !lazy && !force).then(|| OsString::from("--read-only")));
    own
}

/// mount.fuse3 appends `dev` and `suid` to the options unless `nodev` and `nosuid` are among them. The user has not
/// requested the appended options; those before them may come from the user.
fn without_added_options(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_list = |at: &usize| arguments.get(at.wrapping_sub(1)).is_some_and(|argument| argument == "-o");
    let Some(list) = (0..arguments.len()).rev().find(is_list) else { return arguments };
    let mut options: Vec<&[u8]> = arguments[list].as_bytes().split(|&b| b == b',').collect();
    for (added, refused) in [(&b"suid"[..], &b"nosuid"[..]), (b"dev", b"nodev")] {
        if !options.contains(&refused) && options.last() == Some(&added) {
            options.pop();
        }
    }
    let options = OsString::from_vec(options.join(&b','));
    arguments[list] = options;
    arguments
}

fn is_flags(argument: &[u8]) -> bool {
    argument.split_first().is_some_and(|(dash, flags)| {
        *dash == b'-' && !flags.is_empty() && flags.iter().all(|flag| b"sfnvrwl".contains(flag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    fn role(text: &str) -> (Role, String) {
        let (role, arguments) = Role::of(words(text));
        (role, arguments.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn every_command_has_help_with_examples() {
        let whole = command();
        let listed =
            |of: &clap::Command| of.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned().collect::<Vec<_>>();
        let subs = listed(&whole);
        for sub in subs.iter().chain(&subs.iter().flat_map(listed).collect::<Vec<_>>()) {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{}", sub.get_name());
            assert!(sub.get_about().is_some(), "{}", sub.get_name());
        }
    }

    #[test]
    fn a_helper_is_known_by_its_name() {
        assert_eq!(role("ordo ls x"), (Role::Ordo, "ordo ls x".into()));
        assert_eq!(role("ordo fsck x"), (Role::Fsck, "ordo fsck x".into()));
        assert_eq!(role("/sbin/fsck.ordo -a -C0 x"), (Role::Fsck, "/sbin/fsck.ordo fsck -a -C0 x".into()));
        assert_eq!(role("fsck.ordo -V"), (Role::Ordo, "fsck.ordo --version".into()));
        assert_eq!(role("mkfs.ordo x"), (Role::Mkfs, "mkfs.ordo mkfs x".into()));
        let helper = "/sbin/umount.fuse.ordo /mnt -n -vfl -t fuse.ordo";
        assert_eq!(role(helper), (Role::Umount, "/sbin/umount.fuse.ordo umount /mnt --force".into()));
        assert_eq!(role("umount.ordo /mnt -l"), (Role::Umount, "umount.ordo umount /mnt --lazy".into()));
        let helper = "/sbin/mount.fuse.ordo x /mnt -n -sv -o ro,user -t fuse.ordo";
        assert_eq!(role(helper), (Role::Mount, "/sbin/mount.fuse.ordo mount x /mnt --sloppy -o ro,user".into()));
        assert_eq!(role("ordo no.img / -o rw"), (Role::Mount, "ordo mount no.img / -o rw".into()));
        for (given, left) in [
            ("rw,dev,suid", "rw"),
            ("nosuid,rw,dev", "nosuid,rw"),
            ("nodev,suid", "nodev"),
            ("suid,rw,dev,suid", "suid,rw"),
            ("suid,dev,dev,suid", "suid,dev"),
            ("dev,nosuid,dev", "dev,nosuid"),
        ] {
            let parsed = Role::of(words(&format!("ordo no.img / -o {given}"))).1;
            assert_eq!(parsed.last().unwrap(), left, "{given}");
        }
        assert_eq!(role("mount.ordo x / -o rw,suid").1, "mount.ordo mount x / -o rw,suid");
        assert_eq!(role("ordo ls /"), (Role::Ordo, "ordo ls /".into()));
        assert_eq!((Role::Mount.usage(), Role::Mount.error()), (1, 32));
        assert_eq!((Role::Fsck.usage(), Role::Fsck.error()), (16, 8));
    }

    #[test]
    fn options_of_fsck_8_callers_are_accepted() {
        for line in ["-a -C0 x", "-p x", "-n x", "-y x", "-V -T -l -t ordo -f -C 5 x", "-C-1 -p x", "-v -n x"] {
            let arguments = words(&format!("fsck.ordo {line}"));
            assert!(Cli::try_parse_from(Role::of(arguments).1).is_ok(), "{line}");
        }
        assert!(Cli::try_parse_from(words("ordo fsck -n -y x")).is_err());
    }

    #[test]
    fn sizes_and_names_are_parsed() {
        let line = "ordo mkfs --type ufs1 --endian big --block-size 8k --frag-size 1k --size 2G v.img";
        assert!(Cli::try_parse_from(words(line)).is_ok());
        assert!(Cli::try_parse_from(words("ordo mkfs --size much v.img")).is_err());
    }
}
