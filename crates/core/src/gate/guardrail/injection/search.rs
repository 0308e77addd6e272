use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::base64;
use super::markers::MARKERS;
use super::words::NormalizedText;
use crate::gate::guardrail::detector::DetectorMatch;

static SHAPES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let shapes = MARKERS.iter().map(|marker| {
        let shape = if marker.is_raw || !marker.pattern.is_ascii() {
            marker.pattern.to_owned()
        } else {
            format!(r"(?-u:\b)(?:{})(?-u:\b)", marker.pattern)
        };
        Regex::new(&shape).ok()
    });
    shapes.collect()
});

/// Finds markers, also in base64.
pub(in crate::gate::guardrail) fn search(text: &str, found: &mut Vec<DetectorMatch>) {
    found.extend(in_text(text));
    for (at, inner) in base64::texts(text) {
        if let Some((intent, _)) = in_text(&inner).first() {
            found.push((intent, at));
        }
    }
}

fn in_text(text: &str) -> Vec<(&'static str, Range<usize>)> {
    let words = NormalizedText::of(text);
    let mut found = Vec::new();
    for (marker, shape) in MARKERS.iter().zip(SHAPES.iter()) {
        let Some(shape) = shape else { continue };
        if marker.is_raw {
            let seen = shape.find_iter(text);
            found.extend(seen.map(|seen| (marker.intent, seen.range())));
        } else {
            let seen = shape.find_iter(&words.text);
            let places = seen.filter_map(|seen| words.place(&seen.range()));
            found.extend(places.map(|place| (marker.intent, place)));
        }
    }
    found
}
