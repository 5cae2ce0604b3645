//! What these schemes send, compared with what `sync` waits for.

use crate::sync::Rule;
use crate::tests::World;
use crate::{ALL, AllocInit, Settings, Synchronous};
use ordo_buf::{Durable, Scheme, WhileLeaving};
use std::collections::BTreeSet;
use std::rc::Rc;

fn demands(scheme: Rc<dyn Scheme>) -> Vec<(&'static str, (String, String))> {
    let world = World::new(scheme);
    let told = world.steps().into_iter().zip(1..);
    told.map(|(told, id)| (told.0, world.demands(id, told))).collect()
}

#[test]
fn each_sends_what_sync_waits_for_and_conventional_waits_for_all_but_names_on_return() {
    for init in [AllocInit::None, AllocInit::Directories, AllocInit::All] {
        let all = demands(Rc::new(Synchronous::new(init)));
        let order = demands(Rc::new(Synchronous::without(init, [Rule::NameOnReturn].into_iter().collect())));
        assert_ne!(all, order, "some names are awaited for the return only");
        for known in ALL.iter().filter(|known| known.for_study) {
            let settings = Settings { alloc_init: Some(init), ..Settings::default() };
            let sends = demands(known.make(settings).expect("nothing is broken"));
            for (((step, (all, _)), (_, (order, _))), (_, (sends, at_end))) in all.iter().zip(&order).zip(sends) {
                let wanted = match (known.name, all.as_str()) {
                    ("conventional", _) if !order.is_empty() => order.clone(),
                    (_, "") => String::new(),
                    (_, block) => format!("send {block}"),
                };
                assert_eq!((sends, at_end), (wanted, String::new()), "{}, {step}", known.name);
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
