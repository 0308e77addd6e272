//! The evaluation of gates and the consequences of their results.

use std::sync::Arc;

use serde_json::Value;

use crate::gate::{self, GateAction, GateOutcome, GateResult, GateRuling};
use crate::machine::gates::escalation::GateBlock;
use crate::machine::state::fold::task_end::TaskCompletion;
use crate::machine::state::in_flight::TaskRequest;
use crate::machine::state::plan_rules::{bad_outputs, has_gates, takes_room};
use crate::machine::state::scope::{self, TaskScope};
use crate::machine::state::task_phase::ActivityKind;
use crate::machine::state::{self, Run, TaskIx};
use crate::machine::words::{
    Attempt, Effect, EventKind, ExchangeQuestion, GatePoint, GateQuestion, RunPhase, Standing, TaskId,
    gates_at,
};
use wf_model::{GateLane, JsonObject, StepIx, StepWork, resolve_params};

impl Run {
    /// Asks the gates at the start of the run, if there are any.
    pub(in crate::machine) fn gate_start(&mut self) {
        if has_gates(&self.plan, None, GatePoint::Start) {
            self.enter_phase(RunPhase::Gates);
            self.ask_gates(None, GatePoint::Start);
        }
    }

    /// Asks the gates before an attempt of a task; false if there are none, or they have passed.
    pub(in crate::machine) fn gate_enter(&mut self, task: TaskIx) -> bool {
        let point = self.entry(task);
        let Some(point) = point.filter(|point| has_gates(&self.plan, Some(task), *point)) else {
            return false;
        };
        let room = takes_room(&self.plan, task);
        self.flight.set(task, Some(TaskRequest::Gates { room }));
        self.ask_gates(Some(task), point);
        true
    }

    /// Returns the point at which gates are asked before the next attempt of a task; `None`: they
    /// have passed.
    fn entry(&self, task: TaskIx) -> Option<GatePoint> {
        let record = self.state.task_record(task)?;
        match (record.entered, record.admitted) {
            (false, _) => Some(GatePoint::Enter),
            (true, false) => Some(GatePoint::Again),
            (true, true) => None,
        }
    }

    pub(in crate::machine) fn ask_gates(&mut self, task: Option<TaskIx>, point: GatePoint) {
        self.ask_gates_about(task, point, None);
    }

    /// Asks the gates at a point; `exchange` is the part of an agent's conversation that they are about.
    pub(in crate::machine) fn ask_gates_about(
        &mut self,
        task: Option<TaskIx>,
        point: GatePoint,
        exchange: Option<Box<ExchangeQuestion>>,
    ) {
        let plan = Arc::clone(&self.plan);
        let view = TaskScope { plan: &plan, state: &self.state, task };
        let reads = match task {
            None => JsonObject::new(),
            Some(task) => match scope::work_reads(&view, plan.step(task.ix())) {
                Ok(reads) => reads,
                Err(error) => return self.end_unstartable(task, &error.to_string()),
            },
        };
        let record = task.and_then(|task| self.state.task_record(task));
        let result = record.and_then(|record| record.result.as_ref());
        let outputs = match point {
            GatePoint::Leave => result.map(|result| result.outputs.clone()),
            GatePoint::Publish => Some(self.plan_outputs().0),
            _ => None,
        };
        let made = record.map_or(0, |record| record.attempts);
        let live = task.and_then(|task| self.state.activity(task));
        let question = GateQuestion {
            place: task.map(|task| state::task_id(&plan, task)),
            point,
            attempt: live.map_or(0, |live| live.attempt),
            next: (point == GatePoint::Again).then(|| made.saturating_add(1)),
            item_value: task.and_then(|task| self.state.item(task)).cloned(),
            reads,
            steps: self.steps_before(task),
            outputs: outputs.unwrap_or_default(),
            tool_call: task.and_then(|task| self.next_tool_call(task)).filter(|_| point == GatePoint::Call),
            exchange,
        };
        self.turn.effects.push(Effect::Gate(question));
    }

    /// Returns the steps that a task depends on, or all steps, as far as they have outputs.
    fn steps_before(&self, task: Option<TaskIx>) -> JsonObject {
        let steps: Vec<StepIx> = match task {
            Some(task) => self.plan.step(task.ix()).depends_on.clone(),
            None => self.main_steps().map(StepIx).collect(),
        };
        let mut results = JsonObject::new();
        for ix in steps {
            if let Some(outputs) = &self.state.step_record(ix.0).outputs {
                let outputs = serde_json::json!({ "outputs": outputs });
                results.insert(self.plan.step(ix).id.to_string(), outputs);
            }
        }
        results
    }

