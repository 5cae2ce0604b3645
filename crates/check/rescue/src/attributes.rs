//! The extended attributes of a file, as far as they can be read.

use crate::Why;
use crate::volume::{Inode, Volume};
use ordo_ondisk::extattr::{self, Namespace};

/// What could be read of a file's attributes.
#[derive(Debug, Default)]
pub struct Attributes {
    /// Names and values of users' attributes.
    pub user: Vec<(Vec<u8>, Vec<u8>)>,
    /// How many belong to the system: access control lists, labels.
    pub system: usize,
    /// Why there may be more.
    pub why: Option<Why>,
}

impl Volume {
    /// Reads them. At most two blocks are read.
    pub fn attributes(&self, inode: &Inode) -> Attributes {
        let mut found = Attributes::default();
        let (area, why) = self.attribute_area(inode);
        found.why = why;
        for record in extattr::attributes(&area, self.geo.endian, inode.ino) {
            match record {
                Ok(record) if record.namespace == Namespace::USER => {
                    found.user.push((record.name.to_vec(), record.value.to_vec()));
                }
                Ok(_) => found.system += 1,
                Err(damage) => {
                    found.why.get_or_insert(Why::Damaged(damage.to_string()));
                }
            }
        }
        found
    }

    /// The area up to the first block that cannot be read: what is behind it has lost its place.
    fn attribute_area(&self, inode: &Inode) -> (Vec<u8>, Option<Why>) {
        let (geo, dinode) = (&self.geo, &inode.dinode);
        let size = u64::from(dinode.extsize);
        let mut area = Vec::new();
        for (lbn, pointer) in (0..).zip(dinode.extb) {
            let len = geo.blksize(size, lbn);
            if lbn * u64::from(geo.bsize) >= size {
                break;
            }
            if !geo.is_readable_range(pointer, geo.blkfrags(size, lbn)) {
                return (area, Some(Why::Pointer(pointer)));
            }
            match self.block(pointer, len as usize) {
                Ok(block) => area.extend(block.iter().take(len as usize)),
                Err(why) => return (area, Some(why)),
            }
        }
        area.truncate(dinode.extsize as usize);
        (area, None)
    }
}
