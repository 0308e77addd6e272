use std::collections::{BTreeMap, BTreeSet};

use super::{ActionRisk, RiskRule};
use wf_model::expr::{ExprReference, Template};
use wf_model::{Check, EnvVar, Plan, PlanEnvelope, SandboxPermissions, Step, StepIx, StepWork};

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

/// Returns the risk of what may happen once a step goes on: of the step, and of all that depend on it.
pub fn risk_from_step(plan: &Plan, from: StepIx) -> ActionRisk {
    let mut assessment = RiskAssessment::default();
    let (mut seen, mut next) = (BTreeSet::from([from]), vec![from]);
    while let Some(ix) = next.pop() {
        next.extend(plan.dependents(ix).iter().filter(|later| seen.insert(**later)));
    }
    seen.into_iter().fold(ActionRisk::none(), |highest, ix| highest.or_higher(assessment.step(plan.step(ix))))
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
        let own = ActionRisk::of_rule(Reach::of_checks(&plan.parts().verify).rule(), String::new());
        let risk = plan.steps().iter().fold(own, |highest, step| highest.or_higher(self.step(step)));
        self.known.insert(key, risk.clone());
        risk
    }

    /// Returns the risk of a step, whichever of its alternatives does it.
    fn step(&mut self, step: &Step) -> ActionRisk {
        let id = step.id.as_str();
        let of_checks = ActionRisk::of_rule(Reach::of_checks(&step.verify).rule(), id.to_owned());
        step.ways().fold(of_checks, |highest, way| {
            let own = highest.or_higher(ActionRisk::of_rule(Reach::of_work(way).rule(), id.to_owned()));
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

/// The things that a step may reach.
#[derive(Clone, Copy, Default)]
struct Reach {
    reads_outside: bool,
    writes: bool,
    network: bool,
    unconfined: bool,
    secret: bool,
}

impl Reach {
    /// Returns the reach of checks. They write nothing, and have no secrets.
    fn of_checks(checks: &[Check]) -> Self {
        Self { network: checks.iter().any(|check| check.network), ..Self::default() }
    }

    /// Returns the reach of the work of a step, without that of the plans that it uses.
    fn of_work(step: &Step) -> Self {
        let secret = holds_secret(step);
        match &step.work {
            StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_) => Self::of_process(step, secret),
            StepWork::Agent(agent) => {
                Self { reads_outside: !agent.fetch.is_empty(), ..Self::of_process(step, secret) }
            }
            StepWork::Http(request) => {
                let reads = SAFE_METHODS.iter().any(|safe| safe.eq_ignore_ascii_case(&request.method));
                Self { reads_outside: reads, network: !reads, secret, ..Self::default() }
            }
            StepWork::Generated(made) => {
                let PlanEnvelope { allow, fetch, .. } = &made.envelope;
                Self { reads_outside: !fetch.is_empty(), ..Self::of_permissions(allow, secret) }
            }
            StepWork::Uses(_) | StepWork::Wait(_) | StepWork::Approve(_) => Self::default(),
        }
    }

    fn of_process(step: &Step, secret: bool) -> Self {
        match &step.allow {
            // A container sees only its image and the workspace, which it may change, and any host.
            _ if step.container.is_some() => Self { writes: true, network: true, secret, ..Self::default() },
            None => Self { unconfined: true, secret, ..Self::default() },
            Some(allow) => Self::of_permissions(allow, secret),
        }
    }

    fn of_permissions(allow: &SandboxPermissions, secret: bool) -> Self {
        let SandboxPermissions { read: _, write, net, env, exec: _ } = allow;
        // A variable of the environment may be a key.
        let secret = secret || !env.is_empty();
        Self { writes: !write.is_empty(), network: *net, secret, ..Self::default() }
    }

    fn rule(self) -> RiskRule {
        match self {
            Self { secret: true, network, unconfined, .. } if network || unconfined => {
                RiskRule::ActsWithSecret
            }
            Self { unconfined: true, .. } => RiskRule::Unconfined,
            Self { network: true, .. } => RiskRule::Network,
            Self { writes: true, .. } => RiskRule::Writes,
            Self { reads_outside: true, .. } => RiskRule::ReadsOutside,
            _ => RiskRule::ReadsOnly,
        }
    }
}
