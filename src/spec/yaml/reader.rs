use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::{Entry, Node, Yaml, scalar};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;
use crate::spec::decode::Mistakes;

/// How deep collections may be nested.
pub const MAX_DEPTH: usize = 64;

/// How many values a file may have.
pub const MAX_NODES: usize = 5_000_000;

/// A mapping with more keys than this keeps a set of them to find duplicates.
const FEW_KEYS: usize = 8;

/// Reads the YAML that stands at `at` in `text`. Mistakes that leave a tree are noted and do not
/// stop the reading; without a tree, one of them says why.
pub fn read<'a>(text: &'a str, at: Span, mistakes: &mut Mistakes) -> Option<Node<'a>> {
    let yaml = text.get(at.range())?;
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_unresolved_aliases: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = Reader {
        text,
        at,
        open: Vec::new(),
        root: None,
        nodes: 0,
        documents: 0,
        mistakes,
    };
    for event in Parser::new_from_str_with_options(yaml, options) {
        let read = match event {
            Ok((event, span)) => reader.event(event, &span),
            Err(error) => Err(reader.broken(&error)),
        };
        if let Err(mistake) = read {
            reader.mistakes.note(mistake);
            return None;
        }
    }
    Some(reader.root.unwrap_or(Node {
        value: Yaml::Null,
        span: Span {
            end: at.start,
            ..at
        },
    }))
}

struct Reader<'a, 'm> {
    text: &'a str,
    at: Span,
    open: Vec<Open<'a>>,
    root: Option<Node<'a>>,
    nodes: usize,
    documents: usize,
    mistakes: &'m mut Mistakes,
}

/// A collection whose end has not come.
enum Open<'a> {
    List {
        start: Span,
        items: Vec<Node<'a>>,
    },
    Map {
        start: Span,
        entries: Vec<Entry<'a>>,
        seen: HashMap<Cow<'a, str>, Span>,
        key: Option<Key<'a>>,
    },
}

/// A key whose value has not come. One that is not text was reported, and its value is dropped.
struct Key<'a> {
    text: Option<Cow<'a, str>>,
    at: Span,
}

/// Whether the next value is a mapping's key.
fn awaits_key(open: Option<&Open<'_>>) -> bool {
    matches!(open, Some(Open::Map { key: None, .. }))
}

