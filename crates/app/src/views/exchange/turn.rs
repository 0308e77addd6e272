//! A turn of a conversation: a model call, its reply, and the tool calls that it asks for.

use serde::Serialize;

use super::{
    page::{ExchangeFilter, ExchangeScope},
    text::ExchangeText,
    tool::{ExchangeApproval, ExchangeGate, ExchangeTool, approvals_of, gates_of},
};
use wf_base::keywords;
use wf_core::{agent::ModelReply, machine::ModelCallOutcome};
use wf_lang::message_html;
use wf_model::TokenUsage;
use wf_report::record::ModelCallRecord;

/// The most tool calls of a turn that a page shows.
const MAX_TOOLS: usize = 50;

/// A turn.
#[derive(Debug, Serialize)]
pub struct ExchangeTurn {
    /// Its number, from 1.
    pub number: usize,
    /// Its address in its run, as commands name it.
    pub address: String,
    pub state: &'static str,
    /// The model that replied; absent without a reply of one.
    pub model: Option<String>,
    /// The reason for the end of the reply.
    pub stop: Option<&'static str>,
    pub duration_ms: Option<u64>,
    pub usage: TokenUsage,
    pub cost_micro_usd: u64,
    /// Remarks on what the model got before it replied, and on who replied.
    pub notes: Vec<TurnNote>,
    /// The text of the reply as HTML; empty without one.
    pub html: String,
    /// The size of the whole text, if its end is left out.
    pub cut: Option<String>,
    /// The reason why there is no reply, or why it cannot be read.
    pub problem: Option<String>,
    pub tools: Vec<ExchangeTool>,
    /// The number of tool calls that the filter or the limit leaves out.
    pub more_tools: usize,
    /// The answers of gates about the model call itself.
    pub gates: Vec<ExchangeGate>,
    pub approvals: Vec<ExchangeApproval>,
}

keywords! {
    /// The state of a turn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TurnState {
        Running = "running",
        Replied = "replied",
        /// A gate replied in the place of the model.
        Answered = "answered",
        Failed = "failed",
        Stopped = "stopped",
    }
}

/// A remark at the head of a turn.
#[derive(Debug, Serialize)]
pub struct TurnNote {
    pub kind: &'static str,
    pub text: ExchangeText,
}

keywords! {
    /// The subject of a remark.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TurnNoteKind {
        /// A cut of the conversation that was sent.
        Cut = "cut",
        /// The mistake in the answer before that is to be repaired.
        Repair = "repair",
        /// The text that gates gave to the model.
        Context = "context",
        /// A model that failed before another one replied.
        PassedOver = "passed over",
        /// A breaker that opened or closed.
        Breaker = "breaker",
        /// The gate that replied in the model's place.
        Answered = "answered",
    }
}

impl ExchangeTurn {
    /// Reads a turn by its number, from 1.
    pub(super) fn read(scope: &ExchangeScope<'_>, number: usize, filter: ExchangeFilter) -> Option<Self> {
        let record = scope.calls.calls.get(number.checked_sub(1)?)?;
        let mut turn = Self {
            number,
            address: format!("{}.{number}", scope.calls.attempt),
            state: state_of(record).as_str(),
            model: None,
            stop: None,
            duration_ms: None,
            usage: TokenUsage::default(),
            cost_micro_usd: 0,
            notes: Vec::new(),
            html: String::new(),
            cut: None,
            problem: None,
            tools: Vec::new(),
            more_tools: 0,
            gates: gates_of(&record.gates, |position| position.is_none()),
            approvals: approvals_of(&record.approvals, scope.decided, |position| position.is_none()),
        };
        turn.take_end(record);
        if filter == ExchangeFilter::All {
            turn.notes = notes_of(scope, number, record);
        }
        let reply = record.reply().map(|digest| scope.body::<ModelReply>(&digest)).transpose();
        match reply {
            Ok(reply) => turn.take_reply(scope, record, reply.as_ref(), filter),
            Err(problem) => turn.problem = Some(problem),
        }
        Some(turn)
    }

