use std::collections::HashMap;

use super::{Entry, Form, Node, Odd, OddKind, Value};
use crate::source::Span;

/// A tree that grows as its values are read.
#[derive(Default)]
pub(super) struct Tree {
    open: Vec<Open>,
    pub(super) root: Option<Node>,
    pub(super) odd: Vec<Odd>,
}

/// A list or a mapping whose end has not come.
struct Open {
    start: Span,
    form: Form,
    kind: Kind,
}

enum Kind {
    List(Vec<Node>),
    Map(Map),
}

enum Key {
    Text(String),
    Merge,
    /// It is not text, which has been noted.
    Bad,
}

#[derive(Default)]
struct Map {
    entries: Vec<Entry>,
    /// Where in `entries` a key is.
    places: HashMap<String, usize>,
    /// The key whose value has not come.
    key: Option<(Key, Span)>,
    /// At which column the first mapping among the values begins.
    column: Option<usize>,
}

impl Tree {
    /// How many lists and mappings are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn note(&mut self, kind: OddKind, span: Span) {
        self.odd.push(Odd { kind, span });
    }

    pub(super) fn open_list(&mut self, start: Span, form: Form) {
        let kind = Kind::List(Vec::new());
        self.open.push(Open { start, form, kind });
    }

    pub(super) fn open_map(&mut self, start: Span, form: Form) {
        let kind = Kind::Map(Map::default());
        self.open.push(Open { start, form, kind });
    }

    /// Ends the innermost list or mapping. `column` is that of a place in the text.
    pub(super) fn close(&mut self, end: Span, column: impl Fn(Span) -> usize) {
        let Some(Open { start, form, kind }) = self.open.pop() else {
            return;
        };
        let (last, value) = match kind {
            Kind::List(items) => (items.last().map(|item| item.span.end), Value::List(items)),
            Kind::Map(map) => {
                let last = map.entries.last().map(|entry| entry.value.span.end);
                (last, Value::Map(map.entries))
            }
        };
        let end = match (form, last) {
            (Form::Flow, _) => end.end,
            (_, Some(last)) => last,
            _ => start.end,
        };
        let span = Span {
            start: start.start,
            end: end.max(start.start),
        };
        self.value(Node { value, span, form }, column);
    }

    /// Puts a value where it belongs.
    pub(super) fn value(&mut self, node: Node, column: impl Fn(Span) -> usize) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let map = match &mut open.kind {
            Kind::List(items) => {
                items.push(node);
                return;
            }
            Kind::Map(map) => map,
        };
        let odd = match map.key.take() {
            None => map.key(node),
            Some(key) => map.value(key, node, column),
        };
        self.odd.extend(odd);
    }
}

impl Map {
    fn key(&mut self, node: Node) -> Option<Odd> {
        let span = node.span;
        let key = match node.value {
            Value::Text(text) if text == "<<" && node.form == Form::Plain => Key::Merge,
            Value::Text(text) => Key::Text(text),
            _ => Key::Bad,
        };
        let kind = OddKind::Key;
        let odd = matches!(key, Key::Bad).then_some(Odd { kind, span });
        self.key = Some((key, span));
        odd
    }

    fn value(
        &mut self,
        (key, at): (Key, Span),
        value: Node,
        column: impl Fn(Span) -> usize,
    ) -> Option<Odd> {
        let key = match key {
            Key::Text(key) => key,
            Key::Bad => return None,
            Key::Merge => {
                let kind = OddKind::Merge(is_merged(&value));
                return Some(Odd { kind, span: at });
            }
        };
        let mut odd = None;
        if value.form == Form::Block && matches!(value.value, Value::Map(_)) {
            let here = column(value.span);
            if *self.column.get_or_insert(here) != here {
                let (kind, span) = (OddKind::Column, value.span);
                odd = Some(Odd { kind, span });
            }
        }
        let entry = Entry { key, at, value };
        match self.places.get(&entry.key) {
            None => {
                self.places.insert(entry.key.clone(), self.entries.len());
                self.entries.push(entry);
                odd
            }
            Some(place) => {
                let kind = OddKind::Duplicate(entry.key.clone());
                if let Some(own) = self.entries.get_mut(*place) {
                    *own = entry;
                }
                Some(Odd { kind, span: at })
            }
        }
    }
}

/// Whether a value is what a merge key takes.
fn is_merged(value: &Node) -> bool {
    let is_map = |node: &Node| matches!(node.value, Value::Map(_));
    match &value.value {
        Value::List(items) => items.iter().all(is_map),
        _ => is_map(value),
    }
}
