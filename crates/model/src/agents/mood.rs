//! The moods of a persona: what events change, for a while.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wf_base::{keyword::Keyword as _, keywords};

keywords! {
    listed
    /// A part of a persona that changes: an axis of its style, or a mood.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PersonaTrait {
        /// The warmth.
        Warmth = "warmth",
        /// The assertiveness.
        Assertiveness = "assertiveness",
        /// The verbosity.
        Verbosity = "verbosity",
        /// The formality.
        Formality = "formality",
        /// The humor.
        Humor = "humor",
        /// The initiative.
        Initiative = "initiative",
        /// The certainty.
        Certainty = "certainty",
        /// The energy: a mood.
        Energy = "energy",
        /// The patience: a mood.
        Patience = "patience",
        /// The curiosity: a mood.
        Curiosity = "curiosity",
        /// The frustration: a mood.
        Frustration = "frustration",
    }
}

keywords! {
    listed
    /// An event changing the moods of a persona.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum PersonaEvent {
        /// A step succeeded.
        TaskCompleted = "task_completed",
        /// The checks of an attempt failed.
        VerificationFailed = "verification_failed",
        /// An attempt ended without an answer.
        Blocked = "blocked",
        /// A person is content.
        Compliment = "compliment",
        /// A person found the tone too harsh.
        FeedbackTooHarsh = "feedback_too_harsh",
    }
}

/// Changes of traits, in thousandths: of moods from their neutral value, of axes from those of the persona.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct PersonaChanges(BTreeMap<PersonaTrait, i32>);

/// The changes by each event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct MoodWeights(BTreeMap<PersonaEvent, PersonaChanges>);

/// The most that a trait can be away from where it rests: a mood rests in the middle between 0 and 1.
const FARTHEST: i32 = 500;

/// The part of a mood's change by which it changes an axis, in percent. The source has no numbers for this.
const MOOD_AXES: [(PersonaTrait, PersonaTrait, i32); 6] = [
    (PersonaTrait::Energy, PersonaTrait::Initiative, 40),
    (PersonaTrait::Patience, PersonaTrait::Warmth, 40),
    (PersonaTrait::Patience, PersonaTrait::Verbosity, 20),
    (PersonaTrait::Curiosity, PersonaTrait::Verbosity, 20),
    (PersonaTrait::Frustration, PersonaTrait::Warmth, -40),
    (PersonaTrait::Frustration, PersonaTrait::Humor, -40),
];

impl PersonaTrait {
    /// True for a mood, which is no axis of a style.
    pub fn is_mood(self) -> bool {
        matches!(self, Self::Energy | Self::Patience | Self::Curiosity | Self::Frustration)
    }
}

impl PersonaEvent {
    /// True if only a person can say that it happened: no other fact tells it.
    pub fn is_of_people(self) -> bool {
        matches!(self, Self::Compliment | Self::FeedbackTooHarsh)
    }
}

impl PersonaChanges {
    /// Creates changes, without those that change nothing.
    pub fn new(changes: impl IntoIterator<Item = (PersonaTrait, i32)>) -> Self {
        Self(changes.into_iter().filter(|(_, change)| *change != 0).collect())
    }

    /// True if nothing is changed.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the change of each trait.
    pub fn iter(&self) -> impl Iterator<Item = (PersonaTrait, i32)> {
        self.0.iter().map(|(which, change)| (*which, *change))
    }

    /// Returns the sum with other changes, each limited.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let sum = |persona_trait: &PersonaTrait| {
            let parts =
                [&self.0, &other.0].map(|changes| changes.get(persona_trait).copied().unwrap_or_default());
            parts.iter().fold(0_i32, |sum, part| sum.saturating_add(*part)).clamp(-FARTHEST, FARTHEST)
        };
        Self::new(PersonaTrait::ALL.iter().map(|which| (*which, sum(which))))
    }

    /// Returns what is left of the changes when each went back by some thousandths.
    #[must_use]
    pub fn decayed(&self, by: i32) -> Self {
        let toward = |change: i32| change.signum() * change.abs().saturating_sub(by).max(0);
        Self::new(self.iter().map(|(which, change)| (which, toward(change))))
    }

    /// Returns the changes of axes: their own, and those that follow from moods.
    #[must_use]
    pub fn of_axes(&self) -> Self {
        let own = Self::new(self.iter().filter(|(which, _)| !which.is_mood()));
        let moods = MOOD_AXES.iter().map(|(mood, axis, percent)| {
            let change = self.0.get(mood).copied().unwrap_or_default();
            Self::new([(*axis, change * percent / 100)])
        });
        moods.fold(own, |sum, change| sum.plus(&change))
    }
}

impl MoodWeights {
    /// Creates the weights of the source (Silas 11), with others for some events.
    pub fn new(others: impl IntoIterator<Item = (PersonaEvent, PersonaChanges)>) -> Self {
        use PersonaTrait::{Assertiveness, Energy, Frustration, Patience, Warmth};
        let source: [(PersonaEvent, &[(PersonaTrait, i32)]); 5] = [
            (PersonaEvent::TaskCompleted, &[(Energy, 50), (Frustration, -100)]),
            (PersonaEvent::VerificationFailed, &[(Frustration, 100), (Patience, -50)]),
            (PersonaEvent::Blocked, &[(Frustration, 80), (Patience, -40)]),
            (PersonaEvent::Compliment, &[(Energy, 100), (Warmth, 50)]),
            (PersonaEvent::FeedbackTooHarsh, &[(Assertiveness, -50)]),
        ];
        let source =
            source.into_iter().map(|(event, changes)| (event, PersonaChanges::new(changes.iter().copied())));
        Self(source.chain(others).collect())
    }

    /// Returns the changes by an event.
    pub fn of(&self, event: PersonaEvent) -> PersonaChanges {
        self.0.get(&event).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        MoodWeights, PersonaChanges, PersonaEvent,
        PersonaTrait::{Energy, Frustration, Humor, Initiative, Patience, Verbosity, Warmth},
    };

    #[test]
    fn changes_are_added_within_limits_and_go_back() {
        let one = PersonaChanges::new([(Energy, 400), (Frustration, -100)]);
        let sum = one.plus(&PersonaChanges::new([(Energy, 300), (Frustration, 100)]));
        assert_eq!(sum, PersonaChanges::new([(Energy, 500)]), "what is neutral is left out");
        assert_eq!(one.decayed(150), PersonaChanges::new([(Energy, 250)]));
        assert!(one.decayed(i32::MAX).is_none());
    }

    #[test]
    fn moods_change_axes() {
        let changes = PersonaChanges::new([(Frustration, 400), (Patience, -200), (Warmth, 50)]);
        let expected = [(Warmth, 50 - 80 - 160), (Humor, -160), (Verbosity, -40)];
        assert_eq!(changes.of_axes(), PersonaChanges::new(expected));
        let energy = PersonaChanges::new([(Energy, -500)]);
        assert_eq!(energy.of_axes(), PersonaChanges::new([(Initiative, -200)]));
    }

    #[test]
    fn a_persona_may_have_its_own_weights() {
        let own = PersonaChanges::new([(Energy, -300)]);
        let weights = MoodWeights::new([(PersonaEvent::Blocked, own.clone())]);
        assert_eq!(weights.of(PersonaEvent::Blocked), own);
        let completed = PersonaChanges::new([(Energy, 50), (Frustration, -100)]);
        assert_eq!(weights.of(PersonaEvent::TaskCompleted), completed);
    }
}
