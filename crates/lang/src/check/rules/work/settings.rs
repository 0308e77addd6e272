//! Rules about settings of steps: alternatives, caches, requests, and steps without work.

use crate::{
    ast::StepSpec,
    check::{FileDiagnostics, RuleContext},
    decode::{PathGlob, WorkspacePath},
};
use wf_base::{
    diag::{Code, Diagnostic},
    source::Spanned,
};
use wf_model::{
    OnStuck,
    expr::{ExprReference, Template},
};

/// Checks that a step with alternatives can use them: the controller of a plan with `replan`
/// chooses among them, and leaves `finally` steps alone.
pub(crate) fn check_alternatives(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let replans = context.plan.replan.is_some() || !context.is_absent("replan");
    let replans = replans || context.plan.replans_stuck_agents();
    for (at, step) in context.steps.iter().enumerate() {
        let Some(first) = step.alternatives.first() else {
            continue;
        };
        let id = &step.id.value;
        let (message, help) = if context.is_finally(at) {
            let message = format!("the alternatives of `{id}` are never used: it is a `finally` step");
            (message, "`finally` steps run once, after all rounds; remove them")
        } else if !replans {
            let message = format!("the alternatives of `{id}` are never used: the plan has no `replan`");
            (message, "add `replan: {}` to the plan, or remove them")
        } else {
            continue;
        };
        let mistake = Diagnostic::new(Code::UnusedAlternatives, first.id.span, message);
        diagnostics.note(mistake.with_help(help));
    }
}

/// Checks that a step declares the outputs its request takes from the answer.
pub(crate) fn check_http(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        let Some(http) = &step.http else { continue };
        for (name, _) in http.outputs.iter() {
            let declared = || step.outputs.iter().map(|(output, _)| output.value.as_str());
            let id = name.value.as_str();
            if declared().all(|output| output != id) && !context.may_hide_uses() {
                let message = format!("step `{}` declares no output `{id}`", step.id.value);
                let mistake = Diagnostic::new(Code::UnknownOutput, name.span, message);
                let help = "declare it under the step's own `outputs`, with its type";
                diagnostics.misspelt(mistake, id, declared(), help);
            }
        }
    }
}

/// Checks that a planner can write the plan of each open step, and nothing relies on it: it may stay
/// unwritten.
pub(crate) fn check_open_steps(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let plan = context.plan;
    let has_planner = plan.planner.is_some() && plan.on_stuck != Some(OnStuck::Abandon);
    for (at, step) in context.steps.iter().enumerate().filter(|(_, step)| is_open(step)) {
        let id = &step.id.value;
        if context.is_finally(at) {
            let message =
                format!("nobody can write the plan of `{id}`: a `finally` step runs once, after all rounds");
            let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
            diagnostics.note(mistake.with_help(
                "move it to `steps`, or write the text: `text: \"{{ steps.write.outputs.plan }}\"`",
            ));
        } else if !has_planner {
            let message = format!(
                "nobody can write the plan of `{id}`: its `uses` has no `text`, and there is no planner"
            );
            let mistake = Diagnostic::new(Code::ExecutorMissing, step.id.span, message);
            diagnostics.note(mistake.with_help(
                "write the text, `text: \"{{ steps.write.outputs.plan }}\"`, or add `replan: {}` and `planner: {role: planner}`",
            ));
        }
        if let Some((output, _)) = step.outputs.iter().next() {
            let message =
                format!("`{id}` cannot promise outputs: it does nothing until a planner writes its plan");
            let mistake = Diagnostic::new(Code::ValueWrong, output.span, message);
            diagnostics.note(
                mistake.with_help("remove `outputs`; let the plan write files, which later steps read"),
            );
        }
    }
}

fn is_open(step: &StepSpec) -> bool {
    step.generated().is_some_and(|generated| generated.text.is_none())
}

/// Checks that the files of a step, and its working directory, are in the workspace, and each
/// item of a repeated step has its own files.
pub(crate) fn check_cache(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in context.ways() {
        let fixed = step.cwd.as_ref().filter(|cwd| cwd.value.refs().is_empty());
        if let Some(cwd) = fixed
            && let Err(error) = WorkspacePath::parse(cwd.value.source())
        {
            diagnostics.note(Diagnostic::new(Code::ValueWrong, cwd.span, error.to_string()));
        }
    }
    for step in &context.steps {
        for glob in &step.artifacts {
            of_glob(step, glob, "record", diagnostics);
        }
        for glob in &step.writes {
            of_text(glob, diagnostics);
        }
        let Some(cache) = &step.cache else { continue };
        if let Some((key, help)) = without_result(step) {
            let message = format!("a step with `{key}` cannot be cached");
            diagnostics.note(Diagnostic::new(Code::ValueWrong, cache.span, message).with_help(help));
            continue;
        }
        for glob in &cache.inputs {
            of_text(glob, diagnostics);
        }
        for glob in &cache.outputs {
            of_glob(step, glob, "restore", diagnostics);
        }
    }
}

/// Checks a glob of a step's files. The value of an expression in it is checked when it is known.
fn of_glob(step: &StepSpec, glob: &Spanned<Template>, verb: &str, diagnostics: &mut FileDiagnostics) {
    let repeated = step.for_each.is_some() || step.matrix.is_some();
    if repeated && !of_item(glob) {
        diagnostics.note(shared(step, glob, verb));
    }
    of_text(glob, diagnostics);
}

/// A glob as it is written.
fn of_text(glob: &Spanned<Template>, diagnostics: &mut FileDiagnostics) {
    if glob.value.refs().is_empty()
        && let Err(error) = PathGlob::parse(glob.value.source())
    {
        diagnostics.note(Diagnostic::new(Code::ValueWrong, glob.span, error.to_string()));
    }
}

/// Returns the key of work without a result to keep, and advice: a plan that is used may do
/// anything, and a wait does nothing.
fn without_result(step: &StepSpec) -> Option<(&'static str, &'static str)> {
    if step.uses.is_some() {
        Some(("uses", "add `cache` to the steps of the plan that it uses"))
    } else if step.wait.is_some() {
        Some(("wait", "remove `cache`: a wait has no result to cache"))
    } else {
        None
    }
}

fn of_item(glob: &Template) -> bool {
    let mut refs = glob.refs().iter();
    refs.any(|read| {
        matches!(
            read.name,
            ExprReference::Item
                | ExprReference::ItemKey
                | ExprReference::ItemIndex
                | ExprReference::Matrix(_)
        )
    })
}

fn shared(step: &StepSpec, glob: &Spanned<Template>, verb: &str) -> Diagnostic {
    let message = format!("every item of step `{}` would {verb} the files of all of them", step.id.value);
    let help = "include the item in the path, for example `out/{{ item_key }}.txt`";
    Diagnostic::new(Code::ValueWrong, glob.span, message).with_help(help)
}
