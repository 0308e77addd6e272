use std::fmt::Write as _;

use super::{PlanSketch, SketchNode};
use crate::state_word;
use wf_base::{units::fit, untrusted::untrusted};

/// The width of a character, on average.
const CHAR: usize = 7;
/// The height of a line of text.
const LINE: usize = 17;
/// The space around text in a box.
const PAD: usize = 12;
/// The space between boxes of a layer.
const GAP: usize = 28;
/// The space between layers.
const LAYER_GAP: usize = 48;
/// The space around everything.
const MARGIN: usize = 24;
/// The most characters of a line.
const MAX_LINE_CHARS: usize = 40;

/// The position of a box.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct BoxFrame {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// A sketch as an SVG picture, for a browser or a document. `layers` are the boxes from top to
/// bottom, each layer from left to right; layers from `apart` on are those of `finally` steps.
pub fn svg(sketch: &PlanSketch, layers: &[Vec<usize>], apart: usize) -> String {
    picture(sketch, layers, apart, "role=\"img\"", STYLE)
}

/// The same as a part of a page: boxes lead where their links say, and the page
/// has the style, also of the states of a run.
pub fn page_svg(sketch: &PlanSketch, layers: &[Vec<usize>], apart: usize) -> String {
    picture(sketch, layers, apart, "class=\"graph\" role=\"group\"", "")
}

fn picture(sketch: &PlanSketch, layers: &[Vec<usize>], apart: usize, kind: &str, style: &str) -> String {
    let frames = place(sketch, layers, apart);
    let right = frames.iter().map(|f| f.x + f.width).max().unwrap_or(0);
    let bottom = frames.iter().map(|f| f.y + f.height).max().unwrap_or(0);
    let title = escape(&sketch.title);
    let width = right.max(sketch.title.chars().count() * 10 + MARGIN) + MARGIN;
    let height = bottom + MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" {kind} aria-label=\"{title}\">\n{style}{TIP}"
    );
    let _ = writeln!(text, "<rect class=\"page\" width=\"{width}\" height=\"{height}\"/>");
    let _ = writeln!(text, "<text class=\"title\" x=\"{MARGIN}\" y=\"36\">{title}</text>");
    text.push_str(&divider(layers, apart, &frames, width));
    for (from, to) in &sketch.edges {
        if let (Some(from), Some(to)) = (frames.get(*from), frames.get(*to)) {
            text.push_str(&arrow(from, to));
        }
    }
    for (node, frame) in sketch.nodes.iter().zip(&frames) {
        text.push_str(&boxed(node, frame));
    }
    text.push_str("</svg>\n");
    text
}

