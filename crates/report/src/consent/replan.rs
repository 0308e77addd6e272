use super::exact::shell_words;
use super::{RiskDirection, SummaryBuilder, SummaryLineKind};
use wf_base::time::format_duration;
use wf_model::{OnStuck, PlanParts, Planner, PlannerSource, ReplanSettings};

view! { settings: ReplanSettings in Effort {
    most max_replans,
    most time_budget as "time_budget_seconds",
    plain alpha,
    plain beta,
    plain lambda,
    plain w1,
    plain w2,
    plain epsilon,
    plain rho,
    most theta,
    most delta in Proof,
    most strict in Proof = strictness(*strict),
} }

/// The limits of replanning after a failure, and the tolerance for acceptance. Without replanning,
/// only a full pass is accepted, so that an added tolerance is a weaker proof.
pub(super) fn replan(parts: &PlanParts, sheet: &mut SummaryBuilder) {
    match &parts.replan {
        Some(replan) => {
            lines!(sheet in Effort { grant "replan" = "a failed run is re-planned", below "replan" = replan });
        }
        None => lines!(sheet in Proof { most "replan.strict" = strictness(true); true }),
    }
}

fn strictness(is_strict: bool) -> (&'static str, f64) {
    if is_strict {
        ("yes: a run is accepted only if every check passes", 0.0)
    } else {
        ("no: a run is accepted if failing checks stay within delta", 1.0)
    }
}

/// The planner, which may add unreviewed alternatives. A planner, or a change of it, grants more.
pub(super) fn planner(parts: &PlanParts, sheet: &mut SummaryBuilder) {
    let (planner, on_stuck) = (&parts.planner, parts.on_stuck);
    if let Some(Planner { source, timeout }) = planner {
        let program = match source {
            PlannerSource::Exec(words) => shell_words(words),
            PlannerSource::Role(role) => format!("the model with the role `{role}`"),
        };
        let asked = format!("{program} adds alternatives to steps that no approver has reviewed");
        lines!(sheet in Effort {
            grant "planner" in Reach = &vec![asked],
            plain "planner.timeout" = format_duration(*timeout),
        });
    }
    // With `escalate`, a planner is asked, too, and people come after it.
    let consults = planner.is_some() && on_stuck != OnStuck::Abandon;
    let level = f64::from(u8::from(consults));
    lines!(sheet in Reach { most "on_stuck" = (on_stuck.as_str(), level); on_stuck == OnStuck::Abandon });
}

/// The help that an agent gets after failed attempts. The guidance of a planner is text: it lets the step
/// reach no more.
pub(super) fn guidance(on_stuck: OnStuck) -> Option<&'static str> {
    match on_stuck {
        OnStuck::Abandon => None,
        OnStuck::ConsultPlanner => {
            Some("after three failed attempts a planner guides the agent, for one attempt more")
        }
        OnStuck::Escalate => {
            Some("when nothing else is left, a person is asked, whose answer grants one attempt more")
        }
    }
}