    /// Applies the results of gates.
    pub(in crate::machine) fn on_gates(
        &mut self,
        place: Option<&TaskId>,
        point: GatePoint,
        gated: GateOutcome,
    ) {
        let task = place.and_then(|place| self.task_ix(place));
        if !self.awaits_gates(place, task, point) {
            return;
        }
        let GateOutcome { results, rewritten, .. } = gated;
        let heard =
            |result: &&GateResult| result.lane == GateLane::Policy && result.action != GateAction::Continue;
        let heard: Vec<GateResult> = results.iter().filter(heard).cloned().collect();
        for result in results {
            let place = place.cloned();
            self.emit(EventKind::GateEvaluated { place, result });
        }
        if let Some(task) = task
            && self.end_before_gates(task, point)
        {
            return;
        }
        if task.is_none() && self.state.is_ending() {
            // A cancelled run publishes nothing, but still cleans up.
            if point == GatePoint::Publish {
                self.after_publish();
            }
            return;
        }
        self.apply_gate_results(task, point, heard, rewritten);
    }

    /// Applies the results of gates that did not pass: the first block counts, then the required
    /// approvals. An approval that lifts one does not lift the others.
    pub(in crate::machine) fn apply_gate_results(
        &mut self,
        task: Option<TaskIx>,
        point: GatePoint,
        mut heard: Vec<GateResult>,
        rewritten: JsonObject,
    ) {
        match gate::ruling(&heard) {
            GateRuling::Continue => self.pass_gates(task, point, rewritten),
            GateRuling::Ask { .. } => self.ask_for(task, point, heard, rewritten),
            GateRuling::Block { gate, reason, failed } => {
                let of_it = |result: &GateResult| result.gate == gate && result.action == GateAction::Block;
                if let Some(at) = heard.iter().position(of_it) {
                    heard.remove(at);
                }
                let block = GateBlock { rest: heard, rewritten, failed, ..GateBlock::new(gate, reason) };
                self.block(task, point, block);
            }
        }
    }

    /// True if exactly these gates are being asked.
    fn awaits_gates(&self, place: Option<&TaskId>, task: Option<TaskIx>, point: GatePoint) -> bool {
        let of_run = |phase| place.is_none() && self.state.phase == phase && self.awaits_no_approval();
        match point {
            GatePoint::Enter | GatePoint::Again => task.is_some_and(|task| {
                let is_asking = matches!(self.flight.request(task), Some(TaskRequest::Gates { .. }));
                is_asking && self.entry(task) == Some(point)
            }),
            GatePoint::Leave => {
                let live = task.and_then(|task| self.state.activity(task));
                live.is_some_and(|live| live.doing == ActivityKind::Leaving)
            }
            // They are answered for one call.
            GatePoint::Call | GatePoint::Request | GatePoint::Reply | GatePoint::Result => false,
            GatePoint::Start => of_run(RunPhase::Gates),
            GatePoint::Publish => of_run(RunPhase::Publish),
        }
    }

    /// True if no approval is pending for the run, and no gate blocks it.
    fn awaits_no_approval(&self) -> bool {
        let asks = self.state.asks.values();
        let of_run = asks.filter(|pending| pending.task.is_none()).count();
        of_run == 0 && self.state.blocked.is_none() && self.state.started.is_some()
    }

    /// Ends a task that may not continue, whatever its gates said. True if it did.
    pub(in crate::machine) fn end_before_gates(&mut self, task: TaskIx, point: GatePoint) -> bool {
        let end = match point {
            GatePoint::Leave if self.is_halting(task) => TaskCompletion {
                standing: Standing::Reported,
                ..TaskCompletion::cancelled(self.halting_reason())
            },
            GatePoint::Enter | GatePoint::Again if self.is_halting(task) => {
                TaskCompletion::cancelled(self.halting_reason())
            }
            GatePoint::Enter if self.is_barred(task) => TaskCompletion::skipped(self.stopping_reason()),
            _ => return false,
        };
        self.finish(task, end);
        true
    }

