//! READ, WRITE, COMMIT, READLINK.

use super::{Held, Outcome};
use crate::access::{EXECUTE, READ, WRITE, without_set_id};
use crate::creds::Creds;
use crate::server::Server;
use crate::wire::MOST_DATA;
use nfs3_types::nfs3::*;
use nfs3_types::xdr_codec::Opaque;
use ordo_vfs::{FileSystem, Kind, SetAttr};

struct Piece {
    data: Vec<u8>,
    eof: bool,
}

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) async fn read(&self, creds: &Creds, args: READ3args) -> READ3res<'static> {
        let file = match self.held(&args.file).await {
            Ok(file) => file,
            Err(status) => return READ3res::Err((status, READ3resfail::default())),
        };
        let piece = self.read_piece(creds, &file, args.offset, args.count).await;
        let file_attributes = self.now(&file).await;
        match piece {
            Ok(Piece { data, eof }) => {
                let (count, data) = (data.len() as u32, Opaque::owned(data));
                READ3res::Ok(READ3resok { file_attributes, count, eof, data })
            }
            Err(status) => READ3res::Err((status, READ3resfail { file_attributes })),
        }
    }

    async fn read_piece(&self, creds: &Creds, file: &Held<'_, F>, offset: u64, count: u32) -> Outcome<Piece> {
        self.is_file_for(file)?;
        let granted = self.granted(creds, file).await?;
        // Who may execute a file may read it: the client runs it, not the server (access-2).
        if creds.uid != file.attr.uid && !granted.has(READ) && !granted.has(EXECUTE) {
            return Err(nfsstat3::NFS3ERR_ACCES);
        }
        if offset >= file.attr.size {
            return Ok(Piece { data: Vec::new(), eof: true });
        }
        let count = count.min(MOST_DATA);
        let data = self.fs.read(file.node, offset, count).await.map_err(|e| self.refuse(&e))?.concat();
        // Fewer bytes than asked for are there at the end only.
        let eof = (data.len() as u32) < count || offset + data.len() as u64 >= file.attr.size;
        Ok(Piece { data, eof })
    }

    pub(crate) async fn write(&self, creds: &Creds, args: WRITE3args<'_>) -> WRITE3res {
        let file = match self.held(&args.file).await {
            Ok(file) => file,
            Err(status) => return WRITE3res::Err((status, WRITE3resfail::default())),
        };
        let written = self.write_piece(creds, &file, &args).await;
        let file_wcc = self.changed(&file).await;
        match written {
            Ok((count, committed)) => {
                WRITE3res::Ok(WRITE3resok { file_wcc, count, committed, verf: writeverf3(self.verifier) })
            }
            Err(status) => WRITE3res::Err((status, WRITE3resfail { file_wcc })),
        }
    }

    /// Returns the bytes that were written, and how durable they are.
    async fn write_piece(
        &self,
        creds: &Creds,
        file: &Held<'_, F>,
        args: &WRITE3args<'_>,
    ) -> Outcome<(u32, stable_how)> {
        self.may_write()?;
        self.is_file_for(file)?;
        let data = args.data.get(..args.count as usize).ok_or(nfsstat3::NFS3ERR_INVAL)?;
        if creds.uid != file.attr.uid {
            self.need(creds, file, WRITE).await?;
        }
        if args.offset.checked_add(data.len() as u64).is_none_or(|end| end > self.opts.max_file_size) {
            return Err(nfsstat3::NFS3ERR_FBIG);
        }
        if let Some(mode) = without_set_id(&file.attr).filter(|_| !creds.is_root()) {
            let set = SetAttr { mode: Some(mode), ..SetAttr::default() };
            self.fs.setattr(file.node, &set).await.map_err(|e| self.refuse(&e))?;
        }
        let mut done = 0;
        while done < data.len() {
            let at = args.offset + done as u64;
            match self.fs.write(&creds.caller(), file.node, at, &data[done..]).await {
                Ok(count) => done += count as usize,
                // The client writes the rest again, and learns then why it cannot.
                Err(_) if done > 0 => break,
                Err(error) => return Err(self.refuse(&error)),
            }
        }
        let data_only = match args.stable {
            stable_how::UNSTABLE => return Ok((done as u32, stable_how::UNSTABLE)),
            stable_how::DATA_SYNC => true,
            stable_how::FILE_SYNC => false,
        };
        self.fs.fsync(file.node, data_only).await.map_err(|e| self.refuse(&e))?;
        Ok((done as u32, args.stable))
    }

    pub(crate) async fn commit(&self, _: &Creds, args: COMMIT3args) -> COMMIT3res {
        let file = match self.held(&args.file).await {
            Ok(file) => file,
            Err(status) => return COMMIT3res::Err((status, COMMIT3resfail { file_wcc: wcc_data::default() })),
        };
        // All of the file, whatever range is named: the engine knows no smaller promise.
        let done = self.fsync_all(&[file.node]).await;
        let file_wcc = self.changed(&file).await;
        match done {
            Ok(()) => COMMIT3res::Ok(COMMIT3resok { file_wcc, verf: writeverf3(self.verifier) }),
            Err(status) => COMMIT3res::Err((status, COMMIT3resfail { file_wcc })),
        }
    }

    pub(crate) async fn readlink(&self, _: &Creds, args: READLINK3args) -> READLINK3res<'static> {
        let file = match self.held(&args.symlink).await {
            Ok(file) => file,
            Err(status) => return READLINK3res::Err((status, READLINK3resfail::default())),
        };
        let target = self.fs.readlink(file.node).await.map_err(|e| self.refuse(&e));
        let symlink_attributes = self.now(&file).await;
        match target {
            Ok(target) => {
                READLINK3res::Ok(READLINK3resok { symlink_attributes, data: nfspath3::from(target.to_vec()) })
            }
            Err(status) => READLINK3res::Err((status, READLINK3resfail { symlink_attributes })),
        }
    }

    fn is_file_for(&self, file: &Held<'_, F>) -> Outcome<()> {
        match file.attr.kind {
            Kind::Regular => Ok(()),
            Kind::Directory => Err(nfsstat3::NFS3ERR_ISDIR),
            _ => Err(nfsstat3::NFS3ERR_INVAL),
        }
    }
}
