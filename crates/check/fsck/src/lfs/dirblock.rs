//! One directory block of 512 bytes: its entries, and a block with given entries. Pure functions of bytes.
//!
//! It knows the entries of 64-bit inode numbers, which have a header of 12 bytes, too.

use ordo_ondisk::Endian;
use ordo_ondisk::lfs::DIRBLOCK;

/// Longest name.
const NAME_MAX: usize = 255;

/// How directories are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) endian: Endian,
    /// 64-bit inode numbers.
    pub(crate) wide: bool,
    /// No type; the length of a name has 16 bits.
    pub(crate) old: bool,
}

/// An entry in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) ino: u32,
    /// 0 if the form has no types.
    pub(crate) kind: u8,
    pub(crate) name: Vec<u8>,
}

impl Name {
    /// The name, with control characters made visible.
    pub(crate) fn shown(&self) -> String {
        self.name.escape_ascii().to_string()
    }

    pub(crate) fn is_dots(&self) -> bool {
        self.name == b"." || self.name == b".."
    }
}

impl Form {
    fn header(self) -> usize {
        if self.wide { 12 } else { 8 }
    }

    /// Bytes of an entry.
    fn reclen(self, name: &[u8]) -> usize {
        (self.header() + name.len() + 4) & !3
    }

    /// The entries in use, up to the first damaged one; and the byte and the damage of that one.
    pub(crate) fn decode(self, block: &[u8]) -> (Vec<Name>, Option<(usize, &'static str)>) {
        let (mut names, mut at) = (vec![], 0);
        while at < block.len() {
            match self.entry(block, at) {
                Ok((name, reclen)) => {
                    names.extend(name);
                    at += reclen;
                }
                Err(why) => return (names, Some((at, why))),
            }
        }
        (names, None)
    }

    fn entry(self, block: &[u8], at: usize) -> Result<(Option<Name>, usize), &'static str> {
        let rest = block.get(at..).unwrap_or_default();
        let (e, short) = (self.endian, "an entry that crosses the end of its block");
        let field = self.header() - 4;
        let number = if self.wide { e.get_u64(rest, 0) } else { e.get_u32(rest, 0).map(u64::from) };
        let (Some(number), Some(reclen)) = (number, e.get_u16(rest, field)) else { return Err(short) };
        let (Some(kind), Some(len)) = (rest.get(field + 2), rest.get(field + 3)) else { return Err(short) };
        let (kind, len) = if self.old { (0, e.u16([*kind, *len]).into()) } else { (*kind, usize::from(*len)) };
        let reclen = usize::from(reclen);
        match reclen {
            0 => return Err("an entry of length 0"),
            _ if reclen % 4 != 0 => return Err("an entry whose length is not a multiple of 4"),
            _ if reclen > rest.len() => return Err(short),
            _ if reclen < self.header() => return Err("an entry shorter than its header"),
            _ => {}
        }
        if number == 0 {
            return Ok((None, reclen));
        }
        let Ok(ino) = u32::try_from(number) else { return Err("an inode number that no file has") };
        let name = rest.get(self.header()..self.header() + len).unwrap_or_default();
        if len == 0 || len > NAME_MAX || self.reclen(name) > reclen || name.len() != len {
            return Err("an entry whose name does not fit");
        }
        if kind > 15 || name.iter().any(|byte| *byte == 0 || *byte == b'/') {
            return Err("an entry whose name is damaged");
        }
        if rest.get(self.header() + len) != Some(&0) {
            return Err("an entry whose name does not end");
        }
        Ok((Some(Name { ino, kind, name: name.to_vec() }), reclen))
    }

    /// Whether the names fit into a block.
    pub(crate) fn fits(self, names: &[Name]) -> bool {
        names.iter().map(|name| self.reclen(&name.name)).sum::<usize>() <= DIRBLOCK as usize
    }

    /// A block with these names; those that do not fit are left out.
    pub(crate) fn encode(self, names: &[Name]) -> Vec<u8> {
        let mut block = vec![0; DIRBLOCK as usize];
        let mut count = names.len();
        while !self.fits(names.get(..count).unwrap_or_default()) {
            count -= 1;
        }
        let mut at = 0;
        for (i, name) in names.iter().take(count).enumerate() {
            let own = self.reclen(&name.name);
            let reclen = if i + 1 == count { block.len() - at } else { own };
            self.put(&mut block, at, (name.ino, name.kind, &name.name), reclen);
            at += own;
        }
        if count == 0 {
            self.put(&mut block, 0, (0, 0, &[]), DIRBLOCK as usize);
        }
        block
    }

    fn put(self, block: &mut [u8], at: usize, (ino, kind, name): (u32, u8, &[u8]), reclen: usize) {
        let (e, field) = (self.endian, self.header() - 4);
        let Some(rest) = block.get_mut(at..) else { return };
        // None of this can fail: the names fit.
        let _ = if self.wide { e.put_u64(rest, 0, ino.into()) } else { e.put_u32(rest, 0, ino) };
        let _ = e.put_u16(rest, field, reclen as u16);
        let pair = if self.old { e.u16_bytes(name.len() as u16) } else { [kind, name.len() as u8] };
        let places = rest.iter_mut().skip(field + 2);
        places.zip(pair.iter().chain(name)).for_each(|(to, from)| *to = *from);
    }

    /// `.` and `..`.
    pub(crate) fn dots(self, ino: u32, parent: u32) -> Vec<Name> {
        let kind = if self.old { 0 } else { 4 };
        let dot = |ino, name: &[u8]| Name { ino, kind, name: name.to_vec() };
        vec![dot(ino, b"."), dot(parent, b"..")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms() -> Vec<Form> {
        let form = |wide, old, endian| Form { endian, wide, old };
        vec![form(false, false, Endian::Little), form(true, false, Endian::Big), form(false, true, Endian::Big)]
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for form in forms() {
            let mut names = form.dots(5, 2);
            names.push(Name { ino: 9, kind: if form.old { 0 } else { 8 }, name: b"a file".to_vec() });
            assert_eq!(form.decode(&form.encode(&names)), (names, None));
            assert_eq!(form.decode(&form.encode(&[])), (vec![], None));
        }
    }

    #[test]
    fn form_is_that_of_the_format() {
        for form in forms() {
            let &Form { endian, wide, old } = &form;
            let hidden = ordo_ondisk::Ino::NONE;
            let format = ordo_ondisk::dirent::DirFormat { endian, old, block: 512, wide, hidden };
            let made = ordo_ondisk::dirent::new_directory(format, ordo_ondisk::Ino(5), ordo_ondisk::Ino(2));
            assert_eq!(form.encode(&form.dots(5, 2)), made);
        }
    }

    #[test]
    fn damage_ends_the_entries() {
        for form in forms() {
            let block = form.encode(&form.dots(5, 2));
            for at in 0..form.header() {
                let mut bad = block.clone();
                bad[at] ^= 0xff;
                let (names, why) = form.decode(&bad);
                assert!(why.is_some() || names != form.dots(5, 2), "byte {at}");
            }
        }
    }
}
