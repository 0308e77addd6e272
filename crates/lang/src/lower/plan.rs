use std::sync::Arc;

use super::{
    check::{checks, env},
    gate,
    step::{SiblingSteps, step},
};
use crate::{
    LoadedSpec,
    ast::{self, SecretSourceKind},
    decode::{CompleteSpec, LowerSpec},
};
use wf_model::{
    NestedPlan, Plan, PlanError, PlanOutput, PlanParam, PlanParts, PlanPolicy, ReplanSettings, RetryPolicy,
    SecretDeclaration, SecretSource, Step, StepIx, SuggestedPlan, SuggestionLimits, SuggestionSource,
    UndoPlan,
};

/// The defaults for a plan: the workspace's configuration.
#[derive(Clone, Debug)]
pub struct PlanDefaults {
    /// The sharing of the machine among steps, and the effect of a failure.
    pub policy: PlanPolicy,
    /// The conditions for a retry of a failed attempt.
    pub retry: Arc<RetryPolicy>,
    /// The numbers for plans with `replan`. They do not enable it for other plans.
    pub replan: ReplanSettings,
    /// The limits on the kept suggestions of runs.
    pub suggestions: SuggestionLimits,
}

impl PlanDefaults {
    /// Returns the values of a configuration, completed by these.
    #[must_use]
    pub fn completing(
        &self,
        policy: Option<&ast::PolicySpec>,
        retry: Option<&ast::RetrySpec>,
        replan: Option<&ast::ReplanSpec>,
    ) -> Self {
        Self {
            policy: policy.complete(&self.policy),
            retry: super::step::retry(retry, &self.retry),
            replan: replan.map_or_else(
                || self.replan.clone(),
                |replan_spec| super::replan::completed(replan_spec, &self.replan),
            ),
            suggestions: self.suggestions,
        }
    }
}

/// The reason why there is no model of a file.
#[derive(Debug, thiserror::Error)]
pub enum LoweringError {
    /// The file has errors, and they have been reported.
    #[error("the file has errors")]
    Broken,
    /// The checks admitted something else than a plan.
    #[error("internal error: the checks missed a mistake: {0}")]
    Unsound(#[from] PlanError),
}

/// Makes the model of a file and of all it uses. Only files without errors have one.
pub fn lower(loaded: &LoadedSpec, defaults: &PlanDefaults) -> Result<Arc<Plan>, LoweringError> {
    if loaded.has_errors() {
        return Err(LoweringError::Broken);
    }
    let mut lowering = SpecLowering { loaded, defaults, plans: vec![None; loaded.plans.len()] };
    lowering.file(0)
}

pub(super) struct SpecLowering<'l> {
    pub(super) loaded: &'l LoadedSpec,
    pub(super) defaults: &'l PlanDefaults,
    plans: Vec<Option<Arc<Plan>>>,
}

