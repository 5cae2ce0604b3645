//! BSD file flags for chattr(1) and lsattr(1).
//!
//! Linux has one flag where BSD has two, the owner's and the system's. A file counts as immutable, append-only or
//! nodump when either is set; setting sets the system's (the kernel requires CAP_LINUX_IMMUTABLE), and clearing clears
//! both.

use super::shared::Server;
use crate::proto::abi::{FsXattr, IoctlIn, IoctlOut};
use crate::proto::reply::{Answer, Notice, Reply};
use crate::transport::Transport;
use ordo_vfs::{FileSystem, NodeId, SetAttr};
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

const FS_IOC_GETFLAGS: u32 = 0x8008_6601;
const FS_IOC_SETFLAGS: u32 = 0x4008_6602;
const FS_IOC_FSGETXATTR: u32 = 0x801c_581f;
const FS_IOC_FSSETXATTR: u32 = 0x401c_5820;

/// One flag in three encodings.
struct Flag {
    /// The flag of GETFLAGS.
    linux: u32,
    /// The flag of FSGETXATTR.
    xflag: u32,
    /// It is shown if any of these is set (`UF_*`, `SF_*`).
    bsd: u32,
    /// The flag to set.
    bsd_set: u32,
}

const FLAGS: [Flag; 3] = [
    // immutable: UF_IMMUTABLE, SF_IMMUTABLE
    Flag { linux: 0x10, xflag: 0x08, bsd: 0x0002_0002, bsd_set: 0x0002_0000 },
    // append only: UF_APPEND, SF_APPEND
    Flag { linux: 0x20, xflag: 0x10, bsd: 0x0004_0004, bsd_set: 0x0004_0000 },
    // no dump: UF_NODUMP
    Flag { linux: 0x40, xflag: 0x80, bsd: 0x0000_0001, bsd_set: 0x0000_0001 },
];

/// The BSD flags in one of the two Linux encodings.
fn shown(bsd: u32, word: fn(&Flag) -> u32) -> u32 {
    FLAGS.iter().filter(|f| bsd & f.bsd != 0).map(word).fold(0, |all, bit| all | bit)
}

/// The BSD flags after `wanted` was set. Flags that do not change stay as they are, including the owner's.
fn changed(bsd: u32, wanted: u32, word: fn(&Flag) -> u32) -> Result<u32, Errno> {
    if wanted & !FLAGS.iter().map(word).fold(0, |all, bit| all | bit) != 0 {
        return Err(Errno::OPNOTSUPP);
    }
    Ok(FLAGS.iter().fold(bsd, |bsd, flag| match (bsd & flag.bsd != 0, wanted & word(flag) != 0) {
        (false, true) => bsd | flag.bsd_set,
        (true, false) => bsd & !flag.bsd,
        (true, true) | (false, false) => bsd,
    }))
}

fn done(room: u32, data: &[u8]) -> Reply {
    let mut bytes = IoctlOut::default().as_bytes().to_vec();
    bytes.extend_from_slice(&data[..data.len().min(room as usize)]);
    Reply::Bytes(bytes)
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    pub(super) async fn ioctl(&self, node: NodeId, args: &IoctlIn, data: &[u8]) -> Answer {
        let bsd = self.fs.getattr(node).await.map_err(|e| self.refuse(&e))?.flags;
        match args.cmd {
            FS_IOC_GETFLAGS => Ok(done(args.out_size, shown(bsd, |f| f.linux).as_bytes())),
            FS_IOC_FSGETXATTR => {
                let xattr = FsXattr { xflags: shown(bsd, |f| f.xflag), ..Default::default() };
                Ok(done(args.out_size, xattr.as_bytes()))
            }
            FS_IOC_SETFLAGS => {
                let (wanted, _) = u32::read_from_prefix(data).map_err(|_| Errno::INVAL)?;
                self.set_flags(node, changed(bsd, wanted, |f| f.linux)?).await
            }
            FS_IOC_FSSETXATTR => {
                let (wanted, _) = FsXattr::read_from_prefix(data).map_err(|_| Errno::INVAL)?;
                self.set_flags(node, changed(bsd, wanted.xflags, |f| f.xflag)?).await
            }
            _ => Err(Errno::NOTTY),
        }
    }

    async fn set_flags(&self, node: NodeId, flags: u32) -> Answer {
        let set = SetAttr { flags: Some(flags), ..SetAttr::default() };
        self.fs.setattr(node, &set).await.map_err(|e| self.refuse(&e))?;
        // The kernel does not know that an ioctl changes the change time.
        self.transport.notify(Notice::StaleAttributes(self.show.swap(node.0)));
        Ok(done(0, &[]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_owner_and_system_show_as_one_and_are_cleared_together() {
        assert_eq!(shown(0x2, |f| f.linux), 0x10);
        assert_eq!(shown(0x0004_0001, |f| f.xflag), 0x90);
        assert_eq!(changed(0x0002_0002, 0, |f| f.linux), Ok(0));
        assert_eq!(changed(0x2, 0x10, |f| f.linux), Ok(0x2));
        assert_eq!(changed(0x8, 0x30, |f| f.linux), Ok(0x0006_0008));
        assert_eq!(changed(0, 0x1, |f| f.linux), Err(Errno::OPNOTSUPP));
    }
}
