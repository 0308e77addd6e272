use std::fmt::Write as _;

use serde::Serialize;

use crate::gate::{Action, GateResult};
use crate::machine::{
    Advised, Approved, Ask, Change, Event, Fact, Given, IntentAdvice, Place, Round,
};
use crate::report::paint::{BAD, DIM, WARN, paint};
use crate::report::{moment, plain, rounds};
use crate::time::Moment;
use crate::untrusted::{styled_line, untrusted};

/// What let a run begin and go on: approvals, gates, decisions, rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Held {
    /// Who approved the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<Approved>,
    /// What people were asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// What gates said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gating>,
    /// What memory said when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Remembered>,
    /// What the controller made of its rounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// When each of them ended.
    #[serde(skip)]
    pub(super) closed: Vec<Moment>,
}

/// What memory said when a run began.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Remembered {
    /// What it said about the plan's intent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<IntentAdvice>,
    /// What it said about how steps are done.
    pub advice: Vec<Advised>,
    /// The steps that began in another way than they are written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Something that people were asked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// What.
    pub ask: Ask,
    /// What became of it; absent: it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Given>,
}

/// What a gate said.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gating {
    /// The place; absent: a gate of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What.
    pub result: GateResult,
}

impl Held {
    /// The events that it is made of.
    pub const EVENTS: [&'static str; 6] = [
        "run_approved",
        "gate_judged",
        "approval_asked",
        "approval_answered",
        "round_closed",
        "memory_advised",
    ];

    /// What events say of it.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut held = Self::default();
        for event in events {
            if let Fact::RoundClosed(_) = &event.fact {
                held.closed.push(event.at);
            }
            held.take(&event.fact);
        }
        held
    }

    fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::RunApproved(approved) => self.approved = Some((**approved).clone()),
            Fact::GateJudged { place, result } => self.gates.push(Gating {
                place: place.clone(),
                result: result.clone(),
            }),
            Fact::MemoryAdvised {
                intent,
                advice,
                changes,
            } => {
                self.memory = Some(Remembered {
                    intent: intent.clone(),
                    advice: advice.clone(),
                    changes: changes.clone(),
                });
            }
            Fact::RoundClosed(round) => self.rounds.push((**round).clone()),
            Fact::ApprovalAsked(ask) => self.questions.push(Question {
                ask: (**ask).clone(),
                given: None,
            }),
            Fact::ApprovalAnswered { number, given, .. } => {
                let mut asked = self.questions.iter_mut();
                if let Some(question) = asked.find(|question| question.ask.number == *number) {
                    question.given = Some(given.clone());
                }
            }
            _ => {}
        }
    }

    /// The questions that people have not answered.
    pub fn open(&self) -> impl Iterator<Item = &Ask> {
        let open = self
            .questions
            .iter()
            .filter(|question| question.given.is_none());
        open.map(|question| &question.ask)
    }

    /// Who approved the run, on one line; empty if nobody did.
    pub(super) fn by(&self) -> String {
        let Some(approved) = &self.approved else {
            return String::new();
        };
        let names: Vec<&str> = approved.by.iter().map(|by| by.name.as_str()).collect();
        let key = approved
            .by
            .first()
            .map(|by| by.key.short())
            .unwrap_or_default();
        let policy = match approved.policy {
            crate::machine::ApprovalPolicy::Owner => "owner",
            crate::machine::ApprovalPolicy::Reviewed => "reviewed",
        };
        let of = match approved.executions {
            1 => String::new(),
            all => format!(" · use {} of {all}", approved.execution),
        };
        format!("by {} ({key}) · policy {policy}{of}", names.join(", "))
    }

    /// What gates and people said of a place, a sentence each.
    pub(super) fn reasons(&self, place: &Place) -> Vec<String> {
        let gates = self.gates.iter();
        let gates = gates.filter(|gating| gating.place.as_ref() == Some(place));
        let gates = gates.map(|Gating { result, .. }| {
            let (on, lane) = (result.trigger.as_str(), result.lane);
            let said = if result.reason.is_empty() { "" } else { ": " };
            let action = match (lane, result.ignored) {
                (_, Some(ignored)) => format!("wanted {}, and may only advise", ignored.as_str()),
                _ => format!("said {}", result.action.as_str()),
            };
            let reason = untrusted(&result.reason);
            format!("{on}, gate `{}` {action}{said}{reason}", result.gate)
        });
        let asked = self.questions.iter();
        let asked = asked.filter(|question| question.ask.place.as_ref() == Some(place));
        let asked = asked.map(|Question { ask, given }| match given {
            None => format!("people are asked: {}", untrusted(&ask.message)),
            Some(given) => {
                let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
                let word = given.decision.as_str();
                let by = if names.is_empty() { "" } else { " by " };
                format!(
                    "people were asked: {} · {word}{by}{}",
                    untrusted(&ask.message),
                    untrusted(&names.join(", "))
                )
            }
        });
        let memory = self.memory.iter().flat_map(|memory| &memory.changes);
        let began = memory.filter(|change| change.step == place.step);
        let began = began.map(|change| {
            let told = plain(&rounds::change(change));
            format!("memory avoids how it is written, so it began otherwise: {told}")
        });
        began.chain(gates).chain(asked).collect()
    }

    /// What gates and people said that changed something, a line each.
    pub(super) fn lines(&self, called: &dyn Fn(&Place) -> String) -> String {
        let mut text = String::new();
        if let Some(Remembered {
            intent,
            advice,
            changes,
        }) = &self.memory
        {
            for one in rounds::remembered(intent.as_ref(), advice, changes) {
                let _ = writeln!(text, "  memory · {}", styled_line(&one));
            }
        }
        let name = |place: Option<&Place>| place.map_or("the run".into(), called);
        for Gating { place, result } in &self.gates {
            let (style, word) = match result.action {
                Action::Block => (BAD, "blocked"),
                Action::RequireApproval => (WARN, "asks"),
                Action::Continue if !result.changed.is_empty() => (WARN, "rewrote"),
                Action::Continue if !result.flags.is_empty() => (WARN, "flagged"),
                Action::Continue => continue,
            };
            let said = if result.reason.is_empty() {
                [result.changed.join(", "), result.flags.join(", ")].concat()
            } else {
                result.reason.clone()
            };
            let word = paint(style, word);
            let place = name(place.as_ref());
            let _ = writeln!(
                text,
                "  {place} · gate {} {word}: {}",
                result.gate,
                untrusted(&said)
            );
        }
        for Question { ask, given } in &self.questions {
            let place = name(ask.place.as_ref());
            let told = match given {
                None => format!("{} until {}", paint(WARN, "open"), moment(ask.expires)),
                Some(given) => {
                    let names: Vec<&str> = given.by.iter().map(|by| by.name.as_str()).collect();
                    let by = if names.is_empty() { "" } else { " by " };
                    let said = if given.reason.is_empty() { "" } else { ": " };
                    let word = given.decision.as_str();
                    let (names, reason) = (names.join(", "), untrusted(&given.reason));
                    format!("{word}{by}{}{said}{reason}", untrusted(&names))
                }
            };
            let message = untrusted(&ask.message);
            let _ = writeln!(text, "  {place} · {message} · {}", styled_line(&told));
        }
        if text.is_empty() {
            text
        } else {
            format!("\n{}\n{text}", paint(DIM, "gates and approvals"))
        }
    }
}
