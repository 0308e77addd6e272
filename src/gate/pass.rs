use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use super::{ALLOWED_MUTATIONS, Action, Answer, Context, GateResult, Gated};
use crate::model::{Gate, Lane, Object, Provider, Trigger};

/// One pass over the gates of a trigger point: says whom to ask about what, and takes the answers
/// (Silas 5.4).
///
/// First those that decide are asked, in the order of the triggers and then in the order given;
/// then those that advise, about what the others made of it. Nobody is left out because another
/// blocks.
#[derive(Debug)]
pub struct Pass {
    left: VecDeque<Arc<Gate>>,
    asked: Option<Arc<Gate>>,
    context: Context,
    gated: Gated,
}

impl Pass {
    /// Begins with the gates that these triggers ask.
    pub fn new<'g>(
        gates: impl IntoIterator<Item = &'g Arc<Gate>>,
        triggers: &[Trigger],
        context: Context,
    ) -> Self {
        let turn = |gate: &Gate| triggers.iter().position(|on| *on == gate.on);
        let mut left: Vec<Arc<Gate>> = gates
            .into_iter()
            .filter(|gate| turn(gate).is_some())
            .cloned()
            .collect();
        left.sort_by_key(|gate| (gate.lane, turn(gate)));
        Self {
            left: left.into(),
            asked: None,
            context,
            gated: Gated::default(),
        }
    }

    /// The gate to ask next, and what to ask it about; `None` after the last. Asked again before
    /// there was an answer, it is the same.
    pub fn ask(&mut self) -> Option<(Arc<Gate>, &Context)> {
        if self.asked.is_none() {
            self.asked = self.left.pop_front();
        }
        let gate = Arc::clone(self.asked.as_ref()?);
        let on = gate.on.as_str();
        self.context.insert("trigger".into(), Value::from(on));
        Some((gate, &self.context))
    }

    /// Takes what the gate said, or why it could not be asked, and how long that took.
    pub fn take(&mut self, answer: Result<Answer, String>, millis: u64) {
        let Some(gate) = self.asked.take() else {
            return;
        };
        let answer = answer.unwrap_or_else(|why| unasked(&gate, why));
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
            millis,
        };
        match gate.lane {
            Lane::Policy => self.rewrite(answer.modified, &mut result),
            Lane::Quality => {
                let wanted = std::mem::replace(&mut result.action, Action::Continue);
                result.ignored = Some(wanted).filter(|wanted| *wanted != Action::Continue);
                result.rejected = answer.modified.keys().cloned().collect();
            }
        }
        self.gated.results.push(result);
    }

    /// What came of it.
    pub fn end(self) -> Gated {
        self.gated
    }

    /// Takes over what may be rewritten; from left to right, so that a later gate sees it.
    fn rewrite(&mut self, modified: Object, result: &mut GateResult) {
        for (key, value) in modified {
            if !ALLOWED_MUTATIONS.contains(&key.as_str()) {
                result.rejected.push(key);
            } else if self.context.get(&key) != Some(&value) {
                self.context.insert(key.clone(), value.clone());
                self.gated.rewritten.insert(key.clone(), value);
                result.changed.push(key);
            }
        }
    }
}

/// What counts as the answer of a gate that could not be asked: one that decides blocks, one that
/// advises lets pass and is flagged.
fn unasked(gate: &Gate, why: String) -> Answer {
    match gate.lane {
        Lane::Policy => Answer::block(why),
        Lane::Quality => {
            let flag = match gate.provider {
                Provider::Llm(_) => "llm_error",
                _ => "not_asked",
            };
            Answer {
                reason: why,
                flags: vec![flag.to_owned()],
                ..Answer::pass()
            }
        }
    }
}

#[cfg(test)]
mod tests;
