//! The values that expressions and templates can read at one task of a run.

use serde_json::Value;

use crate::machine::{
    state::{self, MachineState, Run, TaskIx},
    words::{StepItem, StepState, TaskId},
};
use wf_base::name::Name;
use wf_model::{
    Check, EnvVar, JsonObject, Plan, Step, StepIx,
    expr::{BlockField, EvalError, Expr, ExprReference, ExprScope, StatusFunction, Template},
};

/// The state as one task sees it.
pub(in crate::machine) struct TaskScope<'a> {
    pub(in crate::machine) plan: &'a Plan,
    pub(in crate::machine) state: &'a MachineState,
    /// The task; `None`: the plan itself.
    pub(in crate::machine) task: Option<TaskIx>,
}

impl TaskScope<'_> {
    /// Returns an output of another step. Where the step ended without it, its default holds: that of a
    /// repeated step is one of an item, and a repeated step without items has none of them.
    fn output(&self, ix: StepIx, output: &str) -> Option<Value> {
        let record = self.state.step_record(ix.0);
        if let Some(value) = record.outputs.as_ref().and_then(|outputs| outputs.get(output)) {
            return Some(value.clone());
        }
        let step = self.plan.step(ix);
        let default = step.output_default(output).filter(|_| record.state.is_final())?;
        Some(if step.is_repeated() { Value::Array(Vec::new()) } else { default.clone() })
    }

    fn step_state(&self, step: &str) -> Option<StepState> {
        let ix = self.plan.find(step)?;
        Some(self.state.step_record(ix.0).state)
    }

    /// Returns a value of the block behind this step.
    fn block(&self, field: BlockField) -> Option<Value> {
        let block = self.state.gates.block_behind(self.task?.step)?;
        Some(match field {
            BlockField::Gate => block.gate.as_str().into(),
            BlockField::Step => block.task_id.as_ref().map(|place| self.display_name(place)).into(),
            // No variable of a process can contain it.
            BlockField::Reason => block.reason.replace('\0', "\u{fffd}").into(),
        })
    }

    /// Returns the display name of a task: `fetch[eu]`.
    fn display_name(&self, task_id: &TaskId) -> String {
        let task = state::find_task_ix(self.plan, task_id);
        let item = task.and_then(|task| self.state.item(task));
        task_id.display_name(item.map(|item| item.key.as_str()))
    }

    fn item_value(&self) -> Option<&StepItem> {
        self.state.item(self.task?)
    }
}

impl ExprScope for TaskScope<'_> {
    fn value(&self, name: &ExprReference) -> Option<Value> {
        match name {
            ExprReference::Param(param) => self.state.params.get(param).cloned(),
            ExprReference::Output { step, output } => {
                let ix = self.plan.find(step)?;
                let own = self.task.filter(|task| task.step == ix.0);
                let own = own.and_then(|task| self.state.task_record(task)?.result());
                // A check reads the outputs of its attempt; all else, those of the step.
                match own {
                    Some(result) => result.outputs.get(output).cloned(),
                    None => self.output(ix, output),
                }
            }
            ExprReference::StepStatus(step) => self.step_state(step).map(|state| Value::from(state.as_str())),
            ExprReference::RunId => Some(Value::from(self.state.run.as_str())),
            ExprReference::RunDispatch => Some(self.state.dispatch.as_ref().map(Name::as_str).into()),
            ExprReference::Block(field) => self.block(*field),
            ExprReference::Item => self.item_value().map(|item| item.value.clone()),
            ExprReference::ItemKey => self.item_value().map(|item| Value::from(item.key.as_str())),
            ExprReference::ItemIndex => self.task?.item.map(Value::from),
            ExprReference::Matrix(axis) => self.item_value()?.value.get(axis).cloned(),
            ExprReference::Secret(_) | ExprReference::Test(..) => None,
        }
    }

    fn test(&self, test: StatusFunction, step: Option<&str>) -> bool {
        let is = |state| step.and_then(|step| self.step_state(step)) == Some(state);
        // A result accepted within δ did not fail.
        let refuted = self.state.proof.is_refuted() && self.state.control.accepted_criteria().is_none();
        let failed = self.state.failed.is_some() || refuted;
        match (test, step) {
            (StatusFunction::Always, _) => true,
            (StatusFunction::Succeeded, None) => !failed && !self.state.is_closing(),
            (StatusFunction::Failed, None) => {
                failed || self.state.timed_out || self.state.ledger.spent.is_some()
            }
            (StatusFunction::Cancelled, None) => self.state.cancelled.is_some(),
            (StatusFunction::Skipped, None) => self.state.counts.skipped > 0,
            (StatusFunction::Succeeded, Some(_)) => is(StepState::Succeeded),
            (StatusFunction::Failed, Some(_)) => is(StepState::Failed),
            (StatusFunction::Cancelled, Some(_)) => is(StepState::Cancelled),
            (StatusFunction::Skipped, Some(_)) => is(StepState::Skipped),
        }
    }
}

