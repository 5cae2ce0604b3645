//! What was there before a trace began, as far as the trace tells: made anew, with zeros in the files.

use crate::error::Result;
use ordo_filetrace::{Cast, Kind};
use ordo_vfs::{Caller, FileSystem, Mode, Name, NodeId};
use std::collections::HashMap;

/// Bytes of one write.
const PIECE: usize = 256 << 10;
/// Who makes it.
const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };

/// Where each object is found first: its directory and its name there. Only of those that were there before. What the
/// trace knows only by its number gets a name in the root.
pub(super) fn places(cast: &Cast) -> HashMap<u32, (u32, Vec<u8>)> {
    let mut places = HashMap::new();
    for (at, object) in cast.objects.iter().enumerate().skip(1).filter(|(_, object)| object.before) {
        let place = object.place.clone().filter(|place| !is_circle(cast, at as u32, place.0));
        places.insert(at as u32, place.unwrap_or_else(|| (0, format!("~unnamed-{at}").into_bytes())));
    }
    places
}

/// Whether an object lies, in the end, in itself: only in a trace that was made by hand.
fn is_circle(cast: &Cast, object: u32, mut above: u32) -> bool {
    for _ in 0..cast.objects.len() {
        match &cast.objects[above as usize] {
            _ if above == object => return true,
            known if known.kind != Kind::Directory || !known.before => return true,
            known => match &known.place {
                Some((next, _)) => above = *next,
                None => return false,
            },
        }
    }
    true
}

/// Makes it.
pub(super) async fn make<F: FileSystem>(fs: &F, cast: &Cast) -> Result<()> {
    let places = places(cast);
    let mut made: HashMap<u32, NodeId> = HashMap::from([(0, fs.root())]);
    let mut objects: Vec<&u32> = places.keys().collect();
    objects.sort_unstable();
    for object in objects {
        // From the object up to what is there already, and down again.
        let mut way = Vec::new();
        let mut at = *object;
        while !made.contains_key(&at) {
            way.push(at);
            at = places.get(&at).map_or(0, |place| place.0);
        }
        for at in way.into_iter().rev() {
            let (directory, name) = &places[&at];
            let node = one(fs, cast, at, made[directory], name).await?;
            made.insert(at, node);
        }
    }
    for further in
        cast.names.iter().filter(|further| places[&further.object] != (further.directory, further.name.clone()))
    {
        let is_directory = cast.objects[further.object as usize].kind == Kind::Directory;
        if let (Some(directory), false) = (made.get(&further.directory), is_directory) {
            let entry = fs.link(made[&further.object], *directory, Name::new(&further.name)?).await?;
            fs.forget(entry.node, 1);
        }
    }
    made.into_iter().filter(|(object, _)| *object != 0).for_each(|(_, node)| fs.forget(node, 1));
    Ok(fs.syncfs().await?)
}

async fn one<F: FileSystem>(fs: &F, cast: &Cast, at: u32, directory: NodeId, name: &[u8]) -> Result<NodeId> {
    let (object, name) = (&cast.objects[at as usize], Name::new(name)?);
    let entry = match object.kind {
        Kind::Directory => fs.mkdir(&WHO, directory, name, Mode::new(0o755)).await?,
        Kind::Symlink => fs.symlink(&WHO, directory, name, &target(object.size)).await?,
        Kind::File | Kind::Other => {
            fs.mknod(&WHO, directory, name, ordo_vfs::Kind::Regular, Mode::new(0o644), 0).await?
        }
    };
    let zeros = vec![0; PIECE.min(object.size as usize)];
    let mut done = 0;
    while object.kind == Kind::File && done < object.size {
        let piece = zeros.len().min((object.size - done) as usize);
        done += u64::from(fs.write(&WHO, entry.node, done, &zeros[..piece]).await?);
    }
    Ok(entry.node)
}

/// A target of so many bytes, as many as are allowed.
pub(super) fn target(len: u64) -> Vec<u8> {
    vec![b'x'; len.clamp(1, 1023) as usize]
}
