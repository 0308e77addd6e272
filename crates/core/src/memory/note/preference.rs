use serde::{Deserialize, Serialize};

use super::{MemoryNote, NoteDraft};
use crate::machine::{AnswerOptions, ApprovalOutcome, ApprovalRequest, RequestDecision, TypedAnswer};
use wf_base::{
    name::{PlanId, RunId},
    time::Moment,
};

/// The kind of the notes.
const KIND: &str = "preference";

/// The strength of a new preference, what the same decision adds, and what an opposite one takes, in hundredths
/// (Sylk, W54).
const NEW: u8 = 60;
const AGREES: u8 = 10;
const DIFFERS: u8 = 20;

/// The maximum number of new preferences of a day (Silas 6.6).
const MOST_A_DAY: usize = 20;

/// The number of decisions a preference names: the last ones.
const MOST_DECISIONS: usize = 100;

/// The maximum length of a text, in characters: choices may be long.
const MAX_CHARS: usize = 1000;

/// The milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The strength of a preference following from decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreferenceStrength {
    /// From 0 to 100.
    pub percent: u8,
    /// The decisions it counts, each once: a run and a request.
    pub decisions: Vec<String>,
}

/// A decision of people on the request of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepDecision {
    /// The run and the number of the request: it counts once.
    id: String,
    /// The decision, in words of this program.
    text: String,
    /// The plan and the step. Different texts about them are opposite.
    tags: Vec<String>,
    /// True if words of it may be from outside.
    external: bool,
}

impl StepDecision {
    /// Returns the decision an outcome is; `None` if nobody decided, or the request is about something else than a
    /// step with `approve`. `external`: what the step shows and lets choose may be from outside.
    pub fn of(
        run: &RunId,
        plan: &PlanId,
        request: &ApprovalRequest,
        outcome: &ApprovalOutcome,
        external: bool,
    ) -> Option<Self> {
        let step = &request.task_id.as_ref()?.step;
        let of_gate_or_phase = request.point.is_some() || request.phase.is_some();
        let of_agent = request.tool_call.is_some() || request.exchange.is_some() || request.stuck.is_some();
        if of_gate_or_phase || of_agent || request.merge.is_some() {
            return None;
        }
        let what = match (outcome.decision, &outcome.answer, &request.answer) {
            (RequestDecision::Denied, ..) => "declines".to_owned(),
            (RequestDecision::Approved, None, _) => "approves".to_owned(),
            (
                RequestDecision::Approved,
                Some(TypedAnswer::Choice(word)),
                Some(AnswerOptions::Choose(all)),
            ) => {
                let others: Vec<&str> = all.iter().filter(|one| *one != word).map(String::as_str).collect();
                format!("chooses {word} over {} in", others.join(", "))
            }
            (RequestDecision::Approved, Some(TypedAnswer::Text(_)), _) => "changes the text of".to_owned(),
            (RequestDecision::Approved, Some(TypedAnswer::Selected(_)), _) => {
                "selects some of the list of".to_owned()
            }
            _ => return None,
        };
        let text = format!("{what} step {step} of plan {plan}").chars().take(MAX_CHARS).collect();
        Some(Self {
            id: format!("{run}#{}", request.request),
            text,
            tags: vec![format!("plan:{plan}"), format!("step:{step}")],
            external,
        })
    }
}

#[cfg(test)]
impl StepDecision {
    pub(crate) fn test(id: &str, text: &str) -> Self {
        Self { id: id.into(), text: text.into(), tags: vec!["plan:release".into()], external: false }
    }
}

