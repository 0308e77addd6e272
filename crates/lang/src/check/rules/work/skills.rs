use std::collections::BTreeSet;

use crate::{
    LoadedSkill,
    ast::{AllowSpec, PlanSpec, ScriptArg, SkillArgs, SkillScript, SkillUse, StepSpec},
    check::{FileDiagnostics, RuleContext},
};
use wf_base::{
    diag::{Code, Diagnostic, nearest},
    name::SkillName,
    source::{Span, Spanned},
};
use wf_model::{expr::Template, misfit_arg};
use wf_skill::disk::LEFT_OUT;

/// Checks that a script of a skill exists, is given its arguments, and may reach no more than its
/// skill asks for, and no step uses a skill a plan above does not allow.
pub(crate) fn check_skills(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        if let Some(used) = step.skill.as_deref()
            && let Some((_, skill)) = context.loaded.skill(&used.value.name.value)
        {
            script(context, step, used, skill, diagnostics);
        }
    }
    if let Some(own) = &context.plan.skills {
        let own: BTreeSet<&SkillName> = own.iter().map(|name| &name.value).collect();
        check_allowed_skills(context, &own, diagnostics);
    }
}

fn script(
    context: &RuleContext<'_>,
    step: &StepSpec,
    used: &Spanned<SkillUse>,
    skill: &LoadedSkill,
    diagnostics: &mut FileDiagnostics,
) {
    let script_name = used.value.script.as_ref();
    let called_script = skill.extension.script(script_name.map(|spanned_name| spanned_name.value.as_str()));
    if let Some(script) = skill.script(&used.value).filter(|script| skill.lacks(script)) {
        let at = script_name.map_or(used.value.name.span, |spanned_name| spanned_name.span);
        let message = format!("the skill `{}` has no file {script}", skill.name);
        let mistake = Diagnostic::new(Code::UnknownScript, at, message);
        let there = skill.scripts.iter().map(String::as_str);
        let name = script.strip_prefix("scripts/").unwrap_or_default();
        diagnostics.misspelt(mistake, name, there, "use an existing file");
        return;
    }
    match (called_script, script_name) {
        (Some((_, script)), _) => {
            declared(context, step, used, script, diagnostics);
        }
        (None, None) => {
            let message =
                format!("the skill `{}` has several scripts or none: name the one to run", skill.name);
            let mistake = Diagnostic::new(Code::UnknownScript, used.value.name.span, message);
            diagnostics.note(mistake.with_help(format!("write `script: {}`", valid_scripts(skill))));
        }
        (None, Some(said)) => undeclared(said, skill, diagnostics),
    }
}

/// Returns the valid scripts for a missing one.
fn valid_scripts(skill: &LoadedSkill) -> String {
    let names: Vec<&str> = skill.extension.names().collect();
    if names.is_empty() { "PATH".to_owned() } else { names.join("` or `") }
}

/// Notes an undeclared script outside the skill's folder; others may be run if they exist.
fn undeclared(script_name: &Spanned<String>, skill: &LoadedSkill, diagnostics: &mut FileDiagnostics) {
    let odd = |part: &str| matches!(part, "" | "." | "..") || LEFT_OUT.contains(&part);
    let is_path = script_name.value.contains('/') && !script_name.value.split('/').any(odd);
    if is_path && !script_name.value.chars().any(char::is_control) {
        return;
    }
    let message = format!("the skill `{}` has no script `{}`", skill.name, script_name.value);
    let mistake = Diagnostic::new(Code::UnknownScript, script_name.span, message);
    diagnostics.note(match nearest(&script_name.value, skill.extension.names()) {
        Some(near) => mistake.with_suggestion(Some(near)),
        None => mistake.with_help(format!("write `{}`", valid_scripts(skill))),
    });
}

fn declared(
    context: &RuleContext<'_>,
    step: &StepSpec,
    used: &Spanned<SkillUse>,
    script: &SkillScript,
    diagnostics: &mut FileDiagnostics,
) {
    arguments(used, script, diagnostics);
    if let Some(allow) = step.allow.as_deref() {
        let nothing = AllowSpec::workspace_only();
        check_excess_permissions(allow, script.allow.as_ref().unwrap_or(&nothing), used.span, diagnostics);
    }
    let passed = script.allow.iter().flat_map(|allow| &allow.env);
    let passed: Vec<&str> = passed.map(|name| name.value.as_str()).collect();
    let variables = context.plan.env.iter().chain(step.env.iter());
    let variables: Vec<&str> = variables.map(|(name, _)| name.value.as_str()).collect();
    for name in &script.env {
        let name = name.value.as_str();
        if !passed.contains(&name) && !variables.contains(&name) {
            let message = format!("the script reads `{name}`, which is not set");
            let mistake = Diagnostic::new(Code::KeyMissing, used.value.name.span, message);
            diagnostics.note(mistake.with_help(format!("set it: `env: {{{name}: …}}`")));
        }
    }
}

