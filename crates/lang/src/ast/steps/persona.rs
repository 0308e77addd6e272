use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::PersonaFileSpec;
use crate::{
    decode::{DecodeSpec, LowerSpec, MappingFields, SpecDecoder, record, words},
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    keyword::Keyword as _,
    source::Spanned,
};
use wf_model::{Persona, PersonaAxes, PersonaContext, PersonaEvent, PersonaTrait};

record! {
    /// The style of an agent. It changes how the model writes, and nothing else.
    pub struct PersonaSpec as "a persona" {
        /// The file of the persona, relative to this one. The axes below replace those of the file.
        optional file: Spanned<String>,
        /// The event that the step tells the persona, whose file has `events`: `compliment` or `feedback_too_harsh`.
        optional event: Spanned<PersonaEvent>,
        /// The occasion, which changes the axes: `default` if absent.
        optional context: PersonaContext,
        /// The warmth, from 0 to 1: 0.5 if absent.
        optional warmth: Spanned<f64>,
        /// The assertiveness, from 0 to 1: 0.75 if absent.
        optional assertiveness: Spanned<f64>,
        /// The verbosity, from 0 to 1: 0.3 if absent.
        optional verbosity: Spanned<f64>,
        /// The formality, from 0 to 1: 0.3 if absent.
        optional formality: Spanned<f64>,
        /// The humor, from 0 to 1: 0.4 if absent.
        optional humor: Spanned<f64>,
        /// The initiative, from 0 to 1: 0.7 if absent.
        optional initiative: Spanned<f64>,
        /// The certainty, from 0 to 1: 0.8 if absent.
        optional certainty: Spanned<f64>,
    }
    finish in_range;
}

words!(PersonaContext, PersonaEvent);

/// A persona: its file alone, or a mapping.
#[derive(Clone, Debug)]
pub struct PersonaUse(pub PersonaSpec);

impl DecodeSpec for PersonaUse {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        if !matches!(node.value, YamlValue::Text(_)) {
            return PersonaSpec::decode(node, decoder).map(Self);
        }
        let file: Option<Spanned<String>> = Some(DecodeSpec::decode(node, decoder)?);
        Some(Self(PersonaSpec {
            file,
            event: None,
            context: None,
            warmth: None,
            assertiveness: None,
            verbosity: None,
            formality: None,
            humor: None,
            initiative: None,
            certainty: None,
        }))
    }
}

impl JsonSchema for PersonaUse {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "PersonaUse".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mapping = generator.subschema_for::<PersonaSpec>();
        json_schema!({ "anyOf": [{ "type": "string" }, mapping] })
    }
}

impl PersonaSpec {
    fn axes(&self) -> [(&'static str, &Option<Spanned<f64>>); 7] {
        [
            ("warmth", &self.warmth),
            ("assertiveness", &self.assertiveness),
            ("verbosity", &self.verbosity),
            ("formality", &self.formality),
            ("humor", &self.humor),
            ("initiative", &self.initiative),
            ("certainty", &self.certainty),
        ]
    }

    /// Returns the persona, with the values of its file, or defaults, for what is absent.
    pub fn lower(&self, file: Option<&PersonaFileSpec>) -> Persona {
        let mut baseline = PersonaAxes::BASELINE;
        for (which, value) in file.iter().flat_map(|file| file.baseline.iter()) {
            if let Some(axis) = baseline.axis_mut(which.value) {
                *axis = value.value;
            }
        }
        for (key, own) in self.axes() {
            let axis = PersonaTrait::from_word(key).and_then(|which| baseline.axis_mut(which));
            if let (Some(axis), Some(own)) = (axis, own) {
                *axis = own.value;
            }
        }
        let context = self.context.unwrap_or_default();
        Persona {
            context,
            baseline,
            changes: file.and_then(|file| file.changes(context)),
            moods: file.and_then(PersonaFileSpec::moods),
            event: self.event.lower(),
            constitution: file.map(|file| file.constitution.clone()).unwrap_or_default(),
        }
    }
}

/// Notes an axis that is out of its range, and an event nobody can tell.
fn in_range(persona: &mut PersonaSpec, _fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    for (key, axis) in persona.axes() {
        if let Some(axis) = axis {
            in_bounds(key, axis, 0.0, 1.0, decoder);
        }
    }
    let Some(event) = &persona.event else { return };
    if !event.value.is_of_people() {
        let message = format!("`{}` follows from what steps do", event.value);
        let mistake = Diagnostic::new(Code::ValueWrong, event.span, message);
        decoder.emit(mistake.with_help("a step can tell `compliment` or `feedback_too_harsh`"));
    } else if persona.file.is_none() {
        let mistake = Diagnostic::new(Code::KeyMissing, event.span, "`event` needs a `file` with `events`");
        decoder.emit(mistake.with_help("write `file: PERSONA.md`, or leave `event` out"));
    }
}

/// Notes a number that is out of its range.
pub(super) fn in_bounds(
    key: &str,
    value: &Spanned<f64>,
    least: f64,
    most: f64,
    decoder: &mut SpecDecoder<'_>,
) {
    if !(least..=most).contains(&value.value) {
        let message = format!("`{key}` must be a number from {least} to {most}");
        decoder.emit(Diagnostic::new(Code::ValueWrong, value.span, message));
    }
}
