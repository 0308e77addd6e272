//! The work of a step: approvals, generated plans, calls of skills, and the skills of agents.

use super::plan::{LoweringError, SpecLowering};
use crate::{
    LoadedSkill, LoadedSpec, ast,
    ast::{AllowSpec, ApproveSpec, SkillArgs, SkillScript, SkillUse, StepSpec},
    decode::LowerSpec,
};
use serde_json::json;
use wf_base::name::{Name, SkillName};
use wf_model::{
    AgentSkill, AgentSkillScript, AnswerChoices, AnswerKind, ApprovalStep, ChildPlan, GeneratedPlan,
    PlanEnvelope, RequiredOutput, SandboxPermissions, SkillArg, SkillCall, ValueSchema, expr::Template,
    interpreter,
};

/// Returns the decision a step waits for.
pub(super) fn approval_step(approve: &ApproveSpec) -> ApprovalStep {
    ApprovalStep {
        message: approve.message.lower(),
        show: approve.show.lower(),
        answer: approve.answer_kind(),
        needs: approve.needs(),
    }
}

/// Returns the outputs of the step: the values shown, and that of the answer.
pub(super) fn answer_outputs(approve: &ApproveSpec) -> Vec<RequiredOutput> {
    let required = |name, schema| Some(RequiredOutput { name, schema: ValueSchema::new(schema).ok()? });
    // The value shown is the output: no schema restricts it further.
    let shown = approve.show.iter().map(|(name, _)| required(name.lower(), json!(true)));
    let kind = approve.answer_kind();
    let answered = kind.iter().map(|kind| required(Name::parse(kind.output()).ok()?, answer_schema(kind)));
    shown.chain(answered).flatten().collect()
}

fn answer_schema(kind: &AnswerKind) -> serde_json::Value {
    match kind {
        AnswerKind::Choose(AnswerChoices::List(words)) => json!({ "type": "string", "enum": words }),
        AnswerKind::Choose(AnswerChoices::Computed(_)) => json!({ "type": "string" }),
        AnswerKind::Edit { max_length, .. } => json!({ "type": "string", "maxLength": max_length }),
        AnswerKind::Select(_) => json!({ "type": "array", "minItems": 1 }),
    }
}

