//! The rules about the names in expressions: each is declared, and may be read at its place.

use crate::{
    ast::{MatrixSpec, StepSpec},
    check::{ExprRead, ExprSite, FileDiagnostics, RuleContext},
};
use std::collections::BTreeSet;
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::Span,
};
use wf_model::expr::ExprReference;

/// Checks that every parameter, secret, step and output an expression reads is declared.
pub(crate) fn check_names(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let params = context.plan.params.iter().map(|(name, _)| name.value.as_str());
    let secrets = context.plan.secrets.iter().map(|(name, _)| name.value.as_str());
    let params = DeclaredNames {
        code: Code::UnknownParam,
        noun: "parameter",
        help: "declare it under `params`",
        names: params.collect(),
    };
    let secrets = DeclaredNames {
        code: Code::UnknownSecret,
        noun: "secret",
        help: "declare it under `secrets`",
        names: secrets.collect(),
    };
    for read in &context.reads {
        let span = read.reference.span;
        match &read.reference.name {
            ExprReference::Param(name) => params.require(name, span, context, diagnostics),
            ExprReference::Secret(name) => secrets.require(name, span, context, diagnostics),
            ExprReference::Output { step, output } => {
                if let Some(at) = require_step(step, span, context, diagnostics) {
                    require_output(context.step(at), output, span, context, diagnostics);
                }
            }
            ExprReference::Block(_) => {
                let step = read.step.map(|at| context.step(at));
                if read.site != ExprSite::With || step.is_none_or(|step| !step.on_escalation) {
                    let message =
                        format!("`{}` is not available in {}", read.reference.name, read.site.noun());
                    let help = "it is only available in `with` of an escalation with `action: spawn_task`";
                    diagnostics.note(Diagnostic::new(Code::UnknownName, span, message).with_help(help));
                }
            }
            name => {
                if let Some(step) = name.step() {
                    require_step(step, span, context, diagnostics);
                }
            }
        }
    }
}

/// The declared names of one kind, and the words of the mistake about another name.
struct DeclaredNames<'a> {
    code: Code,
    noun: &'static str,
    help: &'static str,
    names: BTreeSet<&'a str>,
}

impl DeclaredNames<'_> {
    /// Adds a mistake if a name is not declared.
    fn require(&self, name: &str, span: Span, context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
        if !self.names.contains(name) && context.is_absent(name) {
            let message = format!("unknown {} `{name}`", self.noun);
            let mistake = Diagnostic::new(self.code, span, message);
            diagnostics.misspelt(mistake, name, self.names.iter().copied(), self.help);
        }
    }
}

/// Returns the index of a step by its id; adds a mistake if there is none.
fn require_step(
    id: &str,
    span: Span,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) -> Option<usize> {
    let index = context.find(id);
    if index.is_none() && context.is_absent(id) {
        let message = format!("unknown step `{id}`");
        let mistake = Diagnostic::new(Code::UnknownStep, span, message);
        let ids = context.steps.iter().map(|step| step.id.value.as_str());
        diagnostics.misspelt(mistake, id, ids, "use the id of a step of this plan");
    }
    index
}

/// Adds a mistake if a step does not have an output: one it declares, or one of the plan it uses.
fn require_output(
    step: &StepSpec,
    name: &str,
    span: Span,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    let approval_outputs: Vec<String> = step.approve.iter().flat_map(|approve| approve.outputs()).collect();
    let declared = step.outputs.iter().map(|(name, _)| name.value.as_str());
    let declared: Vec<&str> = declared.chain(approval_outputs.iter().map(String::as_str)).collect();
    let own = || declared.iter().copied();
    if own().any(|output| output == name) || !context.is_absent(name) {
        return;
    }
    let id = &step.id.value;
    let Some(path) = step.used_file() else {
        let message = format!("step `{id}` does not declare an output `{name}`");
        let mistake = Diagnostic::new(Code::UnknownOutput, span, message);
        let mistake = mistake.with_related(step.id.span, "the step");
        diagnostics.misspelt(mistake, name, own(), "declare it under the step's `outputs`");
        return;
    };
    // A plan that could not be read completely may well have the output.
    let Some((file, plan)) = context.used(step) else {
        return;
    };
    let nested = || plan.outputs.iter().map(|(name, _)| name.value.as_str());
    if context.loaded.is_whole(file) && nested().all(|output| output != name) {
        let message = format!("`{}`, used by step `{id}`, has no output `{name}`", path.value);
        let mistake = Diagnostic::new(Code::UnknownOutput, span, message);
        let help = "declare it under `outputs` of that plan";
        diagnostics.misspelt(mistake.with_related(path.span, "the plan"), name, nested(), help);
    }
}

