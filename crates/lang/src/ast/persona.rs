use crate::decode::{MappingFields, SpecDecoder, record, words};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;
use wf_model::{Persona, PersonaAxes, PersonaContext};

record! {
    /// The style of an agent. It changes how the model writes, and nothing else.
    pub struct PersonaSpec as "a persona" {
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

words!(PersonaContext);

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

    /// Returns the persona, with defaults for what is absent.
    pub fn lower(&self) -> Persona {
        let of = |axis: &Option<Spanned<f64>>, default: f64| axis.as_ref().map_or(default, |axis| axis.value);
        let base = PersonaAxes::BASELINE;
        Persona {
            context: self.context.unwrap_or_default(),
            baseline: PersonaAxes {
                warmth: of(&self.warmth, base.warmth),
                assertiveness: of(&self.assertiveness, base.assertiveness),
                verbosity: of(&self.verbosity, base.verbosity),
                formality: of(&self.formality, base.formality),
                humor: of(&self.humor, base.humor),
                initiative: of(&self.initiative, base.initiative),
                certainty: of(&self.certainty, base.certainty),
            },
        }
    }
}

/// Notes an axis that is out of its range.
fn in_range(persona: &mut PersonaSpec, _: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    for (key, axis) in persona.axes() {
        if let Some(axis) = axis.as_ref().filter(|axis| !(0.0..=1.0).contains(&axis.value)) {
            let message = format!("`{key}` must be a number from 0 to 1");
            decoder.emit(Diagnostic::new(Code::ValueWrong, axis.span, message));
        }
    }
}
