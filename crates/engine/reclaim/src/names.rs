//! Link counts and names of the inodes that were in use at the mount.

use ordo_ffs::UsedInodes;
use ordo_ondisk::cg::map;
use ordo_ondisk::{Cgx, Ino};

/// The suspects of all groups. Inodes freed since the mount are not among them.
pub(crate) struct Names {
    ipg: u32,
    groups: Vec<Option<Group>>,
}

struct Group {
    used: Vec<u8>,
    /// Directories among them, of those seen so far.
    dirs: Vec<u8>,
    /// Inodes whose count or names have changed since the mount: what was recorded of them may be stale.
    touched: Vec<u8>,
    /// Link counts, as seen.
    links: Vec<u16>,
    /// Names in the scanned part of the tree.
    names: Vec<u16>,
    /// Directories that the group counts, less those that it had at the mount.
    miscounted: i32,
}

impl Names {
    /// For a volume with `ipg` inodes per group.
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

    /// The number of groups.
    pub(crate) fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The number of suspects.
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

    /// Whether a suspect is a directory; `None` if it was not seen yet.
    pub(crate) fn is_dir(&mut self, ino: Ino) -> Option<bool> {
        self.at(ino).map(|(group, i)| map::get(&group.dirs, i))
    }

    /// Records the link count of a suspect.
    pub(crate) fn saw(&mut self, ino: Ino, links: u16, directory: bool) {
        if let Some((group, i)) = self.at(ino) {
            group.links[i as usize] = links;
            if directory && !map::get(&group.dirs, i) {
                map::set(&mut group.dirs, i);
                group.miscounted -= 1;
            }
        }
    }

    /// An inode was freed: it is not a suspect any more.
    pub(crate) fn freed(&mut self, ino: Ino, directory: bool) {
        if let Some((group, i)) = self.at(ino) {
            map::clear(&mut group.used, i);
            if directory && !map::get(&group.dirs, i) {
                group.miscounted -= 1;
            }
        }
    }

    /// What was recorded of it may be stale.
    pub(crate) fn touch(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            map::set(&mut group.touched, i);
        }
    }

    /// Counts a new name in the scanned part of the tree.
    pub(crate) fn add(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            group.names[i as usize] = group.names[i as usize].saturating_add(1);
        }
    }

    /// Counts a removed name.
    pub(crate) fn sub(&mut self, ino: Ino) {
        if let Some((group, i)) = self.at(ino) {
            group.names[i as usize] = group.names[i as usize].saturating_sub(1);
        }
    }

    /// The number of names counted.
    pub(crate) fn names(&mut self, ino: Ino) -> u32 {
        self.at(ino).map_or(0, |(group, i)| u32::from(group.names[i as usize]))
    }

    /// The first suspect whose count is lower than its names, though no call has touched it: damage.
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

    /// At most `most` suspects of a group, directories or not, from index `from` on, that need a closer look; and where
    /// to continue.
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

    /// By how many the group's count of directories is too high; reset to none.
    pub(crate) fn take_miscounted(&mut self, c: Cgx) -> i32 {
        self.groups[c.0 as usize].as_mut().map_or(0, |group| std::mem::take(&mut group.miscounted))
    }
}
