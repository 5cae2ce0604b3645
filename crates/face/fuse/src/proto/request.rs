//! Decoding requests of the kernel.
//!
//! R1. Every length is checked against the available bytes: whatever arrives, the result is a request or [`Malformed`],
//!     never a panic and never a read beyond the request.
//! R2. Names are bytes without their NUL. Whether they are valid names ([`ordo_vfs::Name`]) is checked where they are
//!     used, because a name that is too long has an error of its own.

use super::abi::{self, InHeader, Opcode};
use zerocopy::{FromBytes, Immutable, KnownLayout};

/// A request that lacks something its operation needs. Answered with EINVAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The arguments end early.
    #[error("{wanted} bytes of arguments wanted, {left} left")]
    Short {
        /// Bytes that the next argument needs.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// A name without its NUL.
    #[error("a name without a terminating NUL")]
    Unterminated,
    /// The length in the header is not that of the message.
    #[error("the header says {said} bytes, {got} arrived")]
    Length {
        /// The length in the header.
        said: u32,
        /// The length that was read.
        got: usize,
    },
    /// Extensions longer than the message.
    #[error("extensions of {0} bytes do not fit")]
    Extensions(usize),
}

/// The header of a request: its operation, its caller and its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of the operation.
    pub opcode: u32,
    /// Number of the request; the reply carries it.
    pub unique: u64,
    /// The file, in the kernel's numbers.
    pub node: u64,
    /// User of the caller.
    pub uid: u32,
    /// Group of the caller.
    pub gid: u32,
    /// The caller's thread, in the numbers of the server's namespace; 0 for the kernel's own requests.
    pub pid: u32,
}

impl Head {
    /// The header at the start of `message`, and its arguments if they are complete.
    ///
    /// `None`: not even a header, so no reply is possible.
    pub fn read(message: &[u8]) -> Option<(Head, Result<Args<'_>, Malformed>)> {
        let (raw, rest) = InHeader::read_from_prefix(message).ok()?;
        let InHeader { opcode, unique, nodeid: node, uid, gid, pid, .. } = raw;
        let head = Head { opcode, unique, node, uid, gid, pid };
        let extensions = usize::from(raw.total_extlen) * 8;
        let args = if raw.len as usize != message.len() {
            Err(Malformed::Length { said: raw.len, got: message.len() })
        } else if extensions > rest.len() {
            Err(Malformed::Extensions(extensions))
        } else {
            Ok(Args(&rest[..rest.len() - extensions]))
        };
        Some((head, args))
    }
}

/// The arguments that are not yet taken.
#[derive(Debug, Clone, Copy)]
pub struct Args<'a>(&'a [u8]);

impl<'a> Args<'a> {
    fn take<T: FromBytes + Immutable + KnownLayout>(&mut self) -> Result<T, Malformed> {
        let (value, rest) =
            T::read_from_prefix(self.0).map_err(|_| Malformed::Short { wanted: size_of::<T>(), left: self.0.len() })?;
        self.0 = rest;
        Ok(value)
    }

    fn bytes(&mut self, count: u32) -> Result<&'a [u8], Malformed> {
        let wanted = count as usize;
        let (bytes, rest) = self.0.split_at_checked(wanted).ok_or(Malformed::Short { wanted, left: self.0.len() })?;
        self.0 = rest;
        Ok(bytes)
    }

    fn name(&mut self) -> Result<&'a [u8], Malformed> {
        let end = self.0.iter().position(|&b| b == 0).ok_or(Malformed::Unterminated)?;
        let name = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Ok(name)
    }
}

/// A request with its arguments. Operations whose answer is always the same are combined in [`Request::Unsupported`]
/// and [`Request::Released`].
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Request<'a> {
    Init(abi::InitIn),
    Destroy,
    Interrupt,
    Lookup {
        name: &'a [u8],
    },
    Forget {
        count: u64,
    },
    BatchForget(Forgets<'a>),
    Getattr,
    Statx,
    Setattr(abi::SetattrIn),
    Readlink,
    Symlink {
        name: &'a [u8],
        target: &'a [u8],
    },
    Mknod {
        args: abi::MknodIn,
        name: &'a [u8],
    },
    Mkdir {
        args: abi::MkdirIn,
        name: &'a [u8],
    },
    Tmpfile {
        args: abi::CreateIn,
    },
    Unlink {
        name: &'a [u8],
    },
    Rmdir {
        name: &'a [u8],
    },
    Rename {
        to_dir: u64,
        flags: u32,
        name: &'a [u8],
        to_name: &'a [u8],
    },
    Link {
        node: u64,
        name: &'a [u8],
    },
    Read(abi::ReadIn),
    Write {
        args: abi::WriteIn,
        data: &'a [u8],
    },
    Readdir(abi::ReadIn),
    Readdirplus(abi::ReadIn),
    Statfs,
    Fsync {
        data_only: bool,
    },
    Syncfs,
    Setxattr {
        args: abi::SetxattrIn,
        name: &'a [u8],
        value: &'a [u8],
    },
    Getxattr {
        size: u32,
        name: &'a [u8],
    },
    Listxattr {
        size: u32,
    },
    Removexattr {
        name: &'a [u8],
    },
    Fallocate(abi::FallocateIn),
    CopyFileRange(abi::CopyFileRangeIn),
    Lseek(abi::LseekIn),
    Ioctl {
        args: abi::IoctlIn,
        data: &'a [u8],
    },
    /// Nothing to do, and only success is expected: an open file that TMPFILE made was closed.
    Released,
    /// Answered with ENOSYS; the kernel then handles the operation itself or does without, and sends no more of them.
    Unsupported,
}

