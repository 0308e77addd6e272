//! When gates are asked, and what follows from what they say.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::blocked::Block;
use super::end::Final;
use super::flaw::bad_outputs;
use super::scope::{self, View};
use super::state::{self, Doing, Live, Spot};
use super::{Attempt, Effect, Fact, Machine, Phase, Place, Standing, StepState};
use crate::gate::{self, Action, GateResult, Gated, Ruling};
use crate::model::{Gate, Lane, Object, Plan, StepIx, Trigger, Work, resolve_params};

/// Where gates are asked.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// Before anything of the run begins: `before_run`, then `on_input`.
    Start,
    /// Before the first attempt of a place in a round: `before_step`, then `on_tool_call`.
    Enter,
    /// Before each further attempt of a place: `on_tool_call`.
    Again,
    /// After the work of an attempt, before its checks: `after_step`, then `on_output`.
    Leave,
    /// Before the run gives its outputs: `before_publish`.
    Publish,
}

impl GatePoint {
    /// The triggers that meet here, in the order in which they are asked.
    pub fn triggers(self) -> &'static [Trigger] {
        match self {
            Self::Start => &[Trigger::BeforeRun, Trigger::OnInput],
            Self::Enter => &[Trigger::BeforeStep, Trigger::OnToolCall],
            Self::Again => &[Trigger::OnToolCall],
            Self::Leave => &[Trigger::AfterStep, Trigger::OnOutput],
            Self::Publish => &[Trigger::BeforePublish],
        }
    }
}

/// The gates that are asked at a point of a place, or of the run: in the order of the triggers,
/// and for each those of the workspace, of the plan, of the step.
pub fn gates_at(
    plan: &Plan,
    step: Option<StepIx>,
    point: GatePoint,
) -> impl Iterator<Item = &Arc<Gate>> {
    let own = step.map_or(&[][..], |ix| &plan.step(ix).gates);
    point.triggers().iter().flat_map(move |trigger| {
        let all = plan.parts().gates.iter().chain(own);
        all.filter(move |gate| gate.on == *trigger)
    })
}

/// Whether gates are asked at a point.
pub(super) fn has_gates(plan: &Plan, spot: Option<Spot>, point: GatePoint) -> bool {
    gates_at(plan, spot.map(Spot::ix), point).next().is_some()
}

impl Machine {
    /// Asks the gates at the start of the run, if there are any.
    pub(super) fn gate_start(&mut self) {
        if has_gates(&self.plan, None, GatePoint::Start) {
            let phase = Phase::Gates;
            self.emit(Fact::PhaseEntered { phase });
            self.ask_gates(None, GatePoint::Start);
        }
    }

    /// Asks the gates before an attempt of a place; false if there are none, or they have let it
    /// pass.
    pub(super) fn gate_enter(&mut self, spot: Spot) -> bool {
        let point = self.entry(spot);
        let Some(point) = point.filter(|point| has_gates(&self.plan, Some(spot), *point)) else {
            return false;
        };
        let live = Live {
            attempt: 0,
            since: self.now,
            doing: Doing::Entering,
            room: super::apply::takes_room(&self.plan, spot),
            plain: false,
        };
        self.state.engage(spot, live);
        self.ask_gates(Some(spot), point);
        true
    }

    /// The point at which gates are asked before the next attempt of a place; `None`: they have let
    /// it pass.
    fn entry(&self, spot: Spot) -> Option<GatePoint> {
        let slot = self.state.place(spot)?;
        match (slot.entered, slot.admitted) {
            (false, _) => Some(GatePoint::Enter),
            (true, false) => Some(GatePoint::Again),
            (true, true) => None,
        }
    }

    /// Asks the gates at a point.
    pub(super) fn ask_gates(&mut self, spot: Option<Spot>, point: GatePoint) {
        let plan = Arc::clone(&self.plan);
        let view = View {
            plan: &plan,
            state: &self.state,
            spot,
        };
        let reads = match spot.map(|spot| scope::work_reads(&view, plan.step(spot.ix()))) {
            None => Object::new(),
            Some(Ok(reads)) => reads,
            Some(Err(error)) => return self.unable_at(spot, &error.to_string()),
        };
        let slot = spot.and_then(|spot| self.state.place(spot));
        let gave = slot.and_then(|slot| slot.result.as_ref());
        let outputs = match point {
            GatePoint::Leave => gave.map(|gave| gave.outputs.clone()),
            GatePoint::Publish => Some(self.plan_outputs().0),
            GatePoint::Start | GatePoint::Enter | GatePoint::Again => None,
        };
        let made = slot.map_or(0, |slot| slot.attempts);
        let live = spot.and_then(|spot| self.state.live.get(&spot));
        self.turn.effects.push(Effect::Gate {
            place: spot.map(|spot| state::place(&plan, spot)),
            point,
            attempt: live.map_or(made, |live| live.attempt),
            next: (point == GatePoint::Again).then(|| made.saturating_add(1)),
            item_value: spot.and_then(|spot| self.state.item(spot)).cloned(),
            reads,
            steps: self.steps_before(spot),
            outputs: outputs.unwrap_or_default(),
        });
    }

