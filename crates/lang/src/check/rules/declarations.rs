//! Rules about declared names: each is unique, is used, and has a fitting default.
//!
//! **Invariant:** nothing is reported as unused where another mistake may hide a use.
//!
//! Start at [`check_duplicates`].

use crate::{
    ast::GoalSpec,
    check::{FileDiagnostics, RuleContext},
};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Spanned,
};
use wf_model::{
    ValueSchema,
    expr::{ExprReference, Template},
};

/// Checks that names are unique: those of main and `finally` steps together, those of a step's
/// checks of all phases, and those of the plan's own checks.
pub(crate) fn check_duplicates(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    if !context.ids_differ() {
        distinct("step", context.steps.iter().map(|step| &step.id), diagnostics);
    }
    for step in &context.steps {
        distinct("check", step.checks().map(|check| &check.name), diagnostics);
    }
    let own = context.plan.checks();
    distinct("check", own.map(|check| &check.name), diagnostics);
    for step in &context.steps {
        let ids = step.alternatives.iter().map(|other| &other.id);
        distinct("alternative", ids, diagnostics);
    }
}

fn distinct<'a>(
    noun: &str,
    names: impl Iterator<Item = &'a Spanned<Name>>,
    diagnostics: &mut FileDiagnostics,
) {
    let mut first_spans = BTreeMap::new();
    for name in names {
        let Some(first) = first_spans.insert(name.value.as_str(), name.span) else {
            continue;
        };
        let message = format!("duplicate {noun} `{}`", name.value);
        let mistake = Diagnostic::new(Code::DuplicateId, name.span, message);
        diagnostics
            .note(mistake.with_related(first, "the other one is here").with_help("rename one of them"));
        first_spans.insert(name.value.as_str(), first);
    }
}

/// Checks that a default satisfies its own parameter or output.
pub(crate) fn check_defaults(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for (name, param) in context.plan.params.iter() {
        fits(name, &param.schema, param.default.as_ref(), diagnostics);
    }
    for (name, output) in context.steps.iter().flat_map(|step| step.outputs.iter()) {
        fits(name, &output.schema, output.default.as_ref(), diagnostics);
    }
    for (name, output) in context.plan.outputs.iter() {
        fits(name, &output.value.schema, output.value.default.as_ref(), diagnostics);
    }
}

fn fits(
    name: &Spanned<Name>,
    schema: &ValueSchema,
    default: Option<&Spanned<Value>>,
    diagnostics: &mut FileDiagnostics,
) {
    let Some(default) = default else { return };
    if let Some(mistake) = schema.first_mistake(&default.value) {
        let message = format!("invalid default for `{}`: {mistake}", name.value);
        diagnostics.note(Diagnostic::new(Code::DefaultInvalid, default.span, message));
    }
}

/// Checks that declarations are used: parameters by an expression or as a variable in a script,
/// secrets by an expression or a goal's notification. Parameters of every goal need no use.
pub(crate) fn check_unused(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let goal = context.loaded.goals.get(&context.file);
    let declared = goal.map_or(&context.plan.params, |goal| &goal.params);
    let nothing = declared.is_empty() && context.plan.secrets.is_empty();
    if nothing || context.may_hide_uses() {
        return;
    }
    let mut params = BTreeSet::new();
    let mut secrets = BTreeSet::new();
    for read in &context.reads {
        match &read.reference.name {
            ExprReference::Param(name) => drop(params.insert(name.as_str())),
            ExprReference::Secret(name) => drop(secrets.insert(name.as_str())),
            _ => {}
        }
    }
    let texts = texts(context);
    let variables = after("WF_PARAM_", &texts);
    // A template in a script is a mistake of its own, and counts as a use.
    let (misplaced, misplaced_secrets) = (after("params.", &texts), after("secrets.", &texts));
    let of_notifications: BTreeSet<&str> =
        goal.into_iter().flat_map(GoalSpec::notification_secrets).map(|name| name.value.as_str()).collect();
    for (name, _) in declared.iter() {
        let id = name.value.as_str();
        let in_script = variables.contains(&id.to_uppercase()) || misplaced.contains(id);
        if !params.contains(id) && !in_script {
            let message = format!("parameter `{id}` is never used");
            let mistake = Diagnostic::new(Code::UnusedParam, name.span, message);
            diagnostics.note(mistake.with_help(format!(
                "read it as `{{{{ params.{id} }}}}`, or in a script as \"$WF_PARAM_{}\"; otherwise \
                 remove it",
                id.to_uppercase()
            )));
        }
    }
    for (name, _) in context.plan.secrets.iter() {
        let id = name.value.as_str();
        let is_read = secrets.contains(id) || of_notifications.contains(id);
        if !is_read && !misplaced_secrets.contains(id) {
            let message = format!("secret `{}` is never used", name.value);
            let mistake = Diagnostic::new(Code::UnusedSecret, name.span, message);
            diagnostics.note(mistake.with_help("read it in the `env` of a step, or remove it"));
        }
    }
}

/// Returns the names following a mark.
fn after(mark: &str, texts: &[&str]) -> BTreeSet<String> {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |text: &str| text.chars().take_while(|c| in_word(*c)).collect();
    let rests = texts.iter().flat_map(|text| {
        let marks = text.match_indices(mark);
        marks.filter_map(|(at, _)| text.get(at + mark.len()..))
    });
    rests.map(name).collect()
}

/// Returns the scripts, arguments and variables of a plan, which can name a parameter's variable.
fn texts<'a>(context: &RuleContext<'a>) -> Vec<&'a str> {
    let mut texts: Vec<&str> = Vec::new();
    let plan_env = context.plan.env.iter();
    texts.extend(plan_env.map(|(_, value)| value.source()));
    for step in context.ways() {
        texts.extend(step.run.iter().map(|script| script.value.as_str()));
        texts.extend(step.briefing.as_deref().filter(|_| step.agent.is_some()));
        let argv = step.exec.iter().flat_map(|argv| &argv.value);
        texts.extend(argv.map(|argument| argument.source()));
        texts.extend(step.env.iter().map(|(_, value)| value.source()));
    }
    let named = context.plan.all_gates();
    let gates = named.filter_map(|named| context.loaded.gate(context.file, named));
    for (_, gate) in gates.chain(context.loaded.system_gates()) {
        texts.extend(gate.run.iter().map(|script| script.value.as_str()));
        let argv = gate.exec.iter().flat_map(|argv| &argv.value);
        texts.extend(argv.map(Template::source));
        texts.extend(gate.extract.iter().map(|path| path.value.0.as_str()));
    }
    let checks = context.steps.iter().flat_map(|step| step.checks());
    for check in checks.chain(context.plan.checks()) {
        texts.extend(check.run.iter().map(|script| script.value.as_str()));
        let argv = check.exec.iter().flat_map(|argv| &argv.value);
        texts.extend(argv.map(Template::source));
        texts.extend(check.env.iter().map(|(_, value)| value.source()));
    }
    texts
}
