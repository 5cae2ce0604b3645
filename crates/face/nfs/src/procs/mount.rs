//! MOUNT, and the question that the portmapper answers: both on the one port, so that a client which is told the port
//! needs no portmapper, and one that cannot be told (Windows) finds this server on port 111.

use super::{Outcome, name};
use crate::access::EXECUTE;
use crate::creds::Creds;
use crate::rpc::{self, Call};
use crate::server::{Server, decode};
use crate::wire::Part;
use nfs3_types::mount::{MNTPATHLEN, dirpath, export_node, fhandle3, mountres3, mountres3_ok, mountstat3};
use nfs3_types::nfs3::nfsstat3;
use nfs3_types::portmap::{IPPROTO_TCP, mapping};
use nfs3_types::rpc::accept_stat;
use nfs3_types::xdr_codec::{List, Opaque, Void};
use nfs3_types::{mount, nfs3, portmap};
use ordo_vfs::{Attr, FileSystem};

/// The flavour AUTH_SYS.
const AUTH_SYS: u32 = 1;

impl<F: FileSystem + 'static> Server<F> {
    /// MOUNT: only MNT has an effect, and it is a question, too. Nothing is kept of who has mounted.
    pub(crate) async fn mount(&self, creds: &Creds, call: &Call<'_>) -> Vec<u8> {
        match call.procedure {
            1 => match decode::<dirpath<'static>>(call.args, &[Part::Opaque]) {
                Some(path) => rpc::success(call.xid, &self.mounted(creds, &path.0).await),
                None => rpc::refused(call.xid, accept_stat::GARBAGE_ARGS),
            },
            // DUMP: a list that nobody is in.
            2 => rpc::success(call.xid, &List::<mapping>::default()),
            3 | 4 => rpc::success(call.xid, &Void),
            5 => {
                let root = export_node { ex_dir: dirpath(Opaque::borrowed(b"/")), ex_groups: List::default() };
                rpc::success(call.xid, &List(vec![root]))
            }
            _ => rpc::refused(call.xid, accept_stat::PROC_UNAVAIL),
        }
    }

    async fn mounted(&self, creds: &Creds, path: &[u8]) -> mountres3<'static> {
        match self.walk(creds, path).await {
            Ok(attr) => {
                let fhandle = fhandle3(self.handle_of(&attr).data);
                mountres3::Ok(mountres3_ok { fhandle, auth_flavors: vec![AUTH_SYS] })
            }
            Err(status) => mountres3::Err(match status {
                nfsstat3::NFS3ERR_NOENT => mountstat3::MNT3ERR_NOENT,
                nfsstat3::NFS3ERR_ACCES => mountstat3::MNT3ERR_ACCES,
                nfsstat3::NFS3ERR_NOTDIR => mountstat3::MNT3ERR_NOTDIR,
                nfsstat3::NFS3ERR_NAMETOOLONG => mountstat3::MNT3ERR_NAMETOOLONG,
                nfsstat3::NFS3ERR_INVAL => mountstat3::MNT3ERR_INVAL,
                nfsstat3::NFS3ERR_IO => mountstat3::MNT3ERR_IO,
                _ => mountstat3::MNT3ERR_SERVERFAULT,
            }),
        }
    }

    /// The directory at a path, from the root, for a caller who may search those above it: it is a LOOKUP of each name,
    /// and gives no more. Symbolic links are the client's to follow, so they are none here.
    async fn walk(&self, creds: &Creds, path: &[u8]) -> Outcome<Attr> {
        if path.len() > MNTPATHLEN {
            return Err(nfsstat3::NFS3ERR_NAMETOOLONG);
        }
        let root = self.fs.getattr(self.fs.root()).await.map_err(|e| self.refuse(&e))?;
        let mut dir = self.held(&self.handle_of(&root)).await?;
        for component in path.split(|byte| *byte == b'/').filter(|component| !component.is_empty()) {
            self.need(creds, &dir, EXECUTE).await?;
            dir = self.child(&dir, name(component)?).await?;
            if !dir.is_dir() {
                return Err(nfsstat3::NFS3ERR_NOTDIR);
            }
        }
        Ok(dir.attr)
    }

    /// GETPORT and DUMP of the portmapper.
    pub(crate) fn ask_port(&self, call: &Call<'_>) -> Vec<u8> {
        let served = [(nfs3::PROGRAM, nfs3::VERSION), (mount::PROGRAM, mount::VERSION)];
        let port = u32::from(self.port);
        match call.procedure {
            3 => match decode::<mapping>(call.args, &[]) {
                Some(asked) => {
                    let here = served.contains(&(asked.prog, asked.vers)) && asked.prot == IPPROTO_TCP;
                    rpc::success(call.xid, &if here { port } else { 0 })
                }
                None => rpc::refused(call.xid, accept_stat::GARBAGE_ARGS),
            },
            4 => {
                let all = [(portmap::PROGRAM, portmap::VERSION)].into_iter().chain(served);
                let all = all.map(|(prog, vers)| mapping { prog, vers, prot: IPPROTO_TCP, port });
                rpc::success(call.xid, &List(all.collect()))
            }
            _ => rpc::refused(call.xid, accept_stat::PROC_UNAVAIL),
        }
    }
}
