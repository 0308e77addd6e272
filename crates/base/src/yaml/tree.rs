use std::{borrow::Cow, collections::HashMap};

use super::{YamlEntry, YamlNode, YamlNotation, YamlOddity, YamlOddityKind, YamlSchema, YamlValue};
use crate::source::Span;

/// The number of keys above which a mapping keeps a map of them to find duplicates.
const FEW_KEYS: usize = 8;

/// A tree that grows as its values are read.
///
/// The children of all open collections are in two rows, those of an inner one behind those of an outer one,
/// so a collection is made when it ends, once, and with its exact length.
pub(super) struct YamlTreeBuilder<'a> {
    text: &'a str,
    schema: YamlSchema,
    open: Vec<OpenYamlCollection<'a>>,
    nodes: Vec<YamlNode<'a>>,
    entries: Vec<YamlEntry<'a>>,
    pub(super) root_node: Option<YamlNode<'a>>,
}

/// A collection that is not closed yet.
struct OpenYamlCollection<'a> {
    /// Its opening bracket, or an empty span if it has none.
    start: Span,
    notation: YamlNotation,
    /// The start of its children.
    from: usize,
    /// Its state, if it is a mapping.
    map: Option<OpenYamlMapping<'a>>,
}

#[derive(Default)]
struct OpenYamlMapping<'a> {
    /// The keys and their positions, once there are many.
    seen: HashMap<Cow<'a, str>, usize>,
    key: Option<PendingYamlKey<'a>>,
    is_bad: bool,
    /// The column at which the first mapping among the values begins.
    column: Option<usize>,
}

/// A key whose value is not read yet.
struct PendingYamlKey<'a> {
    /// Its text; `None` if its value is dropped.
    text: Option<Cow<'a, str>>,
    at: Span,
    is_merge: bool,
}

impl<'a> YamlTreeBuilder<'a> {
    pub(super) fn new(text: &'a str, schema: YamlSchema) -> Self {
        Self { text, schema, open: Vec::new(), nodes: Vec::new(), entries: Vec::new(), root_node: None }
    }

    /// Returns the number of open collections.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Begins a list; `start` is its opening bracket, or empty if it has none.
    pub(super) fn open_list(&mut self, start: Span, notation: YamlNotation) {
        self.open.push(OpenYamlCollection { start, notation, from: self.nodes.len(), map: None });
    }

    /// Begins a mapping; `start` is its opening brace, or empty if it has none.
    pub(super) fn open_map(&mut self, start: Span, notation: YamlNotation) {
        let map = Some(OpenYamlMapping::default());
        self.open.push(OpenYamlCollection { start, notation, from: self.entries.len(), map });
    }

    /// Ends the innermost collection, and adds it to the one around it; `end` is its closing bracket,
    /// if it has one. Without one it ends with its last child.
    pub(super) fn close(&mut self, end: Span) -> Option<YamlOddity> {
        let OpenYamlCollection { start, notation, from, map } = self.open.pop()?;
        let (last, value) = match map {
            None => {
                let items: Vec<_> = self.nodes.drain(from..).collect();
                (items.last().map(|item| item.span.end), YamlValue::List(items))
            }
            Some(map) => {
                let entries: Vec<_> = self.entries.drain(from..).collect();
                let last = entries.last().map(|entry| entry.value.span.end);
                (last, if map.is_bad { YamlValue::Bad } else { YamlValue::Map(entries) })
            }
        };
        let end = match (notation, last) {
            (YamlNotation::Flow, _) => end.end,
            (_, Some(last)) => last,
            _ => start.end,
        };
        let span = Span { start: start.start, end: end.max(start.start) };
        self.value(YamlNode { value, span, notation })
    }