    /// Takes what is recorded of its end.
    fn take_end(&mut self, record: &ModelCallRecord) {
        let Some(end) = &record.end else {
            return;
        };
        self.duration_ms = Some(end.effort.duration_ms);
        self.usage = end.effort.usage;
        self.cost_micro_usd = end.effort.cost.micros();
        match &end.outcome {
            ModelCallOutcome::Replied { model, stop, .. } => {
                self.model = end.answered_by.is_none().then(|| model.to_string());
                self.stop = Some(stop.as_str());
            }
            ModelCallOutcome::Failed { reason, .. } => self.problem = Some(reason.clone()),
            ModelCallOutcome::Stopped => {}
        }
    }

    fn take_reply(
        &mut self,
        scope: &ExchangeScope<'_>,
        record: &ModelCallRecord,
        reply: Option<&ModelReply>,
        filter: ExchangeFilter,
    ) {
        let Some(reply) = reply else {
            return;
        };
        if filter == ExchangeFilter::All {
            let text = ExchangeText::new(reply.text.clone());
            (self.html, self.cut) = (message_html(&text.text), text.cut);
        }
        for (position, asked_call) in reply.tool_calls.iter().enumerate() {
            let has_failed = record.tools.get(position).is_some_and(|tool| tool.is_error);
            let is_wanted = filter != ExchangeFilter::Errors || has_failed;
            if is_wanted && self.tools.len() < MAX_TOOLS {
                self.tools.push(ExchangeTool::read(scope, record, &self.address, asked_call, position));
            } else {
                self.more_tools += 1;
            }
        }
    }

    /// Returns the number of bytes of its texts.
    pub(super) fn size(&self) -> usize {
        let notes: usize = self.notes.iter().map(|note| note.text.size()).sum();
        let tools: usize = self.tools.iter().map(ExchangeTool::size).sum();
        self.html.len() + notes + tools
    }
}

fn state_of(record: &ModelCallRecord) -> TurnState {
    match record.end.as_ref().map(|end| (&end.outcome, &end.answered_by)) {
        None => TurnState::Running,
        Some((ModelCallOutcome::Replied { .. }, None)) => TurnState::Replied,
        Some((ModelCallOutcome::Replied { .. }, Some(_))) => TurnState::Answered,
        Some((ModelCallOutcome::Failed { .. }, _)) => TurnState::Failed,
        Some((ModelCallOutcome::Stopped, _)) => TurnState::Stopped,
    }
}

fn notes_of(scope: &ExchangeScope<'_>, number: usize, record: &ModelCallRecord) -> Vec<TurnNote> {
    let mut notes = Vec::new();
    let mut add = |kind: TurnNoteKind, text: String| {
        notes.push(TurnNote { kind: kind.as_str(), text: ExchangeText::new(text) });
    };
    // A cut is sent with each request; it is news only where it changes.
    let before = number.checked_sub(2).and_then(|before| scope.calls.calls.get(before));
    if !record.context.is_none() && before.is_none_or(|before| before.context != record.context) {
        add(TurnNoteKind::Cut, record.context.to_string());
    }
    if let Some(mistake) = &record.repairs {
        add(TurnNoteKind::Repair, mistake.clone());
    }
    if let Some(added) = &record.supplement.context {
        let text = scope.body::<String>(&added.text).unwrap_or_else(|problem| problem);
        add(TurnNoteKind::Context, text);
    }
    if let Some(end) = &record.end {
        for passed in &end.effort.passed_over {
            add(TurnNoteKind::PassedOver, format!("`{}`: {}", passed.model, passed.reason));
        }
        for breaker in &end.effort.breakers {
            add(TurnNoteKind::Breaker, breaker.to_string());
        }
        if let Some(gate) = &end.answered_by {
            add(TurnNoteKind::Answered, format!("gate `{gate}` replied, and no model was called"));
        }
    }
    notes
}
