//! What is no evidence about the work: it blocks nothing, and is judged by no round.

use wf_core::machine::{BUDGET_SPENT_PREFIX, RoundFailureClass, RunOutcome, WorkExit};
use wf_model::EngineFailure;

use super::rounds::{Set, exact, lines, play, rounds, ways, wrong};

const TWO: [(&str, &str); 2] = [("net:t", "x"), ("disk:u", "y")];

fn failure(cause: EngineFailure) -> WorkExit {
    match cause {
        EngineFailure::Cancelled => WorkExit::Cancelled,
        EngineFailure::Interrupted => WorkExit::Interrupted,
        EngineFailure::Budget => {
            let reason = format!("{BUDGET_SPENT_PREFIX}: no tokens are left");
            WorkExit::Error { reason, failure_class: cause.class() }
        }
        _ => WorkExit::Error { reason: "no reply".into(), failure_class: cause.class() },
    }
}

/// All causes.
fn causes() -> impl Iterator<Item = EngineFailure> {
    wf_base::keyword::Keyword::ALL.iter().copied()
}

#[test]
fn no_failure_of_the_engine_blocks_a_tool_or_a_target_or_counts_as_one_of_the_approach() {
    for cause in causes() {
        let mut play = play(&["a"], Set::of(exact()), |steps| ways(&mut steps[0], &TWO));
        play.exits.insert("a", vec![failure(cause)]);
        let (all, play) = rounds(play);
        if cause == EngineFailure::Budget {
            assert!(all.is_empty(), "a budget stop is no round: {:?}", lines(&all));
            assert_eq!(play.machine.outcome(), Some(RunOutcome::Failed));
            continue;
        }
        assert_eq!(lines(&all), ["change_path 0/1 a=w1 | a", "accept 1/1"], "{cause}");
        assert_eq!(all[0].failure_class, Some(RoundFailureClass::Engine), "{cause}");
        assert_eq!(all[0].alternatives[0].failure_class, Some(RoundFailureClass::Engine), "{cause}");
        assert!(all[0].blocked_tools.is_empty() && all[0].blocked_targets.is_empty(), "{cause}");
        assert!(all[0].solved.loss.p.abs() < f64::EPSILON, "{cause}");
    }
}

#[test]
fn a_run_in_which_only_the_engine_failed_and_no_other_way_is_left_is_judged_by_no_round() {
    for cause in causes() {
        let mut play = play(&["a", "b < a"], Set::of(exact()), |_| ());
        play.exits.insert("a", vec![failure(cause)]);
        let (all, play) = rounds(play);
        assert!(all.is_empty(), "{cause}: {:?}", lines(&all));
        assert_eq!(play.machine.outcome(), Some(RunOutcome::Failed), "{cause}");
    }
    // The same failure of the work is.
    let mut work = play(&["a", "b < a"], Set::of(exact()), |_| ());
    work.exits.insert("a", vec![wrong()]);
    assert_eq!(rounds(work).0.len(), 1);
}

#[test]
fn a_step_whose_work_was_wrong_changes_beside_one_whose_provider_is_down() {
    let mut play = play(&["a", "b"], Set::of(exact()), |steps| ways(&mut steps[0], &TWO));
    play.exits.insert("a", vec![wrong()]);
    play.exits.insert("b", vec![failure(EngineFailure::Provider)]);
    let (all, _) = rounds(play);
    assert_eq!(lines(&all), ["break_symmetry 0/2 a=w1 | a b", "accept 2/2"]);
    assert_eq!(all[0].blocked_tools, ["net:t"]);
    assert_eq!(all[0].failure_class, Some(RoundFailureClass::Logical));
}
