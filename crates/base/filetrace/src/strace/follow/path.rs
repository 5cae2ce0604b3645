//! From paths to names in directories.

use super::{Asked, Done, Follower, NO_ENTRY, Stop};
use crate::call::{Call, Kind, Op, Outcome};
use crate::strace::text::{self, Descriptor, Said};
use crate::strace::tree::{Path, Place, names_of};
use std::collections::VecDeque;

/// The most symbolic links on one way, and the most bytes of a path, in Linux.
const LINKS: u32 = 40;
const LONGEST: usize = 4096;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// A name in a directory.
    Name(u32, Vec<u8>),
    /// A directory itself, as `.` does.
    Directory(u32),
    /// Out of the root.
    Outside(Path),
}

impl Follower {
    /// Where the path of a call leads: `at` says which argument is the directory, and which the path.
    pub(super) fn spot(&mut self, asked: &Asked<'_>, at: (Option<usize>, usize), follows: bool) -> Result<Spot, Stop> {
        let path = asked.string(at.1)?;
        let from = match at.0 {
            _ if path.starts_with(b"/") => self.tree.top(),
            None => self.working("AT_FDCWD")?,
            Some(directory) => {
                let directory = asked.argument(directory)?;
                if directory.starts_with("AT_FDCWD") {
                    self.working(directory)?
                } else {
                    let open = self.open_of(directory)?;
                    self.table.at(open).place.clone()
                }
            }
        };
        self.walk(from, &path, follows, asked.done().is_ok())
    }

    /// The directory of the process. What `-y` says is newer than what is known.
    pub(super) fn working(&mut self, argument: &str) -> Result<Place, Stop> {
        let said = text::descriptor(argument).and_then(|found| found.said);
        let working = self.table.working(self.task).clone();
        let Some(Said::Path(path)) = said else { return working.place.ok_or(Stop::Unplaced) };
        if let Some(place) = working.place.filter(|_| working.said == path) {
            return Ok(place);
        }
        let place = self.place(&path)?;
        let working = self.table.working(self.task);
        (working.place, working.said) = (Some(place.clone()), path);
        Ok(place)
    }

    /// The place of a path from `/` on that is there.
    fn place(&mut self, path: &[u8]) -> Result<Place, Stop> {
        let spot = self.walk(self.tree.top(), path, false, true)?;
        self.place_of(spot, Kind::Directory)
    }

    /// The place of a spot; a name that is not known yet is one of this kind.
    pub(super) fn place_of(&mut self, spot: Spot, kind: Kind) -> Result<Place, Stop> {
        match spot {
            Spot::Outside(path) => Ok(Place::Out(path)),
            spot => Ok(Place::In(self.node_of(&spot, kind)?)),
        }
    }

    /// Goes a path, name by name. Where it leads over unknown names they are found, if they must be there.
    pub(super) fn walk(&mut self, from: Place, path: &[u8], follows: bool, is_there: bool) -> Result<Spot, Stop> {
        if path.len() > LONGEST {
            return Err(Stop::Unplaced);
        }
        let mut left: VecDeque<Vec<u8>> = names_of(path).map(<[u8]>::to_vec).collect();
        let (mut place, mut links) = (from, 0);
        while let Some(name) = left.pop_front() {
            if name == b".." {
                place = self.tree.above(place);
                continue;
            }
            if let Some(next) = self.tree.outside(&place, &name) {
                place = next;
                continue;
            }
            // What is outside leads on to a place.
            let Place::In(directory) = place else { continue };
            self.about(directory);
            let (known, is_last) = (self.tree.name(directory, &name), left.is_empty());
            self.floor_us = self.floor_us.max(known.map_or(0, |known| known.since_us));
            let Some(node) = known.and_then(|known| known.node) else {
                match is_last {
                    true => return Ok(Spot::Name(directory, name)),
                    false if is_there => place = Place::In(self.find(directory, &name, Kind::Directory, 0)),
                    false => return Err(Stop::Failed),
                }
                continue;
            };
            let known = self.tree.node(node);
            match (known.kind, &known.target) {
                (Kind::Symlink, Some(target)) if !is_last || follows => {
                    links += 1;
                    if links > LINKS {
                        return Err(Stop::Unplaced);
                    }
                    if target.starts_with(b"/") {
                        place = self.tree.top();
                    }
                    names_of(target).rev().for_each(|name| left.push_front(name.to_vec()));
                }
                _ if is_last => return Ok(Spot::Name(directory, name)),
                // Nobody has said where it leads.
                (Kind::Symlink, _) => return Err(Stop::Unplaced),
                _ => {
                    self.learn(node, Some(Kind::Directory), None);
                    place = Place::In(node);
                }
            }
        }
        Ok(match place {
            Place::In(node) => Spot::Directory(node),
            Place::Out(path) => Spot::Outside(path),
        })
    }

