mod kinds;

use std::{sync::Arc, time::Duration};

use super::{ProposalMistake, ProposedAlternative, sketch};
use proptest::prelude::*;
use serde_json::{Value, json};
use wf_base::name::{EnvName, Name, PlanId};
use wf_model::{EnvVar, OnStepFailure, Plan, PlanParts, PlanPolicy, Step, StepWork, expr::Template};

fn written() -> Step {
    let words = ["curl", "{{ steps.a.outputs.url }}"];
    let words = words.map(|word| Template::read(word).unwrap());
    let mut step = Step::new(Name::parse("fetch").unwrap(), StepWork::Exec(words.into()));
    step.tool = Some("net:curl".into());
    step.target = Some("mirror".into());
    step.env = vec![EnvVar {
        name: EnvName::parse("TOKEN").unwrap(),
        value: Template::read("{{ secrets.TOKEN }}").unwrap(),
    }];
    step
}

fn plan(steps: Vec<Step>) -> Arc<Plan> {
    let policy = PlanPolicy { max_parallel: 1, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    let main = steps.len();
    Plan::new(PlanParts::new(PlanId::parse("p").unwrap(), steps, main, policy)).unwrap()
}

/// The way that a proposal makes of the first step of a plan.
fn proposed(steps: Vec<Step>, value: &Value) -> Result<Step, ProposalMistake> {
    let plan = plan(steps);
    let way = ProposedAlternative::read(value)?.alternative(&plan, &plan.steps()[0])?;
    Ok(way.step.as_ref().clone())
}

fn tried(value: &Value) -> Result<Value, ProposalMistake> {
    proposed(vec![written()], value).map(|step| sketch(&step))
}

#[test]
fn a_way_is_the_step_with_what_the_planner_says() {
    let way = tried(&json!({
        "id": "other", "tool": "disk:cp", "run": "cp $FROM out", "timeout": "5s", "cwd": "in",
        "env": { "FROM": "x{{ steps.a.outputs.url }}" },
    }));
    let wanted = json!({
        "shell": ["sh", "-eu", "-c"], "run": "cp $FROM out", "tool": "disk:cp", "target": "mirror",
        "env": { "TOKEN": "{{ secrets.TOKEN }}", "FROM": "x{{ steps.a.outputs.url }}" },
        "cwd": "in", "timeout": "5s",
    });
    assert_eq!(way.unwrap(), wanted);
    let refined = tried(&json!({ "id": "slower", "timeout": "1m" })).unwrap();
    assert_eq!(refined["exec"], json!(["curl", "{{ steps.a.outputs.url }}"]));
    assert_eq!(refined["tool"], "net:curl");
}

#[test]
fn what_it_may_not_say_is_refused_by_name() {
    for (keys, wanted) in [
        (json!({ "limits": {} }), "`limits` can be set only in the plan"),
        (
            json!({ "limits": {}, "allow": {}, "agent": { "tools": ["run"] } }),
            "`allow`, `limits`, `agent.tools` can",
        ),
        (
            json!({ "uses": "other.md", "skill": { "args": [] } }),
            "`uses`, `skill` can be set only in the plan: the step has `exec`",
        ),
        (json!({ "retry": { "max": 9 } }), "unknown field `retry`"),
        (json!({ "id": "No Name" }), "a name here must match"),
        (json!({}), "it does the same as the step as written"),
        (json!({ "target": "elsewhere" }), "it does the same as"),
        (json!({ "tool": "x", "timeout": "9s" }), "under another name"),
        (json!({ "tool": "x", "run": "a", "exec": ["a"] }), "`run` and `exec` are mutually exclusive"),
        (json!({ "tool": "x", "exec": [] }), "is missing the program"),
        (json!({ "tool": "x", "exec": ["{{ params.x }}"] }), "templates are not supported"),
        (json!({ "tool": "x", "run": "echo {{ params.x }}" }), "templates are not supported"),
        (json!({ "run": "a" }), "but `tool` is missing"),
        (json!({ "tool": " ", "run": "a" }), "must be plain words"),
        (json!({ "tool": "net:curl ", "run": "a" }), "surrounding whitespace"),
        (json!({ "target": "{{ item }}", "timeout": "9s" }), "must be plain words"),
        (json!({ "env": { "WF_RUN_ID": "1" } }), "start with `WF_`"),
        (json!({ "env": { "A": "{{ secrets.OTHER }}" } }), "which the step does not"),
        (json!({ "env": { "A": "{{ steps.b.outputs.x }}" } }), "which the step does not"),
        (json!({ "env": { "A": "{{ 1 +" } }), "not a valid template"),
        (json!({ "cwd": "/etc" }), "leaves the workspace"),
        (json!({ "cwd": "a/../.." }), "leaves the workspace"),
        (json!({ "timeout": "soon" }), "a duration must be like"),
        (json!({ "timeout": "0s" }), "must not be zero"),
    ] {
        let mut value = json!({ "id": "other" });
        for (key, one) in keys.as_object().unwrap() {
            value[key] = one.clone();
        }
        let reason = tried(&value).unwrap_err().to_string();
        assert!(reason.contains(wanted), "{value}: {reason}");
    }
}

proptest! {
    /// The reach and the checks of a step stay the same, whatever the proposal says.
    #[test]
    fn nothing_else_of_the_step_changes(
        tool in "[a-z:]{1,6}", run in "[ -~]{1,20}", env in "[A-Z]{1,6}", text in "[ -~]{0,20}",
    ) {
        let value = json!({ "id": "other", "tool": tool, "run": run, "env": { env: text } });
        if let Ok(way) = proposed(vec![written()], &value) {
            let step = written();
            prop_assert_eq!(format!("{:?}", way.allow), format!("{:?}", step.allow));
            prop_assert_eq!(format!("{:?}", way.verify), format!("{:?}", step.verify));
            prop_assert_eq!(format!("{:?}", way.limits), format!("{:?}", step.limits));
            prop_assert_eq!(&way.depends_on, &step.depends_on);
            prop_assert_eq!(&way.target, &step.target);
        }
    }
}
