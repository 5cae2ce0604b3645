//! The answers of a mutant.

use super::spec::{Deed, When};
use super::{Mutant, mutants};
use ordo_buf::{CallKind, Must, Op};
use ordo_schemes::testing::World;
use ordo_schemes::{AllocInit, Synchronous};
use std::collections::BTreeSet;
use std::rc::Rc;

fn world(name: &str) -> (World, Rc<Mutant>) {
    let spec = mutants("sync").into_iter().find(|spec| spec.name == name).expect("it is listed");
    let mutant = Mutant::new(Rc::new(Synchronous::new(AllocInit::Directories)), spec);
    (World::new(mutant.clone()), mutant)
}

#[test]
fn names_are_unique_and_there_are_enough() {
    let specs = mutants("sync");
    let names: BTreeSet<_> = specs.iter().map(|spec| &spec.name).collect();
    assert_eq!(names.len(), specs.len());
    assert!(specs.len() >= 50, "{} bugs", specs.len());
    let bugs: BTreeSet<_> = specs.iter().map(|spec| format!("{:?} {:?}", spec.deed, spec.when)).collect();
    assert_eq!(bugs.len(), specs.len(), "each is another bug, not only another name");
    assert!(specs.iter().all(|spec| spec.says.len() > 10 && spec.name.split(':').count() == 3));
    assert!(mutants("async").iter().all(|spec| matches!(spec.deed, Deed::Fsync(_) | Deed::Sync(_))));
    assert!(mutants("of-another-kind").is_empty());
}

#[test]
fn occurrences_are_counted_from_one() {
    let met = |when: When| (1..=6).filter(|n| when.means(*n)).collect::<Vec<_>>();
    assert_eq!(met(When::Every), [1, 2, 3, 4, 5, 6]);
    assert_eq!(met(When::EverySecond), [2, 4, 6]);
    assert_eq!(met(When::Only(3)), [3]);
}

#[test]
fn a_forgotten_wait_is_left_out_and_all_others_stay() {
    let (world, mutant) = world("forget:name-unlinked:every");
    let whole = World::new(Rc::new(Synchronous::new(AllocInit::Directories)));
    for (id, (spoiled, told)) in (1..).zip(world.steps().into_iter().zip(whole.steps())) {
        let (step, before) = (told.0, mutant.changed());
        let (found, right) = (world.demands(id, spoiled), whole.demands(id, told));
        let hit = step == "name removed";
        assert_eq!(found == right, !hit, "{step}: {found:?}");
        assert_eq!(mutant.changed() - before, u64::from(hit), "{step}");
        assert!(!hit || found == Default::default());
    }
}

#[test]
fn a_late_wait_is_made_up_for_at_the_end_of_the_call() {
    let (world, mutant) = world("late:inode-created:every");
    let (create, end) = two_steps(&world, CallKind::Create);
    assert!(matches!(create[0], Must::Nothing), "the inode is not awaited");
    assert!(matches!(&create[1], Must::Durable(buf) if buf.kind() == ordo_buf::Role::Directory));
    assert!(matches!(end, Must::Wait(_)));
    assert_eq!(mutant.changed(), 1);
}

#[test]
fn a_swapped_wait_comes_after_the_one_that_follows() {
    let (world, _) = world("swap:inode-created:every");
    let (create, end) = two_steps(&world, CallKind::Create);
    assert!(matches!((&create[0], &create[1], end), (Must::Nothing, Must::Wait(_), Must::Nothing)));
    let order = world.obeyed(create);
    assert_eq!(order, [ordo_buf::Role::Directory, ordo_buf::Role::Inodes], "the name first, which is wrong");
}

/// The demands of a call that raises a link count and enters a name, and those of its end.
fn two_steps(world: &World, kind: CallKind) -> ([Must; 2], Must) {
    let op = Op { id: 1, kind };
    let answer = |name: &str| {
        let mut steps = world.steps();
        let at = steps.iter().position(|told| told.0 == name).expect("it is listed");
        let step = steps.swap_remove(at).2;
        let answer = world.scheme.step(&world.cache, op, step);
        steps.into_iter().filter_map(|told| told.2.into_ticket()).for_each(|ticket| drop(ticket.redeem()));
        answer.must
    };
    let musts = [answer("links up"), answer("name created")];
    (musts, world.scheme.end(&world.cache, op))
}
