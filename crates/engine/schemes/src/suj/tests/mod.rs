//! The records of links.

use super::records::{NOWHERE, Session};
use ordo_buf::Step;
use ordo_ondisk::Ino;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::suj::{Record, RefRecord};

fn records(session: &mut Session, step: &Step<'_>) -> Option<Vec<Record>> {
    let mut records = Vec::new();
    session.note(step, 4096, &mut |record| records.push(record))?;
    Some(records)
}

fn links(ino: u32, before: u16, after: u16) -> Step<'static> {
    Step::Links { ino: Ino(ino), before, after, mode: 0o040_000, dotdot: None }
}

fn added(ino: u32, parent: Ino, nlink: u16, diroff: u64) -> Record {
    Record::AddRef(RefRecord { ino: Ino(ino), parent, nlink, mode: 0o040_000, diroff })
}

#[test]
fn a_new_directory_is_told_with_its_dots_before_it_has_a_name() {
    let mut session = Session::default();
    assert_eq!(records(&mut session, &links(5, 3, 3)), Some(vec![added(5, Ino::ROOT, 3, NOWHERE)]));
    let made = Step::Links { ino: Ino(9), before: 0, after: 0, mode: 0o040_000, dotdot: Some(Ino(5)) };
    let right = vec![added(9, Ino::ROOT, 0, NOWHERE), added(5, Ino(9), 3, 12), added(9, Ino(9), 0, 0)];
    assert_eq!(records(&mut session, &made), Some(right));
    assert_eq!(records(&mut session, &links(5, 3, 4)), Some(vec![]), "its count is known");
}

#[test]
fn dots_of_a_parent_that_nobody_counted_cannot_be_told() {
    let made = Step::Links { ino: Ino(9), before: 0, after: 0, mode: 0o040_000, dotdot: Some(Ino(5)) };
    assert_eq!(records(&mut Session::default(), &made), None);
}

#[test]
fn a_new_session_tells_again_of_files_without_a_name_only() {
    let mut session = Session::default();
    for (ino, before, after) in [(5, 1, 1), (6, 0, 0), (7, 0, 0), (7, 0, 1)] {
        records(&mut session, &links(ino, before, after)).unwrap();
    }
    let begun = session.begin_anew();
    assert_eq!((begun.len(), begun[1]), (2, added(6, Ino::ROOT, 0, NOWHERE)));
    assert_eq!(records(&mut session, &links(5, 1, 1)), Some(vec![added(5, Ino::ROOT, 1, NOWHERE)]), "counted anew");
}

#[test]
fn a_life_of_another_type_begins_at_a_place_that_no_life_before_has_named() {
    let mut session = Session::default();
    let life = |mode| Step::Links { ino: Ino(9), before: 0, after: 0, mode, dotdot: None };
    let told = [mode::REG, mode::REG, mode::DIR, mode::REG].map(|mode| records(&mut session, &life(mode)).unwrap());
    let begun = told.map(|records| match records[..] {
        [Record::AddRef(of)] => Some((of.diroff, of.mode)),
        _ => None,
    });
    let [first, second, third] = [(NOWHERE, mode::REG), (NOWHERE - 4, mode::DIR), (NOWHERE - 8, mode::REG)];
    assert_eq!(begun, [Some(first), None, Some(second), Some(third)]);
}
