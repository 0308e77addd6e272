use std::collections::BTreeMap;

use super::{
    ConvertedField, FieldOutcome,
    adapt::SkillConversionError,
    rules::{FieldTreatment, rule},
    write::{block, plain},
};
use crate::{
    MAX_COMPATIBILITY, MAX_DESCRIPTION,
    load::{is_null, split_tools},
    words::{is_alphanumeric, length, strip},
};
use wf_base::yaml::{YamlEntry, YamlNode, YamlNotation, YamlValue};

/// The maximum length of a key of `metadata`, in characters.
const MAX_KEY: usize = 100;

/// The fields of a front matter to write.
#[derive(Debug, Default)]
pub(super) struct FrontMatterFields {
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub tools: Vec<String>,
    pub metadata: BTreeMap<String, String>,
    /// The text of `metadata.wf`.
    pub own: Option<String>,
}

impl FrontMatterFields {
    /// Returns its texts, unescaped.
    pub(super) fn values(&self) -> impl Iterator<Item = &String> {
        let description = [&self.description].into_iter();
        let some = self.license.iter().chain(&self.compatibility);
        let many = self.tools.iter().chain(self.metadata.values());
        description.chain(some).chain(many)
    }
}

/// A front matter, the fate of the fields it was made from, and the points for the user to review.
type FrontMatterConversion = (FrontMatterFields, Vec<ConvertedField>, Vec<String>);

/// Takes the fields of the source. The name is the declared one.
pub(super) fn convert_front_matter(
    root: &YamlNode<'_>,
    is_strict: bool,
) -> Result<FrontMatterConversion, SkillConversionError> {
    let mut taker = FrontMatterConverter::default();
    let name_text = root.get("name").and_then(|entry| field_text(&entry.value));
    taker.front.name = name_text.map_or(String::new(), |text| text.text);
    let entries = root.entries().unwrap_or(&[]);
    let get = |key: &str| root.get(key).map(|entry| &entry.value);
    let standard = ["name", "description", "license", "compatibility", "allowed-tools", "metadata"];
    for key in standard.iter().skip(1) {
        if let Some(node) = get(key) {
            taker.standard(key, node);
        }
    }
    for entry in entries {
        let key = &*entry.key;
        if !standard.contains(&key) {
            taker.take_nonstandard(entry, is_strict);
        }
    }
    if strip(&taker.front.description).is_empty() {
        let help = "add `description:`: what the skill does and when to use it";
        return Err(SkillConversionError::new("SKILL.md has no description", help));
    }
    Ok((taker.front, taker.fields, taker.review))
}

/// The value of a field, as text.
struct FieldText {
    text: String,
    /// The original type, if it was not text.
    original_type: Option<&'static str>,
}

/// Returns the value of a field; `None` if it is null.
fn field_text(node: &YamlNode<'_>) -> Option<FieldText> {
    let texts = |items: &[YamlNode<'_>]| -> Option<Vec<String>> {
        items.iter().map(|item| item.text().map(str::to_owned)).collect()
    };
    let (text, was) = match &node.value {
        YamlValue::Text(_) if is_null(node) => return None,
        YamlValue::Text(text) => (text.to_string(), None),
        YamlValue::List(items) => match texts(items) {
            Some(texts) => (texts.join(", "), Some("a list was joined into one string")),
            None => (node.json().to_string(), Some("as a JSON string")),
        },
        _ => (node.json().to_string(), Some("as a JSON string")),
    };
    let shown = plain(&text);
    let is_same = shown == text.replace("\r\n", "\n");
    let was = was.or((!is_same).then_some("without invisible characters"));
    let text = strip(&shown).to_owned();
    (!text.is_empty()).then_some(FieldText { text, original_type: was })
}

/// Returns the words of a text that fit; `None` if all do.
fn truncate_words(text: &str, most: usize) -> Option<String> {
    if length(text) <= most {
        return None;
    }
    let head: String = text.chars().take(most - 1).collect();
    let end = head.rfind(char::is_whitespace).unwrap_or(head.len());
    Some(head.get(..end).unwrap_or(&head).trim_end().to_owned() + "…")
}

