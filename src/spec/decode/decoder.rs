use std::collections::HashMap;

use super::Mistakes;
use crate::diag::{Code, Diagnostic};
use crate::model::Schema;
use crate::source::{Span, Spanned};
use crate::spec::yaml::{Node, Yaml};

/// A type that can be read from a value of the tree.
pub trait Decode: Sized {
    /// The key that stands first in a mapping of this type; empty if it is no mapping.
    const FIRST: &'static str = "";

    /// Reads a value. What is wrong with it is noted; `None` if nothing usable is left.
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self>;
}

/// The file being decoded and what was found wrong with it.
#[derive(Debug)]
pub struct Decoder<'a> {
    text: &'a str,
    mistakes: Mistakes,
    schemas: HashMap<String, Schema>,
}

impl<'a> Decoder<'a> {
    /// Starts on a file; `mistakes` are those found so far.
    pub fn new(text: &'a str, mistakes: Mistakes) -> Self {
        Self {
            text,
            mistakes,
            schemas: HashMap::new(),
        }
    }

    /// Everything found wrong.
    pub fn into_mistakes(self) -> Mistakes {
        self.mistakes
    }

    /// Notes a mistake.
    pub fn note(&mut self, mistake: Diagnostic) {
        self.mistakes.note(mistake);
    }

    /// Whether more mistakes would not be kept.
    pub fn is_full(&self) -> bool {
        self.mistakes.is_full()
    }

    /// What stands at a place of the file.
    pub fn written(&self, span: Span) -> &'a str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// Where the content of a text stands. If the file has it letter by letter, the span is
    /// exactly as long as the text; otherwise (escapes, several lines) it is never that long.
    pub fn content(&self, node: &Node<'_>) -> Span {
        let Yaml::Text(text) = &node.value else {
            return node.span;
        };
        let range = node.span.range();
        let inner = node.span.part(1..range.len().max(2) - 1);
        if self.written(node.span) == text {
            node.span
        } else if self.written(inner) == text {
            inner
        } else if range.len() == text.len() {
            Span {
                end: node.span.start,
                ..node.span
            }
        } else {
            node.span
        }
    }

    /// Notes that a value is not of the type expected, for example "text". What is wrong
    /// already is not reported again.
    pub fn wrong_type(&mut self, node: &Node<'_>, expected: &str) {
        if node.value != Yaml::Bad {
            self.note(wrong_type(node, expected));
        }
    }

    /// Notes that a value should be a list, which one word can easily become.
    fn no_list(&mut self, node: &Node<'_>, first: &str) {
        match &node.value {
            Yaml::Bad => {}
            Yaml::Map(entries) if matches!(first, "id" | "name") => {
                let key = entries.first().map_or("a_name", |entry| &entry.key);
                let help = format!("write a list: the first item begins `- {first}: {key}`");
                self.note(wrong_type(node, "a list").help(help));
            }
            Yaml::Text(word) if !word.contains(char::is_whitespace) => {
                let help = format!("write [{word}]");
                self.note(wrong_type(node, "a list").help(help));
            }
            _ => self.note(wrong_type(node, "a list")),
        }
    }

    /// Notes that a value of the right type cannot be used.
    pub fn wrong_value(&mut self, node: &Node<'_>, message: impl Into<String>) {
        let span = self.content(node);
        self.note(Diagnostic::new(Code::ValueWrong, span, message));
    }

    /// Compiles a JSON Schema, once for all places that write the same.
    pub fn schema(&mut self, text: serde_json::Value, span: Span) -> Option<Schema> {
        let key = text.to_string();
        if let Some(known) = self.schemas.get(&key) {
            return Some(known.clone());
        }
        match Schema::new(text) {
            Ok(schema) => {
                self.schemas.insert(key, schema.clone());
                Some(schema)
            }
            Err(bad) => {
                self.note(Diagnostic::new(Code::SchemaInvalid, span, bad.to_string()));
                None
            }
        }
    }
}

/// The mistake of a value of the wrong type.
pub(super) fn wrong_type(node: &Node<'_>, expected: &str) -> Diagnostic {
    let message = format!("expected {expected}, found {}", node.noun());
    Diagnostic::new(Code::TypeWrong, node.head(), message)
}

impl<T: Decode> Decode for Spanned<T> {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let value = T::decode(node, decoder)?;
        Some(Self::new(value, decoder.content(node)))
    }
}

impl<T: Decode> Decode for Box<T> {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        T::decode(node, decoder).map(Self::new)
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(node: &Node<'_>, decoder: &mut Decoder<'_>) -> Option<Self> {
        let Yaml::List(items) = &node.value else {
            decoder.no_list(node, T::FIRST);
            return None;
        };
        // Exactly as many as there are: a hundred thousand steps should not be copied to grow.
        let mut all = Self::with_capacity(items.len());
        all.extend(items.iter().filter_map(|item| T::decode(item, decoder)));
        Some(all)
    }
}
