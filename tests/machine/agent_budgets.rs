//! The budget of agents: no call begins that it may not afford.

use wf_base::name::PlanId;
use wf_core::machine::WorkExit;
use wf_model::{OnStepFailure, Plan, PlanParts, RunBudget};

use super::{
    agents::{FIRST, REPLY, agent, answers, asked, briefed, collected},
    killed::Killed,
    play::{policy, steps},
};

/// Steps that agents do at the same time, with a budget of tokens of which a tenth is kept.
fn budgeted(lines: &[&str], main: usize, max_tokens: u64) -> Killed {
    let mut steps = steps(lines);
    for step in &mut steps {
        step.work = agent(3);
    }
    let budget = RunBudget { max_tokens: Some(max_tokens), reserve_ppm: 100_000, ..RunBudget::default() };
    let id = PlanId::parse("p").unwrap();
    let parts = PlanParts::new(id, steps, main, policy(OnStepFailure::Continue));
    Killed::new(Plan::new(PlanParts { budget: Some(budget), ..parts }).unwrap())
}

#[test]
fn a_call_that_the_budget_may_not_afford_is_not_made() {
    // The first call uses 120; the second may use 120 and a reply.
    let enough = (120 + 120 + REPLY) * 10 / 9 + 1;
    let second = |max_tokens: u64| {
        let mut run = budgeted(&["a"], 1, max_tokens);
        run.feed(briefed("a"));
        asked(&run.feed(answers(1, Some("no"))))
    };
    assert_eq!(second(enough), ["model 2, repairs: no"]);
    let refused = second(enough - 2);
    let begin = "end: budget exhausted: the run used ";
    assert!(refused.len() == 1 && refused[0].starts_with(begin), "{refused:?}");
}

#[test]
fn a_call_leaves_what_another_one_under_way_may_use() {
    let mut run = budgeted(&["a", "b"], 2, 2 * (FIRST + REPLY));
    assert_eq!(asked(&run.feed(briefed("a"))), ["model 1"]);
    let refused = asked(&run.feed(briefed("b")));
    assert!(refused[0].starts_with("end: budget exhausted"), "{refused:?}");
    let mut run = budgeted(&["a", "b"], 2, 3 * (FIRST + REPLY));
    run.feed(briefed("a"));
    assert_eq!(asked(&run.feed(briefed("b"))), ["model 1"]);
}

#[test]
fn the_agent_of_a_finally_step_may_use_the_reserve() {
    let mut run = budgeted(&["a", "last"], 1, FIRST + REPLY);
    let refused = asked(&run.feed(briefed("a")));
    assert!(refused[0].starts_with("end: budget exhausted"), "{refused:?}");
    collected(&mut run, WorkExit::Cancelled);
    assert_eq!(asked(&run.feed(briefed("last"))), ["model 1"]);
}
