use std::collections::BTreeMap;

use crate::name::{Name, PlanId};

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The file, relative to the workspace.
    pub path: String,
    /// The line, from one.
    pub line: usize,
}

/// Where the steps of plans, and the checks of the plans themselves, are written.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    steps: BTreeMap<(PlanId, Name), Site>,
    checks: BTreeMap<(PlanId, Name), Site>,
}

impl Sites {
    /// Notes where a step of a plan is written.
    pub fn put_step(&mut self, plan: &PlanId, step: &Name, site: Site) {
        self.steps.insert((plan.clone(), step.clone()), site);
    }

    /// Notes where a check of a plan itself is written.
    pub fn put_check(&mut self, plan: &PlanId, check: &Name, site: Site) {
        self.checks.insert((plan.clone(), check.clone()), site);
    }

    /// Where a step is written.
    pub fn step(&self, plan: &PlanId, step: &Name) -> Option<&Site> {
        self.steps.get(&(plan.clone(), step.clone()))
    }

    /// Where a check of a plan itself is written.
    pub fn check(&self, plan: &PlanId, check: &Name) -> Option<&Site> {
        self.checks.get(&(plan.clone(), check.clone()))
    }
}
