use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Ref, ScriptRead, templates_in_script};
use crate::source::Spanned;
use crate::spec::part;

/// Text never becomes code: a script contains no template.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in scene.ways() {
        if let Some(script) = &step.run {
            look(script, step_help, scene, notes);
        }
    }
    let checks = scene.steps.iter().flat_map(|step| step.checks());
    for check in checks.chain(scene.plan.checks()) {
        if let Some(script) = &check.run {
            look(script, check_help, scene, notes);
        }
    }
}

fn look(script: &Spanned<String>, help: fn(&Ref) -> String, scene: &Scene<'_>, notes: &mut Notes) {
    for (at, name) in templates_in_script(&script.value) {
        let span = part(scene.source, script, at);
        let message = "a script cannot contain a template: its value would become code";
        let mistake = Diagnostic::new(Code::TemplateInScript, span, message);
        notes.note(mistake.help(match &name {
            ScriptRead::Own(name) => help(name),
            ScriptRead::Foreign(inner) => elsewhere(inner),
        }));
    }
}

/// The variable in which the work of a step finds a value.
fn step_help(name: &Ref) -> String {
    let variable = match name {
        Ref::Param(name) => format!("WF_PARAM_{}", name.to_uppercase()),
        Ref::Item => "WF_ITEM".into(),
        Ref::ItemKey => "WF_ITEM_KEY".into(),
        Ref::ItemIndex => "WF_ITEM_INDEX".into(),
        Ref::Matrix(axis) => format!("WF_MATRIX_{}", axis.to_uppercase()),
        Ref::RunId => "WF_RUN".into(),
        _ => return through_env("step", name),
    };
    format!("read the variable \"${variable}\"")
}

/// A check sees the parameters and its own variables.
fn check_help(name: &Ref) -> String {
    match name {
        Ref::Param(_) => step_help(name),
        _ => through_env("check", name),
    }
}

fn through_env(owner: &str, name: &Ref) -> String {
    format!("give the {owner} `env: {{VALUE: \"{{{{ {name} }}}}\"}}` and read \"$VALUE\"")
}

/// How a script finds what another tool would have put into it.
fn elsewhere(inner: &str) -> String {
    let words: Vec<&str> = inner
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-')
        .filter(|word| !word.is_empty())
        .collect();
    let named = |name: &str| name.replace('-', "_");
    let param = |name: &str| {
        let name = named(name).to_lowercase();
        format!(
            "declare `params: {{{name}: {{type: string}}}}` and read \"$WF_PARAM_{}\"",
            name.to_uppercase()
        )
    };
    match words.as_slice() {
        ["github", "event", "inputs", name]
        | ["inputs" | "vars", name]
        | ["inputs" | "workflow", "parameters", name] => param(name),
        ["github", name] => {
            let variable = named(name).to_uppercase();
            format!("with `env_pass: [GITHUB_*]` in wf.yaml, read \"$GITHUB_{variable}\"")
        }
        ["env", name] => format!("read \"${name}\""),
        ["needs" | "tasks", step, "outputs", rest @ ..] => {
            let output = rest
                .last()
                .map_or_else(|| "name".to_owned(), |name| named(name));
            let step = named(step);
            format!(
                "give the step `env: {{VALUE: \"{{{{ steps.{step}.outputs.{output} }}}}\"}}` and read \
                 \"$VALUE\""
            )
        }
        _ => "a script is read by its shell as it is written: give it values by `env`, or as \
              `params`, which it reads as \"$WF_PARAM_NAME\""
            .to_owned(),
    }
}
