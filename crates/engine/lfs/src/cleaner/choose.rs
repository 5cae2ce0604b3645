//! Which segments are cleaned.

use crate::log::Log;
use crate::options::Policy;
use ordo_ondisk::lfs::ifile::SegFlags;
use ordo_ondisk::lfs::{SegNo, SegUse};

impl Log {
    /// The segments to clean next, at most `most`, whose live bytes fit into the clean ones (cleaner-4), and of which
    /// at least `least` bytes are gained.
    pub(crate) fn victims(&self, policy: Policy, most: usize, least: u32) -> Vec<SegNo> {
        let (now, current) = (self.now(), self.current());
        let ifile = self.ifile.borrow();
        let mut ranked: Vec<(u128, u64, SegNo)> = (0..self.g.nseg)
            .map(SegNo)
            .filter(|n| Some(*n) != current)
            .filter_map(|n| {
                let entry = ifile.usage(n);
                if entry.nbytes > self.g.ssize.saturating_sub(least) {
                    return None;
                }
                self.worth(policy, &entry, now).map(|worth| (worth, u64::from(entry.nbytes), n))
            })
            .collect();
        drop(ifile);
        ranked.sort_by_key(|(worth, _, n)| (std::cmp::Reverse(*worth), n.0));
        // What is dirty must fit, too.
        let dirty = self.cache().map_or(0, |cache| cache.stats().dirty_bytes as u64);
        let taken = 2 * dirty + self.cost_of_checkpoint() + 2 * u64::from(self.g.ssize);
        let room = self.writable().saturating_sub(taken);
        let (mut live, mut victims) = (0, Vec::new());
        for (_, bytes, n) in ranked {
            // Moved blocks take summaries, inodes and indirect blocks with them.
            live += bytes + bytes / 2;
            if victims.len() == most || live > room {
                break;
            }
            victims.push(n);
        }
        victims
    }

    /// Cleaning the segment still gains something.
    pub(crate) fn is_victim(&self, n: SegNo) -> bool {
        let entry = self.ifile.borrow().usage(n);
        Some(n) != self.current() && self.worth(Policy::Greedy, &entry, self.now()).is_some()
    }

    /// The worth of cleaning a segment; `None` where nothing is gained.
    fn worth(&self, policy: Policy, entry: &SegUse, now: u64) -> Option<u128> {
        let flags = entry.flags;
        let at_rest = flags.has(SegFlags::DIRTY) && !flags.has(SegFlags::ACTIVE) && !flags.has(SegFlags::ERROR);
        let eligible = at_rest && entry.nbytes > 0;
        let overhead = (u64::from(entry.nsums) + 1) * u64::from(self.g.fsize);
        let gain = u64::from(self.g.ssize).checked_sub(u64::from(entry.nbytes) + overhead).filter(|_| eligible)?;
        if gain == 0 {
            return None;
        }
        let age = now.saturating_sub(entry.lastmod).max(1);
        Some(match policy {
            Policy::Greedy => gain.into(),
            // With the age of the youngest data, so far as it is known (cleaner-7).
            Policy::CostBenefit => {
                256 * u128::from(gain) * u128::from(age) / (u128::from(self.g.ssize) + u128::from(entry.nbytes))
            }
        })
    }
}