impl<'a> Reader<'a, '_> {
    fn event(&mut self, event: Event<'a>, span: &granit_parser::Span) -> Result<(), Diagnostic> {
        let place = self.place(span);
        self.properties(&event, span, place);
        match event {
            Event::DocumentStart(..) => return self.document(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.refuse(place, "an alias is not allowed here");
                self.count(place)?;
                return self.value(Yaml::Bad, place);
            }
            Event::Scalar(text, style, ..) => {
                self.count(place)?;
                return self.scalar(text, style, place);
            }
            Event::SequenceStart(style, ..) => {
                let start = self.start(style, place)?;
                let items = Vec::new();
                self.open.push(Open::List { start, items });
            }
            Event::MappingStart(style, ..) => {
                let start = self.start(style, place)?;
                self.open.push(Open::Map {
                    start,
                    entries: Vec::new(),
                    seen: HashMap::new(),
                    key: None,
                });
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(place),
            // The edges of the stream carry no values.
            _ => {}
        }
        Ok(())
    }

    /// The place of a parser's span in the whole file, on character boundaries.
    fn place(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let length = self.at.range().len();
        let start = range.start.min(length);
        let end = range.end.clamp(start, length);
        self.on_boundaries(self.at.part(start..end))
    }

    fn on_boundaries(&self, span: Span) -> Span {
        let range = span.range();
        Span::new(
            self.text.floor_char_boundary(range.start),
            self.text.ceil_char_boundary(range.end),
        )
    }

    /// Notes anchors and tags, which any node may carry.
    fn properties(&mut self, event: &Event<'a>, span: &granit_parser::Span, place: Span) {
        let anchor = match event {
            Event::Scalar(_, _, anchor, _)
            | Event::SequenceStart(_, anchor, _)
            | Event::MappingStart(_, anchor, _) => *anchor,
            _ => 0,
        };
        if anchor != 0 {
            self.refuse(place, "an anchor is not allowed here");
        }
        if event.tag().is_some() {
            let tag = span.tag_span().map_or(place, |tag| self.place(&tag));
            self.refuse(tag, "a tag is not allowed here");
        }
    }

    fn refuse(&mut self, place: Span, message: &str) {
        let help = "write the value out: anchors, aliases, tags and merge keys are not used";
        self.mistakes
            .note(Diagnostic::new(Code::YamlFeature, place, message).help(help));
    }

    fn document(&mut self, place: Span) -> Result<(), Diagnostic> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(Diagnostic::new(
            Code::YamlFeature,
            place,
            "a second document begins here; there may be only one",
        ))
    }

    fn count(&mut self, place: Span) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("there are more than {MAX_NODES} values");
        Err(Diagnostic::new(Code::YamlTooLarge, place, message))
    }

    fn start(&mut self, style: StructureStyle, place: Span) -> Result<Span, Diagnostic> {
        self.count(place)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(place));
        }
        // A block collection has no brackets: it begins where its first child does.
        let end = match style {
            StructureStyle::Block => place.start,
            StructureStyle::Flow => place.end,
        };
        Ok(Span { end, ..place })
    }

    fn scalar(
        &mut self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        place: Span,
    ) -> Result<(), Diagnostic> {
        let value = match style {
            ScalarStyle::Plain => scalar::plain(text),
            _ => Yaml::Text(text),
        };
        let place = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.trimmed(place),
            _ => place,
        };
        self.value(value, place)
    }

    /// A block scalar's place without the line ends after it.
    fn trimmed(&self, place: Span) -> Span {
        let text = self.text.get(place.range()).unwrap_or("");
        place.part(0..text.trim_end().len())
    }

    fn close(&mut self, place: Span) -> Result<(), Diagnostic> {
        let (start, last, value) = match self.open.pop() {
            None => return Ok(()),
            Some(Open::List { start, mut items }) => {
                items.shrink_to_fit();
                let last = items.last().map(|item| item.span.end);
                (start, last, Yaml::List(items))
            }
            Some(Open::Map {
                start, mut entries, ..
            }) => {
                entries.shrink_to_fit();
                let last = entries.last().map(|entry| entry.value.span.end);
                (start, last, Yaml::Map(entries))
            }
        };
        let in_brackets = start.end > start.start;
        let end = if in_brackets {
            place.end
        } else {
            last.unwrap_or(start.end)
        };
        let span = Span {
            start: start.start,
            end: end.max(start.start),
        };
        self.value(value, span)
    }

    /// Puts a finished value where it belongs.
    fn value(&mut self, value: Yaml<'a>, span: Span) -> Result<(), Diagnostic> {
        if awaits_key(self.open.last()) {
            return self.key(value, span);
        }
        let node = Node { value, span };
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map {
                entries, seen, key, ..
            }) => {
                let Some(Key {
                    text: Some(key),
                    at,
                }) = key.take()
                else {
                    return Ok(());
                };
                match first_use(entries, seen, &key, at) {
                    Some(first) => self.mistakes.note(duplicate(&key, at, first)),
                    None => entries.push(Entry {
                        key,
                        at,
                        value: node,
                    }),
                }
            }
        }
        Ok(())
    }

    fn key(&mut self, value: Yaml<'a>, at: Span) -> Result<(), Diagnostic> {
        let text = match value {
            Yaml::Text(text) => Some(text),
            other => {
                self.mistakes.note(self.no_key(&other, at));
                None
            }
        };
        if text.as_deref() == Some("<<") {
            self.refuse(at, "a merge key is not allowed here");
        }
        if let Some(Open::Map { key, .. }) = self.open.last_mut() {
            let text = text.filter(|text| text != "<<");
            *key = Some(Key { text, at });
        }
        Ok(())
    }

    fn no_key(&self, value: &Yaml<'_>, at: Span) -> Diagnostic {
        let mistake = Diagnostic::new(Code::YamlFeature, at, "a key must be text");
        match (value, self.text.get(at.range())) {
            (Yaml::List(_) | Yaml::Map(_) | Yaml::Bad, _) | (_, None | Some("")) => mistake,
            (_, Some(written)) => mistake.help(format!("write \"{written}\"")),
        }
    }

    fn broken(&self, error: &ScanError) -> Diagnostic {
        let length = self.at.range().len();
        let offset = error.marker().byte_offset().unwrap_or(length).min(length);
        let start = self.at.start as usize + offset;
        let next = self.text.get(start..).and_then(|rest| rest.chars().next());
        let width = next.filter(|c| !c.is_control()).map_or(0, char::len_utf8);
        let place = self.on_boundaries(Span::new(start, start + width));
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => too_deep(place),
            ErrorKind::DirectiveDisallowed => {
                Diagnostic::new(Code::YamlFeature, place, "a directive is not allowed here")
            }
            kind => Diagnostic::new(Code::YamlSyntax, place, kind.to_string()),
        }
    }
}

fn too_deep(place: Span) -> Diagnostic {
    let message = format!("this is nested more than {MAX_DEPTH} deep");
    Diagnostic::new(Code::YamlTooLarge, place, message)
}

/// Where a mapping has the key already; remembers the key otherwise.
fn first_use<'a>(
    entries: &[Entry<'a>],
    seen: &mut HashMap<Cow<'a, str>, Span>,
    key: &Cow<'a, str>,
    at: Span,
) -> Option<Span> {
    if entries.len() < FEW_KEYS {
        let first = entries.iter().find(|entry| entry.key == *key);
        return first.map(|entry| entry.at);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|entry| (entry.key.clone(), entry.at)));
    }
    if let Some(first) = seen.get(key) {
        return Some(*first);
    }
    seen.insert(key.clone(), at);
    None
}

fn duplicate(key: &str, at: Span, first: Span) -> Diagnostic {
    let message = format!("the key `{key}` stands twice in this mapping");
    Diagnostic::new(Code::YamlDuplicateKey, at, message).also(first, "first here")
}
