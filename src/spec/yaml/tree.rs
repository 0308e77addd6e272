use std::borrow::Cow;
use std::collections::HashMap;

use super::{Entry, Node, Yaml};
use crate::diag::{Code, Diagnostic};
use crate::source::Span;

/// A mapping with more keys than this keeps a set of them to find duplicates.
const FEW_KEYS: usize = 8;

/// A tree that grows as its values are read.
///
/// The children of all open collections stand in two rows, those of an inner one behind those of
/// an outer one, so that a collection is made when it ends, once, and exactly as long as it is.
#[derive(Default)]
pub(super) struct Tree<'a> {
    open: Vec<Open<'a>>,
    items: Vec<Node<'a>>,
    entries: Vec<Entry<'a>>,
    pub(super) root: Option<Node<'a>>,
}

/// A collection whose end has not come; `from` is where its children begin.
enum Open<'a> {
    List {
        start: Span,
        from: usize,
    },
    Map {
        start: Span,
        from: usize,
        seen: HashMap<Cow<'a, str>, Span>,
        key: Option<Key<'a>>,
        bad: bool,
    },
}

/// A key whose value has not come.
#[derive(Default)]
pub(super) struct Key<'a> {
    /// `None` if it is not text; then its value is dropped.
    pub(super) text: Option<Cow<'a, str>>,
    /// Where it stands.
    pub(super) at: Span,
    /// Whether it spoils the whole mapping.
    pub(super) spoils: bool,
}

impl<'a> Tree<'a> {
    /// How many collections are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Whether the next value is a mapping's key.
    pub(super) fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map { key: None, .. }))
    }

    /// Begins a list; `start` is its opening bracket, or empty if it has none.
    pub(super) fn open_list(&mut self, start: Span) {
        let from = self.items.len();
        self.open.push(Open::List { start, from });
    }

    /// Begins a mapping; `start` is its opening brace, or empty if it has none.
    pub(super) fn open_map(&mut self, start: Span) {
        self.open.push(Open::Map {
            start,
            from: self.entries.len(),
            seen: HashMap::new(),
            key: None,
            bad: false,
        });
    }

    /// Takes the key of the next value.
    pub(super) fn key(&mut self, new: Key<'a>) {
        if let Some(Open::Map { key, bad, .. }) = self.open.last_mut() {
            *bad |= new.spoils;
            *key = Some(new);
        }
    }

    /// Ends the innermost collection; `end` is its closing bracket, if it has one. What has none
    /// ends with its last child.
    pub(super) fn close(&mut self, end: Span) -> Option<Node<'a>> {
        let (start, last, value) = match self.open.pop()? {
            Open::List { start, from } => {
                let items: Vec<_> = self.items.drain(from..).collect();
                let last = items.last().map(|item| item.span.end);
                (start, last, Yaml::List(items))
            }
            Open::Map {
                start, from, bad, ..
            } => {
                let entries: Vec<_> = self.entries.drain(from..).collect();
                let last = entries.last().map(|entry| entry.value.span.end);
                let value = if bad { Yaml::Bad } else { Yaml::Map(entries) };
                (start, last, value)
            }
        };
        let has_brackets = start.end > start.start;
        let end = match last {
            _ if has_brackets => end.end,
            Some(last) => last,
            None => start.end,
        };
        let span = Span {
            start: start.start,
            end: end.max(start.start),
        };
        Some(Node { value, span })
    }

    /// Puts a finished value where it belongs; the mistake of a key that is there already.
    pub(super) fn value(&mut self, node: Node<'a>) -> Option<Diagnostic> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { .. }) => self.items.push(node),
            Some(Open::Map {
                from, seen, key, ..
            }) => {
                let Key { text, at, .. } = key.take().unwrap_or_default();
                let (key, value) = (text?, node);
                let entry = Entry { key, at, value };
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

/// Where a mapping has an entry's key already; remembers the key otherwise.
fn first_use<'a>(
    entries: &[Entry<'a>],
    seen: &mut HashMap<Cow<'a, str>, Span>,
    new: &Entry<'a>,
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

fn duplicate(entry: &Entry<'_>, first: Span) -> Diagnostic {
    let message = format!("the key `{}` stands twice in this mapping", entry.key);
    Diagnostic::new(Code::YamlDuplicateKey, entry.at, message).also(first, "first here")
}
