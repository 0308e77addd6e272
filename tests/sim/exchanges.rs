//! Gates of the conversations of agents: what they say of a model call, a reply or a result.

use serde_json::json;
use wf_base::digest::Sha256Digest;
use wf_core::gate::GateOutcome;
use wf_core::machine::{
    ExchangeQuestion, GatePoint, GatedExchange, InputKind, RevisedResult, ShownContent, TaskId,
};
use wf_model::JsonObject;

use super::dice::Dice;
use super::gates::results;
use super::world::World;

impl World {
    /// What the gates say of a part of a conversation. Some rewrite it, where they may and where they may not.
    pub fn exchange_gated(
        &self,
        at: usize,
        place: Option<TaskId>,
        point: GatePoint,
        question: &ExchangeQuestion,
    ) -> InputKind {
        let part = question.part.clone();
        let what = format!("gates of {point:?} {:?} {} of {}", part.position, part.call, part.attempt);
        let mut dice = Dice::of(self.fates.0.wrapping_add(at as u64), &what);
        let results = results(&self.runs[at].plan, place.as_ref(), point, &mut dice);
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
        let digest = Sha256Digest::of_bytes(what.as_bytes());
        let content = (!dice.one_in(8)).then(|| ShownContent { digest, shown: json!({"message": what}) });
        let exchange = GatedExchange { part, start: question.start.clone(), mistake, revised, content };
        let gated = GateOutcome { results, rewritten };
        InputKind::Gated {
            place,
            point,
            gated,
            tool_call: None,
            arguments: None,
            exchange: Some(Box::new(exchange)),
        }
    }
}
