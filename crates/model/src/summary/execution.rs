use super::{RecordView, SummaryBuilder, time_limit};
use crate::{
    expr::{ExprReference, Template},
    failures::retry::show_retries,
    plans::{
        step::{Alternative, Step},
        work::StepWork,
    },
    programs::sandbox::show_permissions,
};

/// The differences in one of a step's alternatives.
pub(crate) fn show_alternative(alternative: &Alternative, summary: &mut SummaryBuilder) {
    show_execution(&alternative.step, summary);
    show_retries(&alternative.step.retry, summary);
}

/// The keys of a step its alternatives may have, too, apart from `retry`.
pub(crate) fn show_execution(step: &Step, summary: &mut SummaryBuilder) {
    lines!(summary in Work { plain "tool" = &step.tool, plain "target" = &step.target });
    step.work.view(summary);
    lines!(summary in Work { plain "env" = &step.env, plain "cwd" = &step.cwd });
    lines!(summary in Reach { grant "secrets" = &secret_names(step) });
    show_confinement(step, summary);
    lines!(summary in Effort { most "timeout" = time_limit(step.timeout); step.timeout.is_none() });
}

/// The secrets the work of a step and its variables read, by name.
fn secret_names(step: &Step) -> Vec<String> {
    let variables = step.env.iter().map(|variable| &variable.value);
    let read = variables.chain(step.work.templates()).flat_map(Template::refs);
    let names = read.filter_map(|read| match &read.name {
        ExprReference::Secret(name) => Some(name.clone()),
        _ => None,
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

/// The boundary of the work: its container, its sandbox or none. The content of `allow` and `limits` is shown for any
/// work.
fn show_confinement(step: &Step, summary: &mut SummaryBuilder) {
    let sandbox = match (&step.container, &step.allow, &step.work) {
        (Some(_), ..) => Some((
            "a container: it sees only its image and the workspace, which it may change, and any host",
            0.5,
        )),
        (None, Some(_), _) => Some(("it may do only what `allow` permits", 0.0)),
        (None, None, StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_)) => {
            Some(("none: it may do whatever your user may do", 1.0))
        }
        (None, None, StepWork::Agent(_)) => {
            Some(("its tools may read the workspace, and write nothing", 0.0))
        }
        (
            None,
            None,
            StepWork::Http(_)
            | StepWork::Uses(_)
            | StepWork::Generated(_)
            | StepWork::Wait(_)
            | StepWork::Approve(_),
        ) => None,
    };
    lines!(summary in Work { plain "container" = &step.container, most "sandbox" in Reach = sandbox });
    if let Some(allow) = &step.allow {
        summary.below("allow", |summary| show_permissions(allow, "every program it can read", summary));
    }
    summary.below("limits", |summary| step.limits.view(summary));
}
