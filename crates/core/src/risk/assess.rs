use std::collections::BTreeMap;

use super::{ActionRisk, RiskRule};
use wf_model::{
    Check, EnvVar, FetchHost, Plan, PlanEnvelope, SandboxPermissions, Step, StepIx, StepWork,
    expr::{ExprReference, Template},
};

/// The methods of HTTP that change nothing (RFC 9110, 9.2.1).
const SAFE_METHODS: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/// Returns the risk of a plan: of all its steps and checks.
pub fn risk_of_plan(plan: &Plan) -> ActionRisk {
    RiskAssessment::default().plan(plan)
}

/// Returns the risk of a step, whichever of its alternatives does it.
pub fn risk_of_step(step: &Step) -> ActionRisk {
    RiskAssessment::default().step(step)
}

/// Returns the risk of what may happen once a step goes on: of the step, and of all depending on it.
pub fn risk_from_step(plan: &Plan, step: StepIx) -> ActionRisk {
    let mut assessment = RiskAssessment::default();
    let mut steps = plan.downstream(step);
    steps.insert(step);
    steps
        .into_iter()
        .fold(ActionRisk::none(), |highest, ix| highest.or_higher(assessment.step(plan.step(ix))))
}

/// An assessment. A plan that is used often is assessed once.
#[derive(Default)]
struct RiskAssessment {
    known: BTreeMap<*const Plan, ActionRisk>,
}

impl RiskAssessment {
    fn plan(&mut self, plan: &Plan) -> ActionRisk {
        let key = std::ptr::from_ref(plan);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let own = ActionRisk::of_rule(rule_of_checks(&plan.parts().verify), String::new());
        let risk = plan.steps().iter().fold(own, |highest, step| highest.or_higher(self.step(step)));
        self.known.insert(key, risk.clone());
        risk
    }

    /// Returns the risk of a step, whichever of its alternatives does it.
    fn step(&mut self, step: &Step) -> ActionRisk {
        let id = step.id.as_str();
        let of_checks = ActionRisk::of_rule(rule_of_checks(&step.verify), id.to_owned());
        step.ways().fold(of_checks, |highest, way| {
            let own = highest.or_higher(ActionRisk::of_rule(rule_of_work(way), id.to_owned()));
            let children = way.work.plans_used().into_iter();
            children.fold(own, |highest, child| highest.or_higher(self.plan(child).inside(id)))
        })
    }
}

/// True if a step reads a secret. Variables of the plan and parameters never carry one.
fn holds_secret(step: &Step) -> bool {
    let env = step.env.iter().map(|EnvVar { value, .. }| value);
    let mut read = env.chain(step.work.templates()).flat_map(Template::refs);
    read.any(|reference| matches!(reference.name, ExprReference::Secret(_)))
}

/// Returns the rule for checks. They write nothing, and have no secrets.
fn rule_of_checks(checks: &[Check]) -> RiskRule {
    if checks.iter().any(|check| check.network) { RiskRule::Network } else { RiskRule::ReadsOnly }
}

/// Returns the rule for the work of a step, without the plans it uses.
fn rule_of_work(step: &Step) -> RiskRule {
    let rule = match &step.work {
        StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) => rule_of_process(step),
        StepWork::Agent(agent) => rule_of_process(step).max(rule_of_pages(&agent.fetch)),
        StepWork::Http(request) => {
            let reads = SAFE_METHODS.iter().any(|safe| safe.eq_ignore_ascii_case(&request.method));
            if reads { RiskRule::ReadsOutside } else { RiskRule::Network }
        }
        StepWork::Generated(made) => {
            let PlanEnvelope { allow, fetch, .. } = &made.envelope;
            rule_of_permissions(allow).max(rule_of_pages(fetch))
        }
        StepWork::Uses(_) | StepWork::Wait(_) | StepWork::Approve(_) => RiskRule::ReadsOnly,
    };
    if holds_secret(step) { rule.with_secret() } else { rule }
}

fn rule_of_pages(hosts: &[FetchHost]) -> RiskRule {
    if hosts.is_empty() { RiskRule::ReadsOnly } else { RiskRule::ReadsOutside }
}

fn rule_of_process(step: &Step) -> RiskRule {
    match &step.allow {
        // A container sees only its image and the workspace, which it may change, and any host.
        _ if step.container.is_some() => RiskRule::Network,
        None => RiskRule::Unconfined,
        Some(allow) => rule_of_permissions(allow),
    }
}

fn rule_of_permissions(permissions: &SandboxPermissions) -> RiskRule {
    let SandboxPermissions { read: _, write, net, env, exec: _ } = permissions;
    let rule = match (net, write.is_empty()) {
        (true, _) => RiskRule::Network,
        (false, false) => RiskRule::Writes,
        (false, true) => RiskRule::ReadsOnly,
    };
    // A variable of the environment may be a key.
    if env.is_empty() { rule } else { rule.with_secret() }
}