/// Returns the values read by the templates of a step's work, by the canonical text of each
/// reference. Values known to the driver itself (parameters, the item, secrets) are left out.
pub(in crate::machine) fn work_reads(scope: &TaskScope<'_>, step: &Step) -> Result<JsonObject, EvalError> {
    let mut templates = step.work.templates();
    templates.extend(step.cache.iter().flat_map(|cache| cache.inputs.iter().chain(&cache.outputs)));
    templates.extend(step.artifacts.iter().chain(&step.cwd));
    templates.extend(variables(&scope.plan.parts().env));
    templates.extend(variables(&step.env));
    reads(scope, &templates)
}

/// Returns the values read by the templates of checks, and of their files.
pub(in crate::machine) fn check_reads<'c>(
    scope: &TaskScope<'_>,
    checks: impl IntoIterator<Item = &'c Check>,
) -> Result<JsonObject, EvalError> {
    let step = scope.task.map(|task| scope.plan.step(task.ix()));
    let left = step.into_iter().flat_map(|step| &step.artifacts);
    let inputs = step.and_then(|step| step.cache.as_ref()).into_iter().flat_map(|cache| &cache.inputs);
    let mut templates: Vec<&Template> = left.chain(inputs).collect();
    // A product without a value here names no file.
    let products = step.into_iter().flat_map(|step| &step.writes);
    templates.extend(products.filter(|product| reads(scope, &[product]).is_ok()));
    for check in checks {
        templates.extend(variables(&check.env));
        if let Some(wf_model::CheckProbe::Exec(argv)) = &check.probe {
            templates.extend(argv);
        }
    }
    reads(scope, &templates)
}

fn variables(env: &[EnvVar]) -> impl Iterator<Item = &Template> {
    env.iter().map(|variable| &variable.value)
}

fn reads(scope: &TaskScope<'_>, templates: &[&Template]) -> Result<JsonObject, EvalError> {
    let mut found = JsonObject::new();
    for reference in templates.iter().flat_map(|template| template.refs()) {
        let value = match &reference.name {
            ExprReference::Output { .. } | ExprReference::StepStatus(_) | ExprReference::Block(_) => {
                scope.value(&reference.name)
            }
            ExprReference::Test(test, step) => Some(Value::from(scope.test(*test, step.as_deref()))),
            _ => continue,
        };
        let name = reference.name.to_string();
        match value {
            Some(value) => drop(found.insert(name, value)),
            None => return Err(EvalError::NoValue { name }),
        }
    }
    Ok(found)
}

/// Returns the truth of an expression at a task.
pub(in crate::machine) fn evaluate_condition(scope: &TaskScope<'_>, expr: &Expr) -> Result<bool, EvalError> {
    expr.eval(scope).map(|value| wf_model::expr::truthy(&value))
}

/// Returns the plan's outputs, and the problem with them, if any.
pub(in crate::machine) fn plan_outputs(run: &Run) -> (JsonObject, Option<String>) {
    let mut outputs = JsonObject::new();
    let view = TaskScope { plan: run.plan(), state: run.state(), task: None };
    for output in &run.plan().parts().outputs {
        let value = match output.value.value(&view) {
            Ok(value) => value,
            Err(error) => return (outputs, Some(format!("output `{}`: {error}", output.name))),
        };
        if let Some(mistake) = output.schema.first_mistake(&value) {
            return (outputs, Some(format!("output `{}`: {mistake}", output.name)));
        }
        outputs.insert(output.name.to_string(), value);
    }
    (outputs, None)
}
