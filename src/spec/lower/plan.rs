use std::sync::Arc;

use super::check::{checks, env};
use super::gate;
use super::step::{Siblings, step};
use crate::model::{
    BadPlan, OnFailure, Param, Parts, Plan, PlanOutput, Policy, Replan, Retry, Secret,
    SecretSource, Step, StepIx,
};
use crate::spec::Loaded;
use crate::spec::ast::{self, SecretFrom};

/// What holds where a plan says nothing: the workspace's configuration.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// How steps share the machine and what a failure does.
    pub policy: Policy,
    /// When a failed attempt is followed by another.
    pub retry: Arc<Retry>,
    /// The numbers of plans that say `replan`. They do not make one of a plan that does not.
    pub replan: Replan,
}

impl Defaults {
    /// What a configuration says, completed by these.
    #[must_use]
    pub fn completing(
        &self,
        policy: Option<&ast::Policy>,
        retry: Option<&ast::Retry>,
        replan: Option<&ast::Replan>,
    ) -> Self {
        Self {
            policy: completed(policy, &self.policy),
            retry: super::step::retry(retry, &self.retry),
            replan: replan.map_or_else(
                || self.replan.clone(),
                |said| super::replan::completed(said, &self.replan),
            ),
        }
    }
}

/// Why there is no model of a file.
#[derive(Debug, thiserror::Error)]
pub enum NotLowered {
    /// The file has errors, and they have been reported.
    #[error("the file has errors")]
    Broken,
    /// The checks let through what is no plan.
    #[error("the checks have missed a mistake: {0}")]
    Unsound(#[from] BadPlan),
}

/// Makes the model of a file and of all it uses. Only files without errors have one.
pub fn lower(loaded: &Loaded, defaults: &Defaults) -> Result<Arc<Plan>, NotLowered> {
    if loaded.has_errors() {
        return Err(NotLowered::Broken);
    }
    let mut lowering = Lowering {
        loaded,
        defaults,
        done: vec![None; loaded.plans.len()],
    };
    lowering.file(0)
}

pub(super) struct Lowering<'l> {
    pub(super) loaded: &'l Loaded,
    pub(super) defaults: &'l Defaults,
    done: Vec<Option<Arc<Plan>>>,
}

impl Lowering<'_> {
    /// The model of a file, made once. Loading has bounded how deep files use each other.
    fn file(&mut self, file: usize) -> Result<Arc<Plan>, NotLowered> {
        if let Some(Some(done)) = self.done.get(file) {
            return Ok(Arc::clone(done));
        }
        let written = self.loaded.plans.get(file).and_then(Option::as_ref);
        let plan = Plan::new(self.parts(written.ok_or(NotLowered::Broken)?, file)?)?;
        if let Some(slot) = self.done.get_mut(file) {
            *slot = Some(Arc::clone(&plan));
        }
        Ok(plan)
    }

    /// The model and the path of the file that a step uses.
    pub(super) fn used(
        &mut self,
        file: usize,
        step: &ast::Step,
    ) -> Result<(Arc<Plan>, String), NotLowered> {
        let used = self.loaded.used(file, step).ok_or(NotLowered::Broken)?;
        let path = self
            .loaded
            .sources
            .get(used)
            .map(|source| source.path().to_owned());
        Ok((self.file(used)?, path.unwrap_or_default()))
    }

    fn parts(&mut self, plan: &ast::Plan, file: usize) -> Result<Parts, NotLowered> {
        let id = plan.id.as_ref().ok_or(NotLowered::Broken)?;
        Ok(Parts {
            id: id.value.clone(),
            title: plan.title.clone(),
            params: params(plan),
            env: env(&plan.env),
            secrets: plan
                .secrets
                .iter()
                .map(|(name, from)| secret(name, from).ok_or(NotLowered::Broken))
                .collect::<Result<_, _>>()?,
            skills: plan
                .skills
                .as_ref()
                .map(|all| all.iter().map(|name| name.value.clone()).collect()),
            policy: completed(plan.policy.as_ref(), &self.defaults.policy),
            timeout: plan.timeout.as_ref().map(|period| period.value.0),
            budget: plan.budget.as_deref().map(ast::Budget::lowered),
            steps: self.steps(plan, file)?,
            main: plan.steps().len(),
            verify: checks(&plan.inspect, &plan.test, &plan.verify),
            outputs: outputs(plan),
            gates: gate::of_plan(self.loaded, file, &plan.gates)?,
            escalations: gate::escalations(self.loaded, file, &plan.escalation),
            replan: plan
                .replan
                .as_ref()
                .map(|said| super::replan::completed(said, &self.defaults.replan)),
            planner: plan.planner.as_deref().map(super::replan::planner),
            on_stuck: super::replan::on_stuck(plan),
            briefing: briefing(plan),
        })
    }

    fn steps(&mut self, plan: &ast::Plan, file: usize) -> Result<Vec<Step>, NotLowered> {
        let places = plan.all_steps().zip(0..);
        let among = Siblings {
            file,
            places: places
                .map(|(step, ix)| (&step.id.value, StepIx(ix)))
                .collect(),
        };
        let mut steps = Vec::with_capacity(plan.steps().len() + plan.finally.len());
        for written in plan.all_steps() {
            steps.push(step(written, &among, self)?);
        }
        Ok(steps)
    }
}

