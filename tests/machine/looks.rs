//! A look at a goal: a run of its plan without the steps.

use wf_model::OnStepFailure;

use super::{
    play::{Play, policy, steps},
    world::{check, plan_with},
};

fn look(refute: &[&'static str]) -> Vec<String> {
    let whole = plan_with(steps(&["a", "b < a"]), 2, policy(OnStepFailure::Stop), vec![check("is_up")]);
    let mut play = Play::new(whole.checks_only());
    play.refute = refute.to_vec();
    play.told()
}

#[test]
fn a_look_asks_the_checks_and_runs_no_step() {
    assert_eq!(look(&[]), ["run succeeded verified"]);
}

#[test]
fn a_look_at_what_is_not_so_fails() {
    let told = look(&["plan"]);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("run failed refuted"), "{told:?}");
}
