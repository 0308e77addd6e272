//! The outlook of a run for whoever starts it: the risk, the files, the network and the approvals, read from the plan alone, before anything runs.

use std::collections::BTreeSet;

use serde::Serialize;
use wf_core::risk::{ActionRisk, risk_of_plan};
use wf_exec::view::family;
use wf_model::{GateLane, Step, StepWork, expr::Template};
use wf_report::limits_line;

use crate::specs::load::LoadedPlan;

/// The most names in a list of a page.
const MAX_NAMES: usize = 50;

/// The possible acts of a run of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct RunOutlook {
    /// The number of its own steps.
    pub steps: usize,
    /// The number of steps of the plans that it uses.
    pub nested_steps: usize,
    pub risk: ActionRisk,
    /// The reason for the risk, in a sentence.
    pub risk_reason: String,
    /// The steps that may use the network.
    pub network: Vec<String>,
    /// The steps without a sandbox.
    pub unconfined: Vec<String>,
    /// The files that steps may write, as globs.
    pub writes: Vec<String>,
    /// The limits of its budget, on one line.
    pub budget: Option<String>,
    /// The requests for approval in its plan, and the gates that may ask.
    pub approvals: Vec<String>,
    /// The names of the secrets it reads; their values are in no form.
    pub secrets: Vec<String>,
}

impl RunOutlook {
    /// Reads what a plan will do, with the plans that it uses.
    pub(super) fn of(loaded: &LoadedPlan) -> Self {
        let plan = &loaded.plan;
        let risk = risk_of_plan(plan);
        let mut names = StepNames::default();
        let mut nested_steps = 0;
        for used in family(plan) {
            let is_own = std::sync::Arc::ptr_eq(used, plan);
            let prefix = if is_own { String::new() } else { format!("{}/", used.id()) };
            nested_steps += if is_own { 0 } else { used.steps().len() };
            for gate in &used.parts().gates {
                names.add_gate(gate.id.as_str(), gate.lane);
            }
            names.secrets.extend(used.parts().secrets.iter().map(|secret| secret.name.to_string()));
            for step in used.steps().iter().flat_map(Step::ways) {
                names.add(&prefix, step);
            }
        }
        Self {
            steps: plan.steps().len(),
            nested_steps,
            risk_reason: risk.reason(),
            risk,
            network: first_names(names.network),
            unconfined: first_names(names.unconfined),
            writes: first_names(names.writes),
            budget: plan.parts().budget.as_ref().and_then(limits_line),
            approvals: first_names(names.approvals),
            secrets: first_names(names.secrets),
        }
    }
}

/// The names of steps, by what they may do.
#[derive(Default)]
struct StepNames {
    network: BTreeSet<String>,
    unconfined: BTreeSet<String>,
    writes: BTreeSet<String>,
    approvals: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl StepNames {
    fn add(&mut self, prefix: &str, step: &Step) {
        let name = format!("{prefix}{}", step.id);
        if uses_network(step) {
            self.network.insert(name.clone());
        }
        if is_process(&step.work) && step.allow.is_none() && step.container.is_none() {
            self.unconfined.insert(name.clone());
        }
        let allowed = step.allow.iter().flat_map(|allow| allow.write.iter().cloned());
        let declared = step.writes.iter().chain(&step.artifacts).map(Template::words);
        self.writes.extend(allowed.chain(declared));
        if let StepWork::Approve(decision) = &step.work {
            self.approvals.insert(format!("`{name}`: {}", decision.message.words()));
        }
        for gate in &step.gates {
            self.add_gate(gate.id.as_str(), gate.lane);
        }
    }

    /// Adds a gate that decides: it may ask people.
    fn add_gate(&mut self, gate: &str, lane: GateLane) {
        if lane == GateLane::Policy {
            self.approvals.insert(format!("gate `{gate}`, if it asks"));
        }
    }
}

fn is_process(work: &StepWork) -> bool {
    matches!(work, StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) | StepWork::Agent(_))
}

fn uses_network(step: &Step) -> bool {
    let own = match &step.work {
        StepWork::Http(_) => true,
        StepWork::Agent(agent) => !agent.fetch.is_empty(),
        StepWork::Generated(made) => made.envelope.allow.net || !made.envelope.fetch.is_empty(),
        _ => false,
    };
    own || step.container.is_some() || step.allow.as_ref().is_some_and(|allow| allow.net)
}

/// Returns the first names, and the number of the others as the last one.
fn first_names(names: BTreeSet<String>) -> Vec<String> {
    let more = names.len().saturating_sub(MAX_NAMES);
    let mut shown: Vec<String> = names.into_iter().take(MAX_NAMES).collect();
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown
}
