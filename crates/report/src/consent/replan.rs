use super::exact::{exact_duration, shell_words};
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_model::{OnStuck, Planner, PlannerSource, ReplanSettings};

/// The limits of replanning after a failure, and the tolerance for acceptance. Without replanning,
/// only a full pass is accepted, so that an added tolerance is a weaker proof.
pub(super) fn replan(replan: Option<&ReplanSettings>, sheet: &mut SummaryBuilder) {
    let Some(replan) = replan else {
        strict(true, sheet);
        sheet.mark_default(true);
        return;
    };
    let ReplanSettings {
        max_replans,
        time_budget,
        alpha,
        beta,
        lambda,
        w1,
        w2,
        epsilon,
        delta,
        rho,
        theta,
        strict: is_strict,
    } = replan;
    let again = "a failed run is re-planned";
    sheet.add_line(SummaryLineKind::Effort, RiskDirection::Grant, "replan", again);
    let mut number = |kind: SummaryLineKind, sense: RiskDirection, key: &str, text: String| {
        sheet.add_line(kind, sense, &format!("replan.{key}"), text);
    };
    let rounds = RiskDirection::AtMost(f64::from(*max_replans));
    number(SummaryLineKind::Effort, rounds, "max_replans", max_replans.to_string());
    let time = RiskDirection::AtMost(time_budget.as_secs_f64());
    number(SummaryLineKind::Effort, time, "time_budget_seconds", exact_duration(*time_budget));
    for (key, value) in [
        ("alpha", alpha),
        ("beta", beta),
        ("lambda", lambda),
        ("w1", w1),
        ("w2", w2),
        ("epsilon", epsilon),
        ("rho", rho),
    ] {
        number(SummaryLineKind::Effort, RiskDirection::Plain, key, value.to_string());
    }
    let last = RiskDirection::AtMost(*theta);
    number(SummaryLineKind::Effort, last, "theta", theta.to_string());
    let missing = RiskDirection::AtMost(*delta);
    number(SummaryLineKind::Proof, missing, "delta", delta.to_string());
    strict(*is_strict, sheet);
}

/// The planner, which may add unreviewed alternatives. A planner, or a change of it, grants more.
pub(super) fn planner(planner: Option<&Planner>, on_stuck: OnStuck, sheet: &mut SummaryBuilder) {
    if let Some(Planner { source, timeout }) = planner {
        let program = match source {
            PlannerSource::Exec(words) => shell_words(words.iter().map(String::as_str)),
            PlannerSource::Role(role) => format!("the model with the role `{role}`"),
        };
        let asked = format!("{program} adds alternatives to steps that no approver has reviewed");
        sheet.add_each(SummaryLineKind::Reach, RiskDirection::Grant, "planner", &[asked]);
        let time = wf_base::time::format_duration(*timeout);
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Plain, "planner.timeout", time);
    }
    // With `escalate`, a planner is asked, too, and people come after it.
    let consults = planner.is_some() && on_stuck != OnStuck::Abandon;
    let level = RiskDirection::AtMost(f64::from(u8::from(consults)));
    sheet.add_line(SummaryLineKind::Reach, level, "on_stuck", on_stuck.as_str());
    sheet.mark_default(on_stuck == OnStuck::Abandon);
}

fn strict(is_strict: bool, sheet: &mut SummaryBuilder) {
    let (text, level) = if is_strict {
        ("yes: a run is accepted only if every check passes", 0.0)
    } else {
        ("no: a run is accepted if failing checks stay within delta", 1.0)
    };
    sheet.add_line(SummaryLineKind::Proof, RiskDirection::AtMost(level), "replan.strict", text);
}

/// The planner that an agent asks after failed attempts. Its guidance is text: it lets the step reach no more.
pub(super) fn guidance(on_stuck: OnStuck, sheet: &mut SummaryBuilder) {
    if on_stuck == OnStuck::ConsultPlanner {
        let asked = "after three failed attempts a planner guides the agent, for one attempt more";
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Grant, "on_stuck", asked);
    }
    if on_stuck == OnStuck::Escalate {
        let asked = "when nothing else is left, a person is asked, whose answer grants one attempt more";
        sheet.add_line(SummaryLineKind::Effort, RiskDirection::Grant, "on_stuck", asked);
    }
}
