//! What expressions and templates can read at one place of a run.

use serde_json::Value;

use super::state::{Spot, State};
use super::{Standing, StepState};
use crate::expr::{EvalError, Expr, Ref, Scope, StatusTest, Template};
use crate::model::{Check, EnvVar, Object, Plan, Step, Wait, Work};

/// The state as one place sees it.
pub(super) struct View<'a> {
    pub(super) plan: &'a Plan,
    pub(super) state: &'a State,
    /// The place; `None`: the plan itself.
    pub(super) spot: Option<Spot>,
}

impl View<'_> {
    fn step_state(&self, step: &str) -> Option<StepState> {
        let ix = self.plan.find(step)?;
        Some(self.state.slot(ix.0).state)
    }

    fn item_value(&self) -> Option<&super::Item> {
        self.state.item(self.spot?)
    }
}

impl Scope for View<'_> {
    fn value(&self, name: &Ref) -> Option<Value> {
        match name {
            Ref::Param(param) => self.state.params.get(param).cloned(),
            Ref::Output { step, output } => {
                let ix = self.plan.find(step)?;
                let own = self.spot.filter(|spot| spot.step == ix.0);
                let own = own.and_then(|spot| self.state.place(spot)?.result.as_deref());
                // A check of a place reads what its attempt gave; all else, what the step gave.
                match own {
                    Some(gave) => gave.outputs.get(output).cloned(),
                    None => self.state.slot(ix.0).outputs.as_ref()?.get(output).cloned(),
                }
            }
            Ref::StepStatus(step) => self
                .step_state(step)
                .map(|state| Value::from(state.as_str())),
            Ref::RunId => Some(Value::from(self.state.run.as_str())),
            Ref::Item => self.item_value().map(|item| item.value.clone()),
            Ref::ItemKey => self.item_value().map(|item| Value::from(item.key.as_str())),
            Ref::ItemIndex => self.spot?.item.map(Value::from),
            Ref::Matrix(axis) => self.item_value()?.value.get(axis).cloned(),
            Ref::Secret(_) | Ref::Test(..) => None,
        }
    }

    fn test(&self, test: StatusTest, step: Option<&str>) -> bool {
        let is = |state| step.and_then(|step| self.step_state(step)) == Some(state);
        // What was accepted within δ did not fail.
        let refuted = self.state.judged == Some(false) && self.state.control.accepted.is_none();
        let failed = self.state.failed.is_some() || refuted;
        match (test, step) {
            (StatusTest::Always, _) => true,
            (StatusTest::Succeeded, None) => !failed && !self.state.closing(),
            (StatusTest::Failed, None) => {
                failed || self.state.timed_out || self.state.ledger.spent.is_some()
            }
            (StatusTest::Cancelled, None) => self.state.cancelled.is_some(),
            (StatusTest::Skipped, None) => self.state.tally.skipped > 0,
            (StatusTest::Succeeded, Some(_)) => is(StepState::Succeeded),
            (StatusTest::Failed, Some(_)) => is(StepState::Failed),
            (StatusTest::Cancelled, Some(_)) => is(StepState::Cancelled),
            (StatusTest::Skipped, Some(_)) => is(StepState::Skipped),
        }
    }
}

/// What the templates of a step's work read, by the canonical text of each reference. What the
/// driver knows by itself (parameters, the item, secrets) is left out.
pub(super) fn work_reads(view: &View<'_>, step: &Step) -> Result<Object, EvalError> {
    let mut templates: Vec<&Template> = Vec::new();
    match &step.work {
        Work::Run(_) | Work::Wait(Wait::For(_) | Wait::Until(_)) => {}
        Work::Exec(argv) => templates.extend(argv),
        Work::Skill(call) => templates.extend(call.templates()),
        Work::Http(http) => {
            templates.push(&http.url);
            templates.extend(http.headers.iter().map(|(_, value)| value));
            templates.extend(&http.body);
        }
        Work::Uses(uses) => templates.extend(uses.with.iter().map(|(_, value)| value)),
        Work::Wait(Wait::File(path)) => templates.push(path),
        Work::Approve(approve) => {
            templates.push(&approve.message);
            templates.extend(approve.show.iter().map(|(_, value)| value));
        }
    }
    templates.extend(step.cache.iter().flat_map(|cache| &cache.outputs));
    templates.extend(step.artifacts.iter().chain(&step.cwd));
    templates.extend(variables(&view.plan.parts().env));
    templates.extend(variables(&step.env));
    reads(view, &templates)
}

/// What the templates of checks read, and those of the files that they look at.
pub(super) fn check_reads<'c>(
    view: &View<'_>,
    checks: impl IntoIterator<Item = &'c Check>,
) -> Result<Object, EvalError> {
    let step = view.spot.map(|spot| view.plan.step(spot.ix()));
    let left = step.into_iter().flat_map(|step| &step.artifacts);
    let mut templates: Vec<&Template> = left.collect();
    for check in checks {
        templates.extend(variables(&check.env));
        if let Some(crate::model::Probe::Exec(argv)) = &check.probe {
            templates.extend(argv);
        }
    }
    reads(view, &templates)
}

fn variables(env: &[EnvVar]) -> impl Iterator<Item = &Template> {
    env.iter().map(|variable| &variable.value)
}

fn reads(view: &View<'_>, templates: &[&Template]) -> Result<Object, EvalError> {
    let mut found = Object::new();
    for reference in templates.iter().flat_map(|template| template.refs()) {
        let value = match &reference.name {
            Ref::Output { .. } | Ref::StepStatus(_) => view.value(&reference.name),
            Ref::Test(test, step) => Some(Value::from(view.test(*test, step.as_deref()))),
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

/// Whether an expression is true at a place.
pub(super) fn holds(view: &View<'_>, expr: &Expr) -> Result<bool, EvalError> {
    expr.eval(view).map(|value| crate::expr::truthy(&value))
}

/// How far a result without checks is believed.
pub(super) fn unchecked_standing(nested: Option<Standing>) -> Standing {
    nested.unwrap_or(Standing::Reported)
}