/// Checks that `item` and `matrix` are read inside a repeated step only, and an axis is one of
/// the step's own.
pub(crate) fn check_axes(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for read in &context.reads {
        let name = &read.reference.name;
        let is_item = matches!(name, ExprReference::Item | ExprReference::ItemKey | ExprReference::ItemIndex);
        if !is_item && !matches!(name, ExprReference::Matrix(_)) {
            continue;
        }
        match read.step.map(|at| context.step(at)) {
            Some(step) if !matches!(read.site, ExprSite::When | ExprSite::ForEach) => {
                check_in_repeated_step(step, read, context, diagnostics);
            }
            Some(_) => {
                let place = read.site.noun();
                let message = format!("`{name}` is not available in {place}");
                let help = format!("{place} is evaluated once, before the items exist");
                diagnostics.note(unknown_name(read, message).with_help(help));
            }
            None => {
                let message = format!("`{name}` is not available in {}", read.site.noun());
                let help = "it is only available inside a step with `for_each` or `matrix`";
                diagnostics.note(unknown_name(read, message).with_help(help));
            }
        }
    }
}

fn unknown_name(read: &ExprRead<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::UnknownName, read.reference.span, message)
}

/// Checks a read of an item or of an axis inside a step: only a repeated one has them.
fn check_in_repeated_step(
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    match (&read.reference.name, &step.matrix) {
        (ExprReference::Matrix(axis), Some(matrix)) => {
            require_axis(axis, matrix, step, read, context, diagnostics);
        }
        (ExprReference::Matrix(_), None) => add_unrepeated("matrix", step, read, context, diagnostics),
        (ExprReference::Item, Some(_)) => {
            let message = "`item` is not available in a step with `matrix`".to_owned();
            diagnostics.note(unknown_name(read, message).with_help("read an axis: `matrix.AXIS`"));
        }
        (_, None) if step.for_each.is_none() => add_unrepeated("for_each", step, read, context, diagnostics),
        _ => {}
    }
}

fn require_axis(
    axis: &str,
    matrix: &MatrixSpec,
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    if !matrix.has_name(axis) && context.is_absent(axis) {
        let message = format!("unknown axis `{axis}` in the matrix of step `{}`", step.id.value);
        let axes = matrix.names().map(Name::as_str);
        diagnostics.misspelt(unknown_name(read, message), axis, axes, "use one of its axes");
    }
}

/// Adds the mistake that a step is not repeated by this key.
fn add_unrepeated(
    key: &str,
    step: &StepSpec,
    read: &ExprRead<'_>,
    context: &RuleContext<'_>,
    diagnostics: &mut FileDiagnostics,
) {
    // If there are other mistakes, the key may be there and unreadable.
    if context.is_absent(key) {
        let message = format!("`{}` is not available in a step without `{key}`", read.reference.name);
        let mistake = unknown_name(read, message).with_related(step.id.span, "the step");
        diagnostics.note(mistake.with_help(format!("add `{key}` to the step")));
    }
}

/// Checks that a secret is read only in places seen by the work alone: in the `env` of a step, and
/// in the headers and the body of a request.
pub(crate) fn check_secrets(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for read in &context.reads {
        let ExprReference::Secret(name) = &read.reference.name else {
            continue;
        };
        let reason = match read.site {
            ExprSite::Env | ExprSite::Request => continue,
            ExprSite::PlanEnv => "every step would see it",
            ExprSite::PlanEnd => "it would become part of the result",
            ExprSite::Argument => "every process on the machine can see arguments",
            ExprSite::Url => "URLs are logged",
            ExprSite::Check => "checks have no access to secrets",
            ExprSite::Intent
            | ExprSite::When
            | ExprSite::ForEach
            | ExprSite::With
            | ExprSite::Uses
            | ExprSite::File
            | ExprSite::Cache
            | ExprSite::Artifact
            | ExprSite::Cwd
            | ExprSite::Approve => "it would be recorded",
        };
        let message = format!("the secret `{name}` is not allowed in {}: {reason}", read.site.noun());
        let mistake = Diagnostic::new(Code::SecretExposed, read.reference.span, message);
        let help = match read.site {
            ExprSite::Url => "send it in a header or in the body".to_owned(),
            _ => format!("only the `env` of a step may contain it: `{name}: \"{{{{ secrets.{name} }}}}\"`"),
        };
        diagnostics.note(mistake.with_help(help));
    }
}
