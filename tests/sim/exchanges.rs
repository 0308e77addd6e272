//! Gates of the conversations of agents: what they say of a model call, a reply or a result.

use serde_json::json;
use wf_base::{digest::Sha256Digest, name::Name};
use wf_core::{
    agent::StopReason,
    gate::{GateOutcome, GateResult},
    machine::{
        AddedContext, CallSupplement, ExchangeQuestion, GatePoint, GateReply, GatedExchange, InputKind,
        ModelCallOutcome, RevisedResult, ShownContent, TaskId,
    },
};
use wf_model::{GateTrigger, JsonObject};

use super::{dice::Dice, gates::results, world::World};

/// The triggers of the gates of a conversation.
pub const TRIGGERS: [GateTrigger; 3] =
    [GateTrigger::OnModelCall, GateTrigger::OnModelReply, GateTrigger::OnToolResult];

impl World {
    /// What the gates say of a part of a conversation. Some rewrite it, where they may and where they may not.
    pub fn exchange_gated(
        &self,
        at: usize,
        task_id: Option<TaskId>,
        point: GatePoint,
        question: &ExchangeQuestion,
    ) -> InputKind {
        let part = question.part.clone();
        let what = format!("gates of {point:?} {:?} {} of {}", part.position, part.call, part.attempt);
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &what);
        let results = results(&self.runs[at].plan, task_id.as_ref(), point, &mut dice);
        let mut rewritten = JsonObject::new();
        let seldom = if point == GatePoint::Result { 3 } else { 20 };
        if dice.one_in(seldom) {
            rewritten.insert("response".into(), json!("other"));
        }
        let revises = point == GatePoint::Result && !rewritten.is_empty();
        let revised = revises.then(|| RevisedResult {
            result: Sha256Digest::of_bytes(what.as_bytes()),
            tokens: u64::from(dice.up_to(20)),
        });
        let mistake = self.fates.mistake(at, &part.attempt, part.call).filter(|_| point == GatePoint::Reply);
        let supplement = supplement(&what, point, &results);
        let digest = Sha256Digest::of_bytes(what.as_bytes());
        let content = (!dice.one_in(8)).then(|| ShownContent { digest, shown: json!({"message": what}) });
        let exchange =
            GatedExchange { part, start: question.start.clone(), mistake, revised, content, supplement };
        let gated = GateOutcome { results, rewritten, ..GateOutcome::default() };
        InputKind::Gated {
            task_id,
            point,
            gated,
            tool_call: None,
            arguments: None,
            exchange: Some(Box::new(exchange)),
        }
    }
}

/// What gates give to a model call: sometimes context, and sometimes a reply in its place.
fn supplement(what: &str, point: GatePoint, results: &[GateResult]) -> CallSupplement {
    let mut given = CallSupplement::default();
    let Some(first) = results.first().filter(|_| point == GatePoint::Request) else {
        return given;
    };
    let mut dice = Dice::of(0, &format!("what {what} give"));
    let digest = Sha256Digest::of_bytes(what.as_bytes());
    if dice.one_in(4) {
        let untrusted = dice.one_in(3).then(|| "gate".to_owned());
        given.context = Some(AddedContext { text: digest, tokens: u64::from(dice.up_to(20)), untrusted });
    }
    if dice.one_in(5) {
        given.reply = Some(GateReply { gate: first.gate.clone(), reply: digest });
    }
    given
}

/// What comes of a model call that a gate answers.
pub fn reply_of(given: &GateReply) -> ModelCallOutcome {
    ModelCallOutcome::Replied {
        model: Name::parse("strong").expect("this is a name"),
        reply: given.reply,
        stop: StopReason::EndTurn,
        reply_tokens: 5,
        tool_calls: Vec::new(),
    }
}
