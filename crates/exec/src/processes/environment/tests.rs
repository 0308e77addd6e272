use std::path::Path;

use serde_json::{Value, json};

use super::{EnvironmentSources, idempotency_key, of_check, of_step, passed_variables};
use crate::{HostEnv, ProcessEnv};
use wf_base::{
    name::{EnvName, Name, RunId},
    source::Span,
};
use wf_core::machine::{Attempt, StepItem, TaskId};
use wf_model::{
    EnvVar, StepRepetition,
    expr::{EvalError, ExprReference, ExprScope, StatusFunction, Template},
};

struct Params;

impl ExprScope for Params {
    fn value(&self, reference: &ExprReference) -> Option<Value> {
        matches!(reference, ExprReference::Param(name) if name == "day").then(|| json!("mon"))
    }

    fn test(&self, _: StatusFunction, _: Option<&str>) -> bool {
        false
    }
}

fn var(name: &str, value: &str) -> EnvVar {
    EnvVar { name: EnvName::parse(name).unwrap(), value: Template::parse(value, Span::default()).unwrap() }
}

fn host() -> HostEnv {
    let names = ["PATH", "HOME", "LC_ALL", "AWS_REGION", "AWS_KEY", "SECRET", "WF_RUN"];
    names.map(|name| (name.to_owned(), format!("host {name}"))).into()
}

fn step(
    pass: &[&str],
    own_env: &[EnvVar],
    item: Option<(Value, StepRepetition)>,
) -> Result<ProcessEnv, EvalError> {
    let run = RunId::from_bytes([1; 16]);
    let params = json!({ "day": "mon", "count": 3 });
    let attempt = Attempt {
        task_id: TaskId { step: Name::parse("build").unwrap(), item: item.is_some().then_some(4) },
        attempt: 2,
    };
    let pass: Vec<String> = pass.iter().map(|glob| (*glob).into()).collect();
    let (value, fan) = item.unwrap_or((Value::Null, StepRepetition::Once));
    let item = attempt.task_id.item.map(|_| StepItem { key: "k".into(), value });
    let parts = EnvironmentSources {
        host: &host(),
        permissions: None,
        passed: &passed_variables(&host(), &pass),
        plan_env: &[var("A", "plan"), var("B", "plan")],
        step_env: own_env,
        params: params.as_object().unwrap(),
        run: &run,
        key_scope: "first",
        attempt: &attempt,
        item: item.as_ref(),
        repetition: &fan,
        output: Path::new("/o/1"),
        correction: &Vec::new(),
        workspace: Path::new("/w"),
    };
    of_step(&parts, &Params)
}

fn lines(env: &ProcessEnv) -> Vec<String> {
    env.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

#[test]
fn a_step_sees_this_and_nothing_else() {
    let own = [var("B", "of {{ params.day }}"), var("WF_STEP", "forged")];
    let key = idempotency_key("first", "build", None);
    assert_eq!(
        lines(&step(&["AWS_*"], &own, None).unwrap()),
        [
            "A=plan",
            "AWS_KEY=host AWS_KEY",
            "AWS_REGION=host AWS_REGION",
            "B=of mon",
            "HOME=host HOME",
            "LC_ALL=host LC_ALL",
            "PATH=host PATH",
            "WF_ATTEMPT=2",
            &format!("WF_IDEMPOTENCY_KEY={key}"),
            "WF_OUTPUT=/o/1",
            "WF_PARAM_COUNT=3",
            "WF_PARAM_DAY=mon",
            "WF_RUN=01010101010101010101010101010101",
            "WF_STEP=build",
            "WF_WORKSPACE=/w",
        ]
    );
}

#[test]
fn items_and_combinations_have_variables() {
    let item_lines = |value, fan| -> Vec<String> {
        let env = step(&[], &[], Some((value, fan))).unwrap();
        let of_items = |line: &String| line.starts_with("WF_ITEM") || line.starts_with("WF_MATRIX");
        lines(&env).into_iter().filter(of_items).collect()
    };
    let each = || StepRepetition::List(Vec::new());
    let key = ["WF_ITEM_INDEX=4", "WF_ITEM_KEY=k"];
    assert_eq!(item_lines(json!("text"), each()), ["WF_ITEM=text", key[0], key[1]]);
    assert_eq!(item_lines(json!({ "a": 1 }), each()), ["WF_ITEM={\"a\":1}", key[0], key[1]]);
    let combination = json!({ "os": "linux", "level": 2 });
    assert_eq!(
        item_lines(combination, StepRepetition::Matrix(Vec::new())),
        [key[0], key[1], "WF_MATRIX_LEVEL=2", "WF_MATRIX_OS=linux"]
    );
}

#[test]
fn a_check_sees_less() {
    let env = of_check(
        &host(),
        Path::new("/w"),
        &json!({ "day": "mon", "n": 3 }).as_object().cloned().unwrap(),
        &[var("X", "{{ params.day }}")],
        &Params,
    )
    .unwrap();
    let seen =
        ["HOME=host HOME", "PATH=host PATH", "WF_PARAM_DAY=mon", "WF_PARAM_N=3", "WF_WORKSPACE=/w", "X=mon"];
    assert_eq!(lines(&env), seen);
}

#[test]
fn a_value_that_is_not_there_is_an_error() {
    assert!(step(&[], &[var("X", "{{ params.none }}")], None).is_err());
}

#[test]
fn the_idempotency_key_tells_places_apart() {
    let key = idempotency_key("x", "a", Some("b"));
    assert_eq!(key.len(), 32);
    assert_eq!(key, idempotency_key("x", "a", Some("b")));
    assert_ne!(key, idempotency_key("x", "ab", None));
    assert_ne!(key, idempotency_key("x", "a", None));
    assert_ne!(key, idempotency_key("y", "a", Some("b")));
}
