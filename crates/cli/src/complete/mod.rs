//! Completions: what a shell asks for while a command line is typed. The shell's script calls the program with the
//! words so far, and gets the words that may come next: commands and options, the names of schemes, workloads and
//! disks, the keys of `-o` and their values, and paths inside an image.
//!
//! C1. Completing changes nothing and says nothing: an image is opened for reading, a log that waits is replayed in
//! memory, and an error is an empty answer. A message would land in the middle of the line that is typed.
//!
//! C2. Only images of this host are opened. A network block device could hold the shell up for as long as it likes.
//!
//! C3. A name that is not valid text, or contains a newline or another control character, is left out: the scripts
//! separate names by these.

mod shells;

use crate::mount_options;
use crate::place::{Location, is_address};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::{CompleteEnv, Shell};
use ordofs::path::resolve;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, LFS_SCHEME, MountOptions, Mounted, schemes};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The variable by which a script asks.
pub(crate) const ASKED: &str = "ORDO_COMPLETE";
/// The cache of an image that is opened to list one directory, in bytes.
const CACHE: usize = 16 << 20;

/// Answers from this command line if a shell's script asks, and then ends the program.
pub fn answer(line: impl Fn() -> clap::Command) {
    if std::env::var_os(ASKED).is_some() {
        CompleteEnv::with_factory(line).var(ASKED).shells(shells::ALL).complete();
    }
}

/// The script with which `shell` asks.
pub(crate) fn script(shell: Shell) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let name = shell.to_string();
    if let Some(known) = shells::ALL.completer(&name) {
        known.write_registration(ASKED, "ordo", "ordo", "ordo", &mut script)?;
    }
    Ok(script)
}

/// What an argument may be, by its command, its name and the name of its value.
pub type Words = fn(&str, &str, &str) -> Option<ArgValueCompleter>;

/// The command line, with what each argument may be. Arguments are known by their names in the help, so that no
/// command has to say it. `more` goes first.
pub fn with_words(line: clap::Command, more: Words) -> clap::Command {
    line.mut_subcommands(|command| words_of(command, more))
}

fn words_of(command: clap::Command, more: Words) -> clap::Command {
    let named = command.get_name().to_owned();
    let command = command.mut_args(|arg| {
        let value = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str()).to_owned();
        let id = arg.get_id().as_str().to_owned();
        if let Some(completer) = more(&named, &id, &value) {
            return arg.add(completer);
        }
        match (id.as_str(), value.as_str()) {
            ("options", _) if named == "mount" => with(arg, mount_option),
            ("dir", _) if matches!(named.as_str(), "umount" | "sync") => with(arg, mount_point),
            ("scheme" | "schemes", _) => with(arg, scheme),
            _ if value.starts_with("IMAGE") || matches!(value.as_str(), "PATH" | "SOURCE" | "TARGET") => {
                with(arg, place)
            }
            ("image", _) => with(arg, place),
            _ => arg,
        }
    });
    command.mut_subcommands(|command| words_of(command, more))
}

fn with<C: ValueCompleter + 'static>(arg: clap::Arg, completer: C) -> clap::Arg {
    arg.add(ArgValueCompleter::new(completer))
}

/// Those of these names that begin with what was typed.
pub fn named_like<'a>(typed: &OsStr, names: impl Iterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    let fits = |name: &&str| name.as_bytes().starts_with(typed.as_bytes());
    names.filter(fits).map(CompletionCandidate::new).collect()
}

/// Where volumes are mounted by this program.
fn mount_point(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mounts = ordo_fuse::mount::table::mounts().unwrap_or_default();
    let ours = mounts.iter().filter(|mount| mount.kind == "fuse.ordo").filter_map(|mount| mount.dir.to_str());
    let mut found = named_like(typed, ours.filter(|dir| is_text(dir.as_bytes())));
    // Who writes a path relative to here has it completed as any other.
    if found.is_empty() {
        found = PathCompleter::dir().complete(typed);
    }
    found
}

fn scheme(typed: &OsStr) -> Vec<CompletionCandidate> {
    named_like(typed, scheme_names())
}

fn scheme_names() -> impl Iterator<Item = &'static str> {
    schemes::ALL.iter().map(|known| known.name).chain([LFS_SCHEME])
}

/// The option of a list that is being typed, behind those that are there.
fn mount_option(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) = typed.rfind(',').map_or(("", typed), |comma| typed.split_at(comma + 1));
    let options: Vec<String> = match last.split_once('=') {
        None => mount_options::KNOWN.iter().map(|known| known.typed()).collect(),
        Some(("scheme", _)) => scheme_names().map(|name| format!("scheme={name}")).collect(),
        Some((key, _)) => mount_options::values(key).iter().map(|value| format!("{key}={value}")).collect(),
    };
    let fits = options.into_iter().filter(|option| option.starts_with(last));
    fits.map(|option| CompletionCandidate::new(format!("{before}{option}"))).collect()
}

/// A place: a path of the host, an image with the `:/` that leads into it, or a path inside one.
fn place(typed: &OsStr) -> Vec<CompletionCandidate> {
    if let Location::Inside { image, path } = Location::parse(typed) {
        return inside(&image, &path).unwrap_or_default();
    }
    let mut found = PathCompleter::any().complete(typed);
    if Path::new(typed).is_file() {
        let mut root = typed.to_owned();
        root.push(":/");
        found.push(CompletionCandidate::new(root));
    }
    found
}

/// The names of a directory inside an image, `path` up to its last slash, that begin with the rest of it.
fn inside(image: &Path, path: &[u8]) -> Option<Vec<CompletionCandidate>> {
    if is_address(image) {
        return None;
    }
    let (dir, begun) = path.split_at(path.iter().rposition(|&b| b == b'/')? + 1);
    let rt = Rt::real_time();
    let options = MountOptions { read_only: true, cache: CACHE, ..MountOptions::default() };
    let mounted = Mounted::open(&rt, &ImageSpec::parse(image).ok()?, &options).ok()?;
    rt.block_on(async {
        let held = resolve(mounted.fs(), dir, true).await.ok()?;
        let (names, _) = held.names().await;
        let mut found = Vec::new();
        for name in names.into_iter().filter(|name| name.starts_with(begun) && is_text(name)) {
            let mut whole = image.as_os_str().to_owned();
            for part in [&b":"[..], dir, &name] {
                whole.push(OsStr::from_bytes(part));
            }
            if held.lookup(&name).await.is_ok_and(|file| file.is_dir()) {
                whole.push("/");
            }
            found.push(CompletionCandidate::new(whole));
        }
        Some(found)
    })
}

fn is_text(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| !name.chars().any(char::is_control))
}
