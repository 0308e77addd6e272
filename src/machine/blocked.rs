//! What the block of a gate leads to (Silas 5.1.1).

use std::collections::BTreeSet;

use super::asks::Plea;
use super::end::Final;
use super::gates::gates_at;
use super::state::{self, Doing, Spot};
use super::{Effect, Fact, GatePoint, Machine, Standing, Timer};
use crate::gate::{self, GateResult, Resolved};
use crate::model::{Class, Escalation, EscalationAction, Object};
use crate::name::GateId;

/// A block, and why.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) gate: GateId,
    pub(super) reason: String,
    /// The escalation that comes next, if it is not the gate's own.
    pub(super) next: Option<String>,
    /// Those that have had their turn.
    pub(super) had: BTreeSet<String>,
    /// What else gates said that did not let pass: it counts when this block is lifted.
    pub(super) rest: Vec<GateResult>,
    /// What gates rewrote.
    pub(super) rewritten: Object,
}

impl Block {
    /// A block that nothing has been done about.
    pub(super) fn new(gate: GateId, reason: String) -> Self {
        Self {
            gate,
            reason,
            next: None,
            had: BTreeSet::new(),
            rest: Vec::new(),
            rewritten: Object::new(),
        }
    }

    fn why(&self, message: Option<&str>) -> String {
        let said = message.filter(|message| !message.is_empty());
        match (said, self.reason.is_empty()) {
            (Some(message), true) => format!("gate `{}`: {message}", self.gate),
            (Some(message), false) => format!("gate `{}`: {message} ({})", self.gate, self.reason),
            (None, true) => format!("gate `{}` blocks it", self.gate),
            (None, false) => format!("gate `{}`: {}", self.gate, self.reason),
        }
    }
}

impl Machine {
    /// Does what a block leads to: the escalations one after the other, until one has done
    /// something.
    pub(super) fn block(&mut self, spot: Option<Spot>, point: GatePoint, mut block: Block) {
        let gates = gates_at(&self.plan, spot.map(Spot::ix), point);
        let gate = gates.filter(|gate| gate.id == block.gate).last().cloned();
        let Some(gate) = gate else {
            return self.give_up(spot, point, &block.gate.clone(), &block.why(None));
        };
        let plan = std::sync::Arc::clone(&self.plan);
        let known = &plan.parts().escalations;
        let named = block.next.take().filter(|name| !block.had.contains(name));
        let own = gate.on_block.clone().filter(|_| block.had.is_empty());
        let first = named.or(own);
        let mut next = first.map(|name| gate::escalation(Some(&name), &gate, known));
        while let Some(Resolved {
            escalation,
            warning,
        }) = next
        {
            block.had.insert(escalation.name.clone());
            if let Some(warning) = warning {
                block.reason = format!("{} ({warning})", block.reason);
            }
            if self.escalate(spot, point, &block, &escalation) {
                return;
            }
            let had: Vec<&str> = block.had.iter().map(String::as_str).collect();
            next = gate::after(&escalation, &had, &gate, known);
        }
        self.give_up(spot, point, &block.gate.clone(), &block.why(None));
    }

    /// Does what an escalation says; false if it has nothing left to do.
    fn escalate(
        &mut self,
        spot: Option<Spot>,
        point: GatePoint,
        block: &Block,
        by: &Escalation,
    ) -> bool {
        let message = by.message.as_deref();
        match by.action {
            EscalationAction::Respond | EscalationAction::Report => {
                self.tell_escalation(spot, block, by);
                self.give_up(spot, point, &block.gate, &block.why(message));
                true
            }
            EscalationAction::SuppressAndEscalate => {
                self.tell_escalation(spot, block, by);
                if by.fallback.is_none() {
                    self.give_up(spot, point, &block.gate, &block.why(message));
                }
                by.fallback.is_none()
            }
            EscalationAction::Retry | EscalationAction::SuppressAndRephrase => {
                let tried = match spot.and_then(|spot| self.state.place(spot)) {
                    Some(slot) => slot.gate_tries,
                    None => self.state.gate_tries,
                };
                let left = tried < by.max_retries;
                if left {
                    self.tell_escalation(spot, block, by);
                    self.try_again(spot, point, &block.why(message));
                }
                left
            }
            EscalationAction::TransferToQueue if by.queue.is_none() => false,
            EscalationAction::EscalateHuman | EscalationAction::TransferToQueue => {
                self.tell_escalation(spot, block, by);
                let plea = Plea {
                    message: block.why(message),
                    block: block.clone(),
                    fallback: by.fallback.clone(),
                    queue: by.queue.clone(),
                };
                self.ask_people(spot, point, plea);
                true
            }
            EscalationAction::SpawnTask => self.leave_task(spot, point, block, by),
        }
    }