impl<'a> Request<'a> {
    /// Decodes the arguments of operation `opcode`. `setxattr_ext`: INIT agreed on the longer form of SETXATTR.
    ///
    /// # Errors
    /// [`Malformed`] if an argument is incomplete.
    pub fn read(opcode: u32, mut args: Args<'a>, setxattr_ext: bool) -> Result<Request<'a>, Malformed> {
        let Some(opcode) = Opcode::from_number(opcode) else {
            return Ok(Request::Unsupported);
        };
        let args = &mut args;
        Ok(match opcode {
            Opcode::Init => Request::Init(args.take()?),
            Opcode::Destroy => Request::Destroy,
            Opcode::Interrupt => Request::Interrupt,
            Opcode::Lookup => Request::Lookup { name: args.name()? },
            Opcode::Forget => Request::Forget { count: args.take::<abi::ForgetIn>()?.nlookup },
            Opcode::BatchForget => Request::BatchForget(Forgets::read(args)?),
            // The requested attributes do not matter: the answer always contains all.
            Opcode::Getattr => Request::Getattr,
            Opcode::Statx => Request::Statx,
            Opcode::Setattr => Request::Setattr(args.take()?),
            Opcode::Readlink => Request::Readlink,
            Opcode::Symlink => Request::Symlink { name: args.name()?, target: args.name()? },
            Opcode::Mknod => Request::Mknod { args: args.take()?, name: args.name()? },
            Opcode::Mkdir => Request::Mkdir { args: args.take()?, name: args.name()? },
            Opcode::Tmpfile => Request::Tmpfile { args: args.take()? },
            Opcode::Unlink => Request::Unlink { name: args.name()? },
            Opcode::Rmdir => Request::Rmdir { name: args.name()? },
            Opcode::Rename => {
                let to_dir = args.take::<abi::RenameIn>()?.newdir;
                Request::Rename { to_dir, flags: 0, name: args.name()?, to_name: args.name()? }
            }
            Opcode::Rename2 => {
                let head: abi::Rename2In = args.take()?;
                let (name, to_name) = (args.name()?, args.name()?);
                Request::Rename { to_dir: head.newdir, flags: head.flags, name, to_name }
            }
            Opcode::Link => Request::Link { node: args.take::<abi::LinkIn>()?.oldnodeid, name: args.name()? },
            Opcode::Read => Request::Read(args.take()?),
            Opcode::Write => {
                let head: abi::WriteIn = args.take()?;
                Request::Write { args: head, data: args.bytes(head.size)? }
            }
            Opcode::Readdir => Request::Readdir(args.take()?),
            Opcode::Readdirplus => Request::Readdirplus(args.take()?),
            Opcode::Statfs => Request::Statfs,
            Opcode::Fsync | Opcode::Fsyncdir => {
                let head: abi::FsyncIn = args.take()?;
                Request::Fsync { data_only: head.fsync_flags & abi::FSYNC_DATA_ONLY != 0 }
            }
            Opcode::Syncfs => Request::Syncfs,
            Opcode::Setxattr => {
                let head = if setxattr_ext { args.take()? } else { long_form(args.take()?) };
                Request::Setxattr { args: head, name: args.name()?, value: args.bytes(head.size)? }
            }
            Opcode::Getxattr => Request::Getxattr { size: args.take::<abi::GetxattrIn>()?.size, name: args.name()? },
            Opcode::Listxattr => Request::Listxattr { size: args.take::<abi::GetxattrIn>()?.size },
            Opcode::Removexattr => Request::Removexattr { name: args.name()? },
            Opcode::Fallocate => Request::Fallocate(args.take()?),
            Opcode::CopyFileRange => Request::CopyFileRange(args.take()?),
            Opcode::Lseek => Request::Lseek(args.take()?),
            Opcode::Ioctl => {
                let head: abi::IoctlIn = args.take()?;
                Request::Ioctl { args: head, data: args.bytes(head.in_size)? }
            }
            Opcode::Release | Opcode::Releasedir => Request::Released,
            // OPEN and OPENDIR: open files have no state here. FLUSH: close has nothing to wait for. CREATE: the kernel
            // then sends MKNOD, and no RELEASE later. ACCESS: `default_permissions` decides. Locks are handled by the
            // kernel.
            Opcode::Open
            | Opcode::Opendir
            | Opcode::Flush
            | Opcode::Create
            | Opcode::Access
            | Opcode::Getlk
            | Opcode::Setlk
            | Opcode::Setlkw
            | Opcode::Bmap
            | Opcode::Poll
            | Opcode::NotifyReply
            | Opcode::Setupmapping
            | Opcode::Removemapping => Request::Unsupported,
        })
    }
}

fn long_form(short: abi::SetxattrShortIn) -> abi::SetxattrIn {
    abi::SetxattrIn { size: short.size, flags: short.flags, ..Default::default() }
}

/// The items of a BATCH_FORGET, as bytes: a whole number of them.
#[derive(Debug, Clone, Copy)]
pub struct Forgets<'a>(&'a [u8]);

