//! Panels of which one is shown at a time: tabs by CSS alone. In print all are shown.

use maud::{Markup, html};

/// Tabs, each with its name; `id` distinguishes the sets of a page. A single panel needs no tabs.
pub(crate) fn of(id: &str, legend: &str, panels: Vec<(String, Markup)>) -> Markup {
    if panels.len() == 1 {
        return html! { @for (name, panel) in panels { h4 { (name) } (panel) } };
    }
    html! {
        fieldset.tabs {
            legend.hidden { (legend) }
            @for (at, (name, panel)) in panels.into_iter().enumerate() {
                input type="radio" name=(id) id=(format!("{id}-{at}")) checked[at == 0];
                label for=(format!("{id}-{at}")) { (name) }
                div.panel { h4.printed { (name) } (panel) }
            }
        }
    }
}
