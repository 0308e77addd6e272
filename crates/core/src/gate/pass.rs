use std::{collections::VecDeque, sync::Arc};

use serde_json::Value;

use super::{ALLOWED_MUTATIONS, GateAction, GateAnswer, GateContext, GateOutcome, GateResult};
use crate::machine::AskedModel;
use wf_model::{Gate, GateLane, GateProvider, GateTrigger, JsonObject, Money};

/// One pass over the gates of a trigger point: yields the gates to ask, and takes their answers
/// (Silas 5.4).
///
/// The deciding gates come first, in the order of the triggers and then in the order given; then
/// the advising ones, about the result of the others. A block does not stop the rest from being
/// asked.
#[derive(Debug)]
pub struct GatePass {
    remaining: VecDeque<Arc<Gate>>,
    current_gate: Option<Arc<Gate>>,
    context: GateContext,
    outcome: GateOutcome,
}

impl GatePass {
    /// Begins with the gates of these triggers.
    pub fn new<'g>(
        gates: impl IntoIterator<Item = &'g Arc<Gate>>,
        triggers: &[GateTrigger],
        context: GateContext,
    ) -> Self {
        let turn = |gate: &Gate| triggers.iter().position(|on| *on == gate.on);
        let mut gates_left: Vec<Arc<Gate>> =
            gates.into_iter().filter(|gate| turn(gate).is_some()).cloned().collect();
        gates_left.sort_by_key(|gate| (gate.lane, turn(gate)));
        Self { remaining: gates_left.into(), current_gate: None, context, outcome: GateOutcome::default() }
    }

    /// Returns the gate to ask next, with its context; `None` after the last. Returns the same
    /// again until there is an answer.
    pub fn next_gate(&mut self) -> Option<(Arc<Gate>, &GateContext)> {
        if self.current_gate.is_none() {
            self.current_gate = self.remaining.pop_front();
        }
        let gate = Arc::clone(self.current_gate.as_ref()?);
        let on = gate.on.as_str();
        self.context.insert("trigger".into(), Value::from(on));
        Some((gate, &self.context))
    }

    /// Takes the answer of the gate, or the reason why it could not be asked, and the time it took.
    pub fn take_answer(&mut self, answer: Result<GateAnswer, String>, duration_ms: u64) {
        let Some(gate) = self.current_gate.take() else {
            return;
        };
        let failed = answer.is_err();
        let answer = answer.unwrap_or_else(|reason| failed_answer(&gate, reason));
        let mut result = GateResult {
            gate: gate.id.clone(),
            trigger: gate.on,
            lane: gate.lane,
            action: answer.action,
            reason: answer.reason,
            score: answer.score,
            flags: answer.flags,
            changed: Vec::new(),
            rejected: Vec::new(),
            ignored: None,
            failed,
            duration_ms,
            tokens: 0,
            cost: Money::default(),
            asked: None,
        };
        match gate.lane {
            GateLane::Policy => self.rewrite(answer.modified, &mut result),
            GateLane::Quality => {
                let wanted = std::mem::replace(&mut result.action, GateAction::Continue);
                result.ignored = Some(wanted).filter(|wanted| *wanted != GateAction::Continue);
                result.rejected = answer.modified.keys().cloned().collect();
            }
        }
        self.outcome.results.push(result);
    }

    /// Notes the call of the model of the last gate, whatever it answered.
    pub fn note_call(&mut self, asked: AskedModel) {
        if let Some(result) = self.outcome.results.last_mut() {
            (result.tokens, result.cost) = (asked.effort.usage.total(), asked.effort.cost);
            result.asked = Some(Box::new(asked));
        }
    }

    pub fn into_outcome(self) -> GateOutcome {
        self.outcome
    }

    /// Applies the permitted rewrites; from left to right, so a later gate sees them.
    fn rewrite(&mut self, modified: JsonObject, result: &mut GateResult) {
        for (key, value) in modified {
            if self.outcome.take_call_text(&key, &value, result) {
                continue;
            }
            if !ALLOWED_MUTATIONS.contains(&key.as_str()) {
                result.rejected.push(key);
            } else if self.context.get(&key) != Some(&value) {
                let message = self.context.get("message");
                // At the start of a run, the message is its parameters, which later gates see as both.
                if key == "message" && message.is_some() && self.context.get("params") == message {
                    self.context.insert("params".into(), value.clone());
                }
                self.context.insert(key.clone(), value.clone());
                self.outcome.rewritten.insert(key.clone(), value);
                result.changed.push(key);
            }
        }
    }
}

/// Returns the answer of a gate that could not be asked: a deciding one blocks, an advising one
/// passes with a flag.
fn failed_answer(gate: &Gate, reason: String) -> GateAnswer {
    match gate.lane {
        GateLane::Policy => GateAnswer::block(reason),
        GateLane::Quality => {
            let flag = match gate.provider {
                GateProvider::Llm(_) => "llm_error",
                _ => "not_asked",
            };
            GateAnswer { reason, flags: vec![flag.to_owned()], ..GateAnswer::pass() }
        }
    }
}

#[cfg(test)]
mod tests;
