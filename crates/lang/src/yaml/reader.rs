use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::tree::{PendingYamlKey, YamlTreeBuilder};
use super::{YamlNode, YamlValue, scalar, syntax};
use crate::decode::DiagnosticList;
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// The maximum depth of nested collections.
pub const MAX_DEPTH: usize = 64;

/// The maximum number of values of a file.
pub const MAX_NODES: usize = 5_000_000;

/// Reads the YAML at `at` in `text`. Mistakes that leave a tree are noted and do not stop the
/// reading; without a tree, one of them has the reason.
pub fn read<'a>(text: &'a str, at: Span, mistakes: &mut DiagnosticList) -> Option<YamlNode<'a>> {
    let yaml = text.get(at.range())?;
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader =
        YamlReader { text, at, tree: YamlTreeBuilder::default(), nodes: 0, documents: 0, mistakes };
    for event in Parser::new_from_str_with_options(yaml, options) {
        let read = match event {
            Ok((event, span)) => reader.event(event, &span),
            Err(error) => Err(reader.broken(&error)),
        };
        if let Err(mistake) = read {
            reader.mistakes.push(mistake);
            return None;
        }
    }
    Some(reader.tree.root.unwrap_or(YamlNode { value: YamlValue::Null, span: Span { end: at.start, ..at } }))
}

struct YamlReader<'a, 'm> {
    text: &'a str,
    at: Span,
    tree: YamlTreeBuilder<'a>,
    nodes: usize,
    documents: usize,
    mistakes: &'m mut DiagnosticList,
}