const STYLE: &str = "\
<style>
.page{fill:#fff}
text{font:13px system-ui,sans-serif;fill:#1f2328}
.title{font-size:18px;font-weight:600}
.name{font-weight:600}
.mark,.zone{fill:#59636e;font-style:italic}
.box{fill:#f6f8fa;stroke:#818b98}
.checked{stroke:#1a7f37;stroke-width:2}
.arrow{fill:none;stroke:#818b98;stroke-width:1.5;marker-end:url(#tip)}
.rule{stroke:#d1d9e0;stroke-dasharray:4 4}
</style>
";

/// The tip of an arrow.
const TIP: &str = "\
<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#818b98\"/></marker></defs>
";

/// Arranges layers below each other, each centred.
fn place(sketch: &PlanSketch, layers: &[Vec<usize>], apart: usize) -> Vec<BoxFrame> {
    let measured_frames: Vec<BoxFrame> = sketch.nodes.iter().map(measure).collect();
    let size = |at: &usize| measured_frames.get(*at).copied().unwrap_or_default();
    let wide = |layer: &Vec<usize>| {
        let boxes: usize = layer.iter().map(|at| size(at).width).sum();
        boxes + GAP * layer.len().saturating_sub(1)
    };
    let widest = layers.iter().map(wide).max().unwrap_or(0);
    let mut frames = measured_frames.clone();
    let mut y = MARGIN + 40;
    for (at, layer) in layers.iter().enumerate() {
        if at == apart && at > 0 {
            y += LAYER_GAP;
        }
        let mut x = MARGIN + (widest - wide(layer)) / 2;
        for node in layer {
            if let Some(frame) = frames.get_mut(*node) {
                (frame.x, frame.y) = (x, y);
                x += frame.width + GAP;
            }
        }
        y += layer.iter().map(|at| size(at).height).max().unwrap_or(0) + LAYER_GAP;
    }
    frames
}

fn measure(node: &SketchNode) -> BoxFrame {
    let lines = lines(node);
    let widest = lines.iter().map(|(_, line)| line.chars().count()).max();
    BoxFrame {
        x: 0,
        y: 0,
        width: widest.unwrap_or(0) * CHAR + 2 * PAD,
        height: lines.len() * LINE + 2 * PAD - 4,
    }
}

/// The lines of a box, each with its class.
fn lines(node: &SketchNode) -> Vec<(&'static str, String)> {
    let mut lines = vec![("name", fit(&node.name, MAX_LINE_CHARS))];
    lines.extend(node.state.map(|(state, standing)| ("state", state_word(state, standing).to_owned())));
    if !node.title.is_empty() {
        lines.push(("about", fit(&node.title, MAX_LINE_CHARS)));
    }
    lines.extend(node.marks.iter().map(|mark| ("mark", fit(mark, MAX_LINE_CHARS))));
    lines
}

/// The line between the main steps and the `finally` steps.
fn divider(layers: &[Vec<usize>], apart: usize, frames: &[BoxFrame], width: usize) -> String {
    let first = layers.get(apart).and_then(|layer| layer.first());
    let Some(frame) = first.and_then(|at| frames.get(*at)) else {
        return String::new();
    };
    let y = frame.y.saturating_sub(LAYER_GAP / 2 + 4);
    let end = width - MARGIN;
    let below = y + 14;
    format!(
        "<line class=\"rule\" x1=\"{MARGIN}\" y1=\"{y}\" x2=\"{end}\" y2=\"{y}\"/>\n\
         <text class=\"zone\" x=\"{MARGIN}\" y=\"{below}\">finally</text>\n"
    )
}

fn arrow(from: &BoxFrame, to: &BoxFrame) -> String {
    let (x1, y1) = (from.x + from.width / 2, from.y + from.height);
    let (x2, y2) = (to.x + to.width / 2, to.y);
    let bend = y2.saturating_sub(y1) / 2;
    let (a, b) = (y1 + bend, y2.saturating_sub(bend));
    format!("<path class=\"arrow\" d=\"M{x1} {y1}C{x1} {a} {x2} {b} {x2} {y2}\"/>\n")
}

fn boxed(node: &SketchNode, frame: &BoxFrame) -> String {
    let BoxFrame { x, y, width, height } = *frame;
    let checked = if node.checked { " checked" } else { "" };
    let state = node.state.map_or_else(String::new, |(state, _)| format!(" {}", state.as_str()));
    let critical = if node.is_critical { " critical" } else { "" };
    let rect = |x: usize, y: usize, w: usize, h: usize| {
        format!(
            "<rect class=\"box{checked}{state}{critical}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"8\"/>\n"
        )
    };
    let mut text = match &node.link {
        Some(link) => format!("<a href=\"{}\">", escape(link)),
        None => String::new(),
    };
    text.push_str(&rect(x, y, width, height));
    if node.nested {
        text.push_str(&rect(x + 4, y + 4, width.saturating_sub(8), height.saturating_sub(8)));
    }
    let middle = x + width / 2;
    for (at, (class, line)) in lines(node).iter().enumerate() {
        let base = y + PAD + 10 + at * LINE;
        let line = escape(line);
        let _ = writeln!(
            text,
            "<text class=\"{class}\" x=\"{middle}\" y=\"{base}\" text-anchor=\"middle\">{line}</text>"
        );
    }
    if node.link.is_some() {
        text.push_str("</a>\n");
    }
    text
}

pub(in crate::draw) fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in untrusted(text).to_string().chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{page_svg, place, svg};
    use crate::draw::{PlanSketch, tests::sample};

    #[test]
    fn every_box_stands_below_what_it_needs() {
        let sketch = PlanSketch::from_plan(&sample::plan(), true);
        let layers = [vec![0], vec![1, 2], vec![3], vec![4]];
        let frames = place(&sketch, &layers, 3);
        for (from, to) in &sketch.edges {
            assert!(frames[*from].y + frames[*from].height < frames[*to].y);
        }
        assert!(frames[1].x + frames[1].width < frames[2].x);
    }

    #[test]
    fn a_picture_of_a_page_has_links_and_no_style() {
        let mut sketch = PlanSketch::from_plan(&sample::plan(), false);
        sketch.nodes[0].link = Some("/runs/1?a=\"b\"".into());
        sketch.nodes[0].is_critical = true;
        let layers = [vec![0], vec![1], vec![2], vec![3]];
        let picture = page_svg(&sketch, &layers, 3);
        assert!(!picture.contains("<style"), "{picture}");
        assert!(
            picture.contains("<a href=\"/runs/1?a=&quot;b&quot;\"><rect class=\"box critical\""),
            "{picture}"
        );
        assert_eq!((picture.matches("<a ").count(), picture.matches("</a>").count()), (1, 1));
    }

    #[test]
    fn text_stays_text() {
        let mut sketch = PlanSketch::from_plan(&sample::plan(), false);
        sketch.title = "<script>\"&".into();
        let picture = svg(&sketch, &[vec![0], vec![1], vec![2], vec![3]], 3);
        assert!(picture.contains("&lt;script&gt;&quot;&amp;"), "{picture}");
        assert!(picture.contains("Fetch &quot;it&quot;"), "{picture}");
        assert_eq!(picture.matches("class=\"arrow\"").count(), 2);
    }
}
