//! Changing attributes.

use crate::flags::{self, APPEND, IMMUTABLE};
use crate::state::State;
use ordo_vfs::{Attr, NodeId, Refusal, Result, SetAttr, SetTime, Stamp};

impl State {
    /// On a file whose flags forbid everything else only the flags can be changed; permission is not checked here.
    pub(crate) fn setattr(&mut self, id: NodeId, set: &SetAttr, now: Stamp) -> Result<Attr> {
        let node = self.node(id)?;
        if set.if_ctime.is_some_and(|seen| seen != node.attr.ctime) {
            return Err(Refusal::Changed.into());
        }
        if set.size.is_some() {
            node.file()?;
        }
        if *set != (SetAttr { flags: set.flags, if_ctime: set.if_ctime, ..SetAttr::default() }) {
            flags::refuse(node.attr.flags, IMMUTABLE | APPEND)?;
        }
        if let Some(size) = set.size {
            if size > self.options.max_file_size {
                return Err(Refusal::TooBig.into());
            }
            self.change_contents(id, now, |contents| contents.truncate(size))?;
        }
        let node = self.node_mut(id)?;
        if let Some(mode) = set.mode {
            node.attr.mode = mode;
            node.chmod_acl(mode.bits());
        }
        let attr = &mut node.attr;
        attr.uid = set.uid.unwrap_or(attr.uid);
        attr.gid = set.gid.unwrap_or(attr.gid);
        attr.flags = set.flags.unwrap_or(attr.flags);
        attr.birth = set.birth.or(attr.birth);
        let moment = |time: Option<SetTime>, old: Stamp| match time {
            Some(SetTime::Now) => now,
            Some(SetTime::At(stamp)) => stamp,
            None => old,
        };
        attr.atime = moment(set.atime, attr.atime);
        attr.mtime = moment(set.mtime, attr.mtime);
        attr.ctime = moment(set.ctime, now);
        Ok(*attr)
    }
}
