use std::sync::Arc;

use crate::envelope::work::check_work;
use wf_base::name::Name;
use wf_model::{
    AgentTool, Check, EnvelopeChecks, GeneratedPlan, OnStuck, Plan, PlanEnvelope, PlanError, PlanParts,
    PlanPolicy, Planner, Step, StepRepetition, StepWork,
};

/// Something in a generated plan its envelope, or the step running it, does not allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeBreach {
    /// The step it is in; `None`: the plan itself.
    pub step: Option<Name>,
    /// The check of this step or of the plan it is in.
    pub check: Option<Name>,
    /// The reason, in words.
    pub reason: String,
}

impl EnvelopeBreach {
    pub fn of_plan(reason: String) -> Self {
        Self { step: None, check: None, reason }
    }
}

impl std::fmt::Display for EnvelopeBreach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

/// Returns everything in a generated plan its envelope does not allow; nothing if it may run. `outer` is the plan
/// declaring the envelope.
pub fn breaches(envelope: &PlanEnvelope, outer_plan: &Plan, plan: &Plan) -> Vec<EnvelopeBreach> {
    let mut check = EnvelopeCheck { envelope, step: None, check: None, breaches: Vec::new() };
    check.plan(outer_plan, plan);
    check.breaches
}

fn item_count(step: &Step) -> usize {
    match &step.fan {
        StepRepetition::Once | StepRepetition::Each(_) => 1,
        StepRepetition::List(items) => items.len().max(1),
        StepRepetition::Matrix(items) => items.len().max(1),
    }
}

/// The comparison of a plan with its envelope.
pub(super) struct EnvelopeCheck<'e> {
    pub(super) envelope: &'e PlanEnvelope,
    /// The step and the check compared.
    step: Option<Name>,
    check: Option<Name>,
    breaches: Vec<EnvelopeBreach>,
}

impl EnvelopeCheck<'_> {
    /// Notes a breach where it compares, unless it was noted already.
    pub(super) fn note(&mut self, reason: String) {
        let breach = EnvelopeBreach { step: self.step.clone(), check: self.check.clone(), reason };
        if !self.breaches.contains(&breach) {
            self.breaches.push(breach);
        }
    }

    fn plan(&mut self, outer_plan: &Plan, plan: &Plan) {
        let PlanParts {
            secrets,
            skills,
            steps,
            verify,
            gates,
            escalations,
            planner,
            undo,
            suggests,
            data,
            // They reach nothing by themselves.
            id: _,
            title: _,
            intent: _,
            params: _,
            env: _,
            policy: _,
            main: _,
            work_type: _,
            interaction_mode: _,
            outputs: _,
            briefing: _,
            // The budget of the envelope and the time limit of the step hold besides.
            timeout: _,
            budget: _,
            // They choose among alternatives, which are steps.
            replan: _,
            on_stuck: _,
            // The outermost plan says how its run is resumed.
            resume: _,
        } = plan.parts();
        let secrets = secrets.iter().map(|secret| format!("secret `{}`", secret.name));
        let skills = skills.iter().flatten().map(|skill| format!("skill `{skill}`"));
        let data = data.iter().map(|glob| format!("data `{glob}`"));
        for declared in secrets.chain(skills).chain(data) {
            self.note(format!("it declares the {declared}; a generated plan has none"));
        }
        for gate in gates.iter().filter(|gate| outer_plan.parts().gates.iter().all(|one| one.id != gate.id)) {
            self.note(format!("it has the gate `{}`; the gates of the approved plan hold for it", gate.id));
        }
        if !escalations.is_empty() {
            self.note("it has escalations; those of the approved plan hold for it".into());
        }
        if planner.is_some() {
            self.note("it has a planner; a generated plan has none".into());
        }
        if undo.is_some() {
            self.note("it has `undo`; a generated plan has none".into());
        }
        if suggests.is_some() {
            self.note("it has `suggests`; a generated plan has none".into());
        }
        let (count, max) = (steps.iter().map(item_count).sum::<usize>(), self.envelope.max_steps as usize);
        if count > max {
            let items = if count > steps.len() { ", counting each item" } else { "" };
            self.note(format!("it has {count} steps{items}, and `max_steps` is {max}"));
        }
        for check in verify {
            self.verification("the plan", check);
        }
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        let place = format!("step `{}`", step.id);
        self.step = Some(step.id.clone());
        if matches!(step.fan, StepRepetition::Each(_)) {
            self.note(format!(
                "{place} has items that only the run knows, and `max_steps` counts them: list them"
            ));
        }
        for way in step.ways() {
            self.way(&place, way);
        }
        self.step = None;
    }

    /// Notes the keys set.
    fn note_keys(&mut self, place: &str, keys: &[(bool, &str)]) {
        for (_, key) in keys.iter().filter(|(is_set, _)| *is_set) {
            self.note(format!("{place} has `{key}`, which a generated plan may not have"));
        }
    }

    /// Compares a step as written, or as one of its alternatives does it.
    fn way(&mut self, place: &str, step: &Step) {
        let Step {
            work,
            container,
            verify,
            writes,
            cache,
            concurrency,
            detach,
            runs_on,
            allow,
            gates,
            on_stuck,
            // Those of the step; an alternative has none.
            alternatives: _,
            limits,
            // They order and limit its attempts, and describe its result.
            id: _,
            title: _,
            depends_on: _,
            when: _,
            fan: _,
            key: _,
            max_parallel: _,
            env: _,
            cwd: _,
            timeout: _,
            queue_timeout: _,
            retry: _,
            idempotent: _,
            loops: _,
            outputs: _,
            external: _,
            artifacts: _,
            on_error: _,
            on_escalation: _,
            classify: _,
            tool: _,
            target: _,
            briefing: _,
        } = step;
        let refused = [
            (container.is_some(), "container"),
            (!writes.is_empty(), "writes"),
            (cache.is_some(), "cache"),
            (concurrency.is_some(), "concurrency"),
            (*detach, "detach"),
            (runs_on.is_some(), "runs_on"),
            (!gates.is_empty(), "gates"),
        ];
        self.note_keys(place, &refused);
        for excess in limits.excess() {
            self.note(format!("{place} has {excess} in a generated plan"));
        }
        for excess in allow.iter().flat_map(|allow| self.envelope.allow.excess(allow)) {
            self.note(format!("{place} may {excess}"));
        }
        let consulted = Name::parse(Planner::USUAL_ROLE).ok();
        if let Some(role) = consulted.filter(|_| *on_stuck == OnStuck::ConsultPlanner) {
            self.role(&format!("the planner of {place}"), &role);
        }
        check_work(self, place, step, work);
        self.checks(place, step, verify);
    }

    /// Compares the checks of a step, which may have to have one.
    fn checks(&mut self, place: &str, step: &Step, check_of_step: &[Check]) {
        let needs_check = self.envelope.checks == EnvelopeChecks::Required && check_of_step.is_empty();
        if needs_check && may_change_something(step) {
            self.note(format!(
                "{place} may change something, and no check of its own shows that it did; add `verify` to it \
                 (`checks` is `required`)"
            ));
        }
        for check in check_of_step {
            self.verification(place, check);
        }
    }

    /// Compares a check: it has a sandbox of its own, which writes nothing.
    fn verification(&mut self, place: &str, check: &Check) {
        let Check {
            name,
            network,
            read,
            judge,
            limits,
            phase: _,
            probe: _,
            expect: _,
            env: _,
            cwd: _,
            timeout: _,
            mode: _,
            fixed: _,
            before: _,
            classify: _,
        } = check;
        let place = format!("check `{name}` of {place}");
        self.check = Some(name.clone());
        for excess in limits.excess() {
            self.note(format!("{place} has {excess} in a generated plan"));
        }
        if *network && !self.envelope.allow.net {
            self.note(format!("{place} may use the network"));
        }
        let permissions =
            wf_model::SandboxPermissions { read: read.clone(), exec: Some(Vec::new()), ..Default::default() };
        for excess in self.envelope.allow.excess(&permissions) {
            self.note(format!("{place} may {excess}"));
        }
        if let Some(judge) = judge {
            self.role(&place, &judge.role);
        }
        self.check = None;
    }

    /// Compares a role of a model.
    pub(super) fn role(&mut self, place: &str, role: &Name) {
        if !self.envelope.roles.contains(role) {
            self.note(format!("{place} has a model of the role `{role}`, which is not in `roles`"));
        }
    }
}

