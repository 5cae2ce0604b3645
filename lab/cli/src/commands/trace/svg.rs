//! The few SVG shapes that a picture needs. Text stays text, and there are no scripts.

use std::fmt::Write;

/// A picture under construction.
#[derive(Default)]
pub(super) struct Svg(String);

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stroke {
    Thin,
    Lane,
    Dashed,
    Thick,
}

impl Stroke {
    fn style(self) -> &'static str {
        match self {
            Stroke::Thin => r##"stroke="#222" stroke-width="1""##,
            Stroke::Lane => r##"stroke="#bbb" stroke-width="1""##,
            Stroke::Dashed => r##"stroke="#222" stroke-width="1.2" stroke-dasharray="4 3""##,
            Stroke::Thick => r##"stroke="#222" stroke-width="2.4""##,
        }
    }
}

/// The alignment of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Escapes markup characters, and control characters, which XML does not allow.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

impl Svg {
    fn put(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.0.write_fmt(args);
        self.0.push('\n');
    }

    /// A text of this size in points.
    pub(super) fn text(&mut self, at: (i32, i32), size: u32, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = at;
        self.put(format_args!(
            r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        ));
    }

    pub(super) fn line(&mut self, from: (i32, i32), to: (i32, i32), stroke: Stroke) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(r#"<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {}/>"#, stroke.style()));
    }

    /// A line with a dot at its beginning and a head at its end.
    pub(super) fn arrow(&mut self, from: (i32, i32), to: (i32, i32), stroke: Stroke) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let style = stroke.style();
        self.put(format_args!(
            r##"<circle cx="{x1}" cy="{y1}" r="2.5" fill="#222"/><line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style} marker-end="url(#head)"/>"##
        ));
    }

    /// A box; `fill` is a colour or `url(#hatched)`. `title` is shown by viewers that can.
    pub(super) fn rect(&mut self, at: (i32, i32), size: (i32, i32), fill: &str, title: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.put(format_args!(
            r##"<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}" stroke="#222"><title>{}</title></rect>"##,
            escape(title)
        ));
    }

    /// A circle with a number in it.
    pub(super) fn bullet(&mut self, at: (i32, i32), number: usize) {
        let (x, y) = at;
        self.put(format_args!(r##"<circle cx="{x}" cy="{y}" r="9" fill="#fff" stroke="#222"/>"##));
        self.text((x, y + 4), 11, Anchor::Middle, &number.to_string());
    }

    /// The whole document.
    pub(super) fn document(self, size: (i32, i32), title: &str) -> String {
        let (width, height) = size;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" fill="#111">
<title>{}</title>
<defs>
<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#fff"/>
<line x1="0" y1="0" x2="0" y2="6" stroke="#777" stroke-width="2"/>
</pattern>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">
<path d="M0 0L8 4L0 8z" fill="#222"/>
</marker>
</defs>
<rect width="{width}" height="{height}" fill="#fff"/>
{}</svg>
"##,
            escape(title),
            self.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_a_mark_is_escaped() {
        assert_eq!(escape("<a href=\"x\">&'\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\u{fffd}");
        let mut svg = Svg::default();
        svg.text((1, 2), 10, Anchor::Start, "</text><script>");
        let document = svg.document((10, 10), "<title>");
        assert!(!document.contains("<script") && document.contains("&lt;script&gt;"), "{document}");
    }
}
