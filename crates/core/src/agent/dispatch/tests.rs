use std::{sync::Arc, time::Duration};

use serde_json::json;

use super::{
    ChildChoice, ChildReport, ChildRequest, ChildrenReport, dispatch_definition, read_collect, read_dispatch,
};
use crate::agent::{AgentRequest, ToolCall, parse_call};
use wf_base::name::{Name, PlanId};
use wf_model::{
    AgentDispatch, AgentTool, ChildPlan, JsonObject, OnStepFailure, Plan, PlanOutput, PlanParam, PlanParts,
    PlanPolicy, Step, StepWork, TaintLevel, ValueSchema, expr::Template,
};

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// A plan with a required and an optional parameter, whose output is from its step.
fn plan(id: &str) -> Arc<Plan> {
    let param = |name: &str, default| PlanParam {
        name: self::name(name),
        schema: ValueSchema::new(json!({"type": "string"})).unwrap(),
        default,
        taint: TaintLevel::Owner,
        description: Some("What it is.".into()),
    };
    let policy =
        PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(1) };
    let steps = vec![Step::new(name("work"), StepWork::Exec(vec![Template::read("true").unwrap()]))];
    let output = PlanOutput {
        name: name("count"),
        schema: ValueSchema::new(json!(true)).unwrap(),
        value: Template::read("{{ steps.work.outputs.count }}").unwrap(),
    };
    Plan::new(PlanParts {
        title: Some("Count files".into()),
        params: vec![param("folder", None), param("glob", Some(json!("*")))],
        outputs: vec![output],
        ..PlanParts::new(PlanId::parse(id).unwrap(), steps, 1, policy)
    })
    .unwrap()
}

fn dispatch() -> AgentDispatch {
    let plans = vec![ChildPlan { plan: plan("count"), path: "count.md".into() }];
    AgentDispatch { plans, max: 20, max_parallel: 4 }
}

fn read(tool: &str, arguments: &serde_json::Value) -> Result<ChildRequest, String> {
    let call = ToolCall { id: "1".into(), tool: tool.into(), arguments: arguments.to_string() };
    let request = parse_call(&[AgentTool::Dispatch, AgentTool::Collect], &call);
    let request = request.map_err(|mistake| mistake.to_string())?;
    match request {
        AgentRequest::Dispatch(request) => {
            read_dispatch(Some(&dispatch()), &request).map_err(|mistake| mistake.to_string())
        }
        AgentRequest::Collect(id) => read_collect(&id).map_err(|mistake| mistake.to_string()),
        _ => panic!("another tool"),
    }
}

#[test]
fn a_listed_plan_starts_with_its_parameters_completed() {
    let arguments = json!({
        "id": "docs", "plan": "count", "params": {"folder": "docs"}, "depends_on": ["first"],
    });
    let Ok(ChildRequest::Dispatch(start)) = read("dispatch", &arguments) else {
        panic!("it is a valid call");
    };
    assert_eq!((start.child, start.depends_on), (name("docs"), vec![name("first")]));
    assert_eq!(json!(start.params), json!({"folder": "docs", "glob": "*"}));
}

#[test]
fn nothing_else_starts() {
    for (arguments, mistake) in [
        (
            json!({"id": "a", "plan": "../count.md"}),
            "this step may not start the plan \"../count.md\"; the plans are `count`",
        ),
        (json!({"id": "a", "plan": "count"}), "`count` needs the parameters `folder`: give them in `params`"),
        (
            json!({"id": "a", "plan": "count", "params": {"folder": 7}}),
            "`count` cannot begin: parameter `folder`: 7 is not of type \"string\"",
        ),
        (
            json!({"id": "a", "plan": "count", "params": {"folder": "x", "gob": "y"}}),
            "`count` cannot begin: unknown parameter `gob`; did you mean `glob`?",
        ),
        (
            json!({"id": "a", "plan": "count", "params": ["x"]}),
            "the argument `params` of `dispatch` must be an object, not a list",
        ),
        (
            json!({"id": "a", "plan": "count", "params": {"folder": "x"}, "depends_on": [""]}),
            "the argument `depends_on` of `dispatch` must be a list of texts that are not empty, not one with something else in it",
        ),
        (
            json!({"id": "all", "plan": "count", "params": {"folder": "x"}}),
            "`all` cannot be the id of a run: collect has another meaning for it",
        ),
    ] {
        assert_eq!(read("dispatch", &arguments), Err(mistake.to_owned()), "{arguments}");
    }
    let told = read("dispatch", &json!({"id": "A b", "plan": "count", "params": {"folder": "x"}}));
    assert!(told.unwrap_err().starts_with("the id of a run is not valid: "));
}

#[test]
fn results_are_asked_for_by_id_or_by_word() {
    let choice = |id: &str| read("collect", &json!({ "id": id }));
    assert_eq!(choice("ready"), Ok(ChildRequest::Collect(ChildChoice::Ready)));
    assert_eq!(choice("all"), Ok(ChildRequest::Collect(ChildChoice::All)));
    assert_eq!(choice("docs"), Ok(ChildRequest::Collect(ChildChoice::Child(name("docs")))));
}

#[test]
fn the_model_is_told_which_plans_there_are() {
    let definition = dispatch_definition(&dispatch());
    let schema = definition.arguments_schema;
    assert_eq!(schema["properties"]["plan"]["enum"], json!(["count"]));
    let lines = "The plans are:\n- count: Count files\n  - folder (required): {\"type\":\"string\"} \"What it is.\"\n";
    assert!(definition.description.contains(lines), "{}", definition.description);
    assert!(definition.description.ends_with("\nAt most 20 runs in all, and 4 at a time."));
}

#[test]
fn outputs_keep_their_taint() {
    let report = |outputs: JsonObject| ChildrenReport {
        runs: vec![ChildReport {
            id: name("docs"),
            plan: PlanId::parse("count").unwrap(),
            status: "reported".into(),
            outputs,
            error: None,
        }],
        pending: Some(2),
    };
    let given = report(JsonObject::from_iter([("count".into(), json!(3))]));
    // The step of the plan has no sandbox, and so the network.
    assert_eq!(given.untrusted_source(&dispatch()), Some("the child run docs".into()));
    assert_eq!(report(JsonObject::new()).untrusted_source(&dispatch()), None);
    let text =
        r#"{"runs":[{"id":"docs","plan":"count","status":"reported","outputs":{"count":3}}],"pending":2}"#;
    assert_eq!(given.text(), text);
}
