use std::fmt::Write as _;

use super::{PlanSketch, SketchNode};
use wf_base::untrusted::untrusted;

/// A sketch in the language of Mermaid, which GitHub shows as a picture.
pub fn mermaid(sketch: &PlanSketch) -> String {
    let mut text = String::from("flowchart TD\n");
    inside(sketch, None, 1, &mut text);
    for (from, to) in &sketch.edges {
        let _ = writeln!(text, "  s{from} --> s{to}");
    }
    text
}

/// The boxes of a zone, then the zones within it.
fn inside(sketch: &PlanSketch, zone: Option<usize>, depth: usize, text: &mut String) {
    let margin = "  ".repeat(depth);
    for (at, node) in sketch.nodes.iter().enumerate() {
        if node.zone == zone {
            let _ = writeln!(text, "{margin}s{at}{}", shape(node));
        }
    }
    for (at, inner) in sketch.zones.iter().enumerate() {
        if inner.within == zone {
            let _ = writeln!(text, "{margin}subgraph z{at} [\"{}\"]", escape(&inner.name));
            inside(sketch, Some(at), depth + 1, text);
            let _ = writeln!(text, "{margin}end");
        }
    }
}

fn shape(node: &SketchNode) -> String {
    let mut lines = vec![format!("<b>{}</b>", escape(&node.name))];
    if !node.title.is_empty() {
        lines.push(escape(&node.title));
    }
    lines.extend(node.marks.iter().map(|mark| format!("<i>{}</i>", escape(mark))));
    let label = lines.join("<br/>");
    if node.nested { format!("[[\"{label}\"]]") } else { format!("(\"{label}\")") }
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in untrusted(text).to_string().chars() {
        match c {
            '"' => escaped.push_str("#quot;"),
            '<' => escaped.push_str("#lt;"),
            '>' => escaped.push_str("#gt;"),
            '#' => escaped.push_str("#35;"),
            '&' => escaped.push_str("#amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::mermaid;
    use crate::draw::{PlanSketch, tests::sample};

    #[test]
    fn boxes_arrows_and_zones_are_written() {
        let expected = "\
flowchart TD
  s0(\"<b>fetch</b><br/>Fetch #quot;it#quot;\")
  s3(\"<b>publish</b><br/><i>for each of 2 items</i>\")
  subgraph z0 [\"all: parts\"]
    s1(\"<b>one</b>\")
    s2(\"<b>two</b>\")
  end
  subgraph z1 [\"finally\"]
    s4(\"<b>cleanup</b>\")
  end
  s0 --> s1
  s0 --> s2
  s1 --> s3
  s2 --> s3
";
        assert_eq!(mermaid(&PlanSketch::from_plan(&sample::plan(), true)), expected);
    }
}
