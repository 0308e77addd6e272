use crate::{
    ast::{CheckSpec, StepSpec},
    check::{FileDiagnostics, RuleContext},
    part,
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::{Span, Spanned},
};
use wf_model::expr::{ExprReference, ScriptReference, templates_in_script};

/// Refuses a template in a script: text never becomes code.
pub(crate) fn check_scripts(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        if let Some(script) = &step.run {
            check_script(script, step_help, context, diagnostics);
        }
    }
    let checks = context.steps.iter().flat_map(|step| step.checks());
    for check in checks.chain(context.plan.checks()) {
        if let Some(script) = &check.run {
            check_script(script, check_help, context, diagnostics);
        }
    }
}

fn check_script(
    script: &Spanned<String>,
    help: fn(&ExprReference) -> String,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    for (at, name) in templates_in_script(&script.value) {
        let span = part(context.source, script, at);
        let message = "templates are not expanded in scripts (injection risk)";
        let mistake = Diagnostic::new(Code::TemplateInScript, span, message);
        diagnostics.note(mistake.with_help(match &name {
            ScriptReference::Own(name) => help(name),
            ScriptReference::Foreign(inner) => foreign_template_help(inner),
        }));
    }
}

/// Names the variable where the work of a step finds a value.
fn step_help(reference: &ExprReference) -> String {
    let variable = match reference {
        ExprReference::Param(name) => format!("WF_PARAM_{}", name.to_uppercase()),
        ExprReference::Item => "WF_ITEM".into(),
        ExprReference::ItemKey => "WF_ITEM_KEY".into(),
        ExprReference::ItemIndex => "WF_ITEM_INDEX".into(),
        ExprReference::Matrix(axis) => format!("WF_MATRIX_{}", axis.to_uppercase()),
        ExprReference::RunId => "WF_RUN".into(),
        _ => return env_help("step", reference),
    };
    format!("read the variable \"${variable}\"")
}

/// Names the variable where a check finds a value: a parameter's, or one of its own.
fn check_help(reference: &ExprReference) -> String {
    match reference {
        ExprReference::Param(_) => step_help(reference),
        _ => env_help("check", reference),
    }
}

fn env_help(owner: &str, reference: &ExprReference) -> String {
    format!("add `env: {{VALUE: \"{{{{ {reference} }}}}\"}}` to the {owner} and read \"$VALUE\"")
}

/// Explains how a script reads a value another tool would have inserted into it.
fn foreign_template_help(inner: &str) -> String {
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
            let output = rest.last().map_or_else(|| "name".to_owned(), |name| named(name));
            let step = named(step);
            format!(
                "add `env: {{VALUE: \"{{{{ steps.{step}.outputs.{output} }}}}\"}}` to the step and \
                 read \"$VALUE\""
            )
        }
        _ => "the shell reads a script as written: pass values via `env`, or as `params`, which it \
              reads as \"$WF_PARAM_NAME\""
            .to_owned(),
    }
}

/// Refuses a template in a literal key: it would be taken for text.
pub(crate) fn check_literals(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        of_step(step, diagnostics);
        step.checks().for_each(|check| of_check(check, diagnostics));
    }
    for check in context.plan.checks() {
        of_check(check, diagnostics);
    }
}

fn of_step(step: &StepSpec, diagnostics: &mut FileDiagnostics) {
    if let Some(lock) = &step.concurrency {
        plain("concurrency", &lock.0.lock.value, lock.0.lock.span, diagnostics);
    }
}

fn of_check(check: &CheckSpec, diagnostics: &mut FileDiagnostics) {
    if let Some(cwd) = &check.cwd {
        let help = "write a literal folder; pass variable parts via `env`, or as an argument of `exec`";
        note_with_help("cwd", help, &cwd.value.0, cwd.span, diagnostics);
    }
    let Some(expect) = &check.expect else { return };
    for path in &expect.file_exists.0 {
        plain("file_exists", &path.value.0, path.span, diagnostics);
    }
    for (key, text) in [("equals", &expect.equals), ("contains", &expect.contains)] {
        if let Some(text) = text {
            plain(key, text, check.name.span, diagnostics);
        }
    }
}

fn plain(key: &str, text: &str, span: Span, diagnostics: &mut FileDiagnostics) {
    note_with_help(key, "write a literal value", text, span, diagnostics);
}

fn note_with_help(key: &str, help: &str, text: &str, span: Span, diagnostics: &mut FileDiagnostics) {
    if let Some((_, name)) = templates_in_script(text).first() {
        let message = format!("templates are not supported in `{key}` (found `{name}`)");
        let mistake = Diagnostic::new(Code::ValueWrong, span, message);
        diagnostics.note(mistake.with_help(help));
    }
}
