use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::{
    YamlError, YamlErrorKind, YamlNode, YamlNotation, YamlOddity, YamlOddityKind, YamlValue,
    node::tab_outside, scalar, tree::YamlTreeBuilder,
};
use crate::source::Span;

/// The maximum depth of nested collections.
pub(super) const MAX_DEPTH: usize = 64;

/// The meaning of scalars, and how far a text may go beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlSchema {
    /// The YAML 1.2 core schema, of which only `true` and `false` are booleans and only `null`, `~`
    /// and nothing at all are null. Of duplicate keys, the first counts. Directives are errors.
    Core,
    /// Every scalar is text. Of duplicate keys, the last counts. Notations other readers refuse (brackets,
    /// tabs, odd columns) are oddities.
    Failsafe,
}

impl YamlSchema {
    /// The maximum number of values.
    fn max_nodes(self) -> usize {
        match self {
            Self::Core => 5_000_000,
            Self::Failsafe => 100_000,
        }
    }
}

/// Reads the YAML at `at` in `text`; `None` if there is nothing but comments. `note` gets every
/// oddity, in the order of reading.
pub fn read<'a>(
    text: &'a str,
    at: Span,
    schema: YamlSchema,
    note: &mut dyn FnMut(YamlOddity),
) -> Result<Option<YamlNode<'a>>, YamlError> {
    let yaml = text.get(at.range()).unwrap_or_default();
    let options = granit_parser::options! {
        disallow_directives: schema == YamlSchema::Core,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let tree = YamlTreeBuilder::new(text, schema);
    let mut reader = YamlReader { text, at, schema, tree, scalars: Vec::new(), nodes: 0, documents: 0, note };
    for event in Parser::new_from_str_with_options(yaml, options) {
        match event {
            Ok((event, span)) => reader.event(event, &span)?,
            Err(error) => return Err(reader.broken(&error)),
        }
    }
    if let Some(tab) = tab_outside(text, at, &reader.scalars).filter(|_| schema == YamlSchema::Failsafe) {
        reader.odd(YamlOddityKind::Tab, tab);
    }
    Ok(reader.tree.root_node)
}

struct YamlReader<'a, 'n> {
    text: &'a str,
    at: Span,
    schema: YamlSchema,
    tree: YamlTreeBuilder<'a>,
    /// The spans of scalars, in order, if their notation matters.
    scalars: Vec<(Span, YamlNotation)>,
    nodes: usize,
    documents: usize,
    note: &'n mut dyn FnMut(YamlOddity),
}

impl<'a> YamlReader<'a, '_> {
    fn event(&mut self, event: Event<'a>, span: &granit_parser::Span) -> Result<(), YamlError> {
        let place = self.place(span);
        if event.tag().is_some() {
            let tag = span.tag_span().map_or(place, |tag| self.place(&tag));
            self.odd(YamlOddityKind::Tag, tag);
        }
        match event {
            Event::Anchor(..) => self.odd(YamlOddityKind::Anchor, place),
            Event::DocumentStart(..) => return self.document(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.odd(YamlOddityKind::Alias, place);
                self.count(place)?;
                let value = match self.schema {
                    YamlSchema::Core => YamlValue::Bad,
                    YamlSchema::Failsafe => YamlValue::Text(Cow::Borrowed("")),
                };
                self.value(value, place, YamlNotation::Plain);
            }
            Event::Scalar(text, style, ..) => {
                self.count(place)?;
                self.scalar(text, style, place);
            }
            Event::SequenceStart(style, ..) => {
                let (start, form) = self.start(style, place)?;
                self.tree.open_list(start, form);
            }
            Event::MappingStart(style, ..) => {
                let (start, form) = self.start(style, place)?;
                self.tree.open_map(start, form);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(odd) = self.tree.close(place) {
                    (self.note)(odd);
                }
            }
            // The start and the end of the stream carry no values.
            _ => {}
        }
        Ok(())
    }

    fn odd(&mut self, kind: YamlOddityKind, span: Span) {
        (self.note)(YamlOddity { kind, span });
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

    fn document(&mut self, place: Span) -> Result<(), YamlError> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(YamlError::new(YamlErrorKind::Document, place, "a second document starts here"))
    }

    fn count(&mut self, place: Span) -> Result<(), YamlError> {
        self.nodes += 1;
        let most = self.schema.max_nodes();
        if self.nodes <= most {
            return Ok(());
        }
        Err(YamlError::new(YamlErrorKind::Size, place, format!("more than {most} values")))
    }

    fn start(&mut self, style: StructureStyle, place: Span) -> Result<(Span, YamlNotation), YamlError> {
        self.count(place)?;
        if self.tree.depth() >= MAX_DEPTH {
            return Err(YamlError::too_deep(place));
        }
        Ok(match style {
            // A block collection has no brackets: it begins with its first child.
            StructureStyle::Block => (place.subspan(0..0), YamlNotation::Block),
            StructureStyle::Flow => {
                if self.schema == YamlSchema::Failsafe {
                    self.odd(YamlOddityKind::Flow, place);
                }
                (place, YamlNotation::Flow)
            }
        })
    }

    fn scalar(&mut self, text: Cow<'a, str>, style: ScalarStyle, place: Span) {
        let (form, inner) = match style {
            ScalarStyle::Plain => (YamlNotation::Plain, place),
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => (YamlNotation::Quoted, place),
            ScalarStyle::Literal => (YamlNotation::Literal, self.trimmed(place)),
            ScalarStyle::Folded => (YamlNotation::Folded, self.trimmed(place)),
        };
        if self.schema == YamlSchema::Failsafe {
            self.scalars.push((place, form));
        }
        // The parser returns `~` for an empty value.
        let is_absent = form == YamlNotation::Plain && place.start == place.end;
        let text = if is_absent { Cow::Borrowed("") } else { text };
        let value = match (self.schema, form) {
            (YamlSchema::Core, YamlNotation::Plain) => scalar::plain(text),
            _ => YamlValue::Text(text),
        };
        self.value(value, inner, form);
    }

    /// Returns the location of a block scalar without the line ends after it.
    fn trimmed(&self, place: Span) -> Span {
        let text = self.text.get(place.range()).unwrap_or("");
        place.subspan(0..text.trim_end().len())
    }

    fn value(&mut self, value: YamlValue<'a>, span: Span, notation: YamlNotation) {
        if let Some(odd) = self.tree.value(YamlNode { value, span, notation }) {
            (self.note)(odd);
        }
    }

    fn broken(&self, error: &ScanError) -> YamlError {
        let length = self.at.range().len();
        let offset = error.marker().byte_offset().unwrap_or(length).min(length);
        let start = self.at.start as usize + offset;
        let next = self.text.get(start..).and_then(|rest| rest.chars().next());
        let width = next.filter(|c| !c.is_control()).map_or(0, char::len_utf8);
        YamlError::of(error.kind(), self.on_boundaries(Span::new(start, start + width)))
    }
}

#[cfg(test)]
mod tests {
    use super::{YamlSchema, read};
    use crate::{
        source::Span,
        yaml::{YamlNode, YamlValue},
    };

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
        let mut odd = Vec::new();
        let start = "größer\n".len();
        let at = Span::new(start, start + text.len());
        let tree = read(&whole, at, YamlSchema::Core, &mut |one| odd.push(one)).unwrap().unwrap();
        assert!(odd.is_empty(), "{text}");
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
