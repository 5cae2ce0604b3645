//! A call, and which fields each kind of call has.

/// A field of a line, in the words of [`Call`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// A number of a node.
    Node,
    /// A name.
    Name,
    /// The number of a second node.
    To,
    /// A second name.
    ToName,
    /// A place in bytes.
    Offset,
    /// Bytes, or how many.
    Len,
    /// A second place in bytes.
    ToOffset,
    /// Flags, in Linux's numbers.
    How,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $word:literal [$($field:ident),*],)*) => {
        /// What is done.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Op { $($(#[$doc])* $name,)* }

        impl Op {
            /// All of them.
            pub const ALL: &'static [Op] = &[$(Op::$name),*];

            /// Its word in a line.
            pub fn word(self) -> &'static str {
                match self { $(Op::$name => $word,)* }
            }

            /// The fields that follow the word.
            pub fn fields(self) -> &'static [Field] {
                match self { $(Op::$name => &[$(Field::$field),*],)* }
            }
        }
    };
}

ops! {
    /// Finds a name in a directory.
    Lookup = "lookup" [Node, Name],
    /// What the listing in the line before says of a name: no call of its own.
    Entry = "entry" [Node, Name],
    /// Makes a file that is neither directory nor symbolic link.
    Create = "create" [Node, Name],
    /// Makes a directory.
    Mkdir = "mkdir" [Node, Name],
    /// Makes a symbolic link to so many bytes.
    Symlink = "symlink" [Node, Name, Len],
    /// Makes a file without a name.
    Tmpfile = "tmpfile" [Node],
    /// Gives node `to` a further name.
    Link = "link" [Node, Name, To],
    /// Removes a name.
    Unlink = "unlink" [Node, Name],
    /// Removes a directory.
    Rmdir = "rmdir" [Node, Name],
    /// Moves a name to another directory and name. `how` 1: not over another one; 2: exchanges the two.
    Rename = "rename" [Node, Name, To, ToName, How],
    /// Reads attributes.
    Getattr = "getattr" [Node],
    /// Sets attributes. `how` 1: among them the size, to `len`.
    Setattr = "setattr" [Node, How, Len],
    /// Reads where a symbolic link leads.
    Readlink = "readlink" [Node],
    /// Reads: so many bytes came, or were asked for if it was refused.
    Read = "read" [Node, Offset, Len],
    /// Writes.
    Write = "write" [Node, Offset, Len],
    /// Allocates or frees within a file; `how` as in fallocate(2).
    Fallocate = "fallocate" [Node, Offset, Len, How],
    /// Copies from one file to another, as copy_file_range(2).
    Copy = "copy" [Node, Offset, To, ToOffset, Len],
    /// Finds data (`how` 3) or a hole (4).
    Seek = "seek" [Node, Offset, How],
    /// Lists a directory from a cookie on.
    Readdir = "readdir" [Node, Offset],
    /// Makes a file durable; `how` 1: not its times.
    Fsync = "fsync" [Node, How],
    /// Makes everything durable.
    Syncfs = "syncfs" [],
    /// Asks for the space of the volume.
    Statfs = "statfs" [],
    /// Reads an extended attribute.
    Getxattr = "getxattr" [Node, Name],
    /// Sets an extended attribute to so many bytes.
    Setxattr = "setxattr" [Node, Name, Len],
    /// Lists extended attributes.
    Listxattr = "listxattr" [Node],
    /// Removes an extended attribute.
    Removexattr = "removexattr" [Node, Name],
    /// Reads or sets flags by ioctl(2).
    Flags = "flags" [Node],
    /// Gives back so many lookups.
    Forget = "forget" [Node, Len],
}

impl Op {
    /// It makes a new file.
    pub fn makes(self) -> bool {
        matches!(self, Op::Create | Op::Mkdir | Op::Symlink | Op::Tmpfile)
    }

    /// `node` is a directory.
    pub fn is_in_directory(self) -> bool {
        self.fields().starts_with(&[Field::Node, Field::Name]) && !self.is_xattr() || self == Op::Tmpfile
    }

    /// Its name is that of an extended attribute.
    pub fn is_xattr(self) -> bool {
        matches!(self, Op::Getxattr | Op::Setxattr | Op::Listxattr | Op::Removexattr)
    }
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, a pipe or a socket.
    Other,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::File, Kind::Directory, Kind::Symlink, Kind::Other];

    pub(crate) fn letter(self) -> &'static str {
        match self {
            Kind::File => "f",
            Kind::Directory => "d",
            Kind::Symlink => "l",
            Kind::Other => "o",
        }
    }
}

/// A node that was found or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its number; the root's is 1.
    pub node: u64,
    /// What it is.
    pub kind: Kind,
    /// Its size in bytes.
    pub size: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Outcome {
    /// It was done.
    #[default]
    Done,
    /// It was done, and this is what was found or made.
    Found(Found),
    /// It was refused, with this error of Linux.
    Refused(u32),
}

/// A call. Fields that its [`Op::fields`] do not name are 0 or empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is a `Field` of the same name")]
pub struct Call {
    /// When it came, in microseconds since the start.
    pub at_us: u64,
    /// What it does.
    pub op: Op,
    pub node: u64,
    pub name: Vec<u8>,
    pub to: u64,
    pub to_name: Vec<u8>,
    pub offset: u64,
    pub len: u64,
    pub to_offset: u64,
    pub how: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Its line, from 1, where it was read; else 0.
    pub line: usize,
}

impl Call {
    /// A call on a node that was done, with all other fields empty.
    pub fn new(at_us: u64, op: Op, node: u64) -> Call {
        Call {
            at_us,
            op,
            node,
            name: Vec::new(),
            to: 0,
            to_name: Vec::new(),
            offset: 0,
            len: 0,
            to_offset: 0,
            how: 0,
            outcome: Outcome::Done,
            line: 0,
        }
    }

    /// What it found or made.
    pub fn found(&self) -> Option<Found> {
        match self.outcome {
            Outcome::Found(found) => Some(found),
            _ => None,
        }
    }

    /// It was not refused.
    pub fn is_done(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused(_))
    }

    /// The byte behind what it reads or writes.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }
}