    /// The steps that a place depends on, or all steps, as far as they gave something.
    fn steps_before(&self, spot: Option<Spot>) -> Object {
        let all = || (0..u32::try_from(self.plan.parts().main).unwrap_or(u32::MAX)).map(StepIx);
        let steps: Vec<StepIx> = match spot {
            Some(spot) => self.plan.step(spot.ix()).depends_on.clone(),
            None => all().collect(),
        };
        let mut told = Object::new();
        for ix in steps {
            if let Some(outputs) = &self.state.slot(ix.0).outputs {
                let outputs = serde_json::json!({ "outputs": outputs });
                told.insert(self.plan.step(ix).id.to_string(), outputs);
            }
        }
        told
    }

    /// What gates rewrote of what is to be executed at a place.
    pub(super) fn tool_args(&self, spot: Spot) -> Option<Box<serde_json::Value>> {
        let slot = self.state.place(spot)?;
        slot.tool_args.clone().map(Box::new)
    }

    fn unable_at(&mut self, spot: Option<Spot>, why: &str) {
        if let Some(spot) = spot {
            self.unable(spot, why);
        }
    }

    /// Takes in what gates said.
    pub(super) fn gated(&mut self, place: Option<&Place>, point: GatePoint, gated: Gated) {
        let spot = place.and_then(|place| self.spot(place));
        if !self.awaits_gates(place, spot, point) {
            return;
        }
        let Gated { results, rewritten } = gated;
        let heard =
            |result: &&GateResult| result.lane == Lane::Policy && result.action != Action::Continue;
        let heard: Vec<GateResult> = results.iter().filter(heard).cloned().collect();
        for result in results {
            let place = place.cloned();
            self.emit(Fact::GateJudged { place, result });
        }
        if let Some(spot) = spot
            && self.gate_no_more(spot, point)
        {
            return;
        }
        if spot.is_none() && self.state.ending() {
            // A run that was told to end publishes nothing, and still cleans up.
            if point == GatePoint::Publish {
                self.after_publish();
            }
            return;
        }
        self.follow(spot, point, heard, rewritten);
    }

    /// Does what follows from what gates said that did not let pass: the first block counts, then
    /// what people must agree to. What a person lifts does not lift the others.
    pub(super) fn follow(
        &mut self,
        spot: Option<Spot>,
        point: GatePoint,
        mut heard: Vec<GateResult>,
        rewritten: Object,
    ) {
        match gate::ruling(&heard) {
            Ruling::Continue => self.pass(spot, point, rewritten),
            Ruling::Ask { .. } => self.ask_for(spot, point, heard, rewritten),
            Ruling::Block { gate, reason } => {
                let of_it =
                    |result: &GateResult| result.gate == gate && result.action == Action::Block;
                if let Some(at) = heard.iter().position(of_it) {
                    heard.remove(at);
                }
                let block = Block {
                    rest: heard,
                    rewritten,
                    ..Block::new(gate, reason)
                };
                self.block(spot, point, block);
            }
        }
    }

    /// Whether just these gates are being asked.
    fn awaits_gates(&self, place: Option<&Place>, spot: Option<Spot>, point: GatePoint) -> bool {
        let doing = match point {
            GatePoint::Enter | GatePoint::Again => {
                if spot.and_then(|spot| self.entry(spot)) != Some(point) {
                    return false;
                }
                Doing::Entering
            }
            GatePoint::Leave => Doing::Leaving,
            GatePoint::Start => {
                return place.is_none() && self.state.phase == Phase::Gates && self.unasked();
            }
            GatePoint::Publish => {
                return place.is_none() && self.state.phase == Phase::Publish && self.unasked();
            }
        };
        let live = spot.and_then(|spot| self.state.live.get(&spot));
        live.is_some_and(|live| live.doing == doing)
    }

    /// Whether nobody is asked about the run, and no gate blocks it.
    fn unasked(&self) -> bool {
        let asks = self.state.asks.values();
        let of_run = asks.filter(|asked| asked.spot.is_none()).count();
        of_run == 0 && self.state.blocked.is_none() && self.state.started.is_some()
    }

