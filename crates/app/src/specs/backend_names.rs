//! The names of backends and queues in plans and goals, which `wf.yaml` defines.

use wf_base::{
    diag::{Code, Diagnostic, Severity},
    name::Name,
    source::Spanned,
};
use wf_lang::{LoadedSpec, SpecFileSource, ast::PlanSpec};

use super::load::read_config;
use crate::{CONFIG, config::Backend};

/// Adds to the diagnostics of a plan the backends and queues that `wf.yaml` does not define. A plan may come from
/// a workspace with backends into one without, where its queues have no meaning.
pub fn check_backends(loaded: &mut LoadedSpec, files: &dyn SpecFileSource) {
    let backend = loaded.goal().and_then(|goal| goal.backend.clone());
    let mut queues: Vec<(usize, Spanned<Name>)> = Vec::new();
    for (file, plan) in loaded.plans.iter().enumerate() {
        let steps = plan.iter().flat_map(PlanSpec::all_steps);
        queues.extend(steps.filter_map(|step| Some((file, step.runs_on.as_deref()?.clone()))));
    }
    if backend.is_none() && queues.is_empty() {
        return;
    }
    let Some((config, checked)) = read_config(files, CONFIG) else { return };
    if checked.count(Severity::Error) > 0 {
        return;
    }
    if let Some(backend) = backend.filter(|backend| !config.backends.contains_key(&backend.value)) {
        let message = format!("wf.yaml defines no backend `{}`", backend.value);
        let help = match names(config.backends.keys()) {
            known if known.is_empty() => "add it under `backends` in wf.yaml".to_owned(),
            known => format!("wf.yaml has {known}"),
        };
        loaded
            .diagnostics
            .push((0, Diagnostic::new(Code::ValueWrong, backend.span, message).with_help(help)));
    }
    let has = |queue: &str, backend: &Backend| backend.queues.contains_key(queue);
    for (file, queue) in queues {
        let (name, span) = (queue.value.as_str(), queue.span);
        if config.backends.is_empty() || config.backends.values().any(|backend| has(name, backend)) {
            continue;
        }
        let message = format!("no backend in wf.yaml has the queue `{name}`");
        let help = format!("add it under `queues` of {}", names(config.backends.keys()));
        loaded.diagnostics.push((file, Diagnostic::new(Code::ValueWrong, span, message).with_help(help)));
    }
    loaded.sort();
}

fn names<'a>(known: impl Iterator<Item = &'a Name>) -> String {
    known.map(Name::as_str).collect::<Vec<_>>().join(", ")
}
