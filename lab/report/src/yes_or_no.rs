//! Yes or no in a cell.

use maud::{Markup, html};

/// Yes or no, with a colour that says whether that is good, and a mark for those who do not see it.
pub(crate) fn of(yes: bool, good: bool) -> Markup {
    html! { span class=(if good { "badge held" } else { "badge broken" }) { span aria-hidden="true" { (if good { "\u{2713} " } else { "\u{2717} " }) } (if yes { "yes" } else { "no" }) } }
}
