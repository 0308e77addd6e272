use serde::Serialize;
use wf_base::{keyword::Keyword as _, keywords};

use crate::agents::mood::{MoodWeights, PersonaChanges, PersonaEvent, PersonaTrait};

keywords! {
    listed
    /// The occasion of an agent's work, which changes its style.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PersonaContext {
        /// No particular one.
        #[default]
        Default = "default",
        /// A review of work.
        CodeReview = "code_review",
        /// A conversation without a purpose.
        CasualChat = "casual_chat",
        /// An emergency.
        Crisis = "crisis",
        /// A conversation of several people.
        GroupChat = "group_chat",
        /// An investigation.
        DeepResearch = "deep_research",
    }
}

/// A value for each axis of a style.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PersonaAxes {
    pub warmth: f64,
    pub assertiveness: f64,
    pub verbosity: f64,
    pub formality: f64,
    pub humor: f64,
    pub initiative: f64,
    pub certainty: f64,
}

/// The persona of an agent: its style, and the principles coming before everything else it is told.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Persona {
    /// The occasion.
    pub context: PersonaContext,
    /// The style without an occasion: each axis from 0 to 1.
    pub baseline: PersonaAxes,
    /// The changes on the occasion, if they are not the known ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<PersonaChanges>,
    /// The moods; `None`: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moods: Option<MoodWeights>,
    /// The event a person lets this step tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<PersonaEvent>,
    /// The principles.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub constitution: String,
}

impl Default for PersonaAxes {
    fn default() -> Self {
        Self::BASELINE
    }
}

impl PersonaAxes {
    /// The baseline where a plan says nothing else (Silas 11).
    pub const BASELINE: Self = Self {
        warmth: 0.50,
        assertiveness: 0.75,
        verbosity: 0.30,
        formality: 0.30,
        humor: 0.40,
        initiative: 0.70,
        certainty: 0.80,
    };

    /// The axes of an occasion changing nothing.
    const NONE: Self = Self {
        warmth: 0.0,
        assertiveness: 0.0,
        verbosity: 0.0,
        formality: 0.0,
        humor: 0.0,
        initiative: 0.0,
        certainty: 0.0,
    };

    /// Returns an axis to change; `None` for a mood.
    pub fn axis_mut(&mut self, persona_trait: PersonaTrait) -> Option<&mut f64> {
        Some(match persona_trait {
            PersonaTrait::Warmth => &mut self.warmth,
            PersonaTrait::Assertiveness => &mut self.assertiveness,
            PersonaTrait::Verbosity => &mut self.verbosity,
            PersonaTrait::Formality => &mut self.formality,
            PersonaTrait::Humor => &mut self.humor,
            PersonaTrait::Initiative => &mut self.initiative,
            PersonaTrait::Certainty => &mut self.certainty,
            PersonaTrait::Energy
            | PersonaTrait::Patience
            | PersonaTrait::Curiosity
            | PersonaTrait::Frustration => return None,
        })
    }

    fn changed(mut self, changes: &PersonaChanges) -> Self {
        for (which, change) in changes.iter() {
            if let Some(axis) = self.axis_mut(which) {
                *axis += f64::from(change) / 1000.0;
            }
        }
        self
    }

    /// Returns the sum with other axes.
    fn plus(self, other: Self) -> Self {
        let sum = |first: f64, other: f64| first + other;
        Self {
            warmth: sum(self.warmth, other.warmth),
            assertiveness: sum(self.assertiveness, other.assertiveness),
            verbosity: sum(self.verbosity, other.verbosity),
            formality: sum(self.formality, other.formality),
            humor: sum(self.humor, other.humor),
            initiative: sum(self.initiative, other.initiative),
            certainty: sum(self.certainty, other.certainty),
        }
    }
}

impl PersonaContext {
    /// Returns what an occasion adds to each axis (Silas 5.1.4).
    fn change(self) -> PersonaAxes {
        let none = PersonaAxes::NONE;
        match self {
            Self::Default => none,
            Self::CodeReview => {
                PersonaAxes { assertiveness: 0.20, certainty: 0.10, humor: -0.20, verbosity: 0.10, ..none }
            }
            Self::CasualChat => {
                PersonaAxes { warmth: 0.20, humor: 0.30, formality: -0.30, verbosity: -0.10, ..none }
            }
            Self::Crisis => {
                PersonaAxes { verbosity: -0.30, assertiveness: 0.20, initiative: 0.30, humor: -0.50, ..none }
            }
            Self::GroupChat => {
                PersonaAxes { assertiveness: -0.10, verbosity: -0.20, initiative: -0.20, ..none }
            }
            Self::DeepResearch => {
                PersonaAxes { verbosity: 0.30, certainty: -0.20, humor: -0.30, formality: 0.10, ..none }
            }
        }
    }
}

impl Persona {
    /// Returns the style for the occasion and a mood: each axis from 0 to 1 (Silas 5.14).
    pub fn effective(&self, mood_changes: &PersonaChanges) -> PersonaAxes {
        let occasion = match &self.changes {
            Some(changes) => self.baseline.changed(changes),
            None => self.baseline.plus(self.context.change()),
        };
        let mut axes = occasion.changed(&mood_changes.of_axes());
        for which in PersonaTrait::ALL {
            if let Some(axis) = axes.axis_mut(*which) {
                *axis = axis.clamp(0.0, 1.0);
            }
        }
        axes
    }
}

#[cfg(test)]
mod tests {
    use super::{Persona, PersonaAxes, PersonaContext};
    use crate::agents::mood::{PersonaChanges, PersonaTrait};

    fn effective(context: PersonaContext, baseline: PersonaAxes) -> PersonaAxes {
        Persona { context, baseline, ..Persona::default() }.effective(&PersonaChanges::default())
    }

    #[test]
    fn changes_of_the_file_replace_the_known_ones_and_a_mood_is_added_before_the_limit() {
        let changes = Some(PersonaChanges::new([(PersonaTrait::Humor, 700)]));
        let persona = Persona { context: PersonaContext::Crisis, changes, ..Persona::default() };
        let mood = PersonaChanges::new([(PersonaTrait::Frustration, 500)]);
        let axes = persona.effective(&mood);
        assert!((axes.humor - 0.9).abs() < 1e-9, "0.4 + 0.7 - 0.2: {}", axes.humor);
        assert!((axes.initiative - 0.7).abs() < 1e-9 && (axes.warmth - 0.3).abs() < 1e-9);
    }

    #[test]
    fn an_occasion_changes_its_axes_and_no_other() {
        let review = effective(PersonaContext::CodeReview, PersonaAxes::BASELINE);
        assert!((review.assertiveness - 0.95).abs() < 1e-9 && (review.humor - 0.20).abs() < 1e-9);
        assert!((review.warmth - 0.50).abs() < 1e-9);
        assert_eq!(effective(PersonaContext::Default, PersonaAxes::BASELINE), PersonaAxes::BASELINE);
    }

    #[test]
    fn no_axis_leaves_its_range() {
        let crisis = effective(PersonaContext::Crisis, PersonaAxes::BASELINE);
        assert_eq!((crisis.humor, crisis.verbosity, crisis.initiative), (0.0, 0.0, 1.0));
    }
}
