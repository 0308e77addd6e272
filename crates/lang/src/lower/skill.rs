use crate::LoadedSpec;
use crate::ast::{SkillArgs, SkillScript, SkillUse, StepSpec};
use wf_base::name::SkillName;
use wf_model::expr::Template;
use wf_model::{SandboxPermissions, SkillArg, SkillCall, ValueSchema, interpreter};

/// The script that a step runs, and its arguments.
pub(super) fn call(skill_use: &SkillUse, loaded: &LoadedSpec) -> Option<SkillCall> {
    let (_, skill) = loaded.skill(&skill_use.name.value)?;
    let script = skill.script(skill_use)?;
    let said = skill_use.script.as_ref().map(|script| script.value.as_str());
    let declared = skill.extension.script(said).map(|(_, script)| script);
    let (args, words) = match (declared, &skill_use.args) {
        (Some(declared), values) => (args(declared, values.as_ref()), Vec::new()),
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
        (None, Some(SkillArgs::Words(words))) => {
            let words = words.iter().map(|word| word.value.clone());
            (Vec::new(), words.collect())
        }
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
        args: args(script, Some(&values)),
        words: Vec::new(),
    })
}

pub(super) fn args(script: &SkillScript, values: Option<&SkillArgs>) -> Vec<SkillArg> {
    let args = script.args.iter();
    args.map(|(name, arg)| {
        let values = values.and_then(|values| values.named(name.value.as_str()));
        let default = arg.default.as_ref();
        let default = || default.map(|value| Template::of_value(value.value.clone()));
        SkillArg {
            name: name.value.clone(),
            schema: arg.schema.clone(),
            value: values.cloned().or_else(default),
            position: arg.position.as_ref().map(|at| at.value),
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
    let call = step.skill.as_ref().and_then(|used| call(&used.value, loaded));
    if let (Some(exec), Some(call)) = (&mut permissions.exec, call) {
        let program = call.head.first().cloned().unwrap_or_else(|| call.path());
        if !exec.contains(&program) {
            exec.push(program);
        }
    }
    permissions
}
