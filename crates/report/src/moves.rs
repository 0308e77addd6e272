//! The options for a run for which nothing more was tried. Rules alone decide.

use std::fmt::Write as _;

use wf_base::untrusted::{DIM, paint, styled_line};
use wf_core::{
    ggs::GgsRule,
    machine::{Round, RoundExhaustion, RoundFailureClass},
};

/// The placeholder for the run's name until it is printed: no plan can contain it.
const RUN_PLACEHOLDER: &str = "\u{0}";

/// The options after the round a run ended with; none if it was accepted. Every retry reuses
/// verified results, so that is not mentioned.
pub fn moves(round: &Round) -> Vec<String> {
    let mut moves = Vec::new();
    let step = round.failed_check.as_deref().and_then(|failed| {
        let (step, _) = failed.split_once(':')?;
        (step != "plan").then_some(step)
    });
    let Some(exhaustion) = round.exhaustion() else {
        return moves;
    };
    match (exhaustion, round.solved.rule) {
        (RoundExhaustion::Alternatives { was_planned }, _) => {
            let step = step.map_or_else(|| "a step".into(), |step| format!("step `{step}`"));
            let other = other_alternative(round);
            moves.push(format!("add an alternative with {other} to {step}"));
            if was_planned {
                moves.push("find out why the planner proposed none: check its input and output".into());
            }
        }
        // Whoever said no has said what to do.
        (RoundExhaustion::Decision, _) => {}
        (RoundExhaustion::Rounds, _) => {
            moves.push("allow more rounds: raise `max_replans` or `budget`".into());
        }
        (RoundExhaustion::Loss, GgsRule::BudgetSpent) => {
            moves.push("allow more rounds: raise `max_replans` or `time_budget_seconds`".into());
        }
        (RoundExhaustion::Loss, _) => {
            moves.push("every round made it worse: compare the changes with the failures".into());
        }
    }
    if let (Some(step), Some(_)) = (step, round.failure_class) {
        let reason = match round.failure_class {
            Some(RoundFailureClass::Environmental | RoundFailureClass::Engine) => "the cause",
            _ => "its output",
        };
        moves.push(format!("inspect {reason}: `wf logs {RUN_PLACEHOLDER} {step}`"));
    }
    moves.push(format!("`wf retry {RUN_PLACEHOLDER}` reuses verified results"));
    moves
}

/// The requirements on another alternative.
fn other_alternative(round: &Round) -> String {
    let list = |words: &[String]| words.join(", ");
    match (round.blocked_tools.as_slice(), round.blocked_targets.as_slice()) {
        ([], []) => "a different `tool`, `target`, `env` or `timeout`".into(),
        (tools, []) => format!("a `tool` other than {}", list(tools)),
        ([], targets) => format!("a `target` other than {}", list(targets)),
        (tools, targets) => {
            format!("a `tool` other than {} and a `target` other than {}", list(tools), list(targets))
        }
    }
}

/// The options as lines of text; empty if there are none. `run` is the name of the run.
pub fn moves_text(moves: &[String], run: &str) -> String {
    let mut text = String::new();
    for (at, numbered_line) in moves.iter().enumerate() {
        let head = if at == 0 { "options:" } else { "          " };
        let line = numbered_line.replace(RUN_PLACEHOLDER, run);
        let _ = writeln!(text, "{} {}", paint(DIM, head), styled_line(&line));
    }
    text
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{moves, moves_text};
    use wf_base::untrusted::plain;
    use wf_core::{
        ggs::{self, PreviousRound, RoundMeasures},
        machine::{CriteriaCount, Round, RoundFailureClass},
    };
    use wf_model::ReplanSettings;

    /// A round where everything failed.
    pub(crate) fn round(omega: f64, stop_reason: Option<&str>) -> Round {
        let measures = RoundMeasures { d: 1.0, p: 1.0, omega };
        Round {
            round: 2,
            solved: ggs::solve(&ReplanSettings::default(), measures, PreviousRound::default()),
            previous: None,
            checks: CriteriaCount { passed: 0, total: 1 },
            failed_check: Some("fetch: there".into()),
            failure_class: Some(RoundFailureClass::Logical),
            blocked_tools: Vec::new(),
            blocked_targets: Vec::new(),
            alternatives: Vec::new(),
            changes: Vec::new(),
            reopened: Vec::new(),
            escalated: Vec::new(),
            stop_reason: stop_reason.map(Into::into),
            rationale: String::new(),
        }
    }

    #[test]
    fn without_a_way_one_is_wanted_that_differs_from_what_is_blocked() {
        let mut stop_reason = round(0.0, Some("no alternative is left"));
        let first = |round: &Round| moves(round).first().cloned().unwrap_or_default();
        assert!(first(&stop_reason).contains("a different `tool`, `target`, `env` or `timeout`"));
        stop_reason.blocked_tools = vec!["net:curl".into()];
        assert_eq!(
            first(&stop_reason),
            "add an alternative with a `tool` other than net:curl to step `fetch`"
        );
        stop_reason.blocked_targets = vec!["mirror".into()];
        assert!(first(&stop_reason).contains("and a `target` other than mirror"));
        stop_reason.failed_check = Some("plan: whole".into());
        assert!(first(&stop_reason).starts_with("add an alternative"));
        assert_eq!(moves(&stop_reason).len(), 2);
    }

    #[test]
    fn who_asked_a_planner_is_told_to_look_at_it() {
        let refused = "no alternative is left, and the planner proposed none: it failed: exit \
            code 1";
        let lines = moves(&round(0.0, Some(refused)));
        assert!(lines.iter().any(|line| line.contains("planner")), "{lines:?}");
        let alone = moves(&round(0.0, Some("no alternative is left")));
        assert!(!alone.iter().any(|line| line.contains("planner")), "{alone:?}");
    }

    #[test]
    fn what_ended_for_want_of_rounds_may_have_more() {
        for ended in [round(0.0, Some("3 of 3 re-planning rounds are used")), round(1.0, None)] {
            let lines = moves(&ended);
            assert!(lines[0].contains("max_replans"), "{lines:?}");
            assert!(lines.last().unwrap().contains("reuses verified results"));
        }
    }

    #[test]
    fn what_goes_on_or_is_accepted_needs_nothing() {
        assert!(moves(&round(0.0, None)).is_empty());
    }

    #[test]
    fn they_are_lines_with_the_name_of_the_run() {
        let lines = moves_text(&moves(&round(1.0, None)), "1a2b");
        assert!(plain(&lines).starts_with("options: allow more rounds"), "{lines}");
        assert!(plain(&lines).contains("`wf logs 1a2b fetch`"), "{lines}");
        assert_eq!(moves_text(&[], "1a2b"), "");
    }
}
