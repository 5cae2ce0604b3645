//! FSSTAT, FSINFO, PATHCONF: what there is, and how much fits.

use crate::creds::Creds;
use crate::server::Server;
use crate::wire::MOST_DATA;
use nfs3_types::nfs3::*;
use ordo_vfs::FileSystem;

/// What READ, WRITE and READDIR prefer: a block of the largest size that volumes have.
const PREFERRED: u32 = 64 << 10;

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) async fn fsstat(&self, creds: &Creds, args: FSSTAT3args) -> FSSTAT3res {
        let file = match self.held(&args.fsroot).await {
            Ok(file) => file,
            Err(status) => return FSSTAT3res::Err((status, FSSTAT3resfail::default())),
        };
        let obj_attributes = self.shown(&file.attr);
        let space = match self.fs.statfs().await {
            Ok(space) => space,
            Err(error) => return FSSTAT3res::Err((self.refuse(&error), FSSTAT3resfail { obj_attributes })),
        };
        let bytes = |frags: u64| frags.saturating_mul(space.frag_size.into());
        // Root may use the reserve.
        let available = if creds.is_root() { space.free_frags } else { space.avail_frags };
        FSSTAT3res::Ok(FSSTAT3resok {
            obj_attributes,
            tbytes: bytes(space.frags),
            fbytes: bytes(space.free_frags),
            abytes: bytes(available),
            tfiles: space.inodes,
            ffiles: space.free_inodes,
            afiles: space.free_inodes,
            invarsec: 0,
        })
    }

    pub(crate) async fn fsinfo(&self, _: &Creds, args: FSINFO3args) -> FSINFO3res {
        let file = match self.held(&args.fsroot).await {
            Ok(file) => file,
            Err(status) => return FSINFO3res::Err((status, FSINFO3resfail::default())),
        };
        FSINFO3res::Ok(FSINFO3resok {
            obj_attributes: self.shown(&file.attr),
            rtmax: MOST_DATA,
            rtpref: MOST_DATA,
            rtmult: 512,
            wtmax: MOST_DATA,
            wtpref: MOST_DATA,
            wtmult: 512,
            dtpref: PREFERRED,
            maxfilesize: self.opts.max_file_size,
            time_delta: nfstime3 { seconds: 0, nseconds: 1 },
            properties: FSF3_LINK | FSF3_SYMLINK | FSF3_HOMOGENEOUS | FSF3_CANSETTIME,
        })
    }

    pub(crate) async fn pathconf(&self, _: &Creds, args: PATHCONF3args) -> PATHCONF3res {
        let file = match self.held(&args.object).await {
            Ok(file) => file,
            Err(status) => return PATHCONF3res::Err((status, PATHCONF3resfail::default())),
        };
        PATHCONF3res::Ok(PATHCONF3resok {
            obj_attributes: self.shown(&file.attr),
            linkmax: self.opts.link_max,
            name_max: ordo_vfs::MAX_NAME as u32,
            no_trunc: true,
            chown_restricted: true,
            case_insensitive: false,
            case_preserving: true,
        })
    }
}
