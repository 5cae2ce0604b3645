//! The secret behind the handles of `ordo serve nfs`, which outlives the server as they do.
//!
//! K1. It is a file of the server's user alone, which no client can read: not on the volume, which clients read, and
//!     not made of anything that is on it. One that others may read is refused, and so is one that another user has
//!     made: he knows it.
//! K2. A file that is there is never replaced.
//! K3. Directories are made at the usual place only: a path with a slip in it is an error.

use anyhow::{Context, bail};
use ordo_nfs::Key;
use rustix::fs::{Mode, OFlags};
use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where the key of this user's servers is, if none is named: in a directory, which is made if one is missing that is
/// to be in a given one.
struct Usual {
    above: PathBuf,
    dir: &'static str,
}

impl Usual {
    fn place() -> Option<Usual> {
        if rustix::process::geteuid().is_root() {
            return Some(Usual { above: "/var/lib".into(), dir: "ordo" });
        }
        let whole = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = whole("XDG_STATE_HOME").map(|above| Usual { above, dir: "ordo" });
        state.or_else(|| whole("HOME").map(|above| Usual { above, dir: ".local/state/ordo" }))
    }

    fn key(&self) -> anyhow::Result<Key> {
        let dir = self.above.join(self.dir);
        if self.above.is_dir() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(&dir);
            made.with_context(|| dir.display().to_string())?;
        }
        read_or_make(&dir.join("nfs.key"))
    }
}

/// The key of the file that was named, which must be usable; or that of the usual place. Without one, `tell` is told
/// what that means, and the key is for this server only.
pub(super) fn key(named: Option<&Path>, tell: impl FnOnce(&str)) -> anyhow::Result<Key> {
    if let Some(path) = named {
        return read_or_make(path);
    }
    let usual = Usual::place().context("the user has no home directory");
    match usual.and_then(|usual| usual.key()) {
        Ok(key) => Ok(key),
        Err(why) => {
            tell(&format!(
                "clients must mount again when this server is started again: {why:#}; --key FILE names a key"
            ));
            random()
        }
    }
}

fn random() -> anyhow::Result<Key> {
    let mut key = [0; Key::LEN];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut key)).context("/dev/urandom")?;
    Ok(Key::new(key))
}

fn read_or_make(path: &Path) -> anyhow::Result<Key> {
    match read(path) {
        Err(error) if is_missing(&error) => {}
        outcome => return outcome,
    }
    make(path).with_context(|| path.display().to_string())?;
    read(path)
}

fn is_missing(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == ErrorKind::NotFound)
}

fn read(path: &Path) -> anyhow::Result<Key> {
    let place = || path.display().to_string();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(std::io::Error::from).with_context(place)?;
    let mut file = File::from(file);
    let about = file.metadata().with_context(place)?;
    if !about.is_file() || about.len() != Key::LEN as u64 {
        bail!("{}: no key, which is a file of {} bytes; name another one", place(), Key::LEN);
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        let whose = about.uid();
        bail!("{}: user {whose} has made it, knows it, and can make handles of his own; name another one", place());
    }
    if about.mode() & 0o077 != 0 {
        bail!("{}: others may read it, and make handles of their own; remove it, and a new one is made", place());
    }
    let mut key = [0; Key::LEN];
    file.read_exact(&mut key).with_context(place)?;
    Ok(Key::new(key))
}

/// Makes a key, whole or not at all; one that another server has made meanwhile stays (K2).
fn make(path: &Path) -> std::io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The file is made for this user alone, and goes if it gets no name.
    let mut new = tempfile::NamedTempFile::new_in(dir)?;
    let mut bytes = [0; Key::LEN];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    new.write_all(&bytes)?;
    new.as_file().sync_all()?;
    match new.persist_noclobber(path) {
        Err(other) if other.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome.map(drop).map_err(|error| error.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_for_its_user_alone_and_nothing_else_is_taken_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/ordo/nfs.key");
        assert!(read_or_make(&path).is_err() && !dir.path().join("state").exists(), "no directory for a slip");
        let usual = Usual { above: dir.path().into(), dir: "state/ordo" };
        assert!(Usual { above: dir.path().join("nowhere"), ..usual }.key().is_err());
        assert!(!dir.path().join("nowhere").exists());
        let usual = Usual { above: dir.path().into(), dir: "state/ordo" };
        assert!(usual.key().unwrap() == read_or_make(&path).unwrap());
        let first = read_or_make(&path).unwrap();
        assert!(read_or_make(&path).unwrap() == first);
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        make(&path).unwrap();
        assert!(read_or_make(&path).unwrap() == first, "one that is there stays");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(read_or_make(&path).is_err());
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
            assert!(read_or_make(&path).err().unwrap().to_string().contains("user 65534 has made it"));
        }
        let other = dir.path().join("precious");
        std::fs::write(&other, "thesis").unwrap();
        assert!(read_or_make(&other).is_err() && read_or_make(dir.path()).is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "thesis");
        assert!(read_or_make(&dir.path().join("second")).unwrap() != first);
    }
}
