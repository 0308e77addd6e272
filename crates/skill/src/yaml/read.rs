use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StructureStyle};

use super::tree::SkillYamlBuilder;
use super::{
    SkillYamlDocument, SkillYamlNode, SkillYamlValue, YamlNotation, YamlOddityKind, YamlSyntaxError, tabs,
};
use wf_base::source::Span;

/// The maximum nesting depth of lists and mappings.
pub(crate) const MAX_DEPTH: usize = 64;

/// The maximum number of values.
pub(crate) const MAX_NODES: usize = 100_000;

/// Reads the YAML in the span `at` of `text`.
pub(crate) fn read(text: &str, at: Span) -> Result<SkillYamlDocument, YamlSyntaxError> {
    let yaml = text.get(at.range()).unwrap_or("");
    let options = granit_parser::options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reader = SkillYamlReader {
        yaml,
        tree: SkillYamlBuilder::default(),
        scalars: Vec::new(),
        nodes: 0,
        documents: 0,
    };
    let read = Parser::new_from_str_with_options(yaml, options).try_for_each(|event| match event {
        Ok((event, span)) => reader.event(event, &span),
        Err(error) => Err(reader.broken(&error)),
    });
    let moved = |span: Span| at.subspan(span.range());
    read.map_err(|broken| YamlSyntaxError { span: moved(broken.span), ..broken })?;
    let tab = tabs::outside(yaml, &reader.scalars);
    let SkillYamlReader { mut tree, .. } = reader;
    if let Some(tab) = tab {
        tree.note(YamlOddityKind::Tab, tab);
    }
    for odd in &mut tree.odd {
        odd.span = moved(odd.span);
    }
    tree.odd.sort_by_key(|odd| odd.span.start);
    if let Some(root) = &mut tree.root {
        root.places(&moved);
    }
    Ok(SkillYamlDocument { root: tree.root, odd: tree.odd })
}

struct SkillYamlReader<'a> {
    yaml: &'a str,
    tree: SkillYamlBuilder,
    /// The spans of scalars, in order.
    scalars: Vec<(Span, YamlNotation)>,
    nodes: usize,
    documents: usize,
}

impl SkillYamlReader<'_> {
    fn event(&mut self, event: Event<'_>, span: &granit_parser::Span) -> Result<(), YamlSyntaxError> {
        let place = self.place(span);
        if event.tag().is_some() {
            self.tree.note(YamlOddityKind::Tag, place);
        }
        match event {
            Event::Anchor(..) => self.tree.note(YamlOddityKind::Anchor, place),
            Event::DocumentStart(..) => return self.document(place),
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.count(place)?;
                self.tree.note(YamlOddityKind::Alias, place);
                self.value(String::new(), YamlNotation::Plain, place);
            }
            Event::Scalar(text, style, ..) => {
                self.count(place)?;
                let form = form(style);
                self.scalars.push((place, form));
                let place = match form {
                    YamlNotation::Literal | YamlNotation::Folded => self.trimmed(place),
                    _ => place,
                };
                // The parser returns `~` for an empty value.
                let is_written = form != YamlNotation::Plain || place.end > place.start;
                let text = if is_written { text.into_owned() } else { String::new() };
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

    fn value(&mut self, text: String, form: YamlNotation, span: Span) {
        let value = SkillYamlValue::Text(text);
        let yaml = self.yaml;
        let node = SkillYamlNode { value, span, form };
        self.tree.value(node, |span| column(yaml, span));
    }

    fn place(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        let start = range.start.min(self.yaml.len());
        let end = range.end.clamp(start, self.yaml.len());
        Span::new(self.yaml.floor_char_boundary(start), self.yaml.ceil_char_boundary(end))
    }

    /// Returns a block's span without the line ends after it.
    fn trimmed(&self, place: Span) -> Span {
        let text = self.yaml.get(place.range()).unwrap_or("");
        place.subspan(0..text.trim_end().len())
    }

    fn document(&mut self, span: Span) -> Result<(), YamlSyntaxError> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let message = "a second document starts here";
        Err(YamlSyntaxError::new(span, message))
    }

    fn count(&mut self, span: Span) -> Result<(), YamlSyntaxError> {
        self.nodes += 1;
        if self.nodes <= MAX_NODES {
            return Ok(());
        }
        let message = format!("more than {MAX_NODES} values");
        Err(YamlSyntaxError::new(span, message))
    }

    fn start(&mut self, style: StructureStyle, place: Span) -> Result<(Span, YamlNotation), YamlSyntaxError> {
        self.count(place)?;
        if self.tree.depth() >= MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(YamlSyntaxError::new(place, message));
        }
        Ok(match style {
            // A structure without brackets begins where its first child does.
            StructureStyle::Block => (place.subspan(0..0), YamlNotation::Block),
            StructureStyle::Flow => {
                self.tree.note(YamlOddityKind::Flow, place);
                (place, YamlNotation::Flow)
            }
        })
    }

    fn broken(&self, error: &ScanError) -> YamlSyntaxError {
        let length = self.yaml.len();
        let offset = error.marker().byte_offset().unwrap_or(length).min(length);
        let start = self.yaml.floor_char_boundary(offset);
        YamlSyntaxError {
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

fn form(style: ScalarStyle) -> YamlNotation {
    match style {
        ScalarStyle::Literal => YamlNotation::Literal,
        ScalarStyle::Folded => YamlNotation::Folded,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => YamlNotation::Quoted,
        ScalarStyle::Plain => YamlNotation::Plain,
    }
}

/// Returns the number of characters before a span in its line.
fn column(yaml: &str, span: Span) -> usize {
    let before = yaml.get(..span.start as usize).unwrap_or("");
    let line = before.rsplit(['\n', '\r']).next().unwrap_or("");
    line.chars().count()
}
