//! Which procedure a call is for, and whether it was made before.

use super::Server;
use super::connection::Connection;
use super::replay::{Key, Met};
use crate::creds::Creds;
use crate::rpc::{self, Auth, Call, NoCall};
use crate::wire::{Part, is_sound};
use nfs3_types::nfs3::NFS_PROGRAM as Procedure;
use nfs3_types::rpc::accept_stat;
use nfs3_types::xdr_codec::{Unpack, Void};
use nfs3_types::{mount, nfs3, portmap};
use ordo_vfs::FileSystem;

/// Arguments of a procedure; `None` for bytes that are none.
pub(crate) fn decode<A: Unpack>(bytes: &[u8], parts: &[Part]) -> Option<A> {
    let mut rest = bytes;
    let (args, _) = is_sound(bytes, parts).then(|| A::unpack(&mut rest).ok())??;
    rest.is_empty().then_some(args)
}

/// Where lengths are in a procedure's arguments (nfs-wire-2).
fn parts(procedure: Procedure) -> &'static [Part] {
    use Part::{Fixed, Opaque, Sattr};
    match procedure {
        Procedure::NFSPROC3_NULL => &[],
        Procedure::NFSPROC3_GETATTR
        | Procedure::NFSPROC3_SETATTR
        | Procedure::NFSPROC3_ACCESS
        | Procedure::NFSPROC3_READLINK
        | Procedure::NFSPROC3_READ
        | Procedure::NFSPROC3_READDIR
        | Procedure::NFSPROC3_READDIRPLUS
        | Procedure::NFSPROC3_FSSTAT
        | Procedure::NFSPROC3_FSINFO
        | Procedure::NFSPROC3_PATHCONF
        | Procedure::NFSPROC3_COMMIT => &[Opaque],
        Procedure::NFSPROC3_WRITE => &[Opaque, Fixed(16), Opaque],
        Procedure::NFSPROC3_LOOKUP
        | Procedure::NFSPROC3_CREATE
        | Procedure::NFSPROC3_MKDIR
        | Procedure::NFSPROC3_MKNOD
        | Procedure::NFSPROC3_REMOVE
        | Procedure::NFSPROC3_RMDIR => &[Opaque, Opaque],
        Procedure::NFSPROC3_SYMLINK => &[Opaque, Opaque, Sattr, Opaque],
        Procedure::NFSPROC3_LINK => &[Opaque, Opaque, Opaque],
        Procedure::NFSPROC3_RENAME => &[Opaque, Opaque, Opaque, Opaque],
    }
}

/// Whether a call may be made again without harm. Not a WRITE: between the two another one may have come.
fn is_repeatable(procedure: Procedure) -> bool {
    !matches!(
        procedure,
        Procedure::NFSPROC3_SETATTR
            | Procedure::NFSPROC3_WRITE
            | Procedure::NFSPROC3_CREATE
            | Procedure::NFSPROC3_MKDIR
            | Procedure::NFSPROC3_SYMLINK
            | Procedure::NFSPROC3_MKNOD
            | Procedure::NFSPROC3_REMOVE
            | Procedure::NFSPROC3_RMDIR
            | Procedure::NFSPROC3_RENAME
            | Procedure::NFSPROC3_LINK
    )
}

/// Decodes the arguments and calls a method with them.
macro_rules! call {
    ($server:ident.$method:ident, $call:ident, $creds:ident, $parts:expr) => {
        match decode($call.args, $parts) {
            Some(args) => rpc::success($call.xid, &$server.$method($creds, args).await),
            None => rpc::refused($call.xid, accept_stat::GARBAGE_ARGS),
        }
    };
}