    /// Lets a task or the run pass its gates.
    pub(in crate::machine) fn pass_gates(
        &mut self,
        task: Option<TaskIx>,
        point: GatePoint,
        rewritten: JsonObject,
    ) {
        if let Some(reason) = self.bad_rewrite(task, point, &rewritten) {
            let gate = gates_at(&self.plan, task.map(TaskIx::ix), point).last();
            if let Some(gate) = gate.map(|gate| gate.id.clone()) {
                let block = GateBlock::new(gate, reason);
                self.give_up(task, point, &block, &block.reason(None));
            }
            return;
        }
        let place = task.map(|task| state::task_id(&self.plan, task));
        self.emit(EventKind::GatesPassed { place, point, rewritten });
        match (point, task) {
            (GatePoint::Enter | GatePoint::Again, Some(task)) => self.queue_timer_anew(task),
            (GatePoint::Start, _) => self.enter_phase(RunPhase::Steps),
            (GatePoint::Leave, Some(task)) => self.after_gates(task),
            (GatePoint::Publish, _) => self.after_publish(),
            _ => {}
        }
    }

    /// Returns the problem with a gate's rewrite: it must be something that is valid without gates.
    fn bad_rewrite(&self, task: Option<TaskIx>, point: GatePoint, rewritten: &JsonObject) -> Option<String> {
        match point {
            GatePoint::Start => {
                let message = rewritten.get("message")?;
                let Some(params) = message.as_object() else {
                    return Some("rewritten parameters are not an object".into());
                };
                let resolved = resolve_params(&self.plan.parts().params, params);
                let bad = resolved.err()?;
                Some(format!("rewritten parameters are invalid: {}", bad.problems.join("; ")))
            }
            GatePoint::Leave => {
                let response = rewritten.get("response")?;
                let Some(outputs) = response.as_object() else {
                    return Some("rewritten outputs are not an object".into());
                };
                let bad = bad_outputs(self.plan.step(task?.ix()), outputs)?;
                Some(format!("rewritten outputs are invalid: {bad}"))
            }
            GatePoint::Enter | GatePoint::Again => {
                let args = rewritten.get("tool_args")?;
                let words = args.as_array().filter(|words| !words.is_empty());
                let texts = words.is_some_and(|words| words.iter().all(Value::is_string));
                let exec = matches!(self.plan.step(task?.ix()).work, StepWork::Exec(_));
                let reason = match (exec, texts) {
                    (true, true) => return None,
                    (true, false) => "rewritten program and arguments are not a list of strings",
                    (false, _) => "it rewrote the command, but only `exec` can be rewritten",
                };
                Some(reason.into())
            }
            // What gates say of the calls of an agent is applied there.
            GatePoint::Call | GatePoint::Request | GatePoint::Reply | GatePoint::Result => None,
            GatePoint::Publish => {
                let response = rewritten.get("response")?;
                let Some(outputs) = response.as_object() else {
                    return Some("rewritten outputs are not an object".into());
                };
                let bad = self.plan.parts().outputs.iter().find_map(|output| {
                    let name = output.name.as_str();
                    match outputs.get(name) {
                        None => Some(format!("`{name}` is missing")),
                        Some(value) => output.schema.first_mistake(value),
                    }
                })?;
                Some(format!("rewritten outputs are invalid: {bad}"))
            }
        }
    }

    /// Continues with an attempt whose work has passed its gates, or has none.
    pub(in crate::machine) fn after_gates(&mut self, task: TaskIx) {
        let Some(live) = self.state.activity(task) else {
            return;
        };
        let attempt = state::attempt(&self.plan, task, live.attempt);
        let standing = self.state.task_record(task).and_then(|record| record.result.as_ref()?.standing);
        self.confirm_work(task, attempt, standing);
    }

    /// Lets the checks of an attempt decide; without any, its reported verification status stands.
    pub(in crate::machine) fn confirm_work(
        &mut self,
        task: TaskIx,
        attempt: Attempt,
        standing: Option<Standing>,
    ) {
        if self.plan.step(task.ix()).verify.is_empty() {
            let cached = attempt.attempt == 0;
            let standing = standing.filter(|_| !cached).unwrap_or(Standing::Reported);
            self.finish(task, TaskCompletion::success(standing));
        } else if self.is_halting(task) {
            // Its own checks will not run: even the result of a nested run is unverified.
            self.finish(task, TaskCompletion::success(Standing::Reported));
        } else {
            self.ask_checks(task, attempt);
        }
    }
}
