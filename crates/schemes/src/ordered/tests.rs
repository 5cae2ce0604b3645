//! What these schemes send, against what `sync` waits for.

use crate::sync::Rule;
use crate::testing::World;
use crate::{ALL, AllocInit, Settings, Synchronous};
use buf::{Durable, Scheme, WhileLeaving};
use std::collections::BTreeSet;
use std::rc::Rc;

fn demands(scheme: Rc<dyn Scheme>) -> Vec<(&'static str, (String, String))> {
    let world = World::new(scheme);
    let told = world.steps().into_iter().zip(1..);
    told.map(|(told, id)| (told.0, world.demands(id, told))).collect()
}

#[test]
fn each_sends_what_sync_waits_for_but_for_names_on_return() {
    for init in [AllocInit::None, AllocInit::Directories, AllocInit::All] {
        let waits = demands(Rc::new(Synchronous::without(init, [Rule::NameOnReturn].into_iter().collect())));
        for known in ALL.iter().filter(|known| known.for_study) {
            let settings = Settings { alloc_init: Some(init), ..Settings::default() };
            let sends = demands(known.make(settings).expect("nothing is broken"));
            for ((step, (waits, _)), (_, (sends, at_end))) in waits.iter().zip(sends) {
                let sent = if waits.is_empty() { String::new() } else { format!("send {waits}") };
                assert_eq!((sends, at_end), (sent, String::new()), "{}, {step}", known.name);
            }
        }
    }
}

#[test]
fn names_say_what_the_schemes_are() {
    let names: BTreeSet<&str> = ALL.iter().map(|known| known.name).collect();
    assert_eq!(names.len(), ALL.len());
    for known in ALL.iter().filter(|known| known.for_study) {
        let scheme = known.make(Settings::default()).expect("nothing is broken");
        assert_eq!(scheme.name(), known.name);
        let copies = scheme.while_leaving() == WhileLeaving::Copy;
        assert_eq!(copies, known.name.ends_with("-cb"), "{}", known.name);
        assert_eq!(known.name.starts_with("flag-ignore"), scheme.declares().rules.is_empty());
        assert_eq!(scheme.declares().name_added, Durable::AfterSync);
    }
}
