use crate::{
    LoadedSpec,
    ast::StepSpec,
    check::{ExprRead, ExprSite, FileDiagnostics, RuleContext},
};
use std::collections::{BTreeMap, BTreeSet};
use wf_base::{
    diag::{Code, Diagnostic},
    name::Name,
    source::{Span, Spanned},
};
use wf_model::expr::ExprReference;

/// Checks that a main step depends on existing main steps, on each once; a `finally` step on none.
pub(crate) fn check_depends(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for (at, step) in context.steps.iter().enumerate() {
        if context.is_finally(at) {
            if let Some(first) = step.depends_on.first() {
                diagnostics.note(in_finally(first));
            }
            continue;
        }
        // The graph has every existing main step once.
        if context.graph.needs(at).len() == step.depends_on.len() {
            continue;
        }
        let mut ids = BTreeSet::new();
        for needed in &step.depends_on {
            if ids.insert(needed.value.as_str()) {
                exists(context, needed, diagnostics);
            } else {
                let message = format!("`{}` is listed twice", needed.value);
                let mistake = Diagnostic::new(Code::ValueWrong, needed.span, message);
                diagnostics.note(mistake.with_help("remove one of them"));
            }
        }
    }
}

fn in_finally(first: &Spanned<Name>) -> Diagnostic {
    let message = "a `finally` step cannot have `depends_on`";
    Diagnostic::new(Code::ValueWrong, first.span, message)
        .with_help("remove it: finally steps run after all main steps, in the order they are written")
}

fn exists(context: &RuleContext<'_>, needed: &Spanned<Name>, diagnostics: &mut FileDiagnostics) {
    let id = needed.value.as_str();
    match context.find(id) {
        Some(at) if context.is_finally(at) => {
            let message = format!("`{id}` is a `finally` step, which runs after all main steps");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            diagnostics.note(
                mistake
                    .with_related(context.step(at).id.span, "it is declared here")
                    .with_help("a main step can only depend on main steps"),
            );
        }
        None if context.is_absent(id) => {
            let message = format!("unknown step `{id}`");
            let mistake = Diagnostic::new(Code::UnknownStep, needed.span, message);
            let ids = context.steps.iter().take(context.main).map(|step| step.id.value.as_str());
            diagnostics.misspelt(mistake, id, ids, "use the id of a step of this plan");
        }
        _ => {}
    }
}

/// Checks that the order expected by the author of a dag is one `depends_on` allows: every
/// node once, in a layer after those it needs.
pub(crate) fn check_order(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let Some(layers) = &context.plan.layers else {
        return;
    };
    let mut placed: BTreeMap<usize, (usize, Span)> = BTreeMap::new();
    for (layer, names) in layers.value.iter().enumerate() {
        for name in names {
            let id = name.value.as_str();
            // The plan of an escalation is no node, and comes after all of them.
            let Some(at) = context.find(id).filter(|at| !context.step(*at).on_escalation) else {
                unknown(id, name.span, context, diagnostics);
                continue;
            };
            if let Some((_, first)) = placed.get(&at) {
                let message = format!("`{id}` is listed twice in the order");
                let mistake = Diagnostic::new(Code::OrderWrong, name.span, message);
                diagnostics.note(
                    mistake.with_related(*first, "the other one is here").with_help("remove one of them"),
                );
            } else {
                placed.insert(at, (layer, name.span));
            }
        }
    }
    for (at, step) in context.steps.iter().enumerate() {
        if !placed.contains_key(&at) && !step.on_escalation {
            let message = format!("`{}` is missing from the order", step.id.value);
            let mistake = Diagnostic::new(Code::OrderWrong, layers.span, message);
            diagnostics.note(mistake.with_related(step.id.span, "the node").with_help("add it to a layer"));
        }
    }
    check_step_order(context, &placed, diagnostics);
}

fn unknown(id: &str, span: Span, context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    if context.is_absent(id) {
        let message = format!("unknown node `{id}`");
        let mistake = Diagnostic::new(Code::UnknownStep, span, message);
        let ids = context.steps.iter().map(|step| step.id.value.as_str());
        diagnostics.misspelt(mistake, id, ids, "use the id of a node of this dag");
    }
}

fn check_step_order(
    context: &RuleContext<'_>,
    placed: &BTreeMap<usize, (usize, Span)>,
    diagnostics: &mut FileDiagnostics,
) {
    for (at, (layer, span)) in placed {
        for needed in context.graph.needs(*at) {
            let Some((below, other)) = placed.get(needed).filter(|_| needed != at) else {
                continue;
            };
            if below >= layer {
                let (id, needed) = (context.id(*at), context.id(*needed));
                let message = format!("`{id}` must come after `{needed}`, which it depends on");
                let mistake = Diagnostic::new(Code::OrderWrong, *span, message);
                let help = format!("move `{id}` to a layer after that of `{needed}`");
                diagnostics.note(mistake.with_related(*other, "the other one is here").with_help(help));
            }
        }
    }
}

/// The maximum number of named steps of a circle; of a longer one, the first and the last.
const MAX_SHOWN: usize = 40;

/// Refuses circles of dependencies.
pub(crate) fn check_cycles(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for circle in context.graph.cycles() {
        diagnostics.note(describe(&circle, context));
    }
}