    /// Ends a place for which nothing shall go on, whatever its gates said. True if it did.
    pub(super) fn gate_no_more(&mut self, spot: Spot, point: GatePoint) -> bool {
        let end = match point {
            GatePoint::Leave if self.halting(spot) => Final {
                state: StepState::Cancelled,
                standing: Standing::Reported,
                class: None,
                why: self.halting_why(),
            },
            GatePoint::Enter | GatePoint::Again if self.halting(spot) => {
                Final::cancelled(self.halting_why())
            }
            GatePoint::Enter if self.barred(spot) => Final::skipped(self.stopping_why()),
            _ => return false,
        };
        self.finish(spot, end);
        true
    }

    /// Lets something pass its gates.
    pub(super) fn pass(&mut self, spot: Option<Spot>, point: GatePoint, rewritten: Object) {
        if let Some(why) = self.bad_rewrite(spot, point, &rewritten) {
            let gate = gates_at(&self.plan, spot.map(Spot::ix), point).last();
            if let Some(gate) = gate.map(|gate| gate.id.clone()) {
                self.give_up(spot, point, &gate, &format!("gate `{gate}`: {why}"));
            }
            return;
        }
        let place = spot.map(|spot| state::place(&self.plan, spot));
        self.emit(Fact::GatesPassed {
            place,
            point,
            rewritten,
        });
        match (point, spot) {
            (GatePoint::Start, _) => {
                let phase = Phase::Steps;
                self.emit(Fact::PhaseEntered { phase });
            }
            (GatePoint::Leave, Some(spot)) => self.after_gates(spot),
            (GatePoint::Publish, _) => self.after_publish(),
            _ => {}
        }
    }

    /// What is wrong with what gates rewrote: it must be what would have been taken without them.
    fn bad_rewrite(
        &self,
        spot: Option<Spot>,
        point: GatePoint,
        rewritten: &Object,
    ) -> Option<String> {
        match point {
            GatePoint::Start => {
                let message = rewritten.get("message")?;
                let Some(params) = message.as_object() else {
                    return Some("it rewrote the parameters to something else".into());
                };
                let resolved = resolve_params(&self.plan.parts().params, params);
                let bad = resolved.err()?;
                Some(format!(
                    "it rewrote the parameters: {}",
                    bad.problems.join("; ")
                ))
            }
            GatePoint::Leave => {
                let response = rewritten.get("response")?;
                let Some(outputs) = response.as_object() else {
                    return Some("it rewrote the outputs to something else".into());
                };
                let bad = bad_outputs(self.plan.step(spot?.ix()), outputs)?;
                Some(format!("it rewrote the outputs: {bad}"))
            }
            GatePoint::Enter | GatePoint::Again => {
                let args = rewritten.get("tool_args")?;
                let words = args.as_array().filter(|words| !words.is_empty());
                let texts = words.is_some_and(|words| words.iter().all(Value::is_string));
                let exec = matches!(self.plan.step(spot?.ix()).work, Work::Exec(_));
                let why = match (exec, texts) {
                    (true, true) => return None,
                    (true, false) => "it rewrote the program and its arguments to something else",
                    (false, _) => "it rewrote what is executed, and only `exec` can be rewritten",
                };
                Some(why.into())
            }
            GatePoint::Publish => {
                let response = rewritten.get("response")?;
                let Some(outputs) = response.as_object() else {
                    return Some("it rewrote the outputs to something else".into());
                };
                let bad = self.plan.parts().outputs.iter().find_map(|output| {
                    let name = output.name.as_str();
                    match outputs.get(name) {
                        None => Some(format!("`{name}` is gone")),
                        Some(value) => output.schema.mistake(value),
                    }
                })?;
                Some(format!("it rewrote the outputs: {bad}"))
            }
        }
    }

    /// Goes on with an attempt whose work has passed its gates, or has none.
    pub(super) fn after_gates(&mut self, spot: Spot) {
        let Some(live) = self.state.live.get(&spot) else {
            return;
        };
        let attempt = state::attempt(&self.plan, spot, live.attempt);
        let standing = self.state.place(spot).and_then(|slot| {
            let gave = slot.result.as_ref()?;
            gave.standing
        });
        self.confirm_work(spot, attempt, standing);
    }

    /// Lets the checks of an attempt decide; without any, its work is believed as far as it says.
    pub(super) fn confirm_work(
        &mut self,
        spot: Spot,
        attempt: Attempt,
        standing: Option<Standing>,
    ) {
        let cached = attempt.attempt == 0;
        if self.plan.step(spot.ix()).verify.is_empty() {
            let standing = if cached {
                Standing::Reported
            } else {
                scope::unchecked_standing(standing)
            };
            self.finish(spot, Final::good(standing));
        } else if self.halting(spot) {
            // Its own checks will not run: whatever a nested run says of itself is its word.
            self.finish(spot, Final::good(Standing::Reported));
        } else {
            self.ask_checks(spot, attempt);
        }
    }
}
