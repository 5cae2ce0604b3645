//! What these schemes send, compared with what `sync` waits for.

use crate::sync::Rule;
use crate::testing::World;
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
        let copies = scheme.clone().capabilities().while_leaving == WhileLeaving::Copy;
        assert_eq!(copies, known.name.ends_with("-cb"), "{}", known.name);
        assert_eq!(known.name.starts_with("flag-ignore"), scheme.declares().rules.is_empty());
        assert_eq!(scheme.declares().name_added, Durable::AfterSync);
    }
}

/// The table in the head of the crate, row by row. `flag-*` means every scheme whose name begins with `flag-`.
#[test]
fn each_scheme_has_the_capabilities_of_the_table_and_no_other() {
    let rows = include_str!("../../lib.rs").lines().filter_map(|line| line.strip_prefix("//! | `")?.strip_suffix('|'));
    let rows: Vec<(&str, &str)> = rows.filter_map(|row| row.split_once('|')).collect();
    let words = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let covers = |of: &str, name: &str| match of.strip_suffix("-*") {
        Some(family) => name.split('-').next() == Some(family),
        None => of == name,
    };
    // The first cell lost its opening quote with the prefix.
    let names = |first: &str| words(&format!("`{first}"));
    for known in ALL {
        let of_scheme = |(first, _): &&(&str, &str)| names(first).iter().any(|of| covers(of, known.name));
        let found: Vec<_> = rows.iter().filter(of_scheme).collect();
        assert_eq!(found.len(), 1, "{} has one row", known.name);
        let (has, unless_copied) = found[0].1.split_once("; without `-cb`").unwrap_or((found[0].1, ""));
        let mut wanted = words(has);
        if !known.name.ends_with("-cb") {
            wanted.extend(words(unless_copied));
        }
        let scheme = known.make(Settings::default()).expect("nothing is broken");
        assert_eq!(scheme.capabilities().names(), wanted, "{}", known.name);
    }
}
