//! Results side by side: a bar for each, as high as it is bad, so that the picture says it without its colours.

use std::fmt::Write as _;

use super::svg::escape;

/// The width of a bar, and the space between two.
const BAR: usize = 8;
const GAP: usize = 2;
/// The height of the picture.
const HEIGHT: usize = 24;

/// A result, or the results of a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripCell {
    /// The word for its state; empty: there is none.
    pub state: String,
    /// The words for it.
    pub words: String,
    /// The address of the page that says more.
    pub link: Option<String>,
}

/// Returns results as an SVG picture for a page, oldest first; nothing if there are none. It has states and no style of its
/// own. What was not computed or is not known is hatched.
pub fn state_strip(label: &str, cells: &[StripCell]) -> Option<String> {
    if cells.is_empty() {
        return None;
    }
    let width = cells.len() * (BAR + GAP);
    let mut text = format!(
        "<svg class=\"results\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {width} {HEIGHT}\" role=\"group\" aria-label=\"{}\">\n\
         <path class=\"line\" d=\"M0 {HEIGHT}H{width}\"/>\n",
        escape(label)
    );
    for (at, cell) in cells.iter().enumerate() {
        let (x, bar) = (at * (BAR + GAP), bar_height(&cell.state));
        let (state, words) = (escape(&cell.state), escape(&cell.words));
        let y = HEIGHT - bar;
        let shape = format!(
            "<g data-state=\"{state}\"><title>{words}</title><rect class=\"place\" x=\"{x}\" y=\"0\" width=\"{BAR}\" \
             height=\"{HEIGHT}\"/><rect x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{bar}\"/>{}</g>",
            if is_hatched(&cell.state) { hatching(x) } else { String::new() }
        );
        let _ = match &cell.link {
            Some(link) => writeln!(text, "<a href=\"{}\" aria-label=\"{words}\">{shape}</a>", escape(link)),
            None => writeln!(text, "{shape}"),
        };
    }
    text.push_str("</svg>\n");
    Some(text)
}

/// Returns the height of a bar: what is bad is the highest.
fn bar_height(state: &str) -> usize {
    match state {
        "" | "before" => 0,
        "failed" | "missed" | "uncomputed" => HEIGHT,
        "unknown" | "blocked" | "waiting" | "unrecorded" => 18,
        "skipped" | "excluded" | "cancelled" | "planned" | "due" => 4,
        _ => 12,
    }
}

fn is_hatched(state: &str) -> bool {
    matches!(state, "uncomputed" | "unrecorded")
}

/// Returns lines across a place: a pattern would need a name, which another picture of the page could have.
fn hatching(x: usize) -> String {
    let lines = [8, 16, 24].map(|y| format!("M{x} {y}L{} {}", x + BAR, y - BAR));
    format!("<path class=\"hatch\" d=\"{}\"/>", lines.concat())
}

#[cfg(test)]
mod tests {
    use super::{StripCell, state_strip};

    fn cell(state: &str, link: Option<&str>) -> StripCell {
        StripCell { state: state.into(), words: format!("09:00: {state} <b>"), link: link.map(str::to_owned) }
    }

    #[test]
    fn a_failure_is_higher_than_a_success_and_leads_to_its_run() {
        let strip =
            state_strip("results", &[cell("healthy", None), cell("failed", Some("/runs/a\"b"))]).unwrap();
        assert!(strip.contains("<rect x=\"0\" y=\"12\" width=\"8\" height=\"12\"/>"), "{strip}");
        assert!(strip.contains("<rect x=\"10\" y=\"0\" width=\"8\" height=\"24\"/>"), "{strip}");
        assert!(
            strip.contains("<a href=\"/runs/a&quot;b\" aria-label=\"09:00: failed &lt;b&gt;\">"),
            "{strip}"
        );
        assert!(!strip.contains("style") && !strip.contains("<b>"), "{strip}");
    }

    #[test]
    fn what_is_not_known_is_hatched_and_what_is_not_there_is_blank() {
        let strip =
            state_strip("days", &[cell("uncomputed", None), cell("unrecorded", None), cell("before", None)]);
        let strip = strip.unwrap();
        assert_eq!(strip.matches("class=\"hatch\"").count(), 2, "{strip}");
        assert!(strip.contains("<rect x=\"20\" y=\"24\" width=\"8\" height=\"0\"/>"), "{strip}");
        assert_eq!(state_strip("days", &[]), None);
    }
}
