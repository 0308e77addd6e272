//! What stops an analysis of Forge, and what the desk is told then.

use super::pack;
use crate::support::Sandbox;

/// Lets the desk reply to a question, and asks it.
fn desk(place: &Sandbox, replies: &str) -> String {
    let others = place.read("replies/strong.yaml");
    let first = format!("- when: What about the curve\n  replies:\n{replies}");
    place.file("replies/strong.yaml", format!("{first}\n{others}"));
    place.wf(&["run", "desk.md", "-p", "question=What about the curve?"]).exits(0);
    place.wf(&["logs", "--last", "desk", "--calls"]).exits(0).out
}

#[test]
fn what_depends_on_an_analysis_that_failed_does_not_begin() {
    let place = pack();
    let log = desk(
        &place,
        r#"    - tool_calls:
        - tool: dispatch
          arguments: {id: curve, plan: sub, params: {id: curve, skill: rv-analysis, objective: "What does the curve price?"}}
        - tool: dispatch
          arguments: {id: credit, plan: sub, depends_on: [curve], params: {id: credit, skill: view-validation, objective: "Do the spreads of credit follow the report?", prior: [curve]}}
        - {tool: collect, arguments: {id: all}}
    - text: '{"answer": "The analysis of the curve failed, and so nothing is known about credit."}'"#,
    );
    assert!(log.contains(r#""error":"`curve`, on which it depends, did not succeed""#), "{log}");
    assert!(
        !place.at("session/results/curve.md").exists() && !place.at("session/tasks/credit.json").exists()
    );
    place.wf(&["show", "--last"]).exits(0).says("nothing is known about credit");
}

#[test]
fn a_desk_starts_its_own_plans_and_no_other() {
    let place = pack();
    let log = desk(
        &place,
        r#"    - tool_calls:
        - {tool: dispatch, arguments: {id: learn, plan: retrospect, params: {}}}
        - {tool: dispatch, arguments: {id: lost, plan: sub, params: {id: lost, skill: tea-leaves, objective: "What comes?"}}}
    - text: '{"answer": "Neither could be started."}'"#,
    );
    assert!(log.contains("refused: this step may not start the plan \"retrospect\""), "{log}");
    assert!(
        log.contains("refused: `sub` cannot begin: parameter `skill`: \"tea-leaves\" is not one of"),
        "{log}"
    );
    assert!(!place.at("session/tasks/lost.json").exists());
    let shown = crate::examples::last(&place);
    assert_eq!(
        shown["nested"].as_array().map_or(0, Vec::len),
        0,
        "nothing was started: {:#}",
        shown["nested"]
    );
}

#[test]
fn an_analysis_over_its_budget_is_not_stored() {
    let place = pack();
    place.file("sub.md", place.read("sub.md").replace("max_tokens: 400000", "max_tokens: 300"));
    let args =
        ["run", "sub.md", "-p", "id=growth", "-p", "skill=view-validation", "-p", "contrastive=true", "-p"];
    let objective = ["objective=Does the retail report of November change V-001?"];
    place.wf(&[&args[..], &objective].concat()).exits(1).says("budget exhausted");
    assert!(!place.at("session/results/growth.md").exists());
}
