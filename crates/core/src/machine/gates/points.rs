//! The evaluation of gates and the consequences of their results.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    gate::{self, GateAction, GateOutcome, GateResult, GateRuling},
    machine::{
        gates::{
            approvals,
            escalation::{self, GateBlock},
        },
        state::{
            self, Run, TaskIx,
            fold::task_end::TaskCompletion,
            follow_up::FollowUp,
            in_flight::TaskRequest,
            parts::task_record::TaskRecord,
            plan_rules::{bad_outputs, has_gates},
            scope::{self, TaskScope},
            task_phase::ActivityKind,
            timers,
        },
        words::{Effect, EventKind, ExchangeQuestion, GatePoint, GateQuestion, RunPhase, TaskId, gates_at},
    },
};
use wf_model::{GateLane, JsonObject, StepIx, StepWork, resolve_params};

/// Asks the gates at the start of the run, if there are any.
pub(in crate::machine) fn gate_start(run: &mut Run) {
    if has_gates(run.plan(), None, GatePoint::Start) {
        run.enter_phase(RunPhase::Gates);
        ask_gates(run, None, GatePoint::Start, None);
    }
}

/// Asks the gates at a point; `exchange` is the part of an agent's conversation in question.
pub(in crate::machine) fn ask_gates(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    exchange: Option<Box<ExchangeQuestion>>,
) {
    let plan = Arc::clone(run.plan());
    let view = TaskScope { plan: &plan, state: run.state(), task };
    let reads = match task {
        None => JsonObject::new(),
        Some(task) => match scope::work_reads(&view, plan.step(task.ix())) {
            Ok(reads) => reads,
            Err(error) => {
                let end = TaskCompletion::unstartable(error.to_string());
                return run.then(FollowUp::EndTask { task, completion: end });
            }
        },
    };
    let record = task.and_then(|task| run.state().task_record(task));
    let result = record.and_then(TaskRecord::result);
    let outputs = match point {
        GatePoint::Leave => result.map(|result| result.outputs.clone()),
        GatePoint::Publish => Some(scope::plan_outputs(run).0),
        _ => None,
    };
    let made = record.map_or(0, TaskRecord::attempts);
    let live = task.and_then(|task| run.state().activity(task));
    let question = GateQuestion {
        task_id: task.map(|task| state::task_id(&plan, task)),
        point,
        attempt: live.map_or(0, |live| live.attempt),
        next: (point == GatePoint::Again).then(|| made.saturating_add(1)),
        item_value: task.and_then(|task| run.state().item(task)).cloned(),
        reads,
        steps: steps_before(run, task),
        outputs: outputs.unwrap_or_default(),
        tool_call: task.and_then(|task| run.next_tool_call(task)).filter(|_| point == GatePoint::Call),
        exchange,
    };
    run.push_effect(Effect::Gate(question));
}

/// Returns the dependencies of a task, or all steps, as far as they have outputs.
fn steps_before(run: &Run, task: Option<TaskIx>) -> JsonObject {
    let steps: Vec<StepIx> = match task {
        Some(task) => run.plan().step(task.ix()).depends_on.clone(),
        None => run.main_steps().map(StepIx).collect(),
    };
    let mut results = JsonObject::new();
    for ix in steps {
        if let Some(outputs) = run.state().step_record(ix.0).outputs() {
            let outputs = serde_json::json!({ "outputs": outputs });
            results.insert(run.plan().step(ix).id.to_string(), outputs);
        }
    }
    results
}

/// Applies the results of gates.
pub(in crate::machine) fn on_gates(
    run: &mut Run,
    task_id: Option<&TaskId>,
    point: GatePoint,
    gated: GateOutcome,
) {
    let task = task_id.and_then(|task_id| run.task_ix(task_id));
    if !awaits_gates(run, task_id, task, point) {
        return;
    }
    let GateOutcome { results, rewritten, .. } = gated;
    let heard =
        |result: &&GateResult| result.lane == GateLane::Policy && result.action != GateAction::Continue;
    let heard: Vec<GateResult> = results.iter().filter(heard).cloned().collect();
    for result in results {
        let task_id = task_id.cloned();
        run.emit(EventKind::GateEvaluated { task_id, result });
    }
    if let Some(task) = task
        && let Some(end) = run.end_at_gates(task, point)
    {
        return run.then(FollowUp::EndTask { task, completion: end });
    }
    if task.is_none() && run.state().is_ending() {
        // A cancelled run publishes nothing, but still cleans up.
        if point == GatePoint::Publish {
            run.then(FollowUp::BeginFinally);
        }
        return;
    }
    apply_gate_results(run, task, point, heard, rewritten);
}

