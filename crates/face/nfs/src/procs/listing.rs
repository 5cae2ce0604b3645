//! READDIR, READDIRPLUS.
//!
//! L1. A cookie is the place of an entry in its directory, which stays valid whatever is made or removed meanwhile
//!     (entries do not move). So the cookie verifier says nothing, and is zero.

use super::{Held, Outcome, some};
use crate::access::{EXECUTE, READ};
use crate::creds::Creds;
use crate::server::Server;
use crate::wire::MOST_DATA;
use nfs3_types::nfs3::*;
use nfs3_types::xdr_codec::{BoundedList, Pack};
use ordo_vfs::{FileSystem, Name};

/// What is in a reply beside the entries: the directory's attributes, the verifier, the mark that no further entry
/// follows, and whether the directory ends. Clients count all of it: some have no room for a byte more.
const AROUND: u32 = 4 + 84 + 8 + 4 + 4;
/// Bytes of attributes and handle, with their marks.
const PLUS: usize = 4 + 84 + 4 + 4 + 24;
/// No directory is so long; and beyond it a cookie would not be a place in a file.
const LAST_COOKIE: u64 = i64::MAX as u64;

/// Names of a directory, and whether the last one is among them.
struct Names {
    entries: Vec<entry3<'static>>,
    eof: bool,
}

impl<F: FileSystem + 'static> Server<F> {
    /// As many names from `cookie` on as `room` allows, which says how much it takes.
    async fn names(
        &self,
        creds: &Creds,
        dir: &Held<'_, F>,
        cookie: u64,
        mut room: impl FnMut(&entry3<'static>) -> bool,
    ) -> Outcome<Names> {
        if cookie > LAST_COOKIE {
            return Err(nfsstat3::NFS3ERR_BAD_COOKIE);
        }
        self.need(creds, dir, READ).await?;
        let (mut entries, mut eof) = (Vec::new(), true);
        let mut take = |entry: ordo_vfs::DirEntry<'_>| {
            let entry = entry3 { fileid: entry.ino, name: filename3::from(entry.name.to_vec()), cookie: entry.next };
            eof = room(&entry);
            if eof {
                entries.push(entry);
            }
            eof
        };
        self.fs.readdir(dir.node, cookie, &mut take).await.map_err(|e| self.refuse(&e))?;
        if entries.is_empty() && !eof { Err(nfsstat3::NFS3ERR_TOOSMALL) } else { Ok(Names { entries, eof }) }
    }

    pub(crate) async fn readdir(&self, creds: &Creds, args: READDIR3args) -> READDIR3res<'static> {
        let dir = match self.held_dir(&args.dir).await {
            Ok(dir) => dir,
            Err(status) => return READDIR3res::Err((status, READDIR3resfail::default())),
        };
        let mut left = args.count.min(MOST_DATA).saturating_sub(AROUND) as usize;
        let fits = move |entry: &entry3<'static>| {
            let size = entry.packed_size() + 4;
            let fits = size <= left;
            left -= if fits { size } else { 0 };
            fits
        };
        let names = self.names(creds, &dir, args.cookie, fits).await;
        let dir_attributes = self.now(&dir).await;
        match names {
            Ok(Names { entries, eof }) => {
                let reply = dirlist3 { entries: nfs3_types::xdr_codec::List(entries), eof };
                READDIR3res::Ok(READDIR3resok { dir_attributes, cookieverf: cookieverf3::default(), reply })
            }
            Err(status) => READDIR3res::Err((status, READDIR3resfail { dir_attributes })),
        }
    }

    pub(crate) async fn readdirplus(&self, creds: &Creds, args: READDIRPLUS3args) -> READDIRPLUS3res<'static> {
        let dir = match self.held_dir(&args.dir).await {
            Ok(dir) => dir,
            Err(status) => return READDIRPLUS3res::Err((status, READDIRPLUS3resfail::default())),
        };
        let most = args.maxcount.min(MOST_DATA).saturating_sub(AROUND) as usize;
        let (mut left, mut names_left) = (most, args.dircount as usize);
        let fits = move |entry: &entry3<'static>| {
            let (name, size) = (entry.packed_size(), entry.packed_size() + PLUS + 4);
            // The first one comes even if the names alone are more than was asked for.
            let fits = size <= left && (name <= names_left || left == most);
            left -= if fits { size } else { 0 };
            names_left = names_left.saturating_sub(name);
            fits
        };
        let names = self.names(creds, &dir, args.cookie, fits).await;
        let listed = match names {
            Ok(names) => Ok(self.with_attributes(creds, &dir, names, most).await),
            Err(status) => Err(status),
        };
        let dir_attributes = self.now(&dir).await;
        match listed {
            Ok(reply) => {
                let cookieverf = cookieverf3::default();
                READDIRPLUS3res::Ok(READDIRPLUS3resok { dir_attributes, cookieverf, reply })
            }
            Err(status) => READDIRPLUS3res::Err((status, READDIRPLUS3resfail { dir_attributes })),
        }
    }

    /// Looks up each name. One that is gone meanwhile, or damaged, stays a name: who opens it gets the error.
    async fn with_attributes(
        &self,
        creds: &Creds,
        dir: &Held<'_, F>,
        names: Names,
        most: usize,
    ) -> dirlistplus3<'static> {
        let Names { entries, mut eof } = names;
        let looks = self.granted(creds, dir).await.is_ok_and(|granted| granted.has(EXECUTE));
        let mut listed = BoundedList::new(most + 4);
        for entry3 { fileid, name, cookie } in entries {
            let found = match Name::new(name.as_ref()) {
                Ok(name) if looks => self.child(dir, name).await.ok(),
                _ => None,
            };
            let (name_attributes, name_handle) = match &found {
                Some(file) => (self.shown(&file.attr), some(self.handle_of(&file.attr))),
                None => (Nfs3Option::None, Nfs3Option::None),
            };
            if listed.try_push(entryplus3 { fileid, name, cookie, name_attributes, name_handle }).is_err() {
                eof = false;
                break;
            }
        }
        dirlistplus3 { entries: listed.into_inner(), eof }
    }
}
