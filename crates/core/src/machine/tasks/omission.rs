//! The checks that were skipped because of a worker's own outputs.
//!
//! A condition that reads a worker's outputs lets the worker choose whether the checks behind it are made.
//! Such a run may end well, but its success is unverified.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::Value;

use crate::machine::{
    state::{Run, TaskIx, scope::TaskScope},
    words::StepState,
};
use wf_model::{
    Check, CheckCertainty, CheckProbe, Plan, Step, StepIx, StepRepetition, StepWork,
    expr::{Expr, ExprReference, ExprScope, StatusFunction, Template, truthy},
};

/// A scope that notes the names read.
struct RecordingScope<'a> {
    view: TaskScope<'a>,
    read: RefCell<Vec<ExprReference>>,
}

impl ExprScope for RecordingScope<'_> {
    fn value(&self, name: &ExprReference) -> Option<Value> {
        self.read.borrow_mut().push(name.clone());
        self.view.value(name)
    }

    fn test(&self, test: StatusFunction, step: Option<&str>) -> bool {
        self.view.test(test, step)
    }
}

/// Returns the reason why a run without failures is not verified: the first step whose checks were
/// skipped, and the step whose outputs decided that.
pub(in crate::machine) fn unverified_omission(run: &Run) -> Option<String> {
    let steps = (0..).zip(run.plan().steps());
    let mut found = steps.filter_map(|(ix, step)| {
        let source = left_out_by(run, ix, step)?;
        let without = skipped_because_of(run, ix).into_iter().find(|ix| {
            let step = run.plan().step(StepIx(*ix));
            has_checks(step)
        })?;
        let id = &run.plan().step(StepIx(without)).id;
        Some(format!("`{id}` was not checked: an unchecked output of `{source}` decided that"))
    });
    found.next()
}

/// Returns the step whose outputs made another, by its own condition or list, do nothing.
fn left_out_by(run: &Run, ix: u32, step: &Step) -> Option<String> {
    let record = run.state().step_record(ix);
    let asks = run.asks_status(ix);
    let own = record.blocker().is_none() || asks;
    match (record.state(), &step.when, &step.fan) {
        (StepState::Skipped, Some(when), _) if own && run.state().chosen_items(ix).is_none() => {
            unverified_step_read(run, ix, when)
        }
        (StepState::Succeeded, _, StepRepetition::Each(list)) => {
            let many = record.items()?;
            many.records.is_empty().then(|| unverified_step_read(run, ix, list))?
        }
        _ => None,
    }
}

/// Returns the first step whose unverified outputs an expression depends on.
fn unverified_step_read(run: &Run, ix: u32, expr: &Expr) -> Option<String> {
    let view =
        TaskScope { plan: run.plan(), state: run.state(), task: Some(TaskIx { step: ix, item: None }) };
    let scope = RecordingScope { view, read: RefCell::default() };
    let now = expr.eval(&scope);
    let mut read = scope.read.into_inner();
    // Status functions may give another result by now: then anything in it may have decided.
    if now.is_ok_and(|value| truthy(&value)) {
        read = expr.refs().iter().map(|read| read.name.clone()).collect();
    }
    read.into_iter().find_map(|name| match &name {
        ExprReference::Output { step, .. } if is_unverified_claim(run, step, &name) => Some(step.clone()),
        _ => None,
    })
}

/// True if an output is a worker's unverified claim: neither an approver's answer, nor read and confirmed
/// by a check of the step.
fn is_unverified_claim(run: &Run, step: &str, output: &ExprReference) -> bool {
    let Some(ix) = run.plan().find(step) else {
        return false;
    };
    let step = run.plan().step(ix);
    let confirmed = || {
        let checked = run.state().step_record(ix.0).standing().is_checked();
        let verifies = |check: &Check| check.mode == CheckCertainty::Verifiable && reads(check, output);
        checked && step.verify.iter().any(verifies)
    };
    !matches!(step.work, StepWork::Approve(_)) && !confirmed()
}

/// Returns a step that did nothing, and those that were skipped because of it.
fn skipped_because_of(run: &Run, ix: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([ix]);
    let mut rest = vec![ix];
    while let Some(above) = rest.pop() {
        for dependent in run.plan().dependents(StepIx(above)) {
            let record = run.state().step_record(dependent.0);
            let skipped = record.state() == StepState::Skipped && record.blocker() == Some(above);
            if skipped && !run.asks_status(dependent.0) && found.insert(dependent.0) {
                rest.push(dependent.0);
            }
        }
    }
    found
}

fn reads(check: &Check, name: &ExprReference) -> bool {
    let mut templates: Vec<&Template> = check.env.iter().map(|one| &one.value).collect();
    if let Some(CheckProbe::Exec(argv)) = &check.probe {
        templates.extend(argv);
    }
    let mut refs = templates.into_iter().flat_map(Template::refs);
    refs.any(|read| read.name == *name)
}

/// True if a step, or something in the plan that it uses, would have been checked.
fn has_checks(step: &Step) -> bool {
    step.ways().any(|step| {
        let nested = matches!(&step.work, StepWork::Uses(uses) if is_checked(&uses.plan));
        nested || !step.verify.is_empty()
    })
}

fn is_checked(plan: &Plan) -> bool {
    !plan.parts().verify.is_empty() || plan.steps().iter().any(has_checks)
}
