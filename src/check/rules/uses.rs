use serde_json::Value;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::model::Schema;
use crate::name::Name;
use crate::source::Spanned;
use crate::spec::ast::{Plan, Step};
use crate::spec::decode::Argument;

/// A step that uses a plan gives it its parameters: none it does not know, all it requires, and
/// of the right type where that can be seen.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    for step in scene.ways() {
        let Some((file, plan)) = scene.used(step) else {
            continue;
        };
        let is_whole = scene.loaded.is_whole(file);
        for (name, value) in step.with.iter() {
            given(step, name, value, (plan, is_whole), notes);
        }
        if !scene.may_hide_uses() {
            required(step, plan, notes);
        }
    }
}

fn given(
    step: &Step,
    name: &Spanned<Name>,
    value: &Spanned<Argument>,
    (plan, is_whole): (&Plan, bool),
    notes: &mut Notes,
) {
    let mut params = plan.params.iter();
    match params.find(|(param, _)| param.value == name.value) {
        Some((_, param)) => {
            if let Some(mistake) = misfit(value, &param.schema) {
                let message = format!("parameter `{}`: {mistake}", name.value);
                notes.note(Diagnostic::new(Code::TypeWrong, value.span, message));
            }
        }
        None if is_whole => {
            let path = step.uses.as_ref().map_or("", |path| path.value.as_str());
            let message = format!("`{path}` has no parameter `{}`", name.value);
            let mistake = Diagnostic::new(Code::UnknownParam, name.span, message);
            let known = plan.params.iter().map(|(param, _)| param.value.as_str());
            let help = "remove it, or declare it under `params` of that plan";
            notes.misspelt(mistake, name.value.as_str(), known, help);
        }
        None => {}
    }
}

/// What is wrong with a value that is known already. Text is read by the type asked for, as a run
/// does.
fn misfit(value: &Argument, schema: &Schema) -> Option<String> {
    match value.0.constant()? {
        Value::String(text) => schema.mistake(&schema.read(&text)),
        other => schema.mistake(&other),
    }
}

fn required(step: &Step, plan: &Plan, notes: &mut Notes) {
    let Some(path) = &step.uses else { return };
    for (name, param) in plan.params.iter() {
        let is_given = || step.with.iter().any(|(with, _)| with.value == name.value);
        if param.default.is_none() && !is_given() {
            let message = format!("`{}` requires the parameter `{}`", path.value, name.value);
            let mistake = Diagnostic::new(Code::KeyMissing, path.span, message);
            notes.note(mistake.help(format!("give it: `with: {{{}: …}}`", name.value)));
        }
    }
}