impl<'a> YamlReader<'a, '_> {
    fn event(&mut self, event: Event<'a>, span: &granit_parser::Span) -> Result<(), Diagnostic> {
        let place = self.place(span);
        if event.tag().is_some() {
            let tag = span.tag_span().map_or(place, |tag| self.place(&tag));
            self.refuse(tag, "tags are not supported");
        }
        match event {
            Event::Anchor(..) => self.refuse(place, "anchors are not supported"),
            Event::DocumentStart(..) => return self.document(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(place, "aliases are not supported");
                self.count(place)?;
                self.value(YamlValue::Bad, place);
            }
            Event::Scalar(text, style, ..) => {
                self.count(place)?;
                self.scalar(text, style, place);
            }
            Event::SequenceStart(style, ..) => {
                let start = self.start(style, place)?;
                self.tree.open_list(start);
            }
            Event::MappingStart(style, ..) => {
                let start = self.start(style, place)?;
                self.tree.open_map(start);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(YamlNode { value, span }) = self.tree.close(place) {
                    self.value(value, span);
                }
            }
            // The start and the end of the stream carry no values.
            _ => {}
        }
        Ok(())
    }

    /// Returns the location of a parser's span in the whole file, on character boundaries.
    fn place(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let length = self.at.range().len();
        let start = range.start.min(length);
        let end = range.end.clamp(start, length);
        self.on_boundaries(self.at.subspan(start..end))
    }

    fn on_boundaries(&self, span: Span) -> Span {
        let range = span.range();
        Span::new(self.text.floor_char_boundary(range.start), self.text.ceil_char_boundary(range.end))
    }

    fn refuse(&mut self, place: Span, message: &str) {
        let help = "write out the value: anchors, aliases, tags and merge keys are not supported";
        self.mistakes.push(Diagnostic::new(Code::YamlFeature, place, message).with_help(help));
    }

    fn document(&mut self, place: Span) -> Result<(), Diagnostic> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(Diagnostic::new(Code::YamlFeature, place, "a second document starts here; only one is allowed"))
    }

    fn count(&mut self, place: Span) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("more than {MAX_NODES} values");
        Err(Diagnostic::new(Code::YamlTooLarge, place, message))
    }

    fn start(&mut self, style: StructureStyle, place: Span) -> Result<Span, Diagnostic> {
        self.count(place)?;
        if self.tree.depth() >= MAX_DEPTH {
            return Err(syntax::too_deep(place));
        }
        // A block collection has no brackets: it begins with its first child.
        let end = match style {
            StructureStyle::Block => place.start,
            StructureStyle::Flow => place.end,
        };
        Ok(Span { end, ..place })
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle, place: Span) {
        let value = match style {
            ScalarStyle::Plain => scalar::plain(text),
            _ => YamlValue::Text(text),
        };
        let place = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.trimmed(place),
            _ => place,
        };
        self.value(value, place);
    }

    /// Returns the location of a block scalar without the line ends after it.
    fn trimmed(&self, place: Span) -> Span {
        let text = self.text.get(place.range()).unwrap_or("");
        place.subspan(0..text.trim_end().len())
    }

    fn value(&mut self, value: YamlValue<'a>, span: Span) {
        if self.tree.awaits_key() {
            self.key(value, span);
        } else if let Some(mistake) = self.tree.value(YamlNode { value, span }) {
            self.mistakes.push(mistake);
        }
    }

    fn key(&mut self, value: YamlValue<'a>, at: Span) {
        let before = self.text.get(..at.start as usize).unwrap_or("");
        let is_template = matches!(value, YamlValue::Map(_)) && before.ends_with('{');
        let text = match value {
            YamlValue::Text(text) if text == "<<" => {
                self.refuse(at, "merge keys are not supported");
                None
            }
            YamlValue::Text(text) => Some(text),
            other => {
                let mistake = if is_template { self.unquoted(at) } else { self.no_key(&other, at) };
                self.mistakes.push(mistake);
                None
            }
        };
        self.tree.key(PendingYamlKey { text, at, is_merge_key: is_template });
    }

    fn no_key(&self, value: &YamlValue<'_>, at: Span) -> Diagnostic {
        let mistake = Diagnostic::new(Code::YamlFeature, at, "a key must be a string");
        let written = self.text.get(at.range()).unwrap_or("");
        if matches!(value, YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Bad) || written.is_empty() {
            mistake
        } else {
            mistake.with_help(format!("write \"{written}\""))
        }
    }

    /// Returns the mistake of a template that YAML reads as a mapping in a mapping.
    fn unquoted(&self, at: Span) -> Diagnostic {
        let written = self.text.get(at.range()).unwrap_or("");
        Diagnostic::new(Code::YamlFeature, at, "a template must be quoted")
            .with_help(format!("write \"{{{written}}}\""))
    }

    fn broken(&self, error: &ScanError) -> Diagnostic {
        let length = self.at.range().len();
        let offset = error.marker().byte_offset().unwrap_or(length).min(length);
        let start = self.at.start as usize + offset;
        let next = self.text.get(start..).and_then(|rest| rest.chars().next());
        let width = next.filter(|c| !c.is_control()).map_or(0, char::len_utf8);
        let place = self.on_boundaries(Span::new(start, start + width));
        syntax::mistake(error.kind(), place)
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::decode::DiagnosticList;
    use crate::yaml::{YamlNode, YamlValue};
    use wf_base::source::Span;

    /// Lists every value with its text in the file.
    fn spans(text: &str, node: &YamlNode<'_>, found: &mut Vec<String>) {
        found.push(text.get(node.span.range()).unwrap().to_owned());
        match &node.value {
            YamlValue::List(items) => items.iter().for_each(|item| spans(text, item, found)),
            YamlValue::Map(entries) => {
                for entry in entries {
                    assert_eq!(text.get(entry.at.range()).unwrap(), entry.key);
                    spans(text, &entry.value, found);
                }
            }
            _ => {}
        }
    }

    fn check(text: &str, expected: &[&str]) {
        // The text before and after must not matter.
        let whole = format!("größer\n{text}---\n");
        let mut mistakes = DiagnosticList::default();
        let start = "größer\n".len();
        let at = Span::new(start, start + text.len());
        let tree = read(&whole, at, &mut mistakes).unwrap();
        assert!(mistakes.is_empty(), "{text}");
        let mut found = Vec::new();
        spans(&whole, &tree, &mut found);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_value_knows_where_it_stands() {
        check("a: 1\nb: é x\n", &["a: 1\nb: é x", "1", "é x"]);
        check("a: [1, {b: 2}]\n", &["a: [1, {b: 2}]", "[1, {b: 2}]", "1", "{b: 2}", "2"]);
        check(
            "a: [[1, [2]], {b: [3]}, 4]\n",
            &[
                "a: [[1, [2]], {b: [3]}, 4]",
                "[[1, [2]], {b: [3]}, 4]",
                "[1, [2]]",
                "1",
                "[2]",
                "2",
                "{b: [3]}",
                "[3]",
                "3",
                "4",
            ],
        );
        check("- 'q'\n- \"é\"\n", &["- 'q'\n- \"é\"", "'q'", "\"é\""]);
        check("a:\n  - x\n  - y\nb:\n", &["a:\n  - x\n  - y\nb", "- x\n  - y", "x", "y", ""]);
        check("a: # é\n  b: é\n", &["a: # é\n  b: é", "b: é", "é"]);
        check("a: []\nb: {}\n", &["a: []\nb: {}", "[]", "{}"]);
    }

    #[test]
    fn blocks_stand_from_their_first_letter_to_their_last_letter() {
        check(
            "a: |\n  one\n    é\n\nb: >-\n  x\n  y\n",
            &["a: |\n  one\n    é\n\nb: >-\n  x\n  y", "one\n    é", "x\n  y"],
        );
        check("a: |\r\n  one\r\n", &["a: |\r\n  one", "one"]);
    }
}