#[derive(Default)]
struct FrontMatterConverter {
    front: FrontMatterFields,
    fields: Vec<ConvertedField>,
    review: Vec<String>,
}

impl FrontMatterConverter {
    fn fate(&mut self, field: &str, outcome: FieldOutcome, reason: impl Into<String>) {
        self.fields.push(ConvertedField { field: field.to_owned(), fate: outcome, reason: reason.into() });
    }

    fn standard(&mut self, key: &str, node: &YamlNode<'_>) {
        if key == "metadata" {
            return self.metadata(node);
        }
        let Some(field) = field_text(node) else {
            return self.fate(key, FieldOutcome::Dropped, "it is empty");
        };
        if key == "allowed-tools" {
            return self.tools(key, node);
        }
        let most = match key {
            "description" => MAX_DESCRIPTION,
            "compatibility" => MAX_COMPATIBILITY,
            _ => usize::MAX,
        };
        let short = truncate_words(&field.text, most);
        match (&short, field.original_type) {
            (Some(_), _) => {
                let reason = format!(
                    "cut to {most} characters; the full text is in \
                                      `metadata.{key}`"
                );
                self.review.push(format!("`{key}` was cut: write a shorter one"));
                self.front.metadata.insert(key.to_owned(), field.text.clone());
                self.fate(key, FieldOutcome::Translated, reason);
            }
            (None, Some(was)) => self.fate(key, FieldOutcome::Translated, was),
            (None, None) => self.fate(key, FieldOutcome::Kept, ""),
        }
        let text = short.unwrap_or(field.text);
        match key {
            "description" => self.front.description = text,
            "license" => self.front.license = Some(text),
            _ => self.front.compatibility = Some(text),
        }
    }

    /// Takes tools as information: they grant nothing.
    fn tools(&mut self, key: &str, node: &YamlNode<'_>) {
        let (texts, is_text): (Vec<&str>, bool) = match &node.value {
            YamlValue::Text(text) => (vec![text], true),
            YamlValue::List(items) => (items.iter().filter_map(YamlNode::text).collect(), false),
            _ => return self.fate(key, FieldOutcome::Dropped, "it is a mapping"),
        };
        let mut has_commas = false;
        for text in texts {
            let (tools, commas) = split_tools(&plain(text));
            has_commas |= commas;
            self.front.tools.extend(tools);
        }
        let only = "information only: wf grants no permissions for it";
        if is_text && !has_commas && key == "allowed-tools" {
            self.fate(key, FieldOutcome::Kept, only);
        } else {
            let reason = format!("`allowed-tools`, separated by spaces; {only}");
            self.fate(key, FieldOutcome::Translated, reason);
        }
    }

    fn metadata(&mut self, node: &YamlNode<'_>) {
        let Some(entries) = node.entries() else {
            return self.fate("metadata", FieldOutcome::Dropped, "it is not a mapping");
        };
        self.fate("metadata", FieldOutcome::Kept, "");
        for entry in entries {
            if entry.key == "wf" {
                self.own(&entry.value);
            } else {
                self.take_metadata(&format!("metadata.{}", entry.key), entry);
            }
        }
    }

    fn own(&mut self, node: &YamlNode<'_>) {
        let text = node.text().filter(|_| node.notation == YamlNotation::Literal);
        match text.and_then(block) {
            Some(text) => {
                self.front.own = Some(text);
                let note = "`metadata.wf` comes from the source: review what it declares about its scripts";
                self.review.push(note.to_owned());
            }
            None => self.fate(
                "metadata.wf",
                FieldOutcome::Dropped,
                "it is only read when written below a \
                `|`",
            ),
        }
    }

