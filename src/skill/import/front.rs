use std::collections::BTreeMap;

use super::adapt::NotAdapted;
use super::rules::{Rule, rule};
use super::write::{block, plain};
use super::{Fate, FieldFate};
use crate::skill::load::{is_nothing, split_tools};
use crate::skill::words::{is_alphanumeric, length, strip};
use crate::skill::yaml::{Entry, Form, Node, Value};
use crate::skill::{MAX_COMPATIBILITY, MAX_DESCRIPTION};

/// The longest key of `metadata`, in characters.
const MAX_KEY: usize = 100;

/// The fields of a front matter that is written.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub tools: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    /// What stands below `metadata.wf`.
    pub own: Option<String>,
}

impl Front {
    /// Its texts, as they are read.
    pub(super) fn values(&self) -> impl Iterator<Item = &String> {
        let one = [&self.description].into_iter();
        let some = self.license.iter().chain(&self.compatibility);
        let many = self.tools.iter().chain(self.metadata.values());
        one.chain(some).chain(many)
    }
}

/// A front matter, what became of the fields it was made of, and what a person has to look at.
type Taken = (Front, Vec<FieldFate>, Vec<String>);

/// Takes what there is. The name is as it was said.
pub(super) fn take(root: &Node, is_strict: bool) -> Result<Taken, NotAdapted> {
    let mut taker = Taker::default();
    let said = root.get("name").and_then(|entry| said(&entry.value));
    taker.front.name = said.map_or(String::new(), |said| said.text);
    let entries = root.entries().unwrap_or(&[]);
    let get = |key: &str| root.get(key).map(|entry| &entry.value);
    let standard = [
        "name",
        "description",
        "license",
        "compatibility",
        "allowed-tools",
        "metadata",
    ];
    for key in standard.iter().skip(1) {
        if let Some(node) = get(key) {
            taker.standard(key, node);
        }
    }
    for entry in entries {
        let key = entry.key.as_str();
        if !standard.contains(&key) {
            taker.other(entry, is_strict);
        }
    }
    if strip(&taker.front.description).is_empty() {
        let help = "write `description:` there: what the skill does and when to use it";
        return Err(NotAdapted::new("SKILL.md has no description", help));
    }
    Ok((taker.front, taker.fates, taker.review))
}

/// What a field says, as text.
struct Said {
    text: String,
    /// How it was written, if not as the text that it is.
    was: Option<&'static str>,
}

/// What a field says; nothing if it is null.
fn said(node: &Node) -> Option<Said> {
    let texts = |items: &[Node]| -> Option<Vec<String>> {
        items
            .iter()
            .map(|item| item.text().map(str::to_owned))
            .collect()
    };
    let (text, was) = match &node.value {
        Value::Text(_) if is_nothing(node) => return None,
        Value::Text(text) => (text.clone(), None),
        Value::List(items) => match texts(items) {
            Some(all) => (all.join(", "), Some("a list became one text")),
            None => (node.json().to_string(), Some("as JSON in a text")),
        },
        Value::Map(_) => (node.json().to_string(), Some("as JSON in a text")),
    };
    let shown = plain(&text);
    let is_same = shown == text.replace("\r\n", "\n");
    let was = was.or((!is_same).then_some("without characters that do not show"));
    let text = strip(&shown).to_owned();
    (!text.is_empty()).then_some(Said { text, was })
}

/// The words of a text that fit, and whether those are all.
fn cut(text: &str, most: usize) -> Option<String> {
    if length(text) <= most {
        return None;
    }
    let head: String = text.chars().take(most - 1).collect();
    let end = head.rfind(char::is_whitespace).unwrap_or(head.len());
    Some(head.get(..end).unwrap_or(&head).trim_end().to_owned() + "…")
}

#[derive(Default)]
struct Taker {
    front: Front,
    fates: Vec<FieldFate>,
    review: Vec<String>,
}

impl Taker {
    fn fate(&mut self, field: &str, fate: Fate, why: impl Into<String>) {
        self.fates.push(FieldFate {
            field: field.to_owned(),
            fate,
            why: why.into(),
        });
    }

    fn standard(&mut self, key: &str, node: &Node) {
        if key == "metadata" {
            return self.metadata(node);
        }
        let Some(said) = said(node) else {
            return self.fate(key, Fate::Dropped, "it says nothing");
        };
        if key == "allowed-tools" {
            return self.tools(key, node);
        }
        let most = match key {
            "description" => MAX_DESCRIPTION,
            "compatibility" => MAX_COMPATIBILITY,
            _ => usize::MAX,
        };
        let short = cut(&said.text, most);
        match (&short, said.was) {
            (Some(_), _) => {
                let why = format!("cut to {most} characters; all of it is in `metadata.{key}`");
                self.review
                    .push(format!("`{key}` was cut: write a shorter one"));
                self.front
                    .metadata
                    .insert(key.to_owned(), said.text.clone());
                self.fate(key, Fate::Translated, why);
            }
            (None, Some(was)) => self.fate(key, Fate::Translated, was),
            (None, None) => self.fate(key, Fate::Kept, ""),
        }
        let text = short.unwrap_or(said.text);
        match key {
            "description" => self.front.description = text,
            "license" => self.front.license = Some(text),
            _ => self.front.compatibility = Some(text),
        }
    }

