use std::fmt::Write as _;

use super::{PlanSketch, SketchNode};
use wf_base::untrusted::untrusted;

/// A sketch in the language of Graphviz.
pub fn dot(sketch: &PlanSketch) -> String {
    let mut text = String::from("digraph plan {\n");
    let _ = writeln!(text, "  label={};", quote(&sketch.title));
    text.push_str("  labelloc=t;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    inside(sketch, None, 1, &mut text);
    for (from, to) in &sketch.edges {
        let _ = writeln!(text, "  s{from} -> s{to};");
    }
    text.push_str("}\n");
    text
}

/// The boxes of a zone, then the zones within it.
fn inside(sketch: &PlanSketch, zone: Option<usize>, depth: usize, text: &mut String) {
    let margin = "  ".repeat(depth);
    for (at, node) in sketch.nodes.iter().enumerate() {
        if node.zone == zone {
            let _ = writeln!(text, "{margin}s{at} [{}];", attributes(node));
        }
    }
    for (at, inner) in sketch.zones.iter().enumerate() {
        if inner.within == zone {
            let _ = writeln!(text, "{margin}subgraph cluster_{at} {{");
            let _ = writeln!(text, "{margin}  label={};", quote(&inner.name));
            inside(sketch, Some(at), depth + 1, text);
            let _ = writeln!(text, "{margin}}}");
        }
    }
}

fn attributes(node: &SketchNode) -> String {
    let title = Some(&node.title).filter(|title| !title.is_empty());
    let lines: Vec<&str> =
        std::iter::once(&node.name).chain(title).chain(&node.marks).map(String::as_str).collect();
    let label = quote(&lines.join("\n"));
    let nested = if node.nested { ", peripheries=2" } else { "" };
    format!("label={label}{nested}")
}

fn quote(text: &str) -> String {
    let lines: Vec<String> = untrusted(text).lines().map(|line| line.to_string()).collect();
    let escaped = lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::dot;
    use crate::draw::{PlanSketch, tests::sample};

    #[test]
    fn boxes_arrows_and_zones_are_written() {
        let expected = r#"digraph plan {
  label="nightly-report";
  labelloc=t;
  node [shape=box, style=rounded, fontname="sans-serif"];
  s0 [label="fetch\nFetch \"it\""];
  s1 [label="all\nuses parts", peripheries=2];
  s2 [label="publish\nfor each of 2 items"];
  subgraph cluster_0 {
    label="finally";
    s3 [label="cleanup"];
  }
  s0 -> s1;
  s1 -> s2;
}
"#;
        assert_eq!(dot(&PlanSketch::from_plan(&sample::plan(), false)), expected);
    }
}
