//! The list of records attached to one page.

use super::arena::Id;

/// Ids of records, oldest first. Removing a record costs nothing: its id stays in the row, and names nothing, until the
/// row has more such ids than live ones.
pub(crate) struct Row<T> {
    ids: Vec<Id<T>>,
    gone: usize,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Row { ids: Vec::new(), gone: 0 }
    }
}

/// A row as short as this is not worth compacting.
const SHORT: usize = 16;

impl<T> Row<T> {
    /// Adds a record. `is_there`: whether a record still exists.
    #[inline]
    pub(crate) fn push(&mut self, id: Id<T>, is_there: impl Fn(Id<T>) -> bool) {
        if self.gone > SHORT.max(self.ids.len() / 2) {
            self.sweep(is_there);
        }
        self.ids.push(id);
    }

    /// A record was removed. If it was the newest, as when a file is made and removed again and again, its id is
    /// removed at once.
    #[inline]
    pub(crate) fn forget(&mut self, id: Id<T>) {
        if self.ids.last() == Some(&id) {
            self.ids.pop();
        } else {
            self.gone += 1;
        }
        if self.is_empty() {
            self.ids.clear();
            self.gone = 0;
        }
    }

    /// Removes the ids that name nothing.
    pub(crate) fn sweep(&mut self, is_there: impl Fn(Id<T>) -> bool) {
        self.ids.retain(|id| is_there(*id));
        self.gone = 0;
    }

    /// No record is attached.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.len() == self.gone
    }

    /// The ids, some of which may name nothing.
    pub(crate) fn ids(&self) -> &[Id<T>] {
        &self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::super::arena::Arena;
    use super::*;

    #[test]
    fn a_row_forgets_in_time_what_is_gone_and_nothing_else() {
        let (mut records, mut row) = (Arena::default(), Row::default());
        let kept: Vec<_> = (0..3).map(|n| records.insert(n)).collect();
        kept.iter().for_each(|id| row.push(*id, |id| records.get(id).is_some()));
        let mut older = records.insert(3);
        row.push(older, |id| records.get(id).is_some());
        for n in 4..1000 {
            let id = records.insert(n);
            row.push(id, |id| records.get(id).is_some());
            // Sometimes the newest is removed, otherwise the one before it.
            let gone = if n % 7 == 0 { id } else { std::mem::replace(&mut older, id) };
            records.remove(gone);
            row.forget(gone);
            assert!(row.ids().len() <= 2 * SHORT + 4, "{} numbers for three records", row.ids().len());
        }
        assert_eq!(row.ids()[..3], kept[..]);
        for id in kept.into_iter().chain([older]) {
            assert!(!row.is_empty());
            records.remove(id);
            row.forget(id);
        }
        assert!(row.is_empty() && row.ids().is_empty());
    }
}