impl SpecLowering<'_> {
    /// Returns the model of a file, made once. Loading has bounded the depth of nested files.
    fn file(&mut self, file: usize) -> Result<Arc<Plan>, LoweringError> {
        if let Some(Some(done)) = self.plans.get(file) {
            return Ok(Arc::clone(done));
        }
        let written = self.loaded.plans.get(file).and_then(Option::as_ref);
        let plan = Plan::new(self.parts(written.ok_or(LoweringError::Broken)?, file)?)?;
        if let Some(slot) = self.plans.get_mut(file) {
            *slot = Some(Arc::clone(&plan));
        }
        Ok(plan)
    }

    /// Returns the model and the path of the file a file names by a path.
    pub(super) fn plan_at(&mut self, file: usize, path: &str) -> Result<(Arc<Plan>, String), LoweringError> {
        let used = self.loaded.file_at(file, path).ok_or(LoweringError::Broken)?;
        let path = self.loaded.sources.get(used).map(|source| source.path().to_owned());
        Ok((self.file(used)?, path.unwrap_or_default()))
    }

    fn parts(&mut self, plan: &ast::PlanSpec, file: usize) -> Result<PlanParts, LoweringError> {
        let id = plan.id.as_ref().ok_or(LoweringError::Broken)?;
        Ok(PlanParts {
            id: id.lower(),
            title: plan.title.clone(),
            intent: plan.intent.lower(),
            params: params(plan),
            env: env(&plan.env),
            secrets: plan
                .secrets
                .iter()
                .map(|(name, from)| secret(name, from).ok_or(LoweringError::Broken))
                .collect::<Result<_, _>>()?,
            skills: plan.skills.lower(),
            data: plan.data.lower(),
            policy: plan.policy.complete(&self.defaults.policy),
            timeout: plan.timeout.lower(),
            budget: plan.budget.lower(),
            steps: self.steps(plan, file)?,
            main: plan.steps().len(),
            verify: checks(&plan.inspect, &plan.test, &plan.verify),
            outputs: outputs(plan),
            gates: gate::of_plan(self.loaded, file, &plan.gates)?,
            escalations: gate::escalations(self.loaded, file, &plan.escalation),
            replan: super::replan::of_plan(plan, &self.defaults.replan),
            planner: plan.planner.as_deref().and_then(super::replan::planner),
            on_stuck: super::replan::on_stuck(plan),
            resume: plan.resume.unwrap_or_default(),
            undo: plan.undo.as_deref().map(|undo| self.undo(undo, file)).transpose()?.map(Box::new),
            suggests: plan
                .suggests
                .as_deref()
                .map(|suggests_spec| self.suggests(suggests_spec, file))
                .map(Box::new),
            work_type: plan.r#type,
            interaction_mode: plan.interaction_mode,
            briefing: briefing(plan),
        })
    }

    fn undo(&mut self, undo: &ast::UndoSpec, file: usize) -> Result<UndoPlan, LoweringError> {
        let (plan, path) = self.plan_at(file, &undo.uses)?;
        let within = undo.within.lower().unwrap_or(UndoPlan::WITHIN);
        Ok(UndoPlan { nested: NestedPlan { plan, path, with: undo.with.lower() }, within })
    }

    fn suggests(&self, suggests_spec: &ast::SuggestsSpec, file: usize) -> SuggestionSource {
        let plans = suggests_spec.plans.iter().map(|named| SuggestedPlan {
            name: named.lower(),
            path: self.loaded.resolve(file, &named.value).unwrap_or_default(),
        });
        let limits = self.defaults.suggestions;
        SuggestionSource { output: suggests_spec.output.lower(), plans: plans.collect(), limits }
    }

    fn steps(&mut self, plan: &ast::PlanSpec, file: usize) -> Result<Vec<Step>, LoweringError> {
        let places = plan.all_steps().zip(0..);
        let among =
            SiblingSteps { file, places: places.map(|(step, ix)| (&step.id.value, StepIx(ix))).collect() };
        let mut steps = Vec::with_capacity(plan.steps().len() + plan.finally.len());
        for written in plan.all_steps() {
            steps.push(step(written, &among, self)?);
        }
        Ok(steps)
    }
}

fn params(plan: &ast::PlanSpec) -> Vec<PlanParam> {
    let declared = plan.params.iter();
    declared
        .map(|(name, param)| PlanParam {
            name: name.lower(),
            schema: param.schema.clone(),
            default: param.default.lower(),
            taint: param.taint,
            description: param.description.clone(),
        })
        .collect()
}

fn secret(
    name: &wf_base::source::Spanned<wf_base::name::EnvName>,
    from: &ast::SecretSpec,
) -> Option<SecretDeclaration> {
    let source = secret_source(from)?;
    Some(SecretDeclaration { name: name.lower(), source, masked: from.mask.unwrap_or(true) })
}

/// Returns the source of a secret; `None` if it is incomplete.
pub fn secret_source(from: &ast::SecretSpec) -> Option<SecretSource> {
    Some(match from.from.value {
        SecretSourceKind::Env => SecretSource::Env(from.name.clone().unwrap_or_default()),
        SecretSourceKind::File => SecretSource::File(from.path.clone().unwrap_or_default()),
        SecretSourceKind::Command => SecretSource::Command(from.run.clone().unwrap_or_default()),
        SecretSourceKind::Keyring => SecretSource::Keyring {
            service: from.service.clone().unwrap_or_default(),
            account: from.account.clone().unwrap_or_default(),
        },
        SecretSourceKind::Connection => {
            SecretSource::Connection { name: from.connection.lower()?, secret: from.secret.lower()? }
        }
    })
}

fn outputs(plan: &ast::PlanSpec) -> Vec<PlanOutput> {
    let declared = plan.outputs.iter();
    declared
        .filter_map(|(name, output)| {
            Some(PlanOutput {
                name: name.lower(),
                schema: output.schema.clone(),
                value: output.value.value.lower()?,
            })
        })
        .collect()
}

/// The description, then the prose belonging to no step.
fn briefing(plan: &ast::PlanSpec) -> String {
    let parts = [plan.description.as_deref().unwrap_or(""), &plan.briefing];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}