impl<'a> Forgets<'a> {
    fn read(args: &mut Args<'a>) -> Result<Forgets<'a>, Malformed> {
        let count = args.take::<abi::BatchForgetIn>()?.count;
        Ok(Forgets(args.bytes(count.saturating_mul(size_of::<abi::ForgetOne>() as u32))?))
    }

    /// Each file, and how many of its lookups are returned.
    pub fn iter(self) -> impl Iterator<Item = (u64, u64)> + 'a {
        let items = self.0.chunks_exact(size_of::<abi::ForgetOne>());
        items.filter_map(|item| abi::ForgetOne::read_from_bytes(item).ok()).map(|one| (one.nodeid, one.nlookup))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    fn message(opcode: Opcode, parts: &[&[u8]]) -> Vec<u8> {
        let len = 40 + parts.iter().map(|p| p.len()).sum::<usize>();
        let head = abi::InHeader {
            len: len as u32,
            opcode: opcode as u32,
            unique: 7,
            nodeid: 5,
            uid: 1000,
            gid: 100,
            pid: 1,
            ..Default::default()
        };
        let mut bytes = head.as_bytes().to_vec();
        parts.iter().for_each(|p| bytes.extend_from_slice(p));
        bytes
    }

    fn decode(message: &[u8]) -> Result<Request<'_>, Malformed> {
        let (head, args) = Head::read(message).expect("a header");
        Request::read(head.opcode, args?, true)
    }

    #[test]
    fn lookup_gives_the_name_without_its_nul() {
        let bytes = message(Opcode::Lookup, &[b"hello\0"]);
        let (head, _) = Head::read(&bytes).unwrap();
        assert_eq!(head, Head { opcode: 1, unique: 7, node: 5, uid: 1000, gid: 100, pid: 1 });
        assert!(matches!(decode(&bytes), Ok(Request::Lookup { name: b"hello" })));
    }

    #[test]
    fn write_gives_its_data_and_rename2_both_names() {
        let head = abi::WriteIn { offset: 4096, size: 3, ..Default::default() };
        let bytes = message(Opcode::Write, &[head.as_bytes(), b"abc"]);
        let Ok(Request::Write { args, data: b"abc" }) = decode(&bytes) else { panic!("not a write") };
        assert_eq!(args.offset, 4096);

        let head = abi::Rename2In { newdir: 9, flags: 2, padding: 0 };
        let bytes = message(Opcode::Rename2, &[head.as_bytes(), b"old\0new\0"]);
        let request = decode(&bytes);
        assert!(matches!(request, Ok(Request::Rename { to_dir: 9, flags: 2, name: b"old", to_name: b"new" })));
    }

    #[test]
    fn a_request_cut_short_is_malformed() {
        let head = abi::WriteIn { size: 4, ..Default::default() };
        let short = message(Opcode::Write, &[head.as_bytes(), b"abc"]);
        assert_eq!(decode(&short).unwrap_err(), Malformed::Short { wanted: 4, left: 3 });
        assert_eq!(decode(&message(Opcode::Lookup, &[b"endless"])).unwrap_err(), Malformed::Unterminated);
        let forget = abi::BatchForgetIn { count: u32::MAX, dummy: 0 };
        assert!(matches!(decode(&message(Opcode::BatchForget, &[forget.as_bytes()])), Err(Malformed::Short { .. })));
        assert!(Head::read(&short[..39]).is_none());
    }

    #[test]
    fn a_wrong_length_and_overlong_extensions_are_malformed() {
        let mut bytes = message(Opcode::Statfs, &[]);
        bytes[0] = 41;
        assert_eq!(decode(&bytes).unwrap_err(), Malformed::Length { said: 41, got: 40 });
        bytes[0] = 40;
        bytes[36] = 1;
        assert_eq!(decode(&bytes).unwrap_err(), Malformed::Extensions(8));
    }

    #[test]
    fn extensions_are_not_taken_for_arguments() {
        let mut bytes = message(Opcode::Lookup, &[b"name\0\0\0\0", &[9; 8]]);
        bytes[36] = 1;
        assert!(matches!(decode(&bytes), Ok(Request::Lookup { name: b"name" })));
    }

    #[test]
    fn an_unknown_operation_is_unsupported_and_not_malformed() {
        let mut bytes = message(Opcode::Statfs, &[]);
        bytes[4..8].copy_from_slice(&4096u32.to_ne_bytes());
        assert!(matches!(decode(&bytes), Ok(Request::Unsupported)));
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_are_malformed(opcode in 0u32..60, body in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut bytes = message(Opcode::Statfs, &[&body]);
            bytes[4..8].copy_from_slice(&opcode.to_ne_bytes());
            let _ = decode(&bytes);
        }
    }
}
