use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Ref, templates_in_script};
use crate::source::Spanned;
use crate::spec::part;

/// Text never becomes code: a script contains no template.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in scene.ways() {
        if let Some(script) = &step.run {
            look(script, step_help, scene, notes);
        }
    }
    let checks = scene.steps.iter().flat_map(|step| &step.verify);
    for check in checks.chain(&scene.plan.verify) {
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
        notes.note(mistake.help(help(&name)));
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