fn describe(circle: &[usize], context: &RuleContext<'_>) -> Diagnostic {
    let next = circle.iter().cycle().skip(1);
    let edges: Vec<(usize, usize)> = circle.iter().copied().zip(next.copied()).collect();
    let shown: Vec<_> = match edges.split_at_checked(MAX_SHOWN / 2) {
        Some((head, rest)) if rest.len() > MAX_SHOWN / 2 => {
            let tail = rest.len() - MAX_SHOWN / 2;
            head.iter().chain(rest.iter().skip(tail)).collect()
        }
        _ => edges.iter().collect(),
    };
    let mut path: Vec<String> = shown.iter().map(|(step, _)| context.id(*step).into()).collect();
    if shown.len() < edges.len() {
        let left_out = edges.len() - shown.len();
        path.insert(MAX_SHOWN / 2, format!("({left_out} more)"));
    }
    path.extend(circle.first().map(|first| context.id(*first).into()));
    let message = match circle {
        [one] => format!("step `{}` depends on itself", context.id(*one)),
        _ => format!("dependency cycle between steps: {}", path.join(" → ")),
    };
    let mut places = shown.into_iter().map(|edge| {
        let text = format!("`{}` depends on `{}`", context.id(edge.0), context.id(edge.1));
        (edge_span(edge.0, edge.1, context), text)
    });
    let (span, label) = places.next().unwrap_or_default();
    let first = Diagnostic::new(Code::Cycle, span, message).with_label(label);
    places
        .fold(first, |mistake, (span, text)| mistake.with_related(span, text))
        .with_help("remove one of these dependencies")
}

/// Returns the location where a step declares a dependency on another.
fn edge_span(step: usize, needed: usize, context: &RuleContext<'_>) -> Span {
    let step = context.step(step);
    let dependency = step.depends_on.iter().find(|id| id.value.as_str() == context.id(needed));
    dependency.map_or(step.id.span, |id| id.span)
}

/// Checks that no plan waits for a lock the step using it holds until the end of the plan.
pub(crate) fn check_locks(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    for step in &context.steps {
        let Some(lock) = step.concurrency.as_ref().map(|own| &own.0.lock) else {
            continue;
        };
        if let Some(waiter) = waiter(context.loaded, context.file, step, lock.value.as_str()) {
            let message = format!("step `{}` would deadlock with itself", step.id.value);
            let mistake = Diagnostic::new(Code::LockNested, lock.span, message);
            let mistake = mistake.with_label(format!("held here, but needed by {waiter}"));
            diagnostics.note(mistake.with_help("keep the lock in only one of the two places"));
        }
    }
}

/// Returns the step waiting for a lock, in a plan a step uses or may start, directly or indirectly.
fn waiter(loaded: &LoadedSpec, file: usize, step: &StepSpec, lock: &str) -> Option<String> {
    let mut visited = BTreeSet::new();
    let used = |file: usize, step: &StepSpec| -> Vec<usize> {
        step.used_paths().filter_map(|path| loaded.file_at(file, path)).collect()
    };
    let mut open = used(file, step);
    while let Some(file) = open.pop() {
        if !visited.insert(file) {
            continue;
        }
        let Some(Some(plan)) = loaded.plans.get(file) else {
            continue;
        };
        for step in plan.all_steps() {
            if step.concurrency.as_ref().is_some_and(|own| own.0.lock.value == lock) {
                let path = loaded.sources.get(file).map_or("", |source| source.path());
                return Some(format!("`{}` of {path}", step.id.value));
            }
            open.extend(used(file, step));
        }
    }
    None
}

/// Checks that a step reads only from steps ended before its start: a main step from its
/// dependencies, a `finally` step from main steps and the `finally` steps before it. A check of a
/// step runs after its work, and reads its outputs.
pub(crate) fn check_upstream(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
    let mut reads = Vec::new();
    let mut questions = Vec::new();
    for read in &context.reads {
        let target = read.reference.name.step().and_then(|id| context.find(id));
        let Some(target) = target else { continue };
        match read.step {
            None if read.site == ExprSite::PlanEnv => diagnostics.note(in_plan_env(read)),
            None => {}
            Some(at) if at == target && reads_own_result(read) => {}
            Some(at) if at == target => diagnostics.note(reads_itself(read)),
            Some(at) if target > at && context.is_finally(target) => {
                diagnostics.note(reads_later_step(read, target, context));
            }
            Some(at) if context.is_finally(at) => {}
            Some(at) => {
                reads.push((read, at, target));
                questions.push((at, target));
            }
        }
    }
    let answers = context.graph.reaches(&questions);
    for ((read, at, target), is_upstream) in reads.into_iter().zip(answers) {
        if !is_upstream {
            diagnostics.note(reads_unordered_step(read, at, target, context));
        }
    }
}

fn reads_own_result(read: &ExprRead<'_>) -> bool {
    read.site == ExprSite::Check && matches!(read.reference.name, ExprReference::Output { .. })
}

fn mistake(read: &ExprRead<'_>, message: String) -> Diagnostic {
    Diagnostic::new(Code::NotUpstream, read.reference.span, message)
}

fn in_plan_env(read: &ExprRead<'_>) -> Diagnostic {
    let message = "the plan's `env` applies to every step, so it cannot read from a step".to_owned();
    mistake(read, message).with_help("move it to the `env` of the steps that need it")
}

fn reads_itself(read: &ExprRead<'_>) -> Diagnostic {
    let message = "a step cannot read from itself".to_owned();
    mistake(read, message)
        .with_help("its results exist only after it has finished; its checks may read its outputs")
}

fn reads_later_step(read: &ExprRead<'_>, target: usize, context: &RuleContext<'_>) -> Diagnostic {
    let message = format!("the `finally` step `{}` runs after this one", context.id(target));
    mistake(read, message).with_related(context.step(target).id.span, "it is declared here")
}

fn reads_unordered_step(
    read: &ExprRead<'_>,
    at: usize,
    target: usize,
    context: &RuleContext<'_>,
) -> Diagnostic {
    let (step, target) = (context.id(at), context.id(target));
    let message = format!("step `{step}` reads from `{target}`, but does not depend on it");
    mistake(read, message).with_help(format!("add `{target}` to `depends_on` of step `{step}`"))
}
