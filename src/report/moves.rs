//! What can be done about a run for which nothing more was tried. Rules alone decide.

use std::fmt::Write as _;

use super::paint::{DIM, paint};
use crate::ggs::Rule;
use crate::machine::{Blame, NO_WAY, Round};
use crate::untrusted::styled_line;

/// What stands for the run until it is told: nothing that a plan can say.
const CALLED: &str = "\u{0}";

/// What can be done next, after the round that a run ended with; nothing where it was accepted.
/// That verified results stay is known of every retry.
pub fn moves(round: &Round) -> Vec<String> {
    let mut moves = Vec::new();
    let step = round.failed.as_deref().and_then(|failed| {
        let (step, _) = failed.split_once(':')?;
        (step != "plan").then_some(step)
    });
    match (&round.stuck, round.solved.rule) {
        (Some(stuck), _) if stuck.starts_with(NO_WAY) => {
            let step = step.map_or_else(|| "a step".into(), |step| format!("step `{step}`"));
            let other = other_than(round);
            moves.push(format!("give {step} an alternative with {other}"));
            if stuck.len() > NO_WAY.len() {
                moves.push(
                    "see why the planner gave none: what it is told, and what it says".into(),
                );
            }
        }
        (Some(_), _) => moves.push("let it try more: a larger `max_replans` or `budget`".into()),
        (None, Rule::BudgetSpent) => {
            moves.push("let it try more: a larger `max_replans` or `time_budget_seconds`".into());
        }
        (None, Rule::Diverging) => {
            moves
                .push("each round made it worse: compare what was changed with what failed".into());
        }
        _ => return moves,
    }
    if let (Some(step), Some(_)) = (step, round.class) {
        let why = match round.class {
            Some(Blame::Environmental) => "what was in its way",
            _ => "what it did",
        };
        moves.push(format!("see {why}: `wf logs {CALLED} {step}`"));
    }
    moves.push(format!("`wf retry {CALLED}` keeps what is verified"));
    moves
}

/// What another way has to differ in.
fn other_than(round: &Round) -> String {
    let list = |words: &[String]| words.join(", ");
    match (
        round.blocked_tools.as_slice(),
        round.blocked_targets.as_slice(),
    ) {
        ([], []) => "another `tool`, `target`, `env` or `timeout`".into(),
        (tools, []) => format!("another `tool` than {}", list(tools)),
        ([], targets) => format!("another `target` than {}", list(targets)),
        (tools, targets) => format!(
            "another `tool` than {} and another `target` than {}",
            list(tools),
            list(targets)
        ),
    }
}

/// The same as lines of text; empty where there are none. `run` is what a run is called by.
pub fn told(moves: &[String], run: &str) -> String {
    let mut text = String::new();
    for (at, one) in moves.iter().enumerate() {
        let head = if at == 0 { "what next:" } else { "          " };
        let one = one.replace(CALLED, run);
        let _ = writeln!(text, "{} {}", paint(DIM, head), styled_line(&one));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{moves, told};
    use crate::ggs::{self, Measures, Past};
    use crate::machine::{Blame, Criteria, Round};
    use crate::model::Replan;
    use crate::report::plain;

    fn round(omega: f64, stuck: Option<&str>) -> Round {
        let measures = Measures {
            d: 1.0,
            p: 1.0,
            omega,
        };
        Round {
            number: 2,
            solved: ggs::solve(&Replan::default(), measures, Past::default()),
            previous: None,
            criteria: Criteria { met: 0, of: 1 },
            failed: Some("fetch: there".into()),
            class: Some(Blame::Logical),
            blocked_tools: Vec::new(),
            blocked_targets: Vec::new(),
            ways: Vec::new(),
            changes: Vec::new(),
            reopened: Vec::new(),
            stuck: stuck.map(Into::into),
            rationale: String::new(),
        }
    }

    #[test]
    fn without_a_way_one_is_wanted_that_differs_from_what_is_blocked() {
        let mut stuck = round(0.0, Some("no other way is left"));
        let first = |round: &Round| moves(round).first().cloned().unwrap_or_default();
        assert!(first(&stuck).contains("another `tool`, `target`, `env` or `timeout`"));
        stuck.blocked_tools = vec!["net:curl".into()];
        assert_eq!(
            first(&stuck),
            "give step `fetch` an alternative with another `tool` than net:curl"
        );
        stuck.blocked_targets = vec!["mirror".into()];
        assert!(first(&stuck).ends_with("and another `target` than mirror"));
        stuck.failed = Some("plan: whole".into());
        assert!(first(&stuck).starts_with("give a step an alternative"));
        assert_eq!(moves(&stuck).len(), 2);
    }

    #[test]
    fn who_asked_a_planner_is_told_to_look_at_it() {
        let refused = "no other way is left, and the planner gave none: it ended with exit code 1";
        let all = moves(&round(0.0, Some(refused)));
        assert!(all.iter().any(|one| one.contains("planner")), "{all:?}");
        let alone = moves(&round(0.0, Some("no other way is left")));
        assert!(
            !alone.iter().any(|one| one.contains("planner")),
            "{alone:?}"
        );
    }

    #[test]
    fn what_ended_for_want_of_rounds_may_have_more() {
        for ended in [
            round(0.0, Some("3 of 3 rounds of replanning are used")),
            round(1.0, None),
        ] {
            let all = moves(&ended);
            assert!(all[0].contains("max_replans"), "{all:?}");
            assert!(all.last().unwrap().contains("keeps what is verified"));
        }
    }

    #[test]
    fn what_goes_on_or_is_accepted_needs_nothing() {
        assert!(moves(&round(0.0, None)).is_empty());
    }

    #[test]
    fn they_are_lines_with_the_name_of_the_run() {
        let lines = told(&moves(&round(1.0, None)), "1a2b");
        assert!(
            plain(&lines).starts_with("what next: let it try more"),
            "{lines}"
        );
        assert!(plain(&lines).contains("`wf logs 1a2b fetch`"), "{lines}");
        assert_eq!(told(&[], "1a2b"), "");
    }
}