    /// Adds a key or a value to the innermost collection.
    pub(super) fn value(&mut self, node: YamlNode<'a>) -> Option<YamlOddity> {
        let Some(open) = self.open.last_mut() else {
            self.root_node = Some(node);
            return None;
        };
        let Some(map) = &mut open.map else {
            self.nodes.push(node);
            return None;
        };
        let span = node.span;
        let Some(PendingYamlKey { text, at, is_merge }) = map.key.take() else {
            let (key, odd) = key(self.text, node);
            map.is_bad |= odd == Some(YamlOddityKind::Template) && self.schema == YamlSchema::Core;
            map.key = Some(key);
            return odd.map(|kind| YamlOddity { kind, span });
        };
        if is_merge {
            return Some(YamlOddity { kind: YamlOddityKind::Merge(is_mergeable(&node)), span: at });
        }
        let (key, value) = (text?, node);
        let odd = is_misplaced(self.text, self.schema, map, &value)
            .then_some(YamlOddity { kind: YamlOddityKind::Column, span });
        let entry = YamlEntry { key, at, value };
        let own = self.entries.get_mut(open.from..).unwrap_or_default();
        let Some(first) = position(own, &mut map.seen, &entry) else {
            self.entries.push(entry);
            return odd;
        };
        let first = own.get_mut(first)?;
        let kind = YamlOddityKind::Duplicate(entry.key.to_string(), first.at);
        if self.schema == YamlSchema::Failsafe {
            *first = entry;
        }
        Some(YamlOddity { kind, span: at })
    }
}

/// Takes a key; anything but text is odd.
fn key<'a>(text: &str, node: YamlNode<'a>) -> (PendingYamlKey<'a>, Option<YamlOddityKind>) {
    let YamlNode { value, span: at, notation } = node;
    let before = text.get(..at.start as usize).unwrap_or_default();
    let odd = match value {
        YamlValue::Text(text) => {
            let is_merge = text == "<<" && notation == YamlNotation::Plain;
            return (PendingYamlKey { text: Some(text), at, is_merge }, None);
        }
        YamlValue::Map(_) if before.ends_with('{') => YamlOddityKind::Template,
        YamlValue::List(_) | YamlValue::Map(_) | YamlValue::Bad => YamlOddityKind::Key,
        _ if at.start == at.end => YamlOddityKind::Key,
        _ => YamlOddityKind::ScalarKey,
    };
    (PendingYamlKey { text: None, at, is_merge: false }, Some(odd))
}

/// True if a mapping is not at the column of the one before it in the same mapping, which only some
/// readers accept.
fn is_misplaced(text: &str, schema: YamlSchema, map: &mut OpenYamlMapping<'_>, node: &YamlNode<'_>) -> bool {
    if schema == YamlSchema::Core
        || node.notation != YamlNotation::Block
        || !matches!(node.value, YamlValue::Map(_))
    {
        return false;
    }
    let before = text.get(..node.span.start as usize).unwrap_or_default();
    let column = before.rsplit(['\n', '\r']).next().unwrap_or_default().chars().count();
    *map.column.get_or_insert(column) != column
}

/// True if a value is of a kind a merge key accepts.
fn is_mergeable(value: &YamlNode<'_>) -> bool {
    let is_map = |node: &YamlNode<'_>| matches!(node.value, YamlValue::Map(_));
    match &value.value {
        YamlValue::List(items) => items.iter().all(is_map),
        _ => is_map(value),
    }
}

/// Returns the position of a duplicate key's first use in a mapping; remembers a new key otherwise.
fn position<'a>(
    entries: &[YamlEntry<'a>],
    seen: &mut HashMap<Cow<'a, str>, usize>,
    new_entry: &YamlEntry<'a>,
) -> Option<usize> {
    if entries.len() < FEW_KEYS {
        return entries.iter().position(|entry| entry.key == new_entry.key);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().enumerate().map(|(at, entry)| (entry.key.clone(), at)));
    }
    if let Some(first) = seen.get(&new_entry.key) {
        return Some(*first);
    }
    seen.insert(new_entry.key.clone(), entries.len());
    None
}