impl<F: FileSystem + 'static> Server<F> {
    /// The reply to a record; `None` if it is no call, and the connection is to be ended.
    pub(super) async fn answer(&self, from: &Connection, record: &[u8]) -> Option<Vec<u8>> {
        let call = match Call::read(record) {
            Ok(call) => call,
            Err(NoCall::Version { xid }) => return Some(rpc::wrong_rpc(xid)),
            Err(NoCall::Garbage) => return None,
        };
        let version = match call.program {
            nfs3::PROGRAM => nfs3::VERSION,
            mount::PROGRAM => mount::VERSION,
            portmap::PROGRAM => portmap::VERSION,
            _ => return Some(rpc::refused(call.xid, accept_stat::PROG_UNAVAIL)),
        };
        if call.version != version {
            return Some(rpc::wrong_version(call.xid, version));
        }
        // Anybody may ask whether the program is there.
        if call.procedure == 0 {
            return Some(rpc::success(call.xid, &Void));
        }
        if let Auth::Bad(why) = call.auth {
            return Some(rpc::unauthentic(call.xid, why));
        }
        let creds = Creds::of(call.auth.clone(), from.low_port, self.opts.squash, self.opts.squashed);
        Some(match call.program {
            mount::PROGRAM => self.mount(&creds, &call).await,
            portmap::PROGRAM => self.ask_port(&call),
            _ => self.answer_once(from, &creds, &call, record).await,
        })
    }

    async fn answer_once(&self, from: &Connection, creds: &Creds, call: &Call<'_>, record: &[u8]) -> Vec<u8> {
        let Ok(procedure) = Procedure::try_from(call.procedure) else {
            return rpc::refused(call.xid, accept_stat::PROC_UNAVAIL);
        };
        if is_repeatable(procedure) {
            return self.run(procedure, call, creds).await;
        }
        let key = Key::of((from.address, from.low_port), creds, record);
        loop {
            let met = self.replay.borrow_mut().meet(key, self.rt.now());
            match met {
                Met::Done(reply) => return reply.to_vec(),
                Met::Running(ended) => ended.notified().await,
                Met::New => break,
            }
        }
        let reply = self.run(procedure, call, creds).await;
        self.replay.borrow_mut().done(key, &reply, self.rt.now());
        reply
    }

    async fn run(&self, procedure: Procedure, call: &Call<'_>, creds: &Creds) -> Vec<u8> {
        let parts = parts(procedure);
        match procedure {
            Procedure::NFSPROC3_NULL => rpc::success(call.xid, &Void),
            Procedure::NFSPROC3_GETATTR => call!(self.getattr, call, creds, parts),
            Procedure::NFSPROC3_SETATTR => call!(self.setattr, call, creds, parts),
            Procedure::NFSPROC3_LOOKUP => call!(self.lookup, call, creds, parts),
            Procedure::NFSPROC3_ACCESS => call!(self.access, call, creds, parts),
            Procedure::NFSPROC3_READLINK => call!(self.readlink, call, creds, parts),
            Procedure::NFSPROC3_READ => call!(self.read, call, creds, parts),
            Procedure::NFSPROC3_WRITE => call!(self.write, call, creds, parts),
            Procedure::NFSPROC3_CREATE => call!(self.create, call, creds, parts),
            Procedure::NFSPROC3_MKDIR => call!(self.mkdir, call, creds, parts),
            Procedure::NFSPROC3_SYMLINK => call!(self.symlink, call, creds, parts),
            Procedure::NFSPROC3_MKNOD => call!(self.mknod, call, creds, parts),
            Procedure::NFSPROC3_REMOVE => call!(self.remove, call, creds, parts),
            Procedure::NFSPROC3_RMDIR => call!(self.rmdir, call, creds, parts),
            Procedure::NFSPROC3_RENAME => call!(self.rename, call, creds, parts),
            Procedure::NFSPROC3_LINK => call!(self.link, call, creds, parts),
            Procedure::NFSPROC3_READDIR => call!(self.readdir, call, creds, parts),
            Procedure::NFSPROC3_READDIRPLUS => call!(self.readdirplus, call, creds, parts),
            Procedure::NFSPROC3_FSSTAT => call!(self.fsstat, call, creds, parts),
            Procedure::NFSPROC3_FSINFO => call!(self.fsinfo, call, creds, parts),
            Procedure::NFSPROC3_PATHCONF => call!(self.pathconf, call, creds, parts),
            Procedure::NFSPROC3_COMMIT => call!(self.commit, call, creds, parts),
        }
    }
}