    /// Tools are information: they grant nothing.
    fn tools(&mut self, key: &str, node: &Node) {
        let (texts, is_text): (Vec<&str>, bool) = match &node.value {
            Value::Text(text) => (vec![text], true),
            Value::List(items) => (items.iter().filter_map(Node::text).collect(), false),
            Value::Map(_) => return self.fate(key, Fate::Dropped, "it is a mapping"),
        };
        let mut has_commas = false;
        for text in texts {
            let (tools, commas) = split_tools(&plain(text));
            has_commas |= commas;
            self.front.tools.extend(tools);
        }
        let only = "information only: wf grants nothing for it";
        if is_text && !has_commas && key == "allowed-tools" {
            self.fate(key, Fate::Kept, only);
        } else {
            let why = format!("`allowed-tools`, separated by blanks; {only}");
            self.fate(key, Fate::Translated, why);
        }
    }

    fn metadata(&mut self, node: &Node) {
        let Some(entries) = node.entries() else {
            return self.fate("metadata", Fate::Dropped, "it is no mapping");
        };
        self.fate("metadata", Fate::Kept, "");
        for entry in entries {
            if entry.key == "wf" {
                self.own(&entry.value);
            } else {
                self.pair(&format!("metadata.{}", entry.key), entry);
            }
        }
    }

    fn own(&mut self, node: &Node) {
        let text = node.text().filter(|_| node.form == Form::Literal);
        match text.and_then(block) {
            Some(text) => {
                self.front.own = Some(text);
                let what =
                    "`metadata.wf` came with the skill: read what it declares of its scripts";
                self.review.push(what.to_owned());
            }
            None => self.fate("metadata.wf", Fate::Dropped, "it is read only below a `|`"),
        }
    }

    /// Keeps a value below `metadata`.
    fn pair(&mut self, field: &str, entry: &Entry) {
        let key = strip(&entry.key);
        let is_known = |c: char| is_alphanumeric(c) || " _-./:".contains(c);
        let is_key = key.starts_with(is_alphanumeric) && key.chars().all(is_known);
        if !is_key || length(key) > MAX_KEY || key == "wf" {
            return self.fate(field, Fate::Dropped, "other readers refuse a key like this");
        }
        if self.front.metadata.contains_key(key) {
            return self.fate(
                field,
                Fate::Dropped,
                format!("`metadata.{key}` is there already"),
            );
        }
        let is_inside = field != entry.key;
        let (text, was) = match said(&entry.value) {
            Some(said) => (said.text, said.was),
            None if is_inside => (String::new(), None),
            None => return self.fate(field, Fate::Dropped, "it says nothing"),
        };
        self.front.metadata.insert(key.to_owned(), text);
        match (is_inside, was) {
            (true, None) => {}
            (true, Some(was)) => self.fate(field, Fate::Translated, was),
            (false, None) => self.fate(field, Fate::Translated, format!("`metadata.{key}`")),
            (false, Some(was)) => {
                self.fate(field, Fate::Translated, format!("`metadata.{key}`, {was}"));
            }
        }
    }

    /// A field that the standard does not have.
    fn other(&mut self, entry: &Entry, is_strict: bool) {
        let key = entry.key.as_str();
        if is_strict {
            return self.fate(key, Fate::Dropped, "the standard has no such field");
        }
        let found = rule(key).map(|(_, rule)| rule);
        if let Some(Rule::Drop(why)) = found {
            if key == "hooks" {
                let what = "`hooks` were dropped: what they executed is executed no more";
                self.review.push(what.to_owned());
            }
            return self.fate(key, Fate::Dropped, why);
        }
        let Some(said) = said(&entry.value) else {
            return self.fate(key, Fate::Dropped, "it says nothing");
        };
        match found {
            Some(Rule::Tools) => self.tools(key, &entry.value),
            Some(Rule::When) => self.when(entry, &said.text),
            Some(Rule::Triggers) if entry.value.entries().is_none() => {
                self.when(
                    entry,
                    &format!("Use when: {}.", said.text.trim_end_matches('.')),
                );
            }
            Some(Rule::Requires) => self.requires(entry),
            _ => self.pair(key, entry),
        }
    }

    /// Says in the description when to use the skill, if there is room.
    fn when(&mut self, entry: &Entry, text: &str) {
        let description = &self.front.description;
        let gap = match description.chars().last() {
            None => "",
            Some('.' | '!' | '?' | ':' | '…' | '。') => " ",
            Some(_) => ". ",
        };
        let long = format!("{description}{gap}{text}");
        if length(&long) <= MAX_DESCRIPTION {
            self.front.description = long;
            return self.fate(&entry.key, Fate::Translated, "appended to `description`");
        }
        let what = format!(
            "`description` has no room for `{}`: it says not when",
            entry.key
        );
        self.review.push(what + " to use the skill");
        self.pair(&entry.key, entry);
    }

    /// Says in `compatibility` what must be there, if there is room.
    fn requires(&mut self, entry: &Entry) {
        let parts: Option<Vec<String>> = match entry.value.entries() {
            None => said(&entry.value).map(|said| vec![said.text]),
            Some(all) => all
                .iter()
                .map(|one| match one.value.value {
                    Value::Map(_) => None,
                    _ => said(&one.value).map(|said| format!("{} {}", one.key, said.text)),
                })
                .collect(),
        };
        let before = self.front.compatibility.clone().unwrap_or_default();
        let long = parts.map(|parts| {
            let gap = if before.is_empty() { "" } else { " " };
            plain(&format!("{before}{gap}Requires {}.", parts.join("; ")))
        });
        match long.filter(|long| length(long) <= MAX_COMPATIBILITY) {
            Some(long) => {
                self.front.compatibility = Some(long);
                self.fate(&entry.key, Fate::Translated, "appended to `compatibility`");
            }
            None => self.pair(&entry.key, entry),
        }
    }
}
