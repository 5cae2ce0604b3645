//! Finding entries of directories by their places, and changing them.

use super::links::EntryPlace;
use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use ordo_ondisk::{Dinode, Ino, dirent};

impl Replay {
    /// Reads the entry at each place; the places are sorted by directory.
    pub(super) async fn read_places(&mut self, places: &mut [EntryPlace]) -> Result<(), NotReplayed> {
        let (format, chunk) = (self.geo.dir_format(), self.geo.dirblksiz);
        let same = |a: &EntryPlace, b: &EntryPlace| a.parent == b.parent;
        for in_one in places.chunk_by_mut(same) {
            let Some(parent) = in_one.first().map(|place| place.parent) else { continue };
            let dinode = self.dinode(parent).await?;
            for in_block in in_one.chunk_by_mut(|a, b| a.at / chunk == b.at / chunk) {
                let from = in_block.first().map_or(0, |place| place.at / chunk * chunk);
                let Some(block) = self.directory_block(parent, &dinode, from.into()).await? else { continue };
                let mut wanted = in_block.iter_mut().peekable();
                for entry in dirent::entries(&block, format, Ino(parent), from.into()) {
                    let entry = entry?;
                    let at = from + entry.offset as u32;
                    while wanted.next_if(|place| place.at < at).is_some() {}
                    if let Some(place) = wanted.next_if(|place| place.at == at && entry.is_name()) {
                        (place.names, place.kind) = (entry.ino.0, entry.kind);
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes the entry at a place.
    pub(super) async fn clear_entry(&mut self, place: EntryPlace) -> Result<(), NotReplayed> {
        let format = self.geo.dir_format();
        self.edit(place, |block, within| {
            let before = dirent::entries(block, format, Ino::NONE, 0).filter_map(Result::ok).map(|e| e.offset);
            let before = before.take_while(|at| *at < within).last();
            dirent::clear(block, within, before, format)
        })
        .await
    }

    /// Makes the entry at a place name a directory.
    pub(super) async fn name_directory(&mut self, place: EntryPlace, ino: u32) -> Result<(), NotReplayed> {
        let format = self.geo.dir_format();
        self.edit(place, |block, within| dirent::set_inode(block, within, format, Ino(ino), 4)).await
    }

    async fn edit(
        &mut self,
        place: EntryPlace,
        change: impl FnOnce(&mut [u8], usize) -> Option<()>,
    ) -> Result<(), NotReplayed> {
        let chunk = self.geo.dirblksiz;
        let from = u64::from(place.at / chunk * chunk);
        let dinode: Dinode = self.dinode(place.parent).await?;
        let lost = NotReplayed::Inode { ino: place.parent, what: "a name in it cannot be changed" };
        let Some(at) = self.directory_place(place.parent, &dinode, from).await? else { return Err(lost) };
        let mut block = vec![0; chunk as usize];
        self.image.read(at, &mut block).await?;
        change(&mut block, (place.at % chunk) as usize).ok_or(lost)?;
        Ok(self.image.write(at, &block, Order::Contents).await?)
    }
}