    /// A name is found to be there.
    pub(super) fn find(&mut self, directory: u32, name: &[u8], kind: Kind, size: u64) -> u32 {
        let node = self.tree.add(kind, directory, 0);
        self.tree.node_mut(node).size = size;
        self.look_up(directory, name, node);
        self.tree.node_mut(node).since_us = self.at_us();
        self.tree.set(directory, name, Some(node), self.at_us());
        node
    }

    /// A line that finds a node.
    fn look_up(&mut self, directory: u32, name: &[u8], node: u32) {
        self.about(node);
        let outcome = self.found(node);
        self.push_on(Op::Lookup, directory, |call| Call { name: name.to_vec(), outcome, ..call });
        self.tree.node_mut(node).held += 1;
        self.used(node);
    }

    /// What a spot names. Only what is not known is looked up.
    pub(super) fn node_of(&mut self, spot: &Spot, kind: Kind) -> Result<u32, Stop> {
        match spot {
            Spot::Outside(_) => Err(Stop::Outside),
            Spot::Directory(node) => Ok(*node),
            Spot::Name(directory, name) => {
                let known = self.tree.name(*directory, name).and_then(|known| known.node);
                let node = known.unwrap_or_else(|| self.find(*directory, name, kind, 0));
                self.about(node);
                Ok(node)
            }
        }
    }

    /// Asks for the file at a spot (strace-follow-3).
    pub(super) fn ask(&mut self, spot: &Spot) -> Result<u32, Stop> {
        self.ask_for(spot, None, 0)
    }

    /// Asks for the file at a spot, and it is found to be of this kind and size.
    pub(super) fn ask_for(&mut self, spot: &Spot, kind: Option<Kind>, size: u64) -> Result<u32, Stop> {
        match spot {
            Spot::Outside(_) => Err(Stop::Outside),
            Spot::Directory(node) => {
                let outcome = self.found(*node);
                self.push_on(Op::Getattr, *node, |call| Call { outcome, ..call });
                Ok(*node)
            }
            Spot::Name(directory, name) => match self.tree.name(*directory, name).and_then(|known| known.node) {
                None => Ok(self.find(*directory, name, kind.unwrap_or(Kind::File), size)),
                Some(node) => {
                    self.look_up(*directory, name, node);
                    Ok(node)
                }
            },
        }
    }

    /// A call on a path was refused. If the last name is not there, that is a line.
    pub(super) fn refused(&mut self, asked: &Asked<'_>, at: (Option<usize>, usize), follows: bool) -> Done {
        match self.spot(asked, at, follows)? {
            Spot::Outside(_) => Err(Stop::Outside),
            Spot::Name(directory, name) if asked.is_refused_with("ENOENT") => {
                if self.tree.name(directory, &name).is_some_and(|known| known.node.is_some()) {
                    return Err(Stop::Failed);
                }
                let outcome = Outcome::Refused(NO_ENTRY);
                self.push_on(Op::Lookup, directory, |call| Call { name: name.clone(), outcome, ..call });
                self.tree.set(directory, &name, None, self.at_us());
                Ok(())
            }
            Spot::Name(..) | Spot::Directory(_) => Err(Stop::Failed),
        }
    }

    /// The open file of a descriptor. One that was opened unseen is what `-y` says, at its beginning (strace-follow-2).
    pub(super) fn open_of(&mut self, argument: &str) -> Result<u32, Stop> {
        let Some(Descriptor { number, said }) = text::descriptor(argument) else {
            return Err(Stop::Bad("an argument is no descriptor"));
        };
        let (Some(number), false) = (number, said == Some(Said::Other)) else {
            return Err(if number.is_some() { Stop::Outside } else { Stop::Unplaced });
        };
        if let Some(open) = self.table.find(self.task, number) {
            return Ok(open);
        }
        let Some(Said::Path(path)) = said else { return Err(Stop::Unplaced) };
        let spot = self.walk(self.tree.top(), &path, false, true)?;
        let place = self.place_of(spot, Kind::File)?;
        if let Place::In(node) = place {
            self.tree.node_mut(node).opens += 1;
            self.left.positions += 1;
        }
        Ok(self.table.open(self.task, number, place, false, false))
    }

    /// The open file of a descriptor, and its node.
    pub(super) fn file_of(&mut self, argument: &str) -> Result<(u32, u32), Stop> {
        let open = self.open_of(argument)?;
        match self.table.at(open).place {
            Place::In(node) => Ok((open, node)),
            Place::Out(_) => Err(Stop::Outside),
        }
    }
}
