//! `fusermount3`: the set-user-id program that mounts for users other than root.
//!
//! It gets one end of a socket as a descriptor, named in `_FUSE_COMMFD`, and sends the open, mounted `/dev/fuse` back
//! through it.

use super::error::MountError;
use super::mark::Mark;
use super::options::MountOptions;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketFlags, SocketType, recvmsg, socketpair,
};
use std::ffi::OsStr;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = "fusermount3";

/// The first line that the helper wrote, without its own name.
fn complaint(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
    line.trim_start_matches(PROGRAM).trim_start_matches("fusermount").trim_start_matches(": ").to_owned()
}

fn run(command: &mut Command) -> Result<(), MountError> {
    let output = command.output().map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NOENT) => MountError::NoHelper,
        errno => MountError::System { doing: "running", path: PROGRAM.into(), errno: errno.unwrap_or(Errno::IO) },
    })?;
    if !output.status.success() {
        return Err(MountError::Helper(complaint(&output)));
    }
    Ok(())
}

/// Mounts on `dir`; returns the mounted device.
pub(super) fn mount(dir: &Path, opts: &MountOptions, mark: Mark) -> Result<OwnedFd, MountError> {
    let failed = |errno| MountError::System { doing: "mounting on", path: dir.into(), errno };
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(failed)?;
    // The helper inherits its end; our end is not inherited.
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(failed)?;
    let options = opts.for_helper(mark)?;
    run(Command::new(PROGRAM)
        .args([OsStr::new("-o"), &options, OsStr::new("--"), dir.as_os_str()])
        .env("_FUSE_COMMFD", theirs.as_raw_fd().to_string()))?;
    drop(theirs);
    receive(&ours).map_err(failed)?.ok_or_else(|| MountError::Helper("it sent no device".into()))
}

fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok(fds.next())
}

/// Unmounts `dir`.
pub(super) fn unmount(dir: &Path, lazily: bool) -> Result<(), MountError> {
    let mut command = Command::new(PROGRAM);
    command.arg("-u");
    if lazily {
        command.arg("-z");
    }
    match run(command.arg("--").arg(dir)) {
        Err(MountError::Helper(text)) if text.contains("busy") => Err(MountError::InUse(dir.into())),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn the_helper_mounts_sends_the_device_and_unmounts() {
        let found = Command::new(PROGRAM).arg("--version").output().is_ok();
        if !found || !Path::new("/dev/fuse").exists() || !rustix::process::geteuid().is_root() {
            eprintln!("helper: skipped, needs {PROGRAM}, /dev/fuse and (in a container) root");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let fd = mount(dir.path(), &MountOptions::new("a,b"), Mark(7)).unwrap();
        let mounted = super::super::table::mounted_at(dir.path()).unwrap().unwrap();
        assert_eq!((mounted.kind.as_str(), mounted.source.to_str()), ("fuse.ordo", Some("a,b")));
        drop(fd);
        unmount(dir.path(), false).unwrap();
        assert!(super::super::table::mounted_at(dir.path()).unwrap().is_none());
        let refused = mount(&dir.path().join("missing"), &MountOptions::new("x"), Mark(7)).unwrap_err().to_string();
        assert!(refused.starts_with("fusermount3 refused: ") && refused.contains("missing"), "{refused}");
    }

    #[test]
    fn the_helpers_name_is_not_said_twice() {
        let output = |stderr: &str| Output {
            status: std::process::ExitStatus::from_raw(256),
            stdout: Vec::new(),
            stderr: stderr.into(),
        };
        assert_eq!(complaint(&output("fusermount3: user has no write access\n")), "user has no write access");
        assert_eq!(complaint(&output("\n")), "it gave no reason");
    }
}
