use std::collections::HashMap;

use super::DiagnosticList;
use crate::yaml::{YamlNode, YamlValue};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::ValueSchema;

/// A type with a form in the tree.
pub trait DecodeSpec: Sized {
    /// The usual first key of a mapping of this type; empty if it is no mapping.
    const FIRST: &'static str = "";

    /// Decodes a value. Mistakes in it are noted; `None` if nothing usable is left.
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self>;
}

/// The file being decoded and the mistakes found in it.
#[derive(Debug)]
pub struct SpecDecoder<'a> {
    text: &'a str,
    diagnostics: DiagnosticList,
    schemas: HashMap<String, ValueSchema>,
}

impl<'a> SpecDecoder<'a> {
    /// Starts on a file; `mistakes` are those found so far.
    pub fn new(text: &'a str, diagnostics: DiagnosticList) -> Self {
        Self { text, diagnostics, schemas: HashMap::new() }
    }

    /// Returns all mistakes found.
    pub fn into_mistakes(self) -> DiagnosticList {
        self.diagnostics
    }

    /// Notes a mistake.
    pub fn emit(&mut self, mistake: Diagnostic) {
        self.diagnostics.push(mistake);
    }

    /// True if further mistakes would not be kept.
    pub fn is_full(&self) -> bool {
        self.diagnostics.is_full()
    }

    /// Returns the text at a location of the file.
    pub fn source_text(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Returns the location of the content of a text. If the file has it letter by letter, the span
    /// is exactly as long as the text; otherwise (escapes, several lines) it is never that long.
    pub fn content(&self, node: &YamlNode<'_>) -> Span {
        let YamlValue::Text(text) = &node.value else {
            return node.span;
        };
        let range = node.span.range();
        let inner = node.span.subspan(1..range.len().max(2) - 1);
        if self.source_text(node.span) == text {
            node.span
        } else if self.source_text(inner) == text {
            inner
        } else if range.len() == text.len() {
            Span { end: node.span.start, ..node.span }
        } else {
            node.span
        }
    }

    /// Notes that a value is not of the type expected, for example "text". A value already reported
    /// as wrong is not reported again.
    pub fn wrong_type(&mut self, node: &YamlNode<'_>, expected: &str) {
        if node.value != YamlValue::Bad {
            self.emit(wrong_type(node, expected));
        }
    }

    /// Notes that a value should be a list; a single word is easily turned into one.
    fn expected_list(&mut self, node: &YamlNode<'_>, first: &str) {
        match &node.value {
            YamlValue::Bad => {}
            YamlValue::Map(entries) if matches!(first, "id" | "name") => {
                let key = entries.first().map_or("NAME", |entry| &entry.key);
                let help = format!("write a list: the first item starts with `- {first}: {key}`");
                self.emit(wrong_type(node, "a list").with_help(help));
            }
            YamlValue::Text(word) if !word.contains(char::is_whitespace) => {
                let help = format!("write [{word}]");
                self.emit(wrong_type(node, "a list").with_help(help));
            }
            _ => self.emit(wrong_type(node, "a list")),
        }
    }

    /// Notes a useless value of the right type.
    pub fn wrong_value(&mut self, node: &YamlNode<'_>, message: impl Into<String>) {
        let span = self.content(node);
        self.emit(Diagnostic::new(Code::ValueWrong, span, message));
    }

    /// Notes each number used as another text: `3.10` is 3.1.
    pub fn note_rewritten_numbers(&mut self, node: &YamlNode<'_>) {
        match &node.value {
            YamlValue::Number(number) => {
                let (written, used) = (self.source_text(node.span).to_owned(), number.to_string());
                if written != used {
                    let message = format!("`{written}` is the number {used}");
                    let help = format!("write \"{written}\" to keep it as it is, or {used}");
                    let mistake = Diagnostic::new(Code::NumberRewritten, node.span, message);
                    self.emit(mistake.with_help(help));
                }
            }
            YamlValue::List(items) => items.iter().for_each(|item| self.note_rewritten_numbers(item)),
            YamlValue::Map(entries) => {
                for entry in entries {
                    self.note_rewritten_numbers(&entry.value);
                }
            }
            _ => {}
        }
    }

    /// Compiles a JSON Schema, once for all occurrences of the same text.
    pub fn schema(&mut self, text: serde_json::Value, span: Span) -> Option<ValueSchema> {
        let key = text.to_string();
        if let Some(value_schema) = self.schemas.get(&key) {
            return Some(value_schema.clone());
        }
        match ValueSchema::new(text) {
            Ok(schema) => {
                self.schemas.insert(key, schema.clone());
                Some(schema)
            }
            Err(bad) => {
                self.emit(Diagnostic::new(Code::SchemaInvalid, span, bad.to_string()));
                None
            }
        }
    }
}

/// Returns the mistake of a value of the wrong type.
pub(super) fn wrong_type(node: &YamlNode<'_>, expected: &str) -> Diagnostic {
    let message = format!("expected {expected}, found {}", node.noun());
    Diagnostic::new(Code::TypeWrong, node.head(), message)
}

impl<T: DecodeSpec> DecodeSpec for Spanned<T> {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let value = T::decode(node, decoder)?;
        Some(Self::new(value, decoder.content(node)))
    }
}

impl<T: DecodeSpec> DecodeSpec for Box<T> {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        T::decode(node, decoder).map(Self::new)
    }
}

impl<T: DecodeSpec> DecodeSpec for Vec<T> {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        let YamlValue::List(items) = &node.value else {
            decoder.expected_list(node, T::FIRST);
            return None;
        };
        // Allocates exactly: a hundred thousand steps should not be copied to grow.
        let mut values = Self::with_capacity(items.len());
        values.extend(items.iter().filter_map(|item| T::decode(item, decoder)));
        Some(values)
    }
}
