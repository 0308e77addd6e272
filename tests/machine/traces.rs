//! Golden traces: recorded inputs, and what must follow from them under any driver.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use wf_core::machine::{Effect, Event, Machine, MachineInput};
use wf_lang::{InMemoryFiles, PlanDefaults, load, lower};
use wf_model::{
    JsonObject, OnStepFailure, Plan, PlanPolicy, ReplanSettings, RetryPolicy, SuggestionLimits,
    resolve_params,
};

use super::world::{Dice, World, run_id};

/// Every plan of the folder, in order.
fn plans() -> Vec<PathBuf> {
    let mut plans: Vec<PathBuf> = fs::read_dir("tests/traces")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    plans.sort();
    plans
}

fn plan(path: &Path) -> Arc<Plan> {
    let files = InMemoryFiles(BTreeMap::from([("plan.md".to_owned(), fs::read(path).unwrap())]));
    let loaded = load(&files, "plan.md");
    assert!(!loaded.has_errors(), "{}: {:?}", path.display(), loaded.diagnostics);
    let policy = PlanPolicy { max_parallel: 2, on_failure: OnStepFailure::Stop, grace: Duration::ZERO };
    lower(
        &loaded,
        &PlanDefaults {
            policy,
            retry: RetryPolicy::default().into(),
            replan: ReplanSettings::default(),
            suggestions: SuggestionLimits::default(),
        },
    )
    .unwrap()
}

fn machine(plan: &Arc<Plan>) -> Machine {
    let params = resolve_params(&plan.parts().params, &JsonObject::new()).unwrap();
    Machine::new(plan.clone(), run_id(), params)
}

/// Plays a plan in a seeded world and gives the inputs it came to.
fn record(plan: &Arc<Plan>, seed: u64) -> Vec<MachineInput> {
    let mut world = World::new(seed);
    let declares = |step: &&wf_model::Step| !step.artifacts.is_empty();
    let declaring = plan.steps().iter().filter(declares);
    world.declaring = declaring.map(|step| step.id.clone()).collect();
    let mut dice = Dice(seed);
    let mut machine = machine(plan);
    world.feed(
        &mut machine,
        wf_core::machine::InputKind::Begin {
            kept: Vec::new(),
            left: Vec::new(),
            baseline: None,
            dropped: Vec::new(),
            approved: None,
            advice: Vec::new(),
            intent: None,
        },
    );
    world.drive(&mut machine, &mut dice);
    world.inputs
}

/// One line an input, with what followed from it.
fn trace(plan: &Arc<Plan>, inputs: &[MachineInput]) -> String {
    let mut machine = machine(plan);
    let mut text = String::new();
    for input in inputs {
        let turn = machine.turn(input.clone());
        let line = json!({ "input": input, "events": turn.events, "effects": turn.effects });
        text += &format!("{line}\n");
    }
    text
}

#[test]
fn recorded_inputs_still_lead_to_the_recorded_effects() {
    for path in plans() {
        let plan = plan(&path);
        let golden = path.with_extension("jsonl");
        #[expect(clippy::disallowed_methods, reason = "a switch for the person who runs the tests")]
        if std::env::var("WF_UPDATE").is_ok() {
            let inputs = [1, 4, 9, 16, 25].into_iter().flat_map(|seed| {
                let begin = Some(record(&plan, seed));
                begin.into_iter().map(|inputs| trace(&plan, &inputs))
            });
            fs::write(&golden, inputs.collect::<Vec<_>>().join("\n")).unwrap();
        }
        let recorded = fs::read_to_string(&golden).unwrap();
        for run in recorded.split("\n\n") {
            replays(&plan, run, &path);
        }
    }
}

/// Feeds the recorded inputs again, and replays the recorded events, from text.
fn replays(plan: &Arc<Plan>, run: &str, path: &Path) {
    let lines: Vec<Value> = run.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inputs: Vec<MachineInput> =
        lines.iter().map(|line| serde_json::from_value(line["input"].clone()).unwrap()).collect();
    assert!(!inputs.is_empty(), "{} is no trace", path.display());
    assert_eq!(trace(plan, &inputs).trim_end(), run.trim_end(), "{}", path.display());
    let mut played = machine(plan);
    for input in &inputs {
        played.turn(input.clone());
    }
    let mut replayed = machine(plan);
    for line in &lines {
        let events: Vec<Event> = serde_json::from_value(line["events"].clone()).unwrap();
        for event in &events {
            replayed.replay(event).unwrap();
        }
        let _: Vec<Effect> = serde_json::from_value(line["effects"].clone()).unwrap();
    }
    assert_eq!(replayed.state(), played.state());
    assert!(replayed.outcome().is_some());
}

#[test]
fn a_stored_state_goes_on_as_if_it_had_lived() {
    let mut dice = Dice(1);
    for path in plans() {
        let plan = plan(&path);
        for seed in [1, 4, 9] {
            let inputs = record(&plan, seed);
            let (before, after) = inputs.split_at(1 + dice.below(inputs.len()));
            let mut lived = machine(&plan);
            for input in before {
                lived.turn(input.clone());
            }
            let text = serde_json::to_string(lived.state()).unwrap();
            let mut restored =
                Machine::from_state(plan.clone(), serde_json::from_str(&text).unwrap()).unwrap();
            let now = before.last().unwrap().at;
            assert_eq!(restored.resume(now), lived.resume(now), "{} {seed}", path.display());
            for input in after {
                assert_eq!(
                    restored.turn(input.clone()),
                    lived.turn(input.clone()),
                    "{} {seed}",
                    path.display()
                );
                assert_eq!(restored.in_flight(), lived.in_flight());
            }
            assert_eq!(restored.state(), lived.state());
        }
    }
}

#[test]
fn a_stored_state_that_does_not_fit_is_refused() {
    let plans = plans();
    let (own, other) = (plan(&plans[0]), plan(&plans[1]));
    let state = serde_json::to_value(machine(&own).state()).unwrap();
    let refusal = |plan: &Arc<Plan>, field: &str, value: Value| {
        let mut state = state.clone();
        state[field] = value;
        Machine::from_state(plan.clone(), serde_json::from_value(state).unwrap()).unwrap_err().to_string()
    };
    assert!(refusal(&other, "passed", Value::Null).contains("restore it with that plan"));
    assert!(refusal(&own, "logic_version", json!(9)).contains("engine version 9"));
    assert!(refusal(&own, "failed", json!(99)).contains("is damaged"));
    assert!(refusal(&own, "steps", json!([])).contains("is damaged"));
}
