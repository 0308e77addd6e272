use super::check::checks;
use super::exact::json;
use super::limits::{permissions, time_limit};
use super::plan::about;
use super::view::RecordView;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind, gate, replan};
use wf_model::expr::{ExprReference, Template};
use wf_model::{
    Alternative, CheckPhase, FailureClassRule, OnReworkExhausted, OnStepError, Plan, RequiredOutput,
    RetryPolicy, ReworkLimit, Step, StepCache, StepRepetition, StepWork,
};

/// A step of a plan. The briefing of an agent is its work, and shown as that.
pub(super) fn step(step: &Step, plan: &Plan, sheet: &mut SummaryBuilder) {
    let prose = step.briefing.as_deref().filter(|_| !matches!(step.work, StepWork::Agent(_)));
    about(step.title.as_deref(), prose, sheet);
    let needs = step.depends_on.iter().map(|ix| plan.step(*ix).id.to_string());
    lines!(sheet in Graph { guard "depends_on" = &needs.collect::<Vec<_>>() });
    step.view(sheet);
}

// The id is the part that all lines stand in, and each alternative stands in a part of its own.
view! { step: Step in Effort {
    plain when in Graph = when.as_deref(),
    own fan = RecordView::view,
    most max_parallel = max_parallel.filter(|_| step.is_repeated()),
    own gates = gate::names,
    whole work = execution,
    most queue_timeout = time_limit(*queue_timeout); queue_timeout.is_none(),
    own retry = retries,
    grant on_stuck = replan::guidance(*on_stuck),
    grant idempotent = idempotent.then_some("true: an interrupted attempt is re-run"),
    most on_error in Proof = match on_error {
        OnStepError::Fail => ("fail", 0.0),
        OnStepError::Continue => ("continue: the run continues as if it had succeeded", 1.0),
    }; *on_error == OnStepError::Fail,
    plain concurrency = concurrency.as_ref().map(|lock| format!("it holds the lock {lock}")),
    plain runs_on =
        runs_on.as_ref().map(|queue| format!("the workers of the queue {queue} run it, on a backend")),
    own verify = checks,
    below loops = &verify.iter().any(|own| own.phase != CheckPhase::Verify).then_some(*loops),
    whole outputs = output_lines,
    guard artifacts in Data,
    grant writes in Data,
    own cache = RecordView::view,
    own classify = failure_rules,
} aside
    id, title, depends_on, container, env, cwd, timeout, external, allow, limits, tool, target, alternatives,
    briefing
}

/// The differences in one of a step's alternatives.
pub(super) fn alternative(other: &Alternative, sheet: &mut SummaryBuilder) {
    execution(&other.step, sheet);
    retries(&other.step.retry, sheet);
}

/// The keys of a step that its alternatives may have, too, apart from `retry`.
fn execution(step: &Step, sheet: &mut SummaryBuilder) {
    lines!(sheet in Work { plain "tool" = &step.tool, plain "target" = &step.target });
    step.work.view(sheet);
    lines!(sheet in Work { plain "env" = &step.env, plain "cwd" = &step.cwd });
    lines!(sheet in Reach { grant "secrets" = &secrets(step) });
    confinement(step, sheet);
    lines!(sheet in Effort { most "timeout" = time_limit(step.timeout); step.timeout.is_none() });
}

/// The secrets that the work of a step and its variables read, by name.
fn secrets(step: &Step) -> Vec<String> {
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

/// The boundary of a process: its container, its sandbox or none.
fn confinement(step: &Step, sheet: &mut SummaryBuilder) {
    if let Some(image) = &step.container {
        let text = "a container: it sees only its image and the workspace, which it may change, and any host";
        lines!(sheet in Work { plain "container" = image, most "sandbox" in Reach = (text, 0.5) });
    } else if matches!(step.work, StepWork::Run(_) | StepWork::Exec(_) | StepWork::Skill(_)) {
        let Some(allow) = &step.allow else {
            let text = "none: it may do whatever your user may do";
            return lines!(sheet in Reach { most "sandbox" = (text, 1.0) });
        };
        lines!(sheet in Reach { most "sandbox" = ("it may do only what `allow` permits", 0.0) });
        sheet.below("allow", |sheet| permissions(allow, "every program it can read", sheet));
        sheet.below("limits", |sheet| step.limits.view(sheet));
    }
}

impl RecordView for StepRepetition {
    fn view(&self, sheet: &mut SummaryBuilder) {
        let (key, text) = match self {
            Self::Once => return,
            Self::Each(list) => ("for_each", list.source().to_owned()),
            Self::List(items) => ("for_each", json(&items.clone().into())),
            Self::Matrix(items) => {
                let items: Vec<_> = items.iter().cloned().map(serde_json::Value::Object).collect();
                ("matrix", json(&items.into()))
            }
        };
        sheet.add(SummaryLineKind::Graph, |_| RiskDirection::Plain, key, text, false);
    }
}

/// The retries of a step. Without any, nothing else about them matters.
fn retries(retry: &RetryPolicy, sheet: &mut SummaryBuilder) {
    if retry.max == 0 {
        return lines!(sheet in Effort { most "retry.max" = &retry.max; true });
    }
    sheet.below("retry", |sheet| retry.view(sheet));
}

view! { retry: RetryPolicy in Effort {
    most max,
    plain backoff,
    plain factor,
    plain max_delay,
    plain jitter,
    grant on,
} }

// The number of times that `inspect` and `test` send the work back, and the effect of the last.
view! { loops: ReworkLimit in Effort {
    most max; *max == ReworkLimit::default().max,
    most on_exhausted in Proof = match on_exhausted {
        OnReworkExhausted::Fail => ("fail", 0.0),
        OnReworkExhausted::Ask => ("ask: an approver may let a phase of checks be ignored", 1.0),
    }; *on_exhausted == OnReworkExhausted::Fail,
} }

fn output_lines(step: &Step, sheet: &mut SummaryBuilder) {
    for RequiredOutput { name, schema } in &step.outputs {
        let key = format!("outputs.{name}");
        sheet.add(SummaryLineKind::Data, |_| RiskDirection::Guard, &key, schema, false);
        let taint = step.external.contains(name).then_some("external");
        sheet.below(&key, |sheet| lines!(sheet in Data { plain "taint" = taint }));
    }
}

impl RecordView for StepCache {
    fn view(&self, sheet: &mut SummaryBuilder) {
        let Self { inputs, outputs } = self;
        lines!(sheet in Data {
            grant "cache" = "its result may be reused while its inputs are unchanged",
            guard "cache.inputs" = inputs,
            grant "cache.outputs" = outputs,
        });
    }
}

/// The rules for the class of a failure, and so for its retry.
pub(super) fn failure_rules(rules: &[FailureClassRule], sheet: &mut SummaryBuilder) {
    for (at, rule) in rules.iter().enumerate() {
        let FailureClassRule { exit_code, signal, output, class } = rule;
        let mut ifs = Vec::new();
        if !exit_code.is_empty() {
            ifs.push(format!("exit code {}", json(&exit_code.clone().into())));
        }
        ifs.extend(signal.map(|signal| format!("signal {signal}")));
        ifs.extend(output.iter().map(|output| format!("output matching {}", output.as_str())));
        let text = format!("{} if {}", class.as_str(), ifs.join(" and "));
        let key = format!("classify[{}]", at + 1);
        sheet.add(SummaryLineKind::Effort, |_| RiskDirection::Plain, &key, text, false);
    }
}
