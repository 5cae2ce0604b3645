//! Link counts and names of the inodes that were in use when the volume was mounted.

use crate::UsedInodes;
use ondisk::cg::map;
use ondisk::{Cgx, Ino};

/// The suspects of all groups. What was freed since the mount is none.
pub(crate) struct Names {
    ipg: u32,
    groups: Vec<Option<Group>>,
}

struct Group {
    used: Vec<u8>,
    /// Directories among them, as far as they were seen.
    dirs: Vec<u8>,
    /// Their count or their names have changed since the mount: what was noted of them may be old.
    touched: Vec<u8>,
    /// Link counts as they were seen.
    links: Vec<u16>,
    /// Names in the part of the tree that was scanned.
    names: Vec<u16>,
    /// Directories that the group counts, less those that it had at the mount.
    miscounted: i32,
}

impl Names {
    /// Of a volume with `ipg` inodes a group.
    pub(crate) fn new(ipg: u32, groups: Vec<Option<UsedInodes>>) -> Names {
        let group = |used: UsedInodes| {
            let inodes = used.map.len() * 8;
            Group {
                dirs: vec![0; used.map.len()],
                touched: vec![0; used.map.len()],
                links: vec![0; inodes],
                names: vec![0; inodes],
                used: used.map,
                miscounted: used.directories,
            }
        };
        Names { ipg, groups: groups.into_iter().map(|used| used.map(group)).collect() }
    }

    fn at(&mut self, ino: Ino) -> Option<(&mut Group, u32)> {
        let (c, i) = (ino.0 / self.ipg.max(1), ino.0 % self.ipg.max(1));
        let group = self.groups.get_mut(c as usize)?.as_mut()?;
        map::get(&group.used, i).then_some((group, i))
    }

    /// Groups that the volume has.
    pub(crate) fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// How many inodes are suspect.
    pub(crate) fn suspects(&self) -> u64 {
        let ones = |group: &Group| group.used.iter().map(|bits| u64::from(bits.count_ones())).sum::<u64>();
        self.groups.iter().flatten().map(ones).sum()
    }

    /// The suspects of a group, one bit each.
    pub(crate) fn used(&self, c: Cgx) -> Vec<u8> {
        self.groups[c.0 as usize].as_ref().map_or_else(Vec::new, |group| group.used.clone())
    }

    /// It was in use at the mount, and was not freed since.
    pub(crate) fn is_suspect(&mut self, ino: Ino) -> bool {
        self.at(ino).is_some()
    }

    /// A suspect, as far as it was seen, and whether it is a directory.
    pub(crate) fn is_dir(&mut self, ino: Ino) -> Option<bool> {
        self.at(ino).map(|(group, i)| map::get(&group.dirs, i))
    }

    /// A suspect was seen with this link count.
    pub(crate) fn saw(&mut self, ino: Ino, links: u16, directory: bool) {
        if let Some((group, i)) = self.at(ino) {
            group.links[i as usize] = links;
            if directory && !map::get(&group.dirs, i) {
                map::set(&mut group.dirs, i);
                group.miscounted -= 1;
            }
        }
    }

    /// An inode is freed: it is no suspect any more.
    pub(crate) fn freed(&mut self, ino: Ino, directory: bool) {
        if let Some((group, i)) = self.at(ino) {
            map::clear(&mut group.used, i);
            if directory && !map::get(&group.dirs, i) {
                group.miscounted -= 1;
            }
        }
    }

    /// What was noted of it may be old.
    pub(crate) fn touch(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            map::set(&mut group.touched, i);
        }
    }

    /// A name more in the part of the tree that was scanned.
    pub(crate) fn add(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            group.names[i as usize] = group.names[i as usize].saturating_add(1);
        }
    }

    /// A name less.
    pub(crate) fn sub(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            group.names[i as usize] = group.names[i as usize].saturating_sub(1);
        }
    }

    /// Names that were counted.
    pub(crate) fn names(&mut self, ino: Ino) -> u32 {
        self.at(ino).map_or(0, |(group, i)| u32::from(group.names[i as usize]))
    }

    /// The first suspect whose count is lower than its names, though nobody has touched it: damage.
    pub(crate) fn too_low(&self) -> Option<Ino> {
        (0u32..).zip(&self.groups).find_map(|(c, group)| {
            let group = group.as_ref()?;
            let low = |i: &u32| {
                let of = |map: &[u8]| map::get(map, *i);
                of(&group.used) && !of(&group.touched) && group.links[*i as usize] < group.names[*i as usize]
            };
            (0..group.links.len() as u32).find(low).map(|i| Ino(c * self.ipg + i))
        })
    }

    /// Suspects of a group, directories or not, from index `from` on that need a closer look, at most `most`; and where
    /// to go on.
    pub(crate) fn doubtful(&self, c: Cgx, from: u32, dirs: bool, most: usize) -> (Vec<Ino>, Option<u32>) {
        let Some(group) = self.groups[c.0 as usize].as_ref() else { return (Vec::new(), None) };
        let end = group.links.len() as u32;
        let (mut found, mut from) = (Vec::new(), from);
        while let Some(i) = map::first_set(&group.used, from, end) {
            if found.len() == most {
                return (found, Some(i));
            }
            from = i + 1;
            let (links, names) = (group.links[i as usize], group.names[i as usize]);
            let doubt = map::get(&group.touched, i) || links != names || names == 0;
            if doubt && map::get(&group.dirs, i) == dirs {
                found.push(Ino(c.0 * self.ipg + i));
            }
        }
        (found, None)
    }

    /// How many directories too many the group counts; from now on none.
    pub(crate) fn take_miscounted(&mut self, c: Cgx) -> i32 {
        self.groups[c.0 as usize].as_mut().map_or(0, |group| std::mem::take(&mut group.miscounted))
    }
}
