//! The standing of steps and runs whose checks have both modes: the weakest mode that passed.

use wf_model::{Check, CheckCertainty, OnStepFailure, Step};

use super::{
    play::{Play, play, policy, steps},
    world::{check, plan_with},
};

/// A check that a model judges.
fn judged(id: &str) -> Check {
    Check { mode: CheckCertainty::Plausible, ..check(id) }
}

#[test]
fn a_check_that_verifies_does_not_outvote_a_judge() {
    let told = play(&["a", "b"], OnStepFailure::Stop, |steps| {
        steps[0].verify = vec![check("is_there"), judged("is_good")];
        steps[1].verify = vec![check("is_there")];
    });
    assert_eq!(told.told(), ["a succeeded plausible", "b succeeded verified", "run succeeded plausible"]);
}

/// The last that a plan says whose only step and own criteria are checked like this.
fn last(step: Vec<Check>, own: Vec<Check>) -> String {
    let mut steps: Vec<Step> = steps(&["a"]);
    steps[0].verify = step;
    let told = Play::new(plan_with(steps, 1, policy(OnStepFailure::Stop), own)).told();
    told.last().cloned().unwrap_or_default()
}

#[test]
fn of_a_plan_it_is_the_weakest_of_its_steps_and_its_own() {
    assert_eq!(last(vec![check("a")], vec![check("own")]), "run succeeded verified");
    assert_eq!(last(vec![judged("a")], vec![check("own")]), "run succeeded plausible");
    assert_eq!(last(vec![check("a")], vec![check("own"), judged("good")]), "run succeeded plausible");
    // What nothing inside checked is confirmed by the criteria over the whole.
    assert_eq!(last(Vec::new(), vec![check("own")]), "run succeeded verified");
}