fn params(plan: &ast::Plan) -> Vec<Param> {
    let declared = plan.params.iter();
    declared
        .map(|(name, param)| Param {
            name: name.value.clone(),
            schema: param.schema.clone(),
            default: param.default.as_ref().map(|value| value.value.clone()),
            taint: param.taint,
            description: param.description.clone(),
        })
        .collect()
}

fn secret(
    name: &crate::source::Spanned<crate::name::EnvName>,
    from: &ast::Secret,
) -> Option<Secret> {
    let source = match from.from.value {
        SecretFrom::Env => SecretSource::Env(from.name.clone().unwrap_or_default()),
        SecretFrom::File => SecretSource::File(from.path.clone().unwrap_or_default()),
        SecretFrom::Command => SecretSource::Command(from.run.clone().unwrap_or_default()),
        SecretFrom::Keyring => SecretSource::Keyring {
            service: from.service.clone().unwrap_or_default(),
            account: from.account.clone().unwrap_or_default(),
        },
        SecretFrom::Connection => SecretSource::Connection {
            name: from.connection.as_ref()?.value.clone(),
            secret: from.secret.as_ref()?.value.clone(),
        },
    };
    Some(Secret {
        name: name.value.clone(),
        source,
        masked: from.mask.unwrap_or(true),
    })
}

/// What a plan says of its policy, completed by the workspace's.
fn completed(said: Option<&ast::Policy>, defaults: &Policy) -> Policy {
    let max_parallel = said.and_then(|policy| Some(policy.max_parallel.as_ref()?.value));
    let on_failure: Option<OnFailure> = said.and_then(|policy| policy.on_failure);
    let grace = said.and_then(|policy| Some(policy.grace?.0));
    Policy {
        max_parallel: max_parallel.unwrap_or(defaults.max_parallel),
        on_failure: on_failure.unwrap_or(defaults.on_failure),
        grace: grace.unwrap_or(defaults.grace),
    }
}

fn outputs(plan: &ast::Plan) -> Vec<PlanOutput> {
    let declared = plan.outputs.iter();
    declared
        .map(|(name, output)| PlanOutput {
            name: name.value.clone(),
            schema: output.schema.clone(),
            value: output.value.value.value.clone(),
        })
        .collect()
}

/// The description, then the prose that belongs to no step.
fn briefing(plan: &ast::Plan) -> String {
    let parts = [plan.description.as_deref().unwrap_or(""), &plan.briefing];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}
