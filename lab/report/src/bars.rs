//! Bar charts made of a table. A label wraps where there is no room, and a reader who cannot see the bars has the
//! table.

use crate::number::short;
use maud::{Markup, html};

/// A bar: its label, its length, and the text of its number if that differs.
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: Option<f64>,
    pub(crate) says: Option<String>,
    /// Its colour (`colour`).
    pub(crate) colour: usize,
}

/// Bars under a common heading; if there is only one group, its heading may be empty.
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
}

/// All groups on one scale, from zero. A negative number has no bar.
pub(crate) fn of(caption: Markup, groups: &[Group]) -> Markup {
    let values = groups.iter().flat_map(|group| &group.bars).filter_map(|bar| bar.value);
    let most = values.fold(0.0, f64::max);
    let length = |value: f64| if most > 0.0 { (value / most * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    let said = |bar: &Bar| bar.says.clone().or_else(|| bar.value.map(short)).unwrap_or_else(|| "none".into());
    let all = || groups.iter().flat_map(|group| &group.bars);
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    // Room for the longest label and the longest number.
    let (name, value) = (
        longest(&mut all().map(|bar| bar.label.chars().count())),
        longest(&mut all().map(|bar| said(bar).chars().count())),
    );
    html! {
        table.bars style=(format!("--name:{name}ch;--value:{value}ch")) {
            caption { (caption) }
            @for group in groups {
                tbody {
                    @if !group.name.is_empty() { tr { th.group scope="rowgroup" colspan="2" { (group.name) } } }
                    @for bar in &group.bars {
                        tr {
                            th scope="row" { (bar.label) }
                            td {
                                @if let Some(value) = bar.value {
                                    span.bar {
                                        span class=(format!("fill c{}", bar.colour))
                                            style=(format!("width:{:.1}%", length(value))) {}
                                        span.value { (said(bar)) }
                                    }
                                } @else { span.value.none { (said(bar)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_fills_the_width_and_no_number_breaks_it() {
        let bar = |value| Bar { label: "<b>".into(), value, says: None, colour: 1 };
        let bars = [Some(4.0), Some(1.0), None, Some(-3.0), Some(0.0)].map(bar).into();
        let drawn = of(html! { "t" }, &[Group { name: String::new(), bars }]).into_string();
        for width in ["width:100.0%", "width:25.0%", "width:0.0%", "none", "&lt;b&gt;", "fill c1"] {
            assert!(drawn.contains(width), "{width}: {drawn}");
        }
        assert!(!drawn.contains("NaN") && !drawn.contains("<b>"), "{drawn}");
    }
}
