use crate::check::{FileDiagnostics, RuleContext};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Span;

/// The maximum number of steps of a circle that are named; of a longer one, the first and the last.
const MAX_SHOWN: usize = 40;

/// Checks that steps do not depend on each other in a circle.
pub(crate) fn check(context: &RuleContext<'_>, diagnostics: &mut FileDiagnostics) {
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

/// Returns the location at which a step declares a dependency on another.
fn edge_span(step: usize, needed: usize, context: &RuleContext<'_>) -> Span {
    let step = context.step(step);
    let said = step.depends_on.iter().find(|id| id.value.as_str() == context.id(needed));
    said.map_or(step.id.span, |id| id.span)
}
