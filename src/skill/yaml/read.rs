use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::tree::Tree;
use super::{Broken, Document, Form, Node, OddKind, Value, tabs};
use crate::source::Span;

/// How deep lists and mappings may be nested.
pub(in crate::skill) const MAX_DEPTH: usize = 64;

/// How many values there may be.
pub(in crate::skill) const MAX_NODES: usize = 100_000;

/// Reads the YAML that stands at `at` in `text`.
pub(in crate::skill) fn read(text: &str, at: Span) -> Result<Document, Broken> {
    let yaml = text.get(at.range()).unwrap_or("");
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = Reader {
        yaml,
        tree: Tree::default(),
        scalars: Vec::new(),
        nodes: 0,
        documents: 0,
    };
    let read = Parser::new_from_str_with_options(yaml, options).try_for_each(|event| match event {
        Ok((event, span)) => reader.event(event, &span),
        Err(error) => Err(reader.broken(&error)),
    });
    let moved = |span: Span| at.part(span.range());
    read.map_err(|broken| Broken {
        span: moved(broken.span),
        ..broken
    })?;
    let tab = tabs::outside(yaml, &reader.scalars);
    let Reader { mut tree, .. } = reader;
    if let Some(tab) = tab {
        tree.note(OddKind::Tab, tab);
    }
    for odd in &mut tree.odd {
        odd.span = moved(odd.span);
    }
    tree.odd.sort_by_key(|odd| odd.span.start);
    if let Some(root) = &mut tree.root {
        root.places(&moved);
    }
    Ok(Document {
        root: tree.root,
        odd: tree.odd,
    })
}

struct Reader<'a> {
    yaml: &'a str,
    tree: Tree,
    /// Where scalars stand, in order.
    scalars: Vec<(Span, Form)>,
    nodes: usize,
    documents: usize,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, span: &granit_parser::Span) -> Result<(), Broken> {
        let place = self.place(span);
        if event.tag().is_some() {
            self.tree.note(OddKind::Tag, place);
        }
        match event {
            Event::Anchor(..) => self.tree.note(OddKind::Anchor, place),
            Event::DocumentStart(..) => return self.document(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.count(place)?;
                self.tree.note(OddKind::Alias, place);
                self.value(String::new(), Form::Plain, place);
            }
            Event::Scalar(text, style, ..) => {
                self.count(place)?;
                let form = form(style);
                self.scalars.push((place, form));
                let place = match form {
                    Form::Literal | Form::Folded => self.trimmed(place),
                    _ => place,
                };
                // The parser says `~` where nothing is written.
                let is_written = form != Form::Plain || place.end > place.start;
                let text = if is_written {
                    text.into_owned()
                } else {
                    String::new()
                };
                self.value(text, form, place);
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
                let yaml = self.yaml;
                self.tree.close(place, |span| column(yaml, span));
            }
            // The edges of the stream carry no values.
            _ => {}
        }
        Ok(())
    }

    fn value(&mut self, text: String, form: Form, span: Span) {
        let value = Value::Text(text);
        let yaml = self.yaml;
        let node = Node { value, span, form };
        self.tree.value(node, |span| column(yaml, span));
    }

    fn place(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let start = range.start.min(self.yaml.len());
        let end = range.end.clamp(start, self.yaml.len());
        Span::new(
            self.yaml.floor_char_boundary(start),
            self.yaml.ceil_char_boundary(end),
        )
    }

    /// A block's place without the line ends after it.
    fn trimmed(&self, place: Span) -> Span {
        let text = self.yaml.get(place.range()).unwrap_or("");
        place.part(0..text.trim_end().len())
    }

    fn document(&mut self, span: Span) -> Result<(), Broken> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let message = "a second document begins here";
        Err(Broken::new(span, message))
    }

    fn count(&mut self, span: Span) -> Result<(), Broken> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("there are more than {MAX_NODES} values");
        Err(Broken::new(span, message))
    }

    fn start(&mut self, style: StructureStyle, place: Span) -> Result<(Span, Form), Broken> {
        self.count(place)?;
        if self.tree.depth() >= MAX_DEPTH {
            let message = format!("this is nested more than {MAX_DEPTH} deep");
            return Err(Broken::new(place, message));
        }
        Ok(match style {
            // Without brackets it begins where its first child does.
            StructureStyle::Block => (place.part(0..0), Form::Block),
            StructureStyle::Flow => {
                self.tree.note(OddKind::Flow, place);
                (place, Form::Flow)
            }
        })
    }

    fn broken(&self, error: &ScanError) -> Broken {
        let length = self.yaml.len();
        let offset = error.marker().byte_offset().unwrap_or(length).min(length);
        let start = self.yaml.floor_char_boundary(offset);
        Broken {
            span: Span::new(start, start),
            message: error.kind().to_string(),
            wants_blank: matches!(
                error.kind(),
                ErrorKind::CommentNotSeparated
                    | ErrorKind::InvalidQuotedScalarIndent
                    | ErrorKind::TabInIndentation
            ),
        }
    }
}

fn form(style: ScalarStyle) -> Form {
    match style {
        ScalarStyle::Literal => Form::Literal,
        ScalarStyle::Folded => Form::Folded,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Form::Quoted,
        ScalarStyle::Plain => Form::Plain,
    }
}

/// How many characters stand before a place in its line.
fn column(yaml: &str, span: Span) -> usize {
    let before = yaml.get(..span.start as usize).unwrap_or("");
    let line = before.rsplit(['\n', '\r']).next().unwrap_or("");
    line.chars().count()
}