/// True if a step may write files or use the network. What a listed plan does is checked there.
fn may_change_something(step: &Step) -> bool {
    let reaches = step.allow.as_ref().map(|allow| allow.net || !allow.write.is_empty());
    match &step.work {
        StepWork::Run(_) | StepWork::Exec(_) => reaches.unwrap_or(true),
        StepWork::Agent(agent) => reaches.unwrap_or_else(|| {
            let writes = [AgentTool::Write, AgentTool::Edit, AgentTool::Run];
            agent.tools.iter().any(|tool| writes.contains(tool))
        }),
        _ => false,
    }
}

/// Returns a generated plan as it runs: under the gates of the plan declaring the envelope, with a budget at most that
/// of the envelope and of that plan, and with no more attempts at a time than that plan.
pub fn bounded(envelope: &PlanEnvelope, outer_plan: &Plan, plan: &Plan) -> Result<Arc<Plan>, PlanError> {
    let (own, outer) = (plan.parts(), outer_plan.parts());
    let limits = [&own.budget, &envelope.budget, &outer.budget];
    let budget = limits.into_iter().flatten().cloned().reduce(|budget, other| budget.stricter(&other));
    let max_parallel = own.policy.max_parallel.min(outer.policy.max_parallel);
    Plan::new(PlanParts {
        policy: PlanPolicy { max_parallel, ..own.policy.clone() },
        gates: outer.gates.clone(),
        escalations: outer.escalations.clone(),
        budget,
        ..own.clone()
    })
}

/// Returns a breach for each output a step declares and a plan does not have.
pub fn missing_outputs(step: &Step, plan: &Plan) -> impl Iterator<Item = EnvelopeBreach> {
    let outputs = step.outputs.iter().map(|output| &output.name);
    let missing = outputs.filter(|name| plan.parts().outputs.iter().all(|output| output.name != **name));
    missing.map(|name| EnvelopeBreach::of_plan(format!("it has no output `{name}`, which the step declares")))
}

/// Returns a breach for each parameter a plan requires and its step does not set, and for each the step sets and the
/// plan does not have. The values are known in the run alone.
pub fn misfit_params(generated: &GeneratedPlan, plan: &Plan) -> Vec<EnvelopeBreach> {
    let params = &plan.parts().params;
    let is_set = |name| generated.with.iter().any(|(set, _)| set == name);
    let required = params.iter().filter(|param| param.default.is_none() && !is_set(&param.name));
    let required = required
        .map(|param| format!("it requires the parameter `{}`, which the step does not set", param.name));
    let unknown = generated.with.iter().filter(|(name, _)| params.iter().all(|param| param.name != *name));
    let unknown =
        unknown.map(|(name, _)| format!("it has no parameter `{name}`, which the step sets in `with`"));
    required.chain(unknown).map(EnvelopeBreach::of_plan).collect()
}
