//! The records that hang on one page.

use super::arena::{Arena, Id};

/// Numbers of records, in the order in which they came. Taking one out costs nothing: it stays in the row, where it names
/// nothing any more, until the row has more of these than others.
pub(super) struct Row<T> {
    ids: Vec<Id<T>>,
    gone: usize,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Row { ids: Vec::new(), gone: 0 }
    }
}

/// A row as short as this is not worth the trouble of making it shorter.
const SHORT: usize = 16;

impl<T> Row<T> {
    /// A new record.
    #[inline]
    pub(super) fn push(&mut self, id: Id<T>, records: &Arena<T>) {
        if self.gone > SHORT.max(self.ids.len() / 2) {
            self.sweep(records);
        }
        self.ids.push(id);
    }

    /// One of its records was removed.
    #[inline]
    pub(super) fn forget_one(&mut self) {
        self.gone += 1;
        if self.is_empty() {
            self.ids.clear();
            self.gone = 0;
        }
    }

    /// Takes out what names nothing.
    pub(super) fn sweep(&mut self, records: &Arena<T>) {
        self.ids.retain(|id| records.get(*id).is_some());
        self.gone = 0;
    }

    /// No record hangs here.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ids.len() == self.gone
    }

    /// The numbers, some of which may name nothing.
    pub(super) fn ids(&self) -> &[Id<T>] {
        &self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_forgets_in_time_what_is_gone_and_nothing_else() {
        let (mut records, mut row) = (Arena::default(), Row::default());
        let kept: Vec<_> = (0..3).map(|n| records.insert(n)).collect();
        kept.iter().for_each(|id| row.push(*id, &records));
        for n in 3..1000 {
            let id = records.insert(n);
            row.push(id, &records);
            records.remove(id);
            row.forget_one();
            assert!(row.ids().len() <= 2 * SHORT + 4, "{} numbers for three records", row.ids().len());
        }
        assert_eq!(row.ids()[..3], kept[..]);
        for id in kept {
            assert!(!row.is_empty());
            records.remove(id);
            row.forget_one();
        }
        assert!(row.is_empty() && row.ids().is_empty());
    }
}
