//! The second program: uses a volume after its recovery.

use crate::mount::mount;
use crate::recover::{Traced, check};
use crate::structure::{Class, classify};
use crate::tree::Tree;
use crate::{Error, Subject};
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode as Bits, Name};

/// Most directories in which the second program works.
const DIRECTORIES: usize = 8;

/// The second program: makes, writes and removes a file in each directory and unmounts; then fsck must find nothing
/// worse than `left`. If that is nothing, a scheme without bugs of its own does; if leaks may be left, it must be a
/// scheme that may write to such a volume.
pub(crate) fn works(subject: &Subject, disk: &RamDisk, tree: &Tree, left: Class) -> Result<(), Error> {
    let (rt, disk) = (Rt::virtual_time(2), disk.snapshot());
    let traced = Traced::of(subject, disk.clone(), &[]);
    let order = if left == Class::Nothing { subject.honest("async")? } else { subject.order()? };
    let mounted = mount(&rt, &disk, traced.disks(), order, false)?;
    let worked = rt.block_on(work(&**mounted.fs(), tree));
    let unmounted = rt.block_on(mounted.unmount());
    rt.drop_tasks();
    worked.and(unmounted).map_err(|error| Error::Run(error.to_string()))?;
    let report = check(&rt, traced.disks(), Mode::Check)?;
    match report.findings.iter().find(|found| classify(&found.finding, found.severity) > left) {
        Some(found) => Err(Error::Run(format!("fsck afterwards: {}", found.finding))),
        None => Ok(()),
    }
}

async fn work<F: FileSystem>(fs: &F, tree: &Tree) -> ordo_vfs::Result<()> {
    use ordo_vfs::{Error, Refusal};
    let who = Caller { privileged: true, ..Caller::default() };
    let name = Name::new(b".second-program")?;
    let dirs = tree.files.iter().filter(|(_, file)| file.kind.0 == Kind::Directory).take(DIRECTORIES);
    for path in dirs.map(|(id, _)| tree.path(*id)) {
        let mut dir = fs.root();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let next = fs.lookup(dir, Name::new(part.as_bytes())?).await?.node;
            if dir != fs.root() {
                fs.forget(dir, 1);
            }
            dir = next;
        }
        let made = fs.mknod(&who, dir, name, Kind::Regular, Bits::new(0o600), 0).await;
        let outcome = match made {
            Ok(entry) => {
                let written = fs.write(&who, entry.node, 0, &[0xa5; 6000]).await;
                fs.forget(entry.node, 1);
                let removed = fs.unlink(dir, name).await;
                written.map(|_| ()).and(removed)
            }
            Err(error) => Err(error),
        };
        if dir != fs.root() {
            fs.forget(dir, 1);
        }
        match outcome {
            // A full volume is not the fault of the crash.
            Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes | Refusal::NotPermitted)) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
