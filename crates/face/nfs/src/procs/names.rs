//! LOOKUP and what makes a name: CREATE, MKDIR, SYMLINK, MKNOD.
//!
//! M1. A file of an exclusive CREATE gets its name when it has the client's verifier, not before. A crash in between
//!     would leave a file that is not the client's when it asks again.

use super::{Held, Outcome, name};
use crate::access::{EXECUTE, Granted, WRITE, changes, mode_of_new};
use crate::convert;
use crate::creds::Creds;
use crate::server::Server;
use nfs3_types::nfs3::*;
use ordo_vfs::{Attr, FileSystem, Kind, Mode, Name, SetAttr, SetTime, Stamp};

/// Permission bits of a file whose maker named none.
const PLAIN: u32 = 0o644;
const PLAIN_DIR: u32 = 0o755;

/// The verifier of an exclusive CREATE, all bits of it, as the times of the file that has it. Every format can hold
/// these: seconds of 31 bits, and in the nanoseconds the bit that is left.
fn verifier_times(verifier: &createverf3) -> [Stamp; 2] {
    let (first, second) = verifier.0.split_at(4);
    [first, second].map(|half| {
        let word = half.iter().fold(0_i64, |word, &byte| word << 8 | i64::from(byte));
        Stamp { secs: word & 0x7fff_ffff, nanos: if word >> 31 == 0 { 0 } else { 500_000_000 } }
    })
}

