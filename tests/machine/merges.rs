//! Merges of what agents did in worktrees, decision by decision.

use wf_core::machine::{
    ApprovalOutcome, CheckRuling, Effect, EventKind, InputKind, MergeEnd, MergeOutcome, MergePlan,
    MergePreparation, RequestDecision, Standing, StepState, WorkExit,
};
use wf_model::{AgentWorkspace, Step, StepWork, WorktreeMerge};

use super::{
    agents::{answers, begun, briefed},
    answers::{ended, verdict},
    killed::{Killed, attempt, end_of, words},
    world::check,
};

/// A run whose agent has left its worktree; it has no checks.
fn passed(merge: WorktreeMerge) -> Killed {
    let run = left_by(merge, |_| {});
    assert_eq!(count(&run, |fact| matches!(fact, EventKind::MergeRequested(_))), 1);
    run
}

/// A run whose agent has left its worktree.
fn left_by(merge: WorktreeMerge, change: impl FnOnce(&mut Step)) -> Killed {
    let mut run = begun(|step| {
        if let StepWork::Agent(work) = &mut step.work {
            (work.workspace, work.merge) = (AgentWorkspace::Worktree, merge);
        }
        change(step);
    });
    run.feed(briefed("a"));
    run.feed(answers(1, None));
    run.feed(left());
    run
}

fn left() -> InputKind {
    ended(attempt("a", 1), WorkExit::Completed)
}

fn plan(result: &str) -> Box<MergePlan> {
    Box::new(MergePlan { result: result.into(), ..MergePlan::default() })
}

fn prepared(merge: MergePreparation) -> InputKind {
    InputKind::MergePrepared { attempt: attempt("a", 1), merge }
}

fn clean() -> InputKind {
    prepared(MergePreparation::Clean { plan: plan("r"), diff: "+a".into() })
}

fn merged(outcome: MergeOutcome) -> InputKind {
    InputKind::Merged(MergeEnd { attempt: attempt("a", 1), outcome })
}

fn answered(decision: RequestDecision) -> InputKind {
    let given =
        ApprovalOutcome { decision, by: Vec::new(), tokens: Vec::new(), reason: "no".into(), answer: None };
    InputKind::Answered { number: 1, given }
}

fn count(run: &Killed, wanted: fn(&EventKind) -> bool) -> usize {
    run.events.iter().filter(|event| wanted(&event.fact)).count()
}

#[test]
fn a_merge_begins_once_and_its_step_ends_after_it() {
    let mut run = passed(WorktreeMerge::Automatic);
    assert_eq!(words(&run.feed(clean())), ["merge"]);
    assert!(run.feed(clean()).is_empty(), "the same answer comes twice");
    assert_eq!(words(&run.resume()), ["merge"], "it is finished after a crash");
    run.feed(merged(MergeOutcome::Merged));
    assert_eq!(end_of(&run.events, "a").map(|(state, _)| state), Some(StepState::Succeeded));
    assert_eq!(count(&run, |fact| matches!(fact, EventKind::MergeStarted(_))), 1);
}

#[test]
fn a_merge_that_is_outdated_is_computed_anew_and_not_for_ever() {
    let mut run = passed(WorktreeMerge::Automatic);
    for _ in 0..4 {
        assert_eq!(words(&run.feed(clean())), ["merge"]);
        assert_eq!(words(&run.feed(merged(MergeOutcome::Outdated))), ["prepare_merge"]);
    }
    run.feed(clean());
    run.feed(merged(MergeOutcome::Outdated));
    assert_eq!(end_of(&run.events, "a").map(|(state, _)| state), Some(StepState::Failed));
}

#[test]
fn a_review_lets_exactly_what_was_shown_be_merged() {
    let mut run = passed(WorktreeMerge::Review);
    assert!(words(&run.feed(clean())).contains(&"ask".to_owned()));
    assert!(words(&run.resume()).contains(&"ask".to_owned()), "nothing is merged after a crash");
    assert!(words(&run.feed(answered(RequestDecision::Approved))).contains(&"prepare_merge".to_owned()));
    let other = prepared(MergePreparation::Clean { plan: plan("other"), diff: String::new() });
    assert!(words(&run.feed(other)).contains(&"ask".to_owned()), "another result was not approved");
    assert_eq!(count(&run, |fact| matches!(fact, EventKind::MergeStarted(_))), 0);
}

#[test]
fn a_refused_review_merges_nothing() {
    let mut run = passed(WorktreeMerge::Review);
    run.feed(clean());
    run.feed(answered(RequestDecision::Denied));
    assert_eq!(end_of(&run.events, "a").map(|(state, _)| state), Some(StepState::Failed));
    assert_eq!(count(&run, |fact| matches!(fact, EventKind::MergeStarted(_))), 0);
}

#[test]
fn what_a_person_merged_is_reported() {
    let mut run = passed(WorktreeMerge::Automatic);
    run.feed(prepared(MergePreparation::Conflict { plan: plan("r"), files: vec!["a".into()] }));
    run.feed(answered(RequestDecision::Approved));
    assert!(run.events.iter().any(|event| matches!(
        event.fact,
        EventKind::StepEnded { state: StepState::Succeeded, standing: Standing::Reported, .. }
    )));
}

#[test]
fn what_met_changes_that_its_checks_did_not_see_is_reported() {
    for (before, standing) in [("b", Standing::Verified), ("other", Standing::Reported)] {
        let mut run = left_by(WorktreeMerge::Automatic, |step| step.verify = vec![check("good")]);
        let judged = InputKind::Judged {
            phase: wf_model::CheckPhase::Verify,
            attempt: Some(attempt("a", 1)),
            verdicts: vec![verdict(CheckRuling::Pass)],
            seen: Vec::new(),
        };
        assert_eq!(words(&run.feed(judged)), ["prepare_merge"]);
        let plan = MergePlan { base: "b".into(), before: before.into(), ..*plan("r") };
        run.feed(prepared(MergePreparation::Clean { plan: Box::new(plan), diff: "+a".into() }));
        run.feed(merged(MergeOutcome::Merged));
        let end = run.events.iter().find_map(|event| match &event.fact {
            EventKind::StepEnded { standing, reason, .. } => Some((*standing, !reason.is_empty())),
            _ => None,
        });
        assert_eq!(end, Some((standing, standing == Standing::Reported)), "before is {before}");
    }
}

#[test]
fn a_cancelled_run_merges_no_more() {
    let mut run = passed(WorktreeMerge::Automatic);
    let killed = run.cancel();
    assert!(!killed.iter().any(|effect| matches!(effect, Effect::Kill { .. })), "{killed:?}");
    run.feed(clean());
    assert_eq!(end_of(&run.events, "a").map(|(state, _)| state), Some(StepState::Cancelled));
}