/// The plan the run makes for a step.
pub(super) fn generated_plan(
    step: &ast::StepSpec,
    with: Vec<(Name, Template)>,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<GeneratedPlan, LoweringError> {
    let generated = step.generated().ok_or(LoweringError::Broken)?;
    let own = lowering.loaded.sources.get(file).ok_or(LoweringError::Broken)?.path();
    let folder = own.rfind('/').and_then(|at| own.get(..=at)).unwrap_or_default();
    Ok(GeneratedPlan {
        text: generated.text.lower(),
        path: format!("{folder}{}.generated.md", step.id.value),
        with,
        envelope: envelope(generated.within.as_ref(), file, lowering)?,
    })
}

fn envelope(
    given_envelope: Option<&ast::EnvelopeSpec>,
    file: usize,
    lowering: &mut SpecLowering<'_>,
) -> Result<PlanEnvelope, LoweringError> {
    let Some(envelope_spec) = given_envelope else {
        return Ok(PlanEnvelope::default());
    };
    let plans = envelope_spec.plans.iter().map(|path| {
        let (plan, path) = lowering.plan_at(file, path)?;
        Ok(ChildPlan { plan, path })
    });
    Ok(PlanEnvelope {
        allow: envelope_spec.allow.lower().unwrap_or_default(),
        executors: envelope_spec.executors().collect(),
        plans: plans.collect::<Result<_, LoweringError>>()?,
        roles: envelope_spec.roles.lower(),
        tools: envelope_spec.tools.lower(),
        mcp: envelope_spec.mcp.lower(),
        fetch: envelope_spec.fetch.lower(),
        max_steps: envelope_spec.max_steps.lower().unwrap_or(PlanEnvelope::MAX_STEPS),
        budget: envelope_spec.budget.lower(),
        checks: envelope_spec.checks,
        untrusted: envelope_spec.untrusted,
    })
}

/// Returns a skill with its text and its scripts; `None` if it could not be read.
pub(super) fn agent_skill(name: &SkillName, loaded: &LoadedSpec) -> Option<AgentSkill> {
    let (file, skill) = loaded.skill(name)?;
    let text = loaded.sources.get(file)?.slice(skill.skill.body);
    let scripts = skill.extension.scripts.iter();
    Some(AgentSkill {
        name: skill.name.clone(),
        folder: skill.folder.clone(),
        description: skill.skill.description.clone(),
        text: text.trim().to_owned(),
        scripts: scripts.map(|(path, declared)| agent_skill_script(skill, &path.value, declared)).collect(),
    })
}

fn agent_skill_script(skill: &LoadedSkill, path: &str, script: &SkillScript) -> AgentSkillScript {
    let required = script.args.iter().filter(|(_, arg)| arg.is_required());
    let outputs = script.outputs.iter();
    let nothing = AllowSpec::workspace_only();
    AgentSkillScript {
        description: script.description.clone(),
        call: SkillCall {
            skill: skill.name.clone(),
            folder: skill.folder.clone(),
            script: path.to_owned(),
            head: interpreter(path).iter().map(|&word| word.to_owned()).collect(),
            args: skill_args(script, None),
            words: Vec::new(),
        },
        required: required.map(|(name, _)| name.value.clone()).collect(),
        allow: script.allow.as_ref().unwrap_or(&nothing).lower(),
        limits: script.limits.lower().unwrap_or_default(),
        timeout: script.timeout.lower(),
        outputs: outputs
            .map(|(name, output)| RequiredOutput { name: name.lower(), schema: output.schema.clone() })
            .collect(),
    }
}

/// The script a step runs, and its arguments.
pub(super) fn skill_call(skill_use: &SkillUse, loaded: &LoadedSpec) -> Option<SkillCall> {
    let (_, skill) = loaded.skill(&skill_use.name.value)?;
    let script = skill.script(skill_use)?;
    let script_name = skill_use.script.as_ref().map(|script| script.value.as_str());
    let declared = skill.extension.script(script_name).map(|(_, script)| script);
    let (args, words) = match (declared, &skill_use.args) {
        (Some(declared), values) => (skill_args(declared, values.as_ref()), Vec::new()),
        (None, Some(SkillArgs::Named(values))) => {
            // Nothing is known of them but their names.
            let any = ValueSchema::new(serde_json::Value::Bool(true)).ok()?;
            let named = values.iter().map(|(name, value)| SkillArg {
                name: name.value.clone(),
                schema: any.clone(),
                value: Some(value.value.0.clone()),
                position: None,
            });
            (named.collect(), Vec::new())
        }
        (None, Some(SkillArgs::Words(words))) => (Vec::new(), words.lower()),
        (None, None) => (Vec::new(), Vec::new()),
    };
    let head = interpreter(&script).iter();
    Some(SkillCall {
        skill: skill_use.name.value.clone(),
        folder: skill.folder.clone(),
        head: head.map(|&word| word.to_owned()).collect(),
        script,
        args,
        words,
    })
}

/// The dry run of a script when its skill is installed; `None` if it has none.
pub fn dry_run(path: &str, script: &SkillScript) -> Option<SkillCall> {
    let values = SkillArgs::Named(script.dry_run.as_ref()?.args.clone());
    let head = interpreter(path).iter();
    Some(SkillCall {
        skill: SkillName::parse("skill").ok()?,
        folder: ".".into(),
        head: head.map(|&word| word.to_owned()).collect(),
        script: path.to_owned(),
        args: skill_args(script, Some(&values)),
        words: Vec::new(),
    })
}

pub(super) fn skill_args(script: &SkillScript, values: Option<&SkillArgs>) -> Vec<SkillArg> {
    let args = script.args.iter();
    args.map(|(name, arg)| {
        let values = values.and_then(|values| values.named(name.value.as_str()));
        let default = || arg.default.lower().map(Template::of_value);
        SkillArg {
            name: name.value.clone(),
            schema: arg.schema.clone(),
            value: values.cloned().or_else(default),
            position: arg.position.lower(),
        }
    })
    .collect()
}

/// The permissions of a step; the interpreter of its script may be started in any case.
pub(super) fn with_interpreter(
    step: &StepSpec,
    loaded: &LoadedSpec,
    mut permissions: SandboxPermissions,
) -> SandboxPermissions {
    let call = step.skill.as_ref().and_then(|used| skill_call(&used.value, loaded));
    if let (Some(exec), Some(call)) = (&mut permissions.exec, call) {
        let program = call.head.first().cloned().unwrap_or_else(|| call.path());
        if !exec.contains(&program) {
            exec.push(program);
        }
    }
    permissions
}
