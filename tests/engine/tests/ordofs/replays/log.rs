//! Logs as NetBSD's kernel writes them, byte by byte: none of the code that reads them is used here.

use ordo_ondisk::Endian;
use ordofs::disk::RamDisk;

/// A log that is being made.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) order: Endian,
    /// Byte of the disk at which it begins.
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) len: u64,
    /// Bytes of a block of the log, and of the units of its images.
    pub(crate) block: u64,
    pub(crate) unit: u64,
    pub(crate) generation: u32,
    /// Block of the circle at which the first record begins.
    pub(crate) tail: u64,
    /// The records one after the other, as if the circle had no end.
    pub(crate) records: Vec<u8>,
}

impl Log {
    pub(crate) fn new(order: Endian, start: u64, len: u64) -> Log {
        Log { order, start, len, block: 512, unit: 512, generation: 7, tail: 0, records: vec![] }
    }

    fn head(&mut self, kind: u32, len: u64, count: usize, last: u32) -> usize {
        let at = self.records.len();
        self.records.resize(at + self.block as usize, 0);
        self.put32(at, kind);
        self.put32(at + 4, len as u32);
        self.put32(at + 8, count as u32);
        self.put32(at + 12, last);
        at
    }

    pub(crate) fn put32(&mut self, at: usize, value: u32) {
        let bytes = match self.order {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        self.records[at..at + 4].copy_from_slice(&bytes);
    }

    fn extents(&mut self, at: usize, extents: impl Iterator<Item = (u64, u64)>) {
        for (n, (byte, len)) in extents.enumerate() {
            let sector = (byte / 512) as i64;
            let bytes = match self.order {
                Endian::Little => sector.to_le_bytes(),
                Endian::Big => sector.to_be_bytes(),
            };
            self.records[at + 16 + 16 * n..][..8].copy_from_slice(&bytes);
            self.put32(at + 16 + 16 * n + 12, len as u32);
        }
    }

    /// Records of images: byte of the volume, and bytes.
    pub(crate) fn blocks(&mut self, images: &[(u64, Vec<u8>)]) {
        for images in images.chunks((self.block as usize - 16) / 16) {
            let bytes: u64 = images.iter().map(|(_, image)| image.len() as u64).sum();
            let at = self.head(0x5741_424f, self.block + bytes.next_multiple_of(self.block), images.len(), 0);
            self.extents(at, images.iter().map(|(byte, image)| (*byte, image.len() as u64)));
            images.iter().for_each(|(_, image)| self.records.extend(image));
            self.records.resize(self.records.len().next_multiple_of(self.block as usize), 0);
        }
    }

    /// A record of revocations.
    pub(crate) fn revoke(&mut self, extents: &[(u64, u64)]) {
        let at = self.head(0x5741_424e, self.block, extents.len(), 0);
        self.extents(at, extents.iter().copied());
    }

    /// A list of inodes: numbers and modes.
    pub(crate) fn inodes(&mut self, clear: bool, list: &[(u32, u32)]) {
        let at = self.head(0x5741_424d, self.block, list.len(), clear.into());
        for (n, (ino, mode)) in list.iter().enumerate() {
            self.put32(at + 16 + 8 * n, *ino);
            self.put32(at + 20 + 8 * n, *mode);
        }
    }

    /// Bytes of the circle, which lies behind the two headers.
    pub(crate) fn circle(&self) -> u64 {
        self.len - 2 * self.block
    }

    /// A header with this head and tail.
    pub(crate) fn header(&self, generation: u32, head: u64, tail: u64) -> Vec<u8> {
        let mut bytes = vec![0; self.block as usize];
        let put = |bytes: &mut [u8], at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        let word = |value: u32| match self.order {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        let wide = |value: u64| match self.order {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        put(&mut bytes, 0, &word(0x5741_424c));
        put(&mut bytes, 4, &word(self.block as u32));
        put(&mut bytes, 12, &word(generation));
        put(&mut bytes, 24, &wide(1_600_000_000));
        put(&mut bytes, 32, &word(5));
        put(&mut bytes, 36, &word(1));
        put(&mut bytes, 40, &word(self.block.trailing_zeros()));
        put(&mut bytes, 44, &word(self.unit.trailing_zeros()));
        put(&mut bytes, 48, &wide(head));
        put(&mut bytes, 56, &wide(tail));
        put(&mut bytes, 64, &wide(2 * self.block));
        put(&mut bytes, 72, &wide(self.circle()));
        bytes
    }

    /// Where the records begin and end, as bytes of the log.
    pub(crate) fn ends(&self) -> (u64, u64) {
        if self.records.is_empty() {
            return (0, 0);
        }
        let used = self.records.len() as u64;
        assert!(used <= self.circle(), "{used} bytes of records in a circle of {}", self.circle());
        let from = self.tail * self.block % self.circle();
        (2 * self.block + from, 2 * self.block + (from + used) % self.circle())
    }

    /// Writes the log to the disk. The header before it was that of an empty log.
    pub(crate) fn write(&self, disk: &RamDisk) {
        let (tail, head) = self.ends();
        for (n, bytes) in self.records.chunks(self.block as usize).enumerate() {
            let within = (tail - 2 * self.block + n as u64 * self.block) % self.circle();
            disk.poke(self.start + 2 * self.block + within, bytes);
        }
        let slot = |generation: u32| self.start + u64::from(generation % 2) * self.block;
        let before = self.generation.wrapping_sub(1);
        disk.poke(slot(before), &self.header(before, 0, 0));
        disk.poke(slot(self.generation), &self.header(self.generation, head, tail));
    }
}
