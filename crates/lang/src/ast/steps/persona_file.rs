use super::persona::in_bounds;
use crate::decode::{EntryKey, MappingFields, OrderedEntries, SpecDecoder, record, words};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    keyword::Keyword,
    keywords,
    source::{Span, Spanned},
};
use wf_model::{MoodWeights, PersonaChanges, PersonaContext, PersonaEvent, PersonaTrait};

/// The maximum number of characters of a constitution.
const MAX_CONSTITUTION_CHARS: usize = 4000;

/// Numbers by the trait they are for.
pub type TraitEntries = OrderedEntries<PersonaTrait, Spanned<f64>>;

record! {
    /// A persona: the style of agents. The text of its file has the principles that come before everything else that
    /// they are told.
    pub struct PersonaFileSpec as "a persona" {
        /// The kind of the file.
        required kind: Spanned<PersonaKind>,
        /// A title of one line.
        optional title: String,
        /// The axes of the style, from 0 to 1; those of the documentation if absent.
        default baseline: TraitEntries,
        /// The changes of axes on an occasion, from -1 to 1, in place of the known ones.
        default contexts: OrderedEntries<PersonaContext, TraitEntries>,
        /// The changes by events, from -0.5 to 0.5, in place of the known ones. The persona has moods only with this key.
        optional events: OrderedEntries<PersonaEvent, TraitEntries>,
    }
    aside {
        /// The principles.
        constitution: String,
    }
    finish check_file;
}

keywords! {
    listed
    /// The kind of a persona.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PersonaKind {
        /// `persona`
        Persona = "persona",
    }
}

words!(PersonaKind);

impl EntryKey for PersonaTrait {
    fn read(text: &str, span: Span, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        known_word(text, span, "trait of a persona", decoder)
    }
}

impl EntryKey for PersonaContext {
    fn read(text: &str, span: Span, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        known_word(text, span, "occasion", decoder)
    }
}

impl EntryKey for PersonaEvent {
    fn read(text: &str, span: Span, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        known_word(text, span, "event of a persona", decoder)
    }
}

/// Reads a key that is one of some words.
fn known_word<K: Keyword>(text: &str, span: Span, noun: &str, decoder: &mut SpecDecoder<'_>) -> Option<K> {
    let key = K::from_word(text);
    if key.is_none() {
        let words: Vec<&str> = K::ALL.iter().map(|value| value.word()).collect();
        let mistake = Diagnostic::new(Code::ValueWrong, span, format!("there is no {noun} `{text}`"));
        decoder.emit(match nearest(text, words.iter().copied()) {
            Some(near) => mistake.with_suggestion(Some(near)),
            None => mistake.with_help(format!("write one of {}", words.join(", "))),
        });
    }
    key
}

impl PersonaFileSpec {
    /// Takes the text of the file as the principles.
    pub(crate) fn attach_body(&mut self, body: Span, decoder: &mut SpecDecoder<'_>) {
        decoder.source_text(body).trim().clone_into(&mut self.constitution);
        let count = self.constitution.chars().count();
        if count > MAX_CONSTITUTION_CHARS {
            let message =
                format!("the text has {count} characters, and at most {MAX_CONSTITUTION_CHARS} fit");
            let mistake = Diagnostic::new(Code::ValueWrong, body, message);
            decoder.emit(mistake.with_help("keep the principles, and move explanations to another file"));
        }
    }

    /// Returns the changes on an occasion; `None`: the known ones.
    pub(super) fn changes(&self, context: PersonaContext) -> Option<PersonaChanges> {
        let mut own = self.contexts.iter().filter(|(persona_context, _)| persona_context.value == context);
        own.next().map(|(_, changes)| thousandths(changes))
    }

    /// Returns the weights of events; `None`: the persona has no moods.
    pub(super) fn moods(&self) -> Option<MoodWeights> {
        let own = self.events.as_ref()?.iter();
        Some(MoodWeights::new(own.map(|(event, changes)| (event.value, thousandths(changes)))))
    }
}

fn thousandths(changes: &TraitEntries) -> PersonaChanges {
    #[expect(clippy::cast_possible_truncation, reason = "a number from -1 to 1 was checked")]
    let whole = |change: f64| (change * 1000.0).round() as i32;
    PersonaChanges::new(changes.iter().map(|(which, change)| (which.value, whole(change.value))))
}

/// Notes numbers that are out of range, and moods where only axes can be.
fn check_file(file: &mut PersonaFileSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let contexts = file.contexts.iter().map(|(_, changes)| (changes, -1.0));
    for (entries, least) in contexts.chain([(&file.baseline, 0.0)]) {
        for (which, value) in entries.iter() {
            if which.value.is_mood() {
                let message = format!("`{}` is a mood, and no axis of a style", which.value);
                let mistake = Diagnostic::new(Code::ValueWrong, which.span, message);
                decoder.emit(mistake.with_help("moods are changed by `events`"));
            }
            in_bounds(which.value.as_str(), value, least, 1.0, decoder);
        }
    }
    for (_, changes) in file.events.iter().flat_map(|events| events.iter()) {
        for (which, value) in changes.iter() {
            in_bounds(which.value.as_str(), value, -0.5, 0.5, decoder);
        }
    }
}
