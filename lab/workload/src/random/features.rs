//! The features of a file system, so that two are compared only on common ones.

use crate::paths::Session;
use ordo_model::flags;
use ordo_vfs::{FallocMode, FileSystem, Kind, Mode, Name, RenameMode, Result, SetAttr, XattrMode};

/// Features that not every file system, nor every user of a host, has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Features {
    pub devices: bool,
    pub owners: bool,
    /// `user.` attributes.
    pub xattrs: bool,
    /// `trusted.` attributes.
    pub trusted: bool,
    pub acls: bool,
    pub tmpfile: bool,
    pub exchange: bool,
    pub allocate: bool,
    pub punch: bool,
    pub zero_range: bool,
    /// BSD flags that can be set.
    pub flags: u32,
}

const FLAGS: [u32; 7] = [
    flags::UF_NODUMP,
    flags::UF_IMMUTABLE,
    flags::UF_APPEND,
    flags::UF_NOUNLINK,
    flags::SF_IMMUTABLE,
    flags::SF_APPEND,
    flags::SF_NOUNLINK,
];

impl Features {
    /// All features.
    pub fn all() -> Features {
        Features {
            devices: true,
            owners: true,
            xattrs: true,
            trusted: true,
            acls: true,
            tmpfile: true,
            exchange: true,
            allocate: true,
            punch: true,
            zero_range: true,
            flags: FLAGS.iter().fold(0, |all, flag| all | flag),
        }
    }

    /// The features that both have.
    #[must_use]
    pub fn and(self, other: Features) -> Features {
        Features {
            devices: self.devices && other.devices,
            owners: self.owners && other.owners,
            xattrs: self.xattrs && other.xattrs,
            trusted: self.trusted && other.trusted,
            acls: self.acls && other.acls,
            tmpfile: self.tmpfile && other.tmpfile,
            exchange: self.exchange && other.exchange,
            allocate: self.allocate && other.allocate,
            punch: self.punch && other.punch,
            zero_range: self.zero_range && other.zero_range,
            flags: self.flags & other.flags,
        }
    }

    /// Determines them by trying everything once, in a directory that is removed again.
    ///
    /// # Errors
    /// Those of making and removing the directory.
    pub async fn probe<F: FileSystem>(fs: &F) -> Result<Features> {
        let session = Session::new(fs);
        let dir = session.mkdir_all("probe").await?;
        let file = session.create(&dir, Name::new(b"file")?).await?;
        session.write_file("probe/other", b"other").await?;
        let (who, node) = (&session.who, file.node());
        let (name, other) = (Name::new(b"file")?, Name::new(b"other")?);
        let falloc = |mode| fs.fallocate(who, node, 0, 8192, mode);
        let xattr = |name| fs.setxattr(who, node, name, b"v", XattrMode::Set);
        let owner = SetAttr { uid: Some(1), gid: Some(1), ..SetAttr::default() };
        let device = fs.mknod(who, dir.node(), Name::new(b"dev")?, Kind::CharDevice, Mode::new(0o600), 259).await;
        let tmpfile = fs.tmpfile(who, dir.node(), Mode::new(0o600)).await;
        device.iter().chain(&tmpfile).for_each(|entry| fs.forget(entry.node, 1));
        let acl = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x04\0\x06\0\xff\xff\xff\xff\x20\0\x04\0\xff\xff\xff\xff";
        let mut features = Features {
            devices: device.is_ok(),
            owners: fs.setattr(node, &owner).await.is_ok(),
            xattrs: xattr(b"user.probe").await.is_ok(),
            trusted: xattr(b"trusted.probe").await.is_ok(),
            acls: fs.setxattr(who, node, b"system.posix_acl_access", acl, XattrMode::Set).await.is_ok(),
            tmpfile: tmpfile.is_ok(),
            exchange: fs.rename(dir.node(), name, dir.node(), other, RenameMode::Exchange).await.is_ok(),
            allocate: falloc(FallocMode::Allocate { keep_size: false }).await.is_ok(),
            punch: falloc(FallocMode::PunchHole).await.is_ok(),
            zero_range: falloc(FallocMode::ZeroRange { keep_size: true }).await.is_ok(),
            flags: 0,
        };
        for flag in FLAGS {
            let set = SetAttr { flags: Some(flag), ..SetAttr::default() };
            if fs.setattr(node, &set).await.is_ok_and(|attr| attr.flags == flag) {
                features.flags |= flag;
            }
        }
        if features.flags != 0 {
            fs.setattr(node, &SetAttr { flags: Some(0), ..SetAttr::default() }).await?;
        }
        drop(file);
        session.remove_tree("probe").await?;
        Ok(features)
    }
}
