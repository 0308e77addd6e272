//! What was not checked because a worker said so.
//!
//! A condition that reads what a worker gave lets the worker choose whether the checks behind it are made.
//! Such a run may end well, and nobody outside of the worker knows that it did.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::Value;

use super::scope::View;
use super::state::Spot;
use super::{Machine, Standing, StepState};
use crate::expr::{Expr, Ref, Scope, StatusTest, Template, truthy};
use crate::model::{Check, Fan, Plan, Probe, Step, StepIx, Work};

/// A scope that notes what is read.
struct Noting<'a> {
    view: View<'a>,
    read: RefCell<Vec<Ref>>,
}

impl Scope for Noting<'_> {
    fn value(&self, name: &Ref) -> Option<Value> {
        self.read.borrow_mut().push(name.clone());
        self.view.value(name)
    }

    fn test(&self, test: StatusTest, step: Option<&str>) -> bool {
        self.view.test(test, step)
    }
}

impl Machine {
    /// Why the run is not proved although nothing failed: the first step whose checks were not made, and the
    /// step whose word that was.
    pub(super) fn unchecked_by_word(&self) -> Option<String> {
        let steps = (0..).zip(self.plan.steps());
        let mut found = steps.filter_map(|(ix, step)| {
            let source = self.left_out_by(ix, step)?;
            let without = self.behind(ix).into_iter().find(|ix| {
                let step = self.plan.step(StepIx(*ix));
                has_checks(step)
            })?;
            let id = &self.plan.step(StepIx(without)).id;
            Some(format!(
                "`{id}` was not checked: an output of `{source}` decided that, which no check confirmed"
            ))
        });
        found.next()
    }

    /// The step on whose word another, by its own condition or its own list, did nothing.
    fn left_out_by(&self, ix: u32, step: &Step) -> Option<String> {
        let slot = self.state.slot(ix);
        let asks = self.asks_status(ix);
        let own = slot.blocker.is_none() || asks;
        match (slot.state, &step.when, &step.fan) {
            (StepState::Skipped, Some(when), _) if own && !self.state.left.contains_key(&ix) => {
                self.word_in(ix, when)
            }
            (StepState::Succeeded, _, Fan::Each(list)) => {
                let many = slot.many.as_ref()?;
                many.slots.is_empty().then(|| self.word_in(ix, list))?
            }
            _ => None,
        }
    }

    /// The first step whose word an expression goes by.
    fn word_in(&self, ix: u32, expr: &Expr) -> Option<String> {
        let view = View {
            plan: &self.plan,
            state: &self.state,
            spot: Some(Spot {
                step: ix,
                item: None,
            }),
        };
        let scope = Noting {
            view,
            read: RefCell::default(),
        };
        let now = expr.eval(&scope);
        let mut read = scope.read.into_inner();
        // Behind status functions it may be otherwise by now: then anything in it may have decided.
        if now.is_ok_and(|value| truthy(&value)) {
            read = expr.refs().iter().map(|read| read.name.clone()).collect();
        }
        read.into_iter().find_map(|name| match &name {
            Ref::Output { step, .. } if self.is_word(step, &name) => Some(step.clone()),
            _ => None,
        })
    }

    /// Whether an output is the word of a worker: not what people answered, nor what a check of the step
    /// read and confirmed.
    fn is_word(&self, step: &str, output: &Ref) -> bool {
        let Some(ix) = self.plan.find(step) else {
            return false;
        };
        let step = self.plan.step(ix);
        let confirmed = || {
            let verified = self.state.slot(ix.0).standing == Standing::Verified;
            verified && step.verify.iter().any(|check| reads(check, output))
        };
        !matches!(step.work, Work::Approve(_)) && !confirmed()
    }

    /// A step that did nothing, and those that were skipped because of it.
    fn behind(&self, ix: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::from([ix]);
        let mut rest = vec![ix];
        while let Some(above) = rest.pop() {
            for dependent in self.plan.dependents(StepIx(above)) {
                let slot = self.state.slot(dependent.0);
                let skipped = slot.state == StepState::Skipped && slot.blocker == Some(above);
                if skipped && !self.asks_status(dependent.0) && found.insert(dependent.0) {
                    rest.push(dependent.0);
                }
            }
        }
        found
    }
}

/// Whether a check reads a value.
fn reads(check: &Check, name: &Ref) -> bool {
    let mut templates: Vec<&Template> = check.env.iter().map(|one| &one.value).collect();
    if let Some(Probe::Exec(argv)) = &check.probe {
        templates.extend(argv);
    }
    let mut refs = templates.into_iter().flat_map(Template::refs);
    refs.any(|read| read.name == *name)
}

/// Whether a step would have been checked, or something in the plan that it uses.
fn has_checks(step: &Step) -> bool {
    let mut ways = (0..step.ways()).filter_map(|way| step.way(way));
    ways.any(|step| {
        let nested = matches!(&step.work, Work::Uses(uses) if is_checked(&uses.plan));
        nested || !step.verify.is_empty()
    })
}

fn is_checked(plan: &Plan) -> bool {
    !plan.parts().verify.is_empty() || plan.steps().iter().any(has_checks)
}
