//! Runs in which a worker decides whether checks are made.

use serde_json::{Value, json};
use wf_base::{name::EnvName, source::Span};
use wf_model::{Check, CheckCertainty, EnvVar, OnStepFailure, Step, StepRepetition, expr::Template};

use super::{
    play::{Play, any, expr, play},
    world::{check, plan_with},
};

/// What a run says that keeps a check from `test` on the word of `build`.
const SAID: &str = "run succeeded reported: `test` was not checked: an unchecked output of \
    `build` decided that";

/// `build` is checked and gives `wanted`; `test`, behind `between`, is checked.
fn checked(steps: &mut [Step]) {
    steps[0].outputs = vec![any("wanted")];
    steps[0].verify = vec![check("built")];
    steps[2].verify = vec![check("tested")];
}

/// The last that a run says, after a change of its steps.
fn last(wanted: &Value, change: impl FnOnce(&mut [Step])) -> String {
    let lines = ["build", "between < build", "test < between"];
    let told = play(&lines, OnStepFailure::Stop, |steps| {
        checked(steps);
        steps[1].verify = vec![check("held")];
        change(steps);
    });
    let told = told.gives("build", json!({ "wanted": wanted })).told();
    told.last().unwrap().clone()
}

fn when(step: &mut Step, text: &str) {
    step.when = Some(Box::new(expr(text)));
}

/// A check that reads an output of `build`.
fn reads_it() -> Check {
    let text = "{{ steps.build.outputs.wanted }}";
    let value = Template::parse(text, Span::new(0, text.len())).unwrap();
    let name = EnvName::parse("WANTED").unwrap();
    Check { env: vec![EnvVar { name, value }], ..check("built") }
}

#[test]
fn a_check_that_a_worker_kept_from_being_made_proves_nothing() {
    let asks = |steps: &mut [Step]| when(&mut steps[2], "steps.build.outputs.wanted");
    assert_eq!(last(&json!(true), asks), "run succeeded verified");
    assert_eq!(last(&json!(false), asks), SAID);
}

#[test]
fn a_judge_beside_a_check_takes_nothing_from_an_output_that_the_check_read() {
    let asks = |steps: &mut [Step]| {
        steps[0].verify = vec![reads_it(), Check { mode: CheckCertainty::Plausible, ..check("nice") }];
        when(&mut steps[2], "steps.build.outputs.wanted");
    };
    assert_eq!(last(&json!(false), asks), "run succeeded plausible");
    let judged = |steps: &mut [Step]| {
        steps[0].verify = vec![Check { mode: CheckCertainty::Plausible, ..reads_it() }, check("built")];
        when(&mut steps[2], "steps.build.outputs.wanted");
    };
    assert_eq!(last(&json!(false), judged), SAID);
}

#[test]
fn nor_does_one_behind_a_step_that_it_kept_from_running() {
    let asks = |steps: &mut [Step]| {
        steps[1].verify.clear();
        when(&mut steps[1], "params.region == 'eu' and steps.build.outputs.wanted");
    };
    assert_eq!(last(&json!(false), asks), SAID);
}

#[test]
fn nor_does_an_empty_list() {
    let repeats = |steps: &mut [Step]| {
        steps[2].fan = StepRepetition::Each(expr("steps.build.outputs.wanted"));
    };
    assert_eq!(last(&json!([1]), repeats), "run succeeded verified");
    assert_eq!(last(&json!([]), repeats), SAID);
}

#[test]
fn the_criteria_of_the_plan_do_not_make_up_for_it() {
    let mut all = super::play::steps(&["build", "between < build", "test < between"]);
    checked(&mut all);
    when(&mut all[2], "steps.build.outputs.wanted");
    let policy = super::play::policy(OnStepFailure::Stop);
    let plan = plan_with(all, 3, policy, vec![check("good")]);
    let told = Play::new(plan).gives("build", json!({ "wanted": false })).told();
    assert_eq!(told.last().unwrap(), SAID);
}

#[test]
fn what_no_worker_decided_says_nothing() {
    let verified = "run succeeded verified";
    let by_parameter = |steps: &mut [Step]| when(&mut steps[2], "params.region == 'us'");
    assert_eq!(last(&json!(false), by_parameter), verified);
    // The parameter decides; the output is not read.
    let first = "params.region == 'us' and steps.build.outputs.wanted";
    let short = |steps: &mut [Step]| when(&mut steps[2], first);
    assert_eq!(last(&json!(false), short), verified);
    let confirmed = |steps: &mut [Step]| {
        steps[0].verify = vec![reads_it()];
        when(&mut steps[2], "steps.build.outputs.wanted");
    };
    assert_eq!(last(&json!(false), confirmed), verified);
    let unchecked = |steps: &mut [Step]| {
        steps[2].verify.clear();
        when(&mut steps[2], "steps.build.outputs.wanted");
    };
    assert_eq!(last(&json!(false), unchecked), verified);
}