    fn take_metadata(&mut self, field: &str, entry: &YamlEntry<'_>) {
        let key = strip(&entry.key);
        let is_known = |c: char| is_alphanumeric(c) || " _-./:".contains(c);
        let is_key = key.starts_with(is_alphanumeric) && key.chars().all(is_known);
        if !is_key || length(key) > MAX_KEY || key == "wf" {
            return self.fate(field, FieldOutcome::Dropped, "other readers reject such a key");
        }
        if self.front.metadata.contains_key(key) {
            return self.fate(field, FieldOutcome::Dropped, format!("`metadata.{key}` already exists"));
        }
        let is_inside = field != entry.key;
        let (text, was) = match field_text(&entry.value) {
            Some(field) => (field.text, field.original_type),
            None if is_inside => (String::new(), None),
            None => return self.fate(field, FieldOutcome::Dropped, "it is empty"),
        };
        self.front.metadata.insert(key.to_owned(), text);
        match (is_inside, was) {
            (true, None) => {}
            (true, Some(was)) => self.fate(field, FieldOutcome::Translated, was),
            (false, None) => self.fate(field, FieldOutcome::Translated, format!("`metadata.{key}`")),
            (false, Some(was)) => {
                self.fate(field, FieldOutcome::Translated, format!("`metadata.{key}`, {was}"));
            }
        }
    }

    /// Takes a field the standard does not have.
    fn take_nonstandard(&mut self, entry: &YamlEntry<'_>, is_strict: bool) {
        let key = &*entry.key;
        if is_strict {
            return self.fate(key, FieldOutcome::Dropped, "the field is not part of the standard");
        }
        let treatment = rule(key).map(|(_, rule)| rule);
        if let Some(FieldTreatment::Drop(reason)) = treatment {
            if key == "hooks" {
                let note = "`hooks` were dropped: their commands no longer run";
                self.review.push(note.to_owned());
            }
            return self.fate(key, FieldOutcome::Dropped, reason);
        }
        let Some(text) = field_text(&entry.value) else {
            return self.fate(key, FieldOutcome::Dropped, "it is empty");
        };
        match treatment {
            Some(FieldTreatment::Tools) => self.tools(key, &entry.value),
            Some(FieldTreatment::When) => self.append_occasions(entry, &text.text),
            Some(FieldTreatment::Triggers) if entry.value.entries().is_none() => {
                self.append_occasions(entry, &format!("Use when: {}.", text.text.trim_end_matches('.')));
            }
            Some(FieldTreatment::Requires) => self.requires(entry),
            _ => self.take_metadata(key, entry),
        }
    }

    /// Adds to the description when to use the skill, if there is room.
    fn append_occasions(&mut self, entry: &YamlEntry<'_>, text: &str) {
        let description = &self.front.description;
        let gap = match description.chars().last() {
            None => "",
            Some('.' | '!' | '?' | ':' | '…' | '。') => " ",
            Some(_) => ". ",
        };
        let long = format!("{description}{gap}{text}");
        if length(&long) <= MAX_DESCRIPTION {
            self.front.description = long;
            return self.fate(&entry.key, FieldOutcome::Translated, "appended to `description`");
        }
        let note = format!("`description` is too long to add `{}`: it does not say when", entry.key);
        self.review.push(note + " to use the skill");
        self.take_metadata(&entry.key, entry);
    }

    /// Adds requirements to `compatibility`, if there is room.
    fn requires(&mut self, entry: &YamlEntry<'_>) {
        let parts: Option<Vec<String>> = match entry.value.entries() {
            None => field_text(&entry.value).map(|field| vec![field.text]),
            Some(entries) => entries
                .iter()
                .map(|yaml_entry| match yaml_entry.value.value {
                    YamlValue::Map(_) => None,
                    _ => {
                        field_text(&yaml_entry.value).map(|text| format!("{} {}", yaml_entry.key, text.text))
                    }
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
                self.fate(&entry.key, FieldOutcome::Translated, "appended to `compatibility`");
            }
            None => self.take_metadata(&entry.key, entry),
        }
    }
}