/// What is made: the reply shows it, whatever procedure it was.
type Made<'a, F> = Outcome<Held<'a, F>>;

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) async fn lookup(&self, creds: &Creds, args: LOOKUP3args<'_>) -> LOOKUP3res {
        let dir = match self.held_dir(&args.what.dir).await {
            Ok(dir) => dir,
            Err(status) => return LOOKUP3res::Err((status, LOOKUP3resfail::default())),
        };
        let found = async {
            self.need(creds, &dir, EXECUTE).await?;
            self.child(&dir, name(args.what.name.as_ref())?).await
        };
        let found = found.await;
        let dir_attributes = self.now(&dir).await;
        match found {
            Ok(file) => LOOKUP3res::Ok(LOOKUP3resok {
                object: self.handle_of(&file.attr),
                obj_attributes: self.shown(&file.attr),
                dir_attributes,
            }),
            Err(status) => LOOKUP3res::Err((status, LOOKUP3resfail { dir_attributes })),
        }
    }

    pub(crate) async fn create(&self, creds: &Creds, args: CREATE3args<'_>) -> CREATE3res {
        let dir = match self.held_dir(&args.where_.dir).await {
            Ok(dir) => dir,
            Err(status) => return CREATE3res::Err((status, CREATE3resfail::default())),
        };
        let made = self.create_in(creds, &dir, args.where_.name.as_ref(), &args.how).await;
        let dir_wcc = self.changed(&dir).await;
        match made {
            Ok(file) => CREATE3res::Ok(CREATE3resok {
                obj: self.some_handle(&file.attr),
                obj_attributes: self.now(&file).await,
                dir_wcc,
            }),
            Err(status) => CREATE3res::Err((status, CREATE3resfail { dir_wcc })),
        }
    }

    async fn create_in(&self, creds: &Creds, dir: &Held<'_, F>, bytes: &[u8], how: &createhow3) -> Made<'_, F> {
        self.may_write()?;
        let name = name(bytes)?;
        match how {
            createhow3::EXCLUSIVE(verifier) => self.create_exclusive(creds, dir, name, verifier).await,
            createhow3::GUARDED(wanted) => self.create_plain(creds, dir, name, convert::set(wanted)).await,
            createhow3::UNCHECKED(wanted) => {
                let wanted = convert::set(wanted);
                self.need(creds, dir, EXECUTE).await?;
                match self.child_if_any(dir, name).await? {
                    Some(there) => self.create_over(creds, there, wanted).await,
                    None => self.create_plain(creds, dir, name, wanted).await,
                }
            }
        }
    }

    /// The name is there: only the size is set, as open(2) with O_TRUNC does.
    async fn create_over<'a>(&self, creds: &Creds, there: Held<'a, F>, wanted: SetAttr) -> Made<'a, F> {
        if there.is_dir() {
            return Err(nfsstat3::NFS3ERR_EXIST);
        }
        if there.attr.kind == Kind::Regular {
            self.set(creds, &there, SetAttr { size: wanted.size, ..SetAttr::default() }).await?;
        }
        Ok(there)
    }

    async fn create_plain(&self, creds: &Creds, dir: &Held<'_, F>, name: Name<'_>, wanted: SetAttr) -> Made<'_, F> {
        let (mode, more) = self.may_make(creds, dir, wanted, PLAIN).await?;
        let made = self.fs.mknod(&creds.caller(), dir.node, name, Kind::Regular, mode, 0).await;
        self.made(dir, made, more).await
    }

    async fn create_exclusive(
        &self,
        creds: &Creds,
        dir: &Held<'_, F>,
        name: Name<'_>,
        verifier: &createverf3,
    ) -> Made<'_, F> {
        let [atime, mtime] = verifier_times(verifier);
        self.need(creds, dir, EXECUTE).await?;
        if let Some(there) = self.child_if_any(dir, name).await? {
            // The reply to an earlier try was lost.
            let same = there.attr.kind == Kind::Regular && there.attr.mtime == mtime && there.attr.atime == atime;
            return if same { Ok(there) } else { Err(nfsstat3::NFS3ERR_EXIST) };
        }
        self.need(creds, dir, WRITE | EXECUTE).await?;
        if name.is_dot_or_dotdot() {
            return Err(nfsstat3::NFS3ERR_EXIST);
        }
        let made = self.fs.tmpfile(&creds.caller(), dir.node, Mode::new(0)).await;
        let file = made.map(|entry| Held::new(&*self.fs, entry)).map_err(|e| self.refuse(&e))?;
        let times = SetAttr { atime: Some(SetTime::At(atime)), mtime: Some(SetTime::At(mtime)), ..SetAttr::default() };
        self.fs.setattr(file.node, &times).await.map_err(|e| self.refuse(&e))?;
        self.settle_attributes(file.node).await?;
        // The name, and the lookup that comes with it.
        let named = self.fs.link(file.node, dir.node, name).await;
        self.made(dir, named, SetAttr::default()).await
    }

    /// What remains to be done with a new file: the attributes that its maker set and the kind of call did not, and the
    /// wait until all is durable.
    async fn made(&self, dir: &Held<'_, F>, made: ordo_vfs::Result<ordo_vfs::Entry>, more: SetAttr) -> Made<'_, F> {
        let file = made.map(|entry| Held::new(&*self.fs, entry)).map_err(|e| self.refuse(&e))?;
        if more != SetAttr::default() {
            self.fs.setattr(file.node, &more).await.map_err(|e| self.refuse(&e))?;
            self.settle_attributes(file.node).await?;
        }
        self.settle_names(&[file.node, dir.node]).await?;
        Ok(file)
    }

    /// Checks whether the caller may make something in `dir` with these attributes. Returns its permission bits, and
    /// what is set afterwards.
    async fn may_make(
        &self,
        creds: &Creds,
        dir: &Held<'_, F>,
        wanted: SetAttr,
        plain: u32,
    ) -> Outcome<(Mode, SetAttr)> {
        self.need(creds, dir, WRITE | EXECUTE).await?;
        let mode = mode_of_new(creds, &dir.attr, wanted.mode.map_or(plain, |mode| mode.bits().into()));
        // As the new file will be: its maker owns it.
        let new = Attr { uid: creds.uid, gid: creds.gid, mode, kind: Kind::Regular, ..dir.attr };
        let mut more = changes(creds, &new, Granted::of(creds, &new, None), SetAttr { mode: None, ..wanted })?;
        more.uid = more.uid.filter(|uid| *uid != creds.uid);
        more.size = more.size.filter(|size| *size > 0);
        if more.size.is_some_and(|size| size > self.opts.max_file_size) {
            return Err(nfsstat3::NFS3ERR_FBIG);
        }
        Ok((mode, more))
    }

    pub(crate) async fn mkdir(&self, creds: &Creds, args: MKDIR3args<'_>) -> MKDIR3res {
        let dir = match self.held_dir(&args.where_.dir).await {
            Ok(dir) => dir,
            Err(status) => return MKDIR3res::Err((status, MKDIR3resfail::default())),
        };
        let made = async {
            self.may_write()?;
            let name = name(args.where_.name.as_ref())?;
            let wanted = SetAttr { size: None, ..convert::set(&args.attributes) };
            let (mode, more) = self.may_make(creds, &dir, wanted, PLAIN_DIR).await?;
            let made = self.fs.mkdir(&creds.caller(), dir.node, name, mode).await;
            self.made(&dir, made, more).await
        };
        let made = made.await;
        let dir_wcc = self.changed(&dir).await;
        match made {
            Ok(file) => MKDIR3res::Ok(MKDIR3resok {
                obj: self.some_handle(&file.attr),
                obj_attributes: self.now(&file).await,
                dir_wcc,
            }),
            Err(status) => MKDIR3res::Err((status, MKDIR3resfail { dir_wcc })),
        }
    }

    pub(crate) async fn symlink(&self, creds: &Creds, args: SYMLINK3args<'_>) -> SYMLINK3res {
        let dir = match self.held_dir(&args.where_.dir).await {
            Ok(dir) => dir,
            Err(status) => return SYMLINK3res::Err((status, SYMLINK3resfail::default())),
        };
        let made = async {
            self.may_write()?;
            let name = name(args.where_.name.as_ref())?;
            // Its mode and size are not the client's to choose.
            let wanted = SetAttr { size: None, mode: None, ..convert::set(&args.symlink.symlink_attributes) };
            let (_, more) = self.may_make(creds, &dir, wanted, PLAIN).await?;
            let target = args.symlink.symlink_data.as_ref();
            let made = self.fs.symlink(&creds.caller(), dir.node, name, target).await;
            self.made(&dir, made, more).await
        };
        let made = made.await;
        let dir_wcc = self.changed(&dir).await;
        match made {
            Ok(file) => SYMLINK3res::Ok(SYMLINK3resok {
                obj: self.some_handle(&file.attr),
                obj_attributes: self.now(&file).await,
                dir_wcc,
            }),
            Err(status) => SYMLINK3res::Err((status, SYMLINK3resfail { dir_wcc })),
        }
    }

    pub(crate) async fn mknod(&self, creds: &Creds, args: MKNOD3args<'_>) -> MKNOD3res {
        let dir = match self.held_dir(&args.where_.dir).await {
            Ok(dir) => dir,
            Err(status) => return MKNOD3res::Err((status, MKNOD3resfail { dir_wcc: wcc_data::default() })),
        };
        let made = self.mknod_in(creds, &dir, args.where_.name.as_ref(), &args.what).await;
        let dir_wcc = self.changed(&dir).await;
        match made {
            Ok(file) => MKNOD3res::Ok(MKNOD3resok {
                obj: self.some_handle(&file.attr),
                obj_attributes: self.now(&file).await,
                dir_wcc,
            }),
            Err(status) => MKNOD3res::Err((status, MKNOD3resfail { dir_wcc })),
        }
    }

    async fn mknod_in(&self, creds: &Creds, dir: &Held<'_, F>, bytes: &[u8], what: &mknoddata3) -> Made<'_, F> {
        self.may_write()?;
        let name = name(bytes)?;
        let (kind, wanted, rdev) = match what {
            mknoddata3::NF3CHR(device) => (Kind::CharDevice, &device.dev_attributes, convert::rdev(&device.spec)),
            mknoddata3::NF3BLK(device) => (Kind::BlockDevice, &device.dev_attributes, convert::rdev(&device.spec)),
            mknoddata3::NF3SOCK(attributes) => (Kind::Socket, attributes, 0),
            mknoddata3::NF3FIFO(attributes) => (Kind::Fifo, attributes, 0),
            mknoddata3::default => return Err(nfsstat3::NFS3ERR_BADTYPE),
        };
        if kind.is_device() && !creds.is_root() {
            return Err(nfsstat3::NFS3ERR_PERM);
        }
        let wanted = SetAttr { size: None, ..convert::set(wanted) };
        let (mode, more) = self.may_make(creds, dir, wanted, PLAIN).await?;
        let made = self.fs.mknod(&creds.caller(), dir.node, name, kind, mode, rdev).await;
        self.made(dir, made, more).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifiers_that_differ_in_any_bit_are_other_times() {
        let all: Vec<_> = (0..64).map(|bit| verifier_times(&createverf3((1_u64 << bit).to_be_bytes()))).collect();
        let none = verifier_times(&createverf3([0; 8]));
        assert!(all.iter().enumerate().all(|(at, times)| *times != none && !all[..at].contains(times)));
        assert!(all.iter().flatten().all(|time| (0..1 << 31).contains(&time.secs)), "a format with 32 bits holds them");
    }
}
