use std::borrow::Cow;
use std::collections::HashMap;

use super::{YamlEntry, YamlNode, YamlValue};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// The number of keys above which a mapping keeps a set of them to find duplicates.
const FEW_KEYS: usize = 8;

/// A tree that grows as its values are read.
///
/// The children of all open collections are in two rows, those of an inner one behind those of an
/// outer one, so that a collection is made when it ends, once, and with its exact length.
#[derive(Default)]
pub(super) struct YamlTreeBuilder<'a> {
    open: Vec<OpenYamlCollection<'a>>,
    items: Vec<YamlNode<'a>>,
    entries: Vec<YamlEntry<'a>>,
    pub(super) root: Option<YamlNode<'a>>,
}

/// A collection that is not closed yet; `from` is the start of its children.
enum OpenYamlCollection<'a> {
    List {
        start: Span,
        from: usize,
    },
    Map {
        start: Span,
        from: usize,
        seen: HashMap<Cow<'a, str>, Span>,
        key: Option<PendingYamlKey<'a>>,
        bad: bool,
    },
}

/// A key whose value is not read yet.
#[derive(Default)]
pub(super) struct PendingYamlKey<'a> {
    /// `None` if it is not text; then its value is dropped.
    pub(super) text: Option<Cow<'a, str>>,
    /// The location.
    pub(super) at: Span,
    /// True if it makes the whole mapping invalid.
    pub(super) is_merge_key: bool,
}

impl<'a> YamlTreeBuilder<'a> {
    /// Returns the number of open collections.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// True if the next value is a mapping's key.
    pub(super) fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(OpenYamlCollection::Map { key: None, .. }))
    }

    /// Begins a list; `start` is its opening bracket, or empty if it has none.
    pub(super) fn open_list(&mut self, start: Span) {
        let from = self.items.len();
        self.open.push(OpenYamlCollection::List { start, from });
    }

    /// Begins a mapping; `start` is its opening brace, or empty if it has none.
    pub(super) fn open_map(&mut self, start: Span) {
        self.open.push(OpenYamlCollection::Map {
            start,
            from: self.entries.len(),
            seen: HashMap::new(),
            key: None,
            bad: false,
        });
    }

    /// Sets the key of the next value.
    pub(super) fn key(&mut self, new: PendingYamlKey<'a>) {
        if let Some(OpenYamlCollection::Map { key, bad, .. }) = self.open.last_mut() {
            *bad |= new.is_merge_key;
            *key = Some(new);
        }
    }

    /// Ends the innermost collection; `end` is its closing bracket, if it has one. Without one it
    /// ends with its last child.
    pub(super) fn close(&mut self, end: Span) -> Option<YamlNode<'a>> {
        let (start, last, value) = match self.open.pop()? {
            OpenYamlCollection::List { start, from } => {
                let items: Vec<_> = self.items.drain(from..).collect();
                let last = items.last().map(|item| item.span.end);
                (start, last, YamlValue::List(items))
            }
            OpenYamlCollection::Map { start, from, bad, .. } => {
                let entries: Vec<_> = self.entries.drain(from..).collect();
                let last = entries.last().map(|entry| entry.value.span.end);
                let value = if bad { YamlValue::Bad } else { YamlValue::Map(entries) };
                (start, last, value)
            }
        };
        let has_brackets = start.end > start.start;
        let end = match last {
            _ if has_brackets => end.end,
            Some(last) => last,
            None => start.end,
        };
        let span = Span { start: start.start, end: end.max(start.start) };
        Some(YamlNode { value, span })
    }

    /// Adds a finished value to its collection; returns the mistake of a duplicate key.
    pub(super) fn value(&mut self, node: YamlNode<'a>) -> Option<Diagnostic> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenYamlCollection::List { .. }) => self.items.push(node),
            Some(OpenYamlCollection::Map { from, seen, key, .. }) => {
                let PendingYamlKey { text, at, .. } = key.take().unwrap_or_default();
                let (key, value) = (text?, node);
                let entry = YamlEntry { key, at, value };
                let own = self.entries.get(*from..).unwrap_or_default();
                if let Some(first) = first_use(own, seen, &entry) {
                    return Some(duplicate(&entry, first));
                }
                self.entries.push(entry);
            }
        }
        None
    }
}

/// Returns the earlier location of a duplicate key in a mapping; remembers a new key otherwise.
fn first_use<'a>(
    entries: &[YamlEntry<'a>],
    seen: &mut HashMap<Cow<'a, str>, Span>,
    new: &YamlEntry<'a>,
) -> Option<Span> {
    if entries.len() < FEW_KEYS {
        let first = entries.iter().find(|entry| entry.key == new.key);
        return first.map(|entry| entry.at);
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|entry| (entry.key.clone(), entry.at)));
    }
    if let Some(first) = seen.get(&new.key) {
        return Some(*first);
    }
    seen.insert(new.key.clone(), new.at);
    None
}

fn duplicate(entry: &YamlEntry<'_>, first: Span) -> Diagnostic {
    let message = format!("duplicate key `{}` in this mapping", entry.key);
    Diagnostic::new(Code::YamlDuplicateKey, entry.at, message).with_related(first, "first defined here")
}
