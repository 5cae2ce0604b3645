//! GETATTR, SETATTR, ACCESS.

use super::{Held, Outcome};
use crate::access::changes;
use crate::convert;
use crate::creds::Creds;
use crate::server::Server;
use nfs3_types::nfs3::*;
use ordo_vfs::{Error, FileSystem, Refusal, SetAttr};

/// Another call may change a file again and again; after so many times the client is told to come back.
const TRIES: u32 = 8;

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) async fn getattr(&self, _: &Creds, args: GETATTR3args) -> GETATTR3res {
        match self.held(&args.object).await {
            Ok(file) => {
                let obj_attributes = convert::attributes(self.opts.volume, &file.attr);
                GETATTR3res::Ok(GETATTR3resok { obj_attributes })
            }
            Err(status) => GETATTR3res::Err((status, nfs3_types::xdr_codec::Void)),
        }
    }

    pub(crate) async fn access(&self, creds: &Creds, args: ACCESS3args) -> ACCESS3res {
        let file = match self.held(&args.object).await {
            Ok(file) => file,
            Err(status) => return ACCESS3res::Err((status, ACCESS3resfail::default())),
        };
        let obj_attributes = self.shown(&file.attr);
        match self.granted(creds, &file).await {
            Ok(granted) => {
                let access = granted.answer(file.attr.kind, self.is_read_only()) & args.access;
                ACCESS3res::Ok(ACCESS3resok { obj_attributes, access })
            }
            Err(status) => ACCESS3res::Err((status, ACCESS3resfail { obj_attributes })),
        }
    }

    pub(crate) async fn setattr(&self, creds: &Creds, args: SETATTR3args) -> SETATTR3res {
        let file = match self.held(&args.object).await {
            Ok(file) => file,
            Err(status) => return SETATTR3res::Err((status, SETATTR3resfail::default())),
        };
        let done = self.set_guarded(creds, &file, &args).await;
        let obj_wcc = self.changed(&file).await;
        match done {
            Ok(()) => SETATTR3res::Ok(SETATTR3resok { obj_wcc }),
            Err(status) => SETATTR3res::Err((status, SETATTR3resfail { obj_wcc })),
        }
    }

    async fn set_guarded(&self, creds: &Creds, file: &Held<'_, F>, args: &SETATTR3args) -> Outcome<()> {
        self.may_write()?;
        let mut wanted = convert::set(&args.new_attributes);
        if let Nfs3Option::Some(ctime) = &args.guard {
            if *ctime != convert::time(file.attr.ctime) {
                return Err(nfsstat3::NFS3ERR_NOT_SYNC);
            }
            // Another call may change the file before this one has it alone: the file system compares again.
            wanted.if_ctime = Some(file.attr.ctime);
        }
        self.set(creds, file, wanted).await
    }

    /// Changes attributes as far as the caller may. What he may do is known from the attributes as they were a moment
    /// ago, and another call may have changed them since: an owner who has just lost his file must not make it
    /// set-user-id for the next one. So the file system compares, and he is judged again.
    pub(super) async fn set(&self, creds: &Creds, file: &Held<'_, F>, wanted: SetAttr) -> Outcome<()> {
        if (SetAttr { if_ctime: None, ..wanted }) == SetAttr::default() {
            return Ok(());
        }
        if wanted.size.is_some_and(|size| size > self.opts.max_file_size) {
            return Err(nfsstat3::NFS3ERR_FBIG);
        }
        let (mut attr, guarded) = (file.attr, wanted.if_ctime.is_some());
        for _ in 0..TRIES {
            let granted = self.granted_by(creds, file, &attr).await?;
            let mut set = changes(creds, &attr, granted, wanted)?;
            if set.mode.is_some() || set.uid.is_some() || set.gid.is_some() {
                set.if_ctime = Some(attr.ctime);
            }
            match self.fs.setattr(file.node, &set).await {
                Err(Error::Refused(Refusal::Changed)) if !guarded => {
                    attr = self.fs.getattr(file.node).await.map_err(|e| self.refuse(&e))?;
                }
                Err(error) => return Err(self.refuse(&error)),
                Ok(_) => return self.settle_attributes(file.node).await,
            }
        }
        Err(nfsstat3::NFS3ERR_JUKEBOX)
    }
}
