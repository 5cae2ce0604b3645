//! What takes a name away, moves it, or adds another: REMOVE, RMDIR, RENAME, LINK.

use super::{Held, Outcome, name};
use crate::access::{EXECUTE, WRITE, may_remove};
use crate::creds::Creds;
use crate::server::Server;
use nfs3_types::nfs3::*;
use ordo_vfs::{FileSystem, RenameMode};

fn unlinked(file_attributes: post_op_attr) -> LINK3resfail {
    LINK3resfail { file_attributes, linkdir_wcc: wcc_data::default() }
}

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) async fn remove(&self, creds: &Creds, args: REMOVE3args<'_>) -> REMOVE3res {
        let dir = match self.held_dir(&args.object.dir).await {
            Ok(dir) => dir,
            Err(status) => return REMOVE3res::Err((status, REMOVE3resfail::default())),
        };
        let done = async {
            let name = name(args.object.name.as_ref())?;
            let file = self.removable(creds, &dir, args.object.name.as_ref()).await?;
            if file.is_dir() {
                return Err(nfsstat3::NFS3ERR_ISDIR);
            }
            self.fs.unlink(dir.node, name).await.map_err(|e| self.refuse(&e))?;
            self.settle_names(&[dir.node]).await
        };
        let done = done.await;
        let dir_wcc = self.changed(&dir).await;
        match done {
            Ok(()) => REMOVE3res::Ok(REMOVE3resok { dir_wcc }),
            Err(status) => REMOVE3res::Err((status, REMOVE3resfail { dir_wcc })),
        }
    }

    pub(crate) async fn rmdir(&self, creds: &Creds, args: RMDIR3args<'_>) -> RMDIR3res {
        let dir = match self.held_dir(&args.object.dir).await {
            Ok(dir) => dir,
            Err(status) => return RMDIR3res::Err((status, RMDIR3resfail { dir_wcc: wcc_data::default() })),
        };
        let done = async {
            let name = name(args.object.name.as_ref())?;
            match name.bytes() {
                b"." => return Err(nfsstat3::NFS3ERR_INVAL),
                b".." => return Err(nfsstat3::NFS3ERR_EXIST),
                _ => {}
            }
            let file = self.removable(creds, &dir, args.object.name.as_ref()).await?;
            if !file.is_dir() {
                return Err(nfsstat3::NFS3ERR_NOTDIR);
            }
            self.fs.rmdir(dir.node, name).await.map_err(|e| self.refuse(&e))?;
            self.settle_names(&[dir.node]).await
        };
        let done = done.await;
        let dir_wcc = self.changed(&dir).await;
        match done {
            Ok(()) => RMDIR3res::Ok(RMDIR3resok { dir_wcc }),
            Err(status) => RMDIR3res::Err((status, RMDIR3resfail { dir_wcc })),
        }
    }

    /// The file behind a name that the caller may take away.
    async fn removable(&self, creds: &Creds, dir: &Held<'_, F>, bytes: &[u8]) -> Outcome<Held<'_, F>> {
        self.may_write()?;
        self.need(creds, dir, EXECUTE).await?;
        let file = self.child(dir, name(bytes)?).await?;
        self.need(creds, dir, WRITE | EXECUTE).await?;
        if may_remove(creds, &dir.attr, &file.attr) { Ok(file) } else { Err(nfsstat3::NFS3ERR_PERM) }
    }

    pub(crate) async fn rename(&self, creds: &Creds, args: RENAME3args<'_, '_>) -> RENAME3res {
        let from = match self.held_dir(&args.from.dir).await {
            Ok(dir) => dir,
            Err(status) => return RENAME3res::Err((status, RENAME3resfail::default())),
        };
        let to = match self.held_dir(&args.to.dir).await {
            Ok(dir) => dir,
            Err(status) => {
                let fromdir_wcc = self.changed(&from).await;
                return RENAME3res::Err((status, RENAME3resfail { fromdir_wcc, ..RENAME3resfail::default() }));
            }
        };
        let done = self.rename_in(creds, (&from, args.from.name.as_ref()), (&to, args.to.name.as_ref())).await;
        let (fromdir_wcc, todir_wcc) = (self.changed(&from).await, self.changed(&to).await);
        match done {
            Ok(()) => RENAME3res::Ok(RENAME3resok { fromdir_wcc, todir_wcc }),
            Err(status) => RENAME3res::Err((status, RENAME3resfail { fromdir_wcc, todir_wcc })),
        }
    }

    async fn rename_in(
        &self,
        creds: &Creds,
        (from, old): (&Held<'_, F>, &[u8]),
        (to, new): (&Held<'_, F>, &[u8]),
    ) -> Outcome<()> {
        let (old_name, new_name) = (name(old)?, name(new)?);
        if old_name.is_dot_or_dotdot() || new_name.is_dot_or_dotdot() {
            return Err(nfsstat3::NFS3ERR_INVAL);
        }
        let moved = self.removable(creds, from, old).await?;
        self.need(creds, to, WRITE | EXECUTE).await?;
        // It gets another `..`.
        if moved.is_dir() && from.node != to.node {
            self.need(creds, &moved, WRITE).await?;
        }
        if let Some(replaced) = self.child_if_any(to, new_name).await?
            && !may_remove(creds, &to.attr, &replaced.attr)
        {
            return Err(nfsstat3::NFS3ERR_PERM);
        }
        let renamed = self.fs.rename(from.node, old_name, to.node, new_name, RenameMode::Replace).await;
        renamed.map_err(|e| self.refuse(&e))?;
        // The new name first: a crash in between leaves two, not none.
        self.settle_names(&[moved.node, to.node, from.node]).await
    }

    pub(crate) async fn link(&self, creds: &Creds, args: LINK3args<'_>) -> LINK3res {
        let file = match self.held(&args.file).await {
            Ok(file) => file,
            Err(status) => return LINK3res::Err((status, unlinked(Nfs3Option::None))),
        };
        let dir = match self.held_dir(&args.link.dir).await {
            Ok(dir) => dir,
            Err(status) => {
                let file_attributes = self.now(&file).await;
                return LINK3res::Err((status, unlinked(file_attributes)));
            }
        };
        let done = async {
            self.may_write()?;
            let name = name(args.link.name.as_ref())?;
            if file.is_dir() {
                return Err(nfsstat3::NFS3ERR_ISDIR);
            }
            self.need(creds, &dir, WRITE | EXECUTE).await?;
            let linked = self.fs.link(file.node, dir.node, name).await.map_err(|e| self.refuse(&e))?;
            drop(Held::new(&*self.fs, linked));
            self.settle_names(&[file.node, dir.node]).await
        };
        let done = done.await;
        let (file_attributes, linkdir_wcc) = (self.now(&file).await, self.changed(&dir).await);
        match done {
            Ok(()) => LINK3res::Ok(LINK3resok { file_attributes, linkdir_wcc }),
            Err(status) => LINK3res::Err((status, LINK3resfail { file_attributes, linkdir_wcc })),
        }
    }
}
