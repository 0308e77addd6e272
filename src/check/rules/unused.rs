use std::collections::BTreeSet;

use super::{Notes, Scene};
use crate::diag::{Code, Diagnostic};
use crate::expr::Ref;

/// What is declared is used: a parameter by an expression or as a variable in a script, a secret
/// by an expression.
pub(super) fn check(scene: &Scene<'_>, notes: &mut Notes) {
    if scene.may_hide_uses() {
        return;
    }
    let mut params = BTreeSet::new();
    let mut secrets = BTreeSet::new();
    for read in &scene.reads {
        match &read.what.name {
            Ref::Param(name) => drop(params.insert(name.as_str())),
            Ref::Secret(name) => drop(secrets.insert(name.as_str())),
            _ => {}
        }
    }
    let variables = variables(scene);
    for (name, _) in scene.plan.params.iter() {
        let id = name.value.as_str();
        if !params.contains(id) && !variables.contains(id) {
            let message = format!("parameter `{id}` is never used");
            let mistake = Diagnostic::new(Code::UnusedParam, name.span, message);
            notes.note(mistake.help(format!(
                "read it as `{{{{ params.{id} }}}}`, or in a script as \"$WF_PARAM_{}\"; \
                 else remove it",
                id.to_uppercase()
            )));
        }
    }
    for (name, _) in scene.plan.secrets.iter() {
        if !secrets.contains(name.value.as_str()) {
            let message = format!("secret `{}` is never used", name.value);
            let mistake = Diagnostic::new(Code::UnusedSecret, name.span, message);
            notes.note(mistake.help("read it in the `env` of a step, or remove it"));
        }
    }
}

/// The parameters whose variable is named in a script, an argument, a variable or a shell.
fn variables(scene: &Scene<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut look = |text: &str| {
        for (at, mark) in text.match_indices("WF_PARAM_") {
            let rest = text.get(at + mark.len()..).unwrap_or("");
            let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name: String = rest.chars().take_while(|c| in_word(*c)).collect();
            found.insert(name.to_lowercase());
        }
    };
    for (_, value) in scene.plan.env.iter() {
        look(value.source());
    }
    for step in &scene.steps {
        step.run.iter().for_each(|script| look(&script.value));
        let argv = step.exec.iter().flat_map(|argv| &argv.value);
        argv.for_each(|argument| look(argument.source()));
        step.env.iter().for_each(|(_, value)| look(value.source()));
    }
    let checks = scene.steps.iter().flat_map(|step| &step.verify);
    for check in checks.chain(&scene.plan.verify) {
        check.run.iter().for_each(|script| look(&script.value));
        let argv = check.exec.iter().flat_map(|argv| &argv.value);
        argv.for_each(|argument| look(argument.source()));
        check.env.iter().for_each(|(_, value)| look(value.source()));
    }
    found
}
