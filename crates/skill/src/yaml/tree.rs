use std::collections::HashMap;

use super::{SkillYamlEntry, SkillYamlNode, SkillYamlValue, YamlNotation, YamlOddity, YamlOddityKind};
use wf_base::source::Span;

/// A tree that grows as its values are read.
#[derive(Default)]
pub(super) struct SkillYamlBuilder {
    open: Vec<OpenSkillCollection>,
    pub(super) root: Option<SkillYamlNode>,
    pub(super) odd: Vec<YamlOddity>,
}

/// A list or a mapping that is not closed yet.
struct OpenSkillCollection {
    start: Span,
    form: YamlNotation,
    kind: SkillCollectionKind,
}

enum SkillCollectionKind {
    List(Vec<SkillYamlNode>),
    Map(SkillYamlMapping),
}

enum SkillYamlKey {
    Text(String),
    Merge,
    /// The key is not text, which has been recorded.
    Bad,
}

#[derive(Default)]
struct SkillYamlMapping {
    entries: Vec<SkillYamlEntry>,
    /// The indices of keys in `entries`.
    places: HashMap<String, usize>,
    /// The key whose value has not been read yet.
    key: Option<(SkillYamlKey, Span)>,
    /// The column at which the first mapping among the values begins.
    column: Option<usize>,
}

impl SkillYamlBuilder {
    /// Returns the number of open lists and mappings.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    pub(super) fn note(&mut self, kind: YamlOddityKind, span: Span) {
        self.odd.push(YamlOddity { kind, span });
    }

    pub(super) fn open_list(&mut self, start: Span, form: YamlNotation) {
        let kind = SkillCollectionKind::List(Vec::new());
        self.open.push(OpenSkillCollection { start, form, kind });
    }

    pub(super) fn open_map(&mut self, start: Span, form: YamlNotation) {
        let kind = SkillCollectionKind::Map(SkillYamlMapping::default());
        self.open.push(OpenSkillCollection { start, form, kind });
    }

    /// Closes the innermost list or mapping. `column` returns the column of a span of the text.
    pub(super) fn close(&mut self, end: Span, column: impl Fn(Span) -> usize) {
        let Some(OpenSkillCollection { start, form, kind }) = self.open.pop() else {
            return;
        };
        let (last, value) = match kind {
            SkillCollectionKind::List(items) => {
                (items.last().map(|item| item.span.end), SkillYamlValue::List(items))
            }
            SkillCollectionKind::Map(map) => {
                let last = map.entries.last().map(|entry| entry.value.span.end);
                (last, SkillYamlValue::Map(map.entries))
            }
        };
        let end = match (form, last) {
            (YamlNotation::Flow, _) => end.end,
            (_, Some(last)) => last,
            _ => start.end,
        };
        let span = Span { start: start.start, end: end.max(start.start) };
        self.value(SkillYamlNode { value, span, form }, column);
    }

    /// Adds a value to the innermost open list or mapping.
    pub(super) fn value(&mut self, node: SkillYamlNode, column: impl Fn(Span) -> usize) {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return;
        };
        let map = match &mut open.kind {
            SkillCollectionKind::List(items) => {
                items.push(node);
                return;
            }
            SkillCollectionKind::Map(map) => map,
        };
        let odd = match map.key.take() {
            None => map.key(node),
            Some((key, at)) => map.value(key, at, node, column),
        };
        self.odd.extend(odd);
    }
}

impl SkillYamlMapping {
    fn key(&mut self, node: SkillYamlNode) -> Option<YamlOddity> {
        let span = node.span;
        let key = match node.value {
            SkillYamlValue::Text(text) if text == "<<" && node.form == YamlNotation::Plain => {
                SkillYamlKey::Merge
            }
            SkillYamlValue::Text(text) => SkillYamlKey::Text(text),
            _ => SkillYamlKey::Bad,
        };
        let kind = YamlOddityKind::Key;
        let odd = matches!(key, SkillYamlKey::Bad).then_some(YamlOddity { kind, span });
        self.key = Some((key, span));
        odd
    }

    fn value(
        &mut self,
        key: SkillYamlKey,
        at: Span,
        value: SkillYamlNode,
        column: impl Fn(Span) -> usize,
    ) -> Option<YamlOddity> {
        let key = match key {
            SkillYamlKey::Text(key) => key,
            SkillYamlKey::Bad => return None,
            SkillYamlKey::Merge => {
                let kind = YamlOddityKind::Merge(is_merged(&value));
                return Some(YamlOddity { kind, span: at });
            }
        };
        let mut odd = None;
        if value.form == YamlNotation::Block && matches!(value.value, SkillYamlValue::Map(_)) {
            let here = column(value.span);
            if *self.column.get_or_insert(here) != here {
                let (kind, span) = (YamlOddityKind::Column, value.span);
                odd = Some(YamlOddity { kind, span });
            }
        }
        let entry = SkillYamlEntry { key, at, value };
        match self.places.get(&entry.key) {
            None => {
                self.places.insert(entry.key.clone(), self.entries.len());
                self.entries.push(entry);
                odd
            }
            Some(place) => {
                let kind = YamlOddityKind::Duplicate(entry.key.clone());
                if let Some(own) = self.entries.get_mut(*place) {
                    *own = entry;
                }
                Some(YamlOddity { kind, span: at })
            }
        }
    }
}

/// True if a value is of a kind that a merge key accepts.
fn is_merged(value: &SkillYamlNode) -> bool {
    let is_map = |node: &SkillYamlNode| matches!(node.value, SkillYamlValue::Map(_));
    match &value.value {
        SkillYamlValue::List(items) => items.iter().all(is_map),
        _ => is_map(value),
    }
}
