use crate::{
    ast::{CheckSpec, GeneratedSpec, PlanSpec, StepSpec},
    part,
};
use wf_base::{
    diag::Code,
    source::{SourceText, Span, Spanned},
};
use wf_model::expr::{ExprReference, PathKey, SpannedReference, Template};

/// The programs that execute text given as an argument.
const INTERPRETERS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "perl", "ruby", "node", "php", "lua",
    "ssh", "su", "eval",
];

/// A place where a value could do harm.
pub(super) struct TaintSink {
    pub(super) reference: ExprReference,
    /// The read part of its value.
    pub(super) path: Vec<PathKey>,
    /// The location.
    pub(super) span: Span,
    /// The code of the warning.
    pub(super) code: Code,
    /// The place in words.
    pub(super) place: String,
}

/// Returns all such places of a step, except in the plan it uses.
pub(super) fn of_step(step: &StepSpec, plan: &PlanSpec, source: &SourceText) -> Vec<TaintSink> {
    let mut sites = Vec::new();
    let id = &step.id.value;
    if let Some(script) = &step.run {
        let place = || format!("the shell of step `{id}`");
        let variables = plan.env.iter().chain(step.env.iter());
        variables.for_each(|(_, value)| add(&mut sites, value, Code::TaintShell, &place));
        named_in(script, plan, source, &place, &mut sites);
    }
    if let Some(argv) = &step.exec {
        let templates: Vec<&Template> = argv.iter().map(|argument| &argument.value).collect();
        let place = || format!("the command of step `{id}`");
        arguments(&templates, &place, &mut sites);
    }
    if let Some(http) = &step.http {
        let place = || format!("the URL of step `{id}`");
        add(&mut sites, &http.url.value, Code::TaintUrl, &place);
        let place = || format!("a header of step `{id}`");
        let headers = http.headers.iter();
        headers.for_each(|(_, value)| add(&mut sites, value, Code::TaintUrl, &place));
    }
    let may_be_untrusted =
        |generated: &&GeneratedSpec| generated.within.as_ref().is_some_and(|within| within.untrusted);
    let open_plan = step.generated().filter(|made| !may_be_untrusted(made));
    if let Some(text) = open_plan.and_then(|generated_spec| generated_spec.text.as_ref()) {
        let place = || format!("the plan that step `{id}` runs");
        add(&mut sites, &text.value, Code::TaintPlan, &place);
    }
    let place = || format!("a file name in step `{id}`");
    let awaited = step.wait.iter().filter_map(|wait| wait.file.as_ref());
    let globs = step.cache.iter().flat_map(|cache| cache.inputs.iter().chain(&cache.outputs));
    let left = step.artifacts.iter().chain(&step.writes);
    let left = left.chain(step.cwd.as_deref());
    for path in awaited.chain(globs).chain(left) {
        add(&mut sites, &path.value, Code::TaintPath, &place);
    }
    for check in step.checks() {
        of_check(check, &mut sites);
    }
    sites
}

/// Returns all such places of a check.
pub(super) fn of_check(check: &CheckSpec, sinks: &mut Vec<TaintSink>) {
    let name = &check.name.value;
    if check.run.is_some() {
        let place = || format!("the shell of check `{name}`");
        let variables = check.env.iter();
        variables.for_each(|(_, value)| add(sinks, value, Code::TaintShell, &place));
    }
    if let Some(argv) = &check.exec {
        let templates: Vec<&Template> = argv.iter().collect();
        let place = || format!("the command of check `{name}`");
        arguments(&templates, &place, sinks);
    }
}

/// A place in words, built only if something is read there.
type SinkDescription<'w> = &'w dyn Fn() -> String;

fn add(sinks: &mut Vec<TaintSink>, template: &Template, code: Code, place: SinkDescription<'_>) {
    let sited = |SpannedReference { name, path, span }: &SpannedReference| TaintSink {
        reference: name.clone(),
        path: path.clone(),
        span: *span,
        code,
        place: place(),
    };
    sinks.extend(template.refs().iter().map(sited));
}

/// Adds the program itself, and text an interpreter executes.
fn arguments(templates: &[&Template], place: SinkDescription<'_>, sinks: &mut Vec<TaintSink>) {
    let Some((program, rest)) = templates.split_first() else {
        return;
    };
    add(sinks, program, Code::TaintShell, place);
    let name = program.source().rsplit('/').next().unwrap_or("");
    if !INTERPRETERS.contains(&name) {
        return;
    }
    let mut before = "";
    for argument in rest {
        let is_code = matches!(before, "-e" | "--eval" | "-r") || is_command(before);
        if is_code || matches!(name, "ssh" | "eval") {
            add(sinks, argument, Code::TaintShell, place);
        }
        before = argument.source();
    }
}

/// True for `-c`, also among other letters, as in `-euc`.
fn is_command(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or("");
    letters.ends_with('c') && letters.chars().all(|c| c.is_ascii_lowercase())
}

/// Returns the variables of parameters and items a script names.
fn named_in(
    script: &Spanned<String>,
    plan: &PlanSpec,
    source: &SourceText,
    place: SinkDescription<'_>,
    sinks: &mut Vec<TaintSink>,
) {
    if !script.value.contains("WF_") {
        return;
    }
    let params = plan.params.iter().map(|(name, _)| {
        let variable = format!("WF_PARAM_{}", name.value.as_str().to_uppercase());
        (variable, ExprReference::Param(name.value.to_string()))
    });
    let items = [("WF_ITEM", ExprReference::Item), ("WF_ITEM_KEY", ExprReference::ItemKey)];
    let items = items.map(|(variable, name)| (variable.to_owned(), name));
    for (variable, name) in params.chain(items) {
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut places = script.value.match_indices(&variable);
        let whole = places.find(|(at, _)| {
            let rest = script.value.get(at + variable.len()..).unwrap_or("");
            !rest.starts_with(in_word)
        });
        if let Some((at, _)) = whole {
            sinks.push(TaintSink {
                reference: name,
                path: Vec::new(),
                span: part(source, script, at..at + variable.len()),
                code: Code::TaintShell,
                place: place(),
            });
        }
    }
}