/// Returns the notes a decision adds or changes: its preference becomes stronger, opposite ones weaker. A decision that
/// was counted changes nothing.
pub fn prefer(notes: &[MemoryNote], decision: &StepDecision, now: Moment) -> Vec<MemoryNote> {
    let counts = |strength: &PreferenceStrength| strength.decisions.contains(&decision.id);
    let counted = |note: &MemoryNote| note.strength.as_ref().is_some_and(counts);
    let draft = NoteDraft {
        kind: KIND.into(),
        text: decision.text.clone(),
        tags: decision.tags.clone(),
        ..NoteDraft::default()
    };
    let new = MemoryNote::new(draft, &format!("decision {}", decision.id), decision.external, now);
    let Ok(new) = new else { return Vec::new() };
    if notes.iter().any(counted) {
        return Vec::new();
    }
    let is_opposite = |note: &&MemoryNote| {
        note.strength.is_some() && note.kind == KIND && note.tags == new.tags && note.id != new.id
    };
    let mut changed_notes: Vec<MemoryNote> = notes
        .iter()
        .filter(is_opposite)
        .map(|note| decision.moved(note, |own| own.saturating_sub(DIFFERS)))
        .collect();
    let of_today = |note: &&MemoryNote| {
        note.strength.is_some() && note.created.millis().div_euclid(DAY) == now.millis().div_euclid(DAY)
    };
    // What a file says is no decision that was made here.
    match notes.iter().find(|note| note.id == new.id && !note.is_claim()) {
        Some(same) => changed_notes.push(decision.moved(same, |own| own.saturating_add(AGREES).min(100))),
        None if notes.iter().filter(of_today).count() >= MOST_A_DAY => {}
        None => changed_notes.push(decision.moved(&new, |own| own)),
    }
    changed_notes
}

impl StepDecision {
    /// Returns a note with another strength, which counts this decision. One without a strength has that of a new one.
    fn moved(&self, note: &MemoryNote, strength: impl Fn(u8) -> u8) -> MemoryNote {
        let old = note.strength.clone();
        let percent = old.as_ref().map_or(NEW, |old| strength(old.percent));
        let mut decisions = old.map(|old| old.decisions).unwrap_or_default();
        decisions.push(self.id.clone());
        let excess = decisions.len().saturating_sub(MOST_DECISIONS);
        decisions.drain(..excess);
        MemoryNote { strength: Some(PreferenceStrength { percent, decisions }), ..note.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::{StepDecision, prefer};
    use crate::memory::note::MemoryNote;
    use wf_base::time::Moment;

    const NOW: Moment = Moment::from_millis(0);

    fn decision(number: u32, what: &str) -> StepDecision {
        StepDecision {
            id: format!("run#{number}"),
            text: format!("{what} step publish of plan release"),
            tags: vec!["plan:release".into(), "step:publish".into()],
            external: false,
        }
    }

    /// Counts decisions, and returns each text with its strength.
    fn after(decisions: &[StepDecision]) -> Vec<(String, u8)> {
        let mut notes: Vec<MemoryNote> = Vec::new();
        for decision in decisions {
            for note in prefer(&notes, decision, NOW) {
                notes.retain(|one| one.id != note.id);
                notes.push(note);
            }
        }
        let percent = |note: &MemoryNote| note.strength.as_ref().map_or(0, |own| own.percent);
        let mut all: Vec<_> = notes.iter().map(|note| (note.text.clone(), percent(note))).collect();
        all.sort();
        all
    }

    #[test]
    fn the_same_decision_strengthens_and_an_opposite_one_weakens() {
        let approves = |number| decision(number, "approves");
        let text = |what: &str| format!("{what} step publish of plan release");
        assert_eq!(after(&[approves(1)]), [(text("approves"), 60)]);
        let often: Vec<_> = (1..10).map(approves).collect();
        assert_eq!(after(&often), [(text("approves"), 100)]);
        let mixed = [approves(1), approves(2), decision(3, "declines")];
        assert_eq!(after(&mixed), [(text("approves"), 50), (text("declines"), 60)]);
        let turned: Vec<_> = (2..9).map(|number| decision(number, "declines")).collect();
        assert_eq!(
            after(&[vec![approves(1)], turned].concat()),
            [(text("approves"), 0), (text("declines"), 100)]
        );
    }

    #[test]
    fn a_decision_counts_once_however_often_it_is_told() {
        let twice = [decision(1, "approves"), decision(2, "declines"), decision(1, "approves")];
        assert_eq!(after(&twice), after(&twice[..2]));
    }

    #[test]
    fn a_day_has_twenty_new_preferences_at_most() {
        let many: Vec<StepDecision> = (0..30)
            .map(|number| StepDecision {
                tags: vec![format!("step:s{number}")],
                ..decision(number, &format!("approves {number}"))
            })
            .collect();
        assert_eq!(after(&many).len(), 20);
    }
}