fn arguments(used: &Spanned<SkillUse>, script: &SkillScript, diagnostics: &mut FileDiagnostics) {
    let values = match &used.value.args {
        Some(SkillArgs::Words(words)) => {
            let message = "this script has named arguments: pass them by name";
            let at = words.first().map_or(used.span, |word| word.span);
            let mistake = Diagnostic::new(Code::TypeWrong, at, message);
            diagnostics.note(mistake.with_help("write `args: {NAME: VALUE}`"));
            return;
        }
        Some(SkillArgs::Named(values)) => values.as_ref(),
        None => &[],
    };
    for (name, value) in values {
        let mut args = script.args.iter();
        let Some((_, arg)) = args.find(|(declared_name, _)| declared_name.value == name.value) else {
            let message = format!("unknown argument `{}`", name.value);
            let mistake = Diagnostic::new(Code::UnknownArgument, name.span, message);
            let arg_names = script.args.iter().map(|(declared_name, _)| declared_name.value.as_str());
            diagnostics.misspelt(mistake, name.value.as_str(), arg_names, "remove it");
            continue;
        };
        if let Some(mistake) = constant(&value.value.0, arg) {
            let message = format!("argument `{}`: {mistake}", name.value);
            diagnostics.note(Diagnostic::new(Code::TypeWrong, value.span, message));
        }
    }
    for (name, arg) in script.args.iter().filter(|(_, arg)| arg.is_required()) {
        if values.iter().all(|(arg_name, _)| arg_name.value != name.value) {
            let message = format!("missing required argument `{}`", name.value);
            let mistake = Diagnostic::new(Code::KeyMissing, used.value.name.span, message);
            let about = arg.description.as_deref().unwrap_or("…");
            diagnostics.note(mistake.with_help(format!("add it: `args: {{{}: {about}}}`", name.value)));
        }
    }
}

/// Returns the mistake in a constant value.
fn constant(template: &Template, arg: &ScriptArg) -> Option<String> {
    let position = arg.position.as_ref().map(|at| at.value);
    match template.constant()? {
        serde_json::Value::String(text) => misfit_arg(&arg.schema, position, &arg.schema.read(&text)),
        other => misfit_arg(&arg.schema, position, &other),
    }
}

/// Notes permissions of a step beyond those the skill asks for.
fn check_excess_permissions(
    step_allow: &AllowSpec,
    script_allow: &AllowSpec,
    at: Span,
    diagnostics: &mut FileDiagnostics,
) {
    let mut note = |permission: String, at: Span| {
        let message = format!("{permission} exceeds the permissions of the skill");
        let mistake = Diagnostic::new(Code::SkillWider, at, message);
        diagnostics.note(mistake.with_help(
            "a step may restrict the permissions of its skill, but not extend \
                                 them",
        ));
    };
    if step_allow.net && !script_allow.net {
        note("network access".into(), at);
    }
    for path in &step_allow.read {
        if !script_allow.read.iter().any(|most| is_below(&path.value.0, &most.value.0)) {
            note(format!("reading `{}`", path.value.0), path.span);
        }
    }
    for path in &step_allow.write {
        if !script_allow.write.iter().any(|most| is_below(&path.value.0, &most.value.0)) {
            note(format!("writing to `{}`", path.value.0), path.span);
        }
    }
    for name in &step_allow.env {
        if !script_allow.env.iter().any(|most| most.value == name.value) {
            note(format!("the variable `{}`", name.value), name.span);
        }
    }
    let Some(most) = &script_allow.exec else { return };
    match &step_allow.exec {
        None => note("running any program".into(), at),
        Some(exec) => {
            for program in exec {
                if !most.iter().any(|most| most.value == program.value) {
                    note(format!("running `{}`", program.value.0), program.span);
                }
            }
        }
    }
}

/// True if a path is the folder, or below it. Neither has `..`.
fn is_below(path: &str, folder: &str) -> bool {
    let parts = |path: &str| -> Vec<String> {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.map(str::to_owned).collect()
    };
    path.starts_with('/') == folder.starts_with('/')
        && path.starts_with('~') == folder.starts_with('~')
        && parts(path).starts_with(&parts(folder))
}

/// Notes the used skills that are not allowed by the plan, for itself and the plans it uses.
fn check_allowed_skills(
    context: &RuleContext<'_>,
    own: &BTreeSet<&SkillName>,
    diagnostics: &mut FileDiagnostics,
) {
    for step in context.ways() {
        for name in step.named_skills().filter(|name| !own.contains(&name.value)) {
            let message = format!("the skill `{}` is not listed in the plan's `skills`", name.value);
            let mistake = Diagnostic::new(Code::SkillOutside, name.span, message);
            diagnostics.note(mistake.with_help("add it there, or use another"));
        }
        for (path, file, plan) in context.all_used(step) {
            let mut visited = BTreeSet::from([context.file]);
            for name in usable_skills(context, file, plan, &mut visited) {
                if !own.contains(name) {
                    let message = format!(
                        "`{}` uses the skill `{name}`, which is not listed in the plan's `skills`",
                        path.value
                    );
                    let mistake = Diagnostic::new(Code::SkillOutside, path.span, message);
                    diagnostics.note(mistake.with_help("add it there, or remove it from that plan"));
                }
            }
        }
    }
}

/// Returns the skills a plan may use: those it lists, else those it and the plans
/// it uses name.
fn usable_skills<'a>(
    context: &RuleContext<'a>,
    file: usize,
    plan: &'a PlanSpec,
    visited: &mut BTreeSet<usize>,
) -> BTreeSet<&'a SkillName> {
    if let Some(own) = &plan.skills {
        return own.iter().map(|name| &name.value).collect();
    }
    if !visited.insert(file) {
        return BTreeSet::new();
    }
    let mut allowed = BTreeSet::new();
    for way in plan.all_steps().flat_map(StepSpec::with_all_alternatives) {
        allowed.extend(way.named_skills().map(|name| &name.value));
        let used = way.used_paths().filter_map(|path| context.loaded.file_at(file, path));
        for next in used {
            if let Some(plan) = context.loaded.plans.get(next).and_then(Option::as_ref) {
                allowed.extend(usable_skills(context, next, plan, visited));
            }
        }
    }
    allowed
}
