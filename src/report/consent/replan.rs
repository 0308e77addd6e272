use super::exact::{period, words};
use super::{Kind, Sense, Sheet};
use crate::model::{OnStuck, Planner, Replan};

/// How far a plan that failed is tried another way, and what is accepted then. Where it is not
/// tried, only what holds in full is accepted, so that a tolerance that comes is a weaker proof.
pub(super) fn replan(replan: Option<&Replan>, sheet: &mut Sheet) {
    let Some(replan) = replan else {
        strict(true, sheet);
        sheet.usual(true);
        return;
    };
    let Replan {
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
    let again = "a run that fails is tried another way";
    sheet.put(Kind::Effort, Sense::Grant, "replan", again);
    let mut number = |kind: Kind, sense: Sense, key: &str, text: String| {
        sheet.put(kind, sense, &format!("replan.{key}"), text);
    };
    let rounds = Sense::AtMost(f64::from(*max_replans));
    number(Kind::Effort, rounds, "max_replans", max_replans.to_string());
    let time = Sense::AtMost(time_budget.as_secs_f64());
    number(
        Kind::Effort,
        time,
        "time_budget_seconds",
        period(*time_budget),
    );
    for (key, value) in [
        ("alpha", alpha),
        ("beta", beta),
        ("lambda", lambda),
        ("w1", w1),
        ("w2", w2),
        ("epsilon", epsilon),
        ("rho", rho),
    ] {
        number(Kind::Effort, Sense::Plain, key, value.to_string());
    }
    let last = Sense::AtMost(*theta);
    number(Kind::Effort, last, "theta", theta.to_string());
    let missing = Sense::AtMost(*delta);
    number(Kind::Proof, missing, "delta", delta.to_string());
    strict(*is_strict, sheet);
}

/// Who may add ways to steps that nobody has read. A planner, and any change of it, reaches more.
pub(super) fn planner(planner: Option<&Planner>, on_stuck: OnStuck, sheet: &mut Sheet) {
    if let Some(Planner { exec, timeout }) = planner {
        let program = words(exec.iter().map(String::as_str));
        let asked = format!("{program} adds ways to steps that nobody has read");
        sheet.each(Kind::Reach, Sense::Grant, "planner", &[asked]);
        let time = crate::time::format_duration(*timeout);
        sheet.put(Kind::Effort, Sense::Plain, "planner.timeout", time);
    }
    let consults = on_stuck == OnStuck::ConsultPlanner;
    let level = Sense::AtMost(f64::from(u8::from(consults)));
    sheet.put(Kind::Reach, level, "on_stuck", on_stuck.as_str());
    sheet.usual(!consults);
}

fn strict(is_strict: bool, sheet: &mut Sheet) {
    let (text, level) = if is_strict {
        ("yes: only what holds in full is accepted", 0.0)
    } else {
        ("no: what is missing up to delta is accepted", 1.0)
    };
    sheet.put(Kind::Proof, Sense::AtMost(level), "replan.strict", text);
}