/// Applies the results of gates that did not pass: the first block counts, then the required
/// approvals. An approval that lifts one does not lift the others.
pub(in crate::machine) fn apply_gate_results(
    run: &mut Run,
    task: Option<TaskIx>,
    point: GatePoint,
    mut heard: Vec<GateResult>,
    rewritten: JsonObject,
) {
    match gate::ruling(&heard) {
        GateRuling::Continue => pass_gates(run, task, point, rewritten),
        GateRuling::Ask { .. } => approvals::ask_for(run, task, point, heard, rewritten),
        GateRuling::Block { gate, reason, failed } => {
            let of_it = |result: &GateResult| result.gate == gate && result.action == GateAction::Block;
            if let Some(at) = heard.iter().position(of_it) {
                heard.remove(at);
            }
            let block = GateBlock { rest: heard, rewritten, failed, ..GateBlock::new(gate, reason) };
            escalation::block(run, task, point, block);
        }
    }
}

/// True if exactly these gates are being asked.
fn awaits_gates(run: &Run, task_id: Option<&TaskId>, task: Option<TaskIx>, point: GatePoint) -> bool {
    let of_run = |phase| task_id.is_none() && run.state().phase() == phase && awaits_no_approval(run);
    match point {
        GatePoint::Enter | GatePoint::Again => task.is_some_and(|task| {
            let is_asking = matches!(run.flight.request(task), Some(TaskRequest::Gates { .. }));
            is_asking && run.entry(task) == Some(point)
        }),
        GatePoint::Leave => {
            let live = task.and_then(|task| run.state().activity(task));
            live.is_some_and(|live| live.doing == ActivityKind::Leaving)
        }
        // They are answered for one call.
        GatePoint::Call | GatePoint::Request | GatePoint::Reply | GatePoint::Result => false,
        GatePoint::Start => of_run(RunPhase::Gates),
        GatePoint::Publish => of_run(RunPhase::Publish),
    }
}

/// True if no approval is pending for the run, and no gate blocks it.
fn awaits_no_approval(run: &Run) -> bool {
    let gates = &run.state().gates;
    gates.requests_of(None).next().is_none() && !gates.is_blocked() && run.has_begun()
}

/// Lets a task or the run pass its gates.
fn pass_gates(run: &mut Run, task: Option<TaskIx>, point: GatePoint, rewritten: JsonObject) {
    if let Some(reason) = bad_rewrite(run, task, point, &rewritten) {
        let gate = gates_at(run.plan(), task.map(TaskIx::ix), point).last();
        if let Some(gate) = gate.map(|gate| gate.id.clone()) {
            let block = GateBlock::new(gate, reason);
            escalation::give_up(run, task, point, &block, &block.reason(None));
        }
        return;
    }
    let task_id = task.map(|task| state::task_id(run.plan(), task));
    run.emit(EventKind::GatesPassed { task_id, point, rewritten });
    match (point, task) {
        (GatePoint::Enter | GatePoint::Again, Some(task)) => timers::renew_queue_timer(run, task),
        (GatePoint::Start, _) => run.enter_phase(RunPhase::Steps),
        (GatePoint::Leave, Some(task)) => run.then(FollowUp::ConfirmResult(task)),
        (GatePoint::Publish, _) => run.then(FollowUp::BeginFinally),
        _ => {}
    }
}

/// Returns the problem with a gate's rewrite: it must be something that is valid without gates.
fn bad_rewrite(run: &Run, task: Option<TaskIx>, point: GatePoint, rewritten: &JsonObject) -> Option<String> {
    match point {
        GatePoint::Start => {
            let message = rewritten.get("message")?;
            let Some(params) = message.as_object() else {
                return Some("rewritten parameters are not an object".into());
            };
            let resolved = resolve_params(&run.plan().parts().params, params);
            let bad = resolved.err()?;
            Some(format!("rewritten parameters are invalid: {}", bad.problems.join("; ")))
        }
        GatePoint::Leave => {
            let response = rewritten.get("response")?;
            let Some(outputs) = response.as_object() else {
                return Some("rewritten outputs are not an object".into());
            };
            let bad = bad_outputs(run.plan().step(task?.ix()), outputs)?;
            Some(format!("rewritten outputs are invalid: {bad}"))
        }
        GatePoint::Enter | GatePoint::Again => {
            let args = rewritten.get("tool_args")?;
            let words = args.as_array().filter(|words| !words.is_empty());
            let texts = words.is_some_and(|words| words.iter().all(Value::is_string));
            let exec = matches!(run.plan().step(task?.ix()).work, StepWork::Exec(_));
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
            let bad = run.plan().parts().outputs.iter().find_map(|output| {
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
