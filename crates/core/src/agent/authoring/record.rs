use serde::{Deserialize, Serialize};

use super::{AuthoringUsage, CallReserve, Clarification, PastWish, PlanningBudget};
use wf_base::{digest::Sha256Digest, name::Name, time::Moment};
use wf_model::{Money, TokenUsage};

/// A stored fact about a request for a plan, and its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningEntry {
    pub at: Moment,
    #[serde(flatten)]
    pub fact: PlanningFact,
}

/// A fact about a request for a plan. The keys of models are masked in each text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum PlanningFact {
    /// A user asked for a plan.
    Requested {
        /// The words of the user.
        input: String,
        /// The plan that is to be revised.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revises: Option<String>,
        /// The limits.
        budget: PlanningBudget,
    },
    /// The perceiver asked, and the user answered.
    Clarified {
        /// The questions of one round, and the answers.
        clarifications: Vec<Clarification>,
    },
    /// A call is made.
    CallStarted {
        role: String,
        model: Name,
        /// The amount it may use.
        reserve: CallReserve,
    },
    /// A call is not made.
    CallRefused {
        role: String,
        model: Name,
        /// The reason in a sentence.
        reason: String,
    },
    CallEnded(PlanningCallEnd),
    /// The request ended.
    Ended(PlanningResult),
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningCallEnd {
    /// The stored request.
    pub request: Sha256Digest,
    /// The reply, or the reason why there is none.
    #[serde(flatten)]
    pub reply: PlanningReply,
    /// The tokens of all tries.
    pub usage: TokenUsage,
    /// The cost of all tries, in millionths of a US dollar.
    #[serde(default, rename = "cost_micro_usd", skip_serializing_if = "Money::is_zero")]
    pub cost: Money,
    pub tries: u32,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanningReply {
    /// The model, or a fallback, replied.
    Replied {
        /// The model that replied.
        model: Name,
        /// The stored reply.
        reply: Sha256Digest,
    },
    /// None replied, for a reason in a sentence.
    Failed(String),
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningResult {
    /// True if a plan was accepted.
    pub is_accepted: bool,
    /// The intent, as the perceiver understood it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The use made of the plan, or the reason why there is none.
    pub result: String,
}

/// A request for a plan, as its entries tell it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanningRecord {
    /// The time of the request.
    pub at: Moment,
    /// The words of the user.
    pub input: String,
    /// The plan that is to be revised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revises: Option<String>,
    /// The limits.
    pub budget: PlanningBudget,
    /// The questions of the perceiver, and the answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clarifications: Vec<Clarification>,
    /// The calls, in order.
    pub calls: Vec<PlanningCall>,
    /// The end; `None`: it is under way, or was interrupted.
    pub end: Option<PlanningResult>,
}

/// A call of a request for a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanningCall {
    pub role: String,
    /// The model asked.
    pub model: Name,
    /// The amount it may use; `None`: it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<CallReserve>,
    /// The reason why it was not made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The end; `None`: it was refused, is under way, or was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<PlanningCallEnd>,
}

impl PlanningRecord {
    /// Folds the entries of a request; `None` if they do not begin with it.
    pub fn of(entries: impl IntoIterator<Item = PlanningEntry>) -> Option<Self> {
        let mut entries = entries.into_iter();
        let first = entries.next()?;
        let PlanningFact::Requested { input, revises, budget } = first.fact else {
            return None;
        };
        let mut record = Self {
            at: first.at,
            input,
            revises,
            budget,
            clarifications: Vec::new(),
            calls: Vec::new(),
            end: None,
        };
        entries.for_each(|entry| record.apply(entry.fact));
        Some(record)
    }

    fn apply(&mut self, fact: PlanningFact) {
        match fact {
            PlanningFact::Requested { .. } => {}
            PlanningFact::Clarified { clarifications } => self.clarifications.extend(clarifications),
            PlanningFact::CallStarted { role, model, reserve } => {
                let reserve = Some(reserve);
                self.calls.push(PlanningCall { role, model, reserve, refused: None, end: None });
            }
            PlanningFact::CallRefused { role, model, reason } => {
                let refused = Some(reason);
                self.calls.push(PlanningCall { role, model, reserve: None, refused, end: None });
            }
            PlanningFact::CallEnded(end) => {
                if let Some(call) = self.calls.last_mut() {
                    call.end = Some(end);
                }
            }
            PlanningFact::Ended(result) => self.end = Some(result),
        }
    }

    /// Returns the resources its calls used.
    pub fn usage(&self) -> AuthoringUsage {
        let mut usage = AuthoringUsage::default();
        let ends = self.calls.iter().filter_map(|call| call.end.as_ref());
        ends.for_each(|end| usage.add(end.usage, end.cost));
        usage
    }

    /// Returns the request as a later perceiver is told of it; `None`: it has not ended.
    pub fn past_wish(&self) -> Option<PastWish> {
        let PlanningResult { intent, result, .. } = self.end.as_ref()?;
        let summary = match intent {
            Some(intent) => format!("{intent} ({result})"),
            None => result.clone(),
        };
        Some(PastWish { input: self.input.clone(), summary })
    }
}
