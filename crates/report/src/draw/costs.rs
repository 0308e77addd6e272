//! The costs of the turns of an agent: a bar for each, so that the dear ones are seen at once.

use std::fmt::Write as _;

use super::svg::escape;

/// The width of a bar, and the space between two.
const BAR: usize = 8;
const GAP: usize = 2;
/// The height of the highest bar.
const HEIGHT: u64 = 64;

/// The most bars of a picture: more turns are drawn several in a bar.
pub const MAX_COST_BARS: usize = 40;

/// The cost of a turn, or of several in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostBar {
    pub amount: u64,
    /// True if something failed in it.
    pub has_failed: bool,
    /// The words for it.
    pub words: String,
    /// The address of the first turn.
    pub link: String,
}

/// Returns costs as an SVG picture for a page, in the order of the turns; nothing if there are none. It has states and no
/// style of its own. A turn with a failure has a cross above its bar.
pub fn cost_svg(label: &str, bars: &[CostBar]) -> Option<String> {
    let most = bars.iter().map(|bar| bar.amount).max().filter(|most| *most > 0)?;
    let (width, height) = (bars.len() * (BAR + GAP), HEIGHT + 12);
    let mut text = format!(
        "<svg class=\"costs\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"group\" aria-label=\"{}\">\n\
         <path class=\"line\" d=\"M0 {height}H{width}\"/>\n",
        escape(label)
    );
    for (at, bar) in bars.iter().enumerate() {
        let x = at * (BAR + GAP);
        let share = u128::from(bar.amount) * u128::from(HEIGHT) / u128::from(most);
        // A turn that cost something is seen, however little it was.
        let tall = u64::try_from(share).unwrap_or(HEIGHT).max(u64::from(bar.amount > 0));
        let y = height - tall;
        let state = if bar.has_failed { "failed" } else { "replied" };
        let cross = if bar.has_failed {
            format!("<path d=\"M{} {}l6 6m0 -6l-6 6\"/>", x + 1, y.saturating_sub(9))
        } else {
            String::new()
        };
        let (link, words) = (escape(&bar.link), escape(&bar.words));
        let _ = writeln!(
            text,
            "<a href=\"{link}\" aria-label=\"{words}\"><g data-state=\"{state}\"><title>{words}</title>\
             <rect class=\"place\" x=\"{x}\" y=\"0\" width=\"{BAR}\" height=\"{height}\"/>\
             <rect x=\"{x}\" y=\"{y}\" width=\"{BAR}\" height=\"{tall}\"/>{cross}</g></a>"
        );
    }
    text.push_str("</svg>\n");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::{CostBar, cost_svg};

    fn bar(amount: u64, has_failed: bool) -> CostBar {
        CostBar { amount, has_failed, words: format!("turn <{amount}>"), link: "#turn-1\"".into() }
    }

    #[test]
    fn a_bar_is_as_high_as_its_turn_was_dear_and_a_failure_is_marked() {
        let svg =
            cost_svg("Cost", &[bar(1_000_000, false), bar(500_000, true), bar(1, false), bar(0, false)]);
        let svg = svg.unwrap();
        assert!(svg.contains("x=\"0\" y=\"12\" width=\"8\" height=\"64\"/>"), "{svg}");
        assert!(
            svg.contains("x=\"10\" y=\"44\" width=\"8\" height=\"32\"/><path d=\"M11 35l6 6m0 -6l-6 6\"/>"),
            "{svg}"
        );
        assert!(svg.contains("x=\"20\" y=\"75\" width=\"8\" height=\"1\"/>"), "{svg}");
        assert!(svg.contains("x=\"30\" y=\"76\" width=\"8\" height=\"0\"/>"), "{svg}");
        assert!(!svg.contains("<1>") && !svg.contains("turn-1\"\"") && !svg.contains("style"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_of_turns_that_cost_nothing() {
        assert_eq!(cost_svg("Cost", &[bar(0, false)]), None);
        assert_eq!(cost_svg("Cost", &[]), None);
    }
}
