use std::collections::BTreeMap;

use crate::name::{Name, PlanId};

/// The location of a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationSite {
    /// The file, relative to the workspace.
    pub path: String,
    pub line: usize,
}

/// The locations of the steps of plans, and of the checks of the plans themselves.
#[derive(Clone, Debug, Default)]
pub struct DeclarationSites {
    steps: BTreeMap<(PlanId, Name), DeclarationSite>,
    checks: BTreeMap<(PlanId, Name), DeclarationSite>,
}

impl DeclarationSites {
    /// Records the location of a step of a plan.
    pub fn put_step(&mut self, plan: &PlanId, step: &Name, site: DeclarationSite) {
        self.steps.insert((plan.clone(), step.clone()), site);
    }

    /// Records the location of a check of a plan itself.
    pub fn put_check(&mut self, plan: &PlanId, check: &Name, site: DeclarationSite) {
        self.checks.insert((plan.clone(), check.clone()), site);
    }

    /// Returns the location of a step.
    pub fn step(&self, plan: &PlanId, step: &Name) -> Option<&DeclarationSite> {
        self.steps.get(&(plan.clone(), step.clone()))
    }

    /// Returns the location of a check of a plan itself.
    pub fn check(&self, plan: &PlanId, check: &Name) -> Option<&DeclarationSite> {
        self.checks.get(&(plan.clone(), check.clone()))
    }
}