    /// Lets a block stand, and names the plan that is to mend it: whoever has the right to, runs
    /// it. False if no plan is named.
    fn leave_task(
        &mut self,
        spot: Option<Spot>,
        point: GatePoint,
        block: &Block,
        by: &Escalation,
    ) -> bool {
        let Some(plan) = &by.plan else { return false };
        let why = format!(
            "{}; to mend it: wf run {plan}",
            block.why(by.message.as_deref())
        );
        let named = Escalation {
            rephrase: Some(plan.clone()),
            ..by.clone()
        };
        self.tell_escalation(spot, block, &named);
        self.give_up(spot, point, &block.gate, &why);
        true
    }

    fn tell_escalation(&mut self, spot: Option<Spot>, block: &Block, by: &Escalation) {
        let said = by.rephrase.as_ref().or(by.message.as_ref());
        self.emit(Fact::Escalated {
            place: spot.map(|spot| state::place(&self.plan, spot)),
            gate: block.gate.clone(),
            name: by.name.clone(),
            action: by.action,
            message: said.cloned().unwrap_or_default(),
        });
    }

    /// Asks the gates once more, of an attempt after its work with a new attempt.
    fn try_again(&mut self, spot: Option<Spot>, point: GatePoint, why: &str) {
        let Some(spot) = spot else {
            return self.ask_gates(None, point);
        };
        let made = self.state.place(spot).map_or(0, |slot| slot.attempts);
        let next = made.checked_add(1).filter(|_| point == GatePoint::Leave);
        let Some(next) = next else {
            let plan = std::sync::Arc::clone(&self.plan);
            self.state.free(spot);
            return self.state.enqueue(&plan, spot);
        };
        let attempt = state::attempt(&self.plan, spot, next);
        self.emit(Fact::RetryScheduled {
            attempt: attempt.clone(),
            due: self.now,
            why: why.to_owned(),
            looped: None,
        });
        self.turn.effects.push(Effect::Wake {
            timer: Timer::Retry(attempt),
            at: self.now,
        });
    }

    /// Lets a block stand.
    pub(super) fn give_up(
        &mut self,
        spot: Option<Spot>,
        point: GatePoint,
        gate: &GateId,
        why: &str,
    ) {
        let Some(spot) = spot else {
            let (gate, why) = (gate.clone(), why.to_owned());
            self.emit(Fact::RunBlocked { gate, why });
            return self.after_block(point);
        };
        let standing = match point {
            GatePoint::Leave => Standing::Reported,
            // What was refuted before stays so, though it is not done again.
            GatePoint::Again if self.was_refuted(spot) => Standing::Refuted,
            _ => Standing::Unchecked,
        };
        let live = self.state.live.get(&spot);
        debug_assert!(live.is_none_or(|live| live.doing != Doing::Working));
        self.finish(
            spot,
            Final::bad(standing, Some(Class::Logical), why.to_owned()),
        );
    }

    /// Whether checks refuted the last attempt of a place.
    fn was_refuted(&self, spot: Spot) -> bool {
        let tries = self.state.place(spot).and_then(|slot| slot.own_tries());
        tries.is_some_and(|tries| !tries.failed.is_empty())
    }

    /// Ends what a run that is blocked does not do any more.
    fn after_block(&mut self, point: GatePoint) {
        match point {
            GatePoint::Publish => self.after_publish(),
            _ => self.sweep(),
        }
    }
}
