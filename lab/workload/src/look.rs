//! A snapshot of everything that a reader sees of a volume, to compare with another.

use crate::{Held, Session};
use ordo_vfs::{Attr, Error, FileSystem, Kind, Name, Refusal, Result, Stamp, StatFs, Whence};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};

/// Bytes of one read.
const PIECE: u32 = 64 << 10;

/// A file as its reader saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Attributes, without the times.
    pub attr: Attr,
    /// Hash of the contents, the target, or the names; `None` where they cannot be read.
    pub data: Option<u64>,
    /// Hash of the extended attributes; `None` where they cannot be read.
    pub xattrs: Option<u64>,
}

/// Everything that is reachable, by path. The root is the empty path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// By path.
    pub leaves: BTreeMap<Vec<u8>, Leaf>,
    /// Names whose file cannot be looked up.
    pub dead: BTreeSet<Vec<u8>>,
    /// What statfs says.
    pub space: StatFs,
}

impl Seen {
    /// What could be read completely: path, inode number and both hashes of each file and symbolic link.
    pub fn readable(&self) -> impl Iterator<Item = (&[u8], u64, (u64, u64))> {
        let stores = |leaf: &&Leaf| matches!(leaf.attr.kind, Kind::Regular | Kind::Symlink);
        self.leaves
            .iter()
            .filter(move |(_, leaf)| stores(leaf))
            .filter_map(|(path, leaf)| Some((&path[..], leaf.attr.ino, (leaf.data?, leaf.xattrs?))))
    }
}

/// Reads everything.
pub async fn look<F: FileSystem>(fs: &F) -> Result<Seen> {
    let session = Session::new(fs);
    let mut tree = Seen { space: fs.statfs().await?, ..Seen::default() };
    let root = session.root().await?;
    let mut seen = BTreeSet::from([root.attr.ino]);
    let mut waiting = vec![(Vec::new(), root)];
    while let Some((path, file)) = waiting.pop() {
        let mut names: Vec<(Vec<u8>, u8)> = Vec::new();
        let data = match file.attr.kind {
            Kind::Directory => session.list(&file).await.map(|list| {
                names = list;
                names.sort_unstable();
                hash_of(names.iter().map(|(name, kind)| (u64::from(*kind), &name[..])))
            }),
            Kind::Regular => contents(&session, &file).await,
            Kind::Symlink => fs.readlink(file.node()).await.map(|target| hash_of([(0, &target[..])].into_iter())),
            _ => Ok(0),
        };
        let xattrs = xattrs(fs, &file).await;
        for (name, _) in names {
            let below = [&path[..], b"/", &name].concat();
            // A damaged directory may contain invalid names.
            let found = match Name::new(&name) {
                Ok(name) => session.lookup(&file, name).await,
                Err(error) => Err(error),
            };
            match found {
                // A directory is read once, whichever name leads to it.
                Ok(found) if found.attr.kind == Kind::Directory && !seen.insert(found.attr.ino) => {}
                Ok(found) => waiting.push((below, found)),
                Err(_) => drop(tree.dead.insert(below)),
            }
        }
        let (atime, mtime, ctime) = (Stamp::default(), Stamp::default(), Stamp::default());
        let attr = Attr { atime, mtime, ctime, birth: None, ..file.attr };
        tree.leaves.insert(path, Leaf { attr, data: data.ok(), xattrs: xattrs.ok() });
    }
    Ok(tree)
}

/// Hash of the contents of a file. A hole and stored zeroes have the same hash.
async fn contents<F: FileSystem>(session: &Session<'_, F>, file: &Held<'_, F>) -> Result<u64> {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(file.attr.size);
    let mut at = 0;
    loop {
        at = match session.fs.seek(file.node(), at, Whence::Data).await {
            Ok(next) => next,
            Err(Error::Refused(Refusal::BeyondEnd)) => return Ok(hasher.finish()),
            Err(error) => return Err(error),
        };
        // Pieces begin at multiples of their length, so that they are the same regardless of holes.
        let from = at - at % u64::from(PIECE);
        let piece = session.read_at(file, from, PIECE).await?;
        for (i, sector) in piece.chunks(512).enumerate().filter(|(_, sector)| sector.iter().any(|&b| b != 0)) {
            hasher.write_u64(from + 512 * i as u64);
            hasher.write(sector);
        }
        at = from + u64::from(PIECE);
    }
}

async fn xattrs<F: FileSystem>(fs: &F, file: &Held<'_, F>) -> Result<u64> {
    let mut names = fs.listxattr(file.node()).await?;
    names.sort_unstable();
    let mut hasher = DefaultHasher::new();
    for name in names {
        hasher.write(&name);
        hasher.write(&fs.getxattr(file.node(), &name).await?);
    }
    Ok(hasher.finish())
}

fn hash_of<'a>(parts: impl Iterator<Item = (u64, &'a [u8])>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (number, bytes) in parts {
        hasher.write_u64(number);
        hasher.write(bytes);
    }
    hasher.finish()
}
