use std::{collections::BTreeMap, sync::Arc};

use super::SnapshotReader;
use crate::{CONFIG, RunOptions, config::WorkspaceConfig, specs::load::collect_plan};
use wf_core::envelope::breaches;
use wf_engine::PlanReader;
use wf_lang::InMemoryFiles;
use wf_model::{Plan, PlanEnvelope, StepWork};

const SETTINGS: &str = "models: {a: {api: scripted, model: a.yaml}}\nroles: {worker: a, judge: a}\n";

const PART: &str = "---\nkind: plan\nid: part\nsteps: [{id: a, run: 'true', allow: {}}]\n---\n";

const OUTER: &str = "---
kind: plan
id: outer
params: {text: {type: string}}
steps:
  - id: work
    uses:
      text: \"{{ params.text }}\"
      within:
        allow: {write: [out]}
        executors: [run, agent, uses]
        plans: [part.md]
        roles: [worker]
        tools: [read]
---
";

fn files() -> InMemoryFiles {
    let texts = [("outer.md", OUTER), ("part.md", PART), (CONFIG, SETTINGS)];
    InMemoryFiles(texts.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into_iter().collect())
}

fn read(steps: &str) -> Result<Arc<Plan>, Vec<String>> {
    let reader = SnapshotReader { files: files(), config: WorkspaceConfig::default() };
    reader.read_plan("work.generated.md", &format!("---\nkind: plan\nid: made\n{steps}\n---\n"))
}

fn outer() -> (Arc<Plan>, PlanEnvelope) {
    let options = RunOptions::default();
    let plan = collect_plan(&files(), "outer.md", options).expect("it is a plan");
    let StepWork::Generated(generated) = &plan.steps()[0].work else { panic!("it runs a plan of the run") };
    let envelope = generated.envelope.clone();
    (plan, envelope)
}

#[test]
fn a_plan_may_use_what_its_envelope_lists_and_nothing_else() {
    let (outer, envelope) = outer();
    let cases = BTreeMap::from([
        ("steps: [{id: a, run: ls, allow: {write: [out/x]}}, {id: b, uses: part.md}]", vec![]),
        ("steps: [{id: a, agent: {role: worker, tools: [read]}}]\n---\n## a\nDo it.\n", vec![]),
        (
            "steps: [{id: a, agent: {role: judge, tools: [list]}}]\n---\n## a\nDo it.\n",
            vec![
                "step `a` has a model of the role `judge`, which is not in `roles`",
                "step `a` has the tool `list`, which is not in `tools`",
            ],
        ),
        (
            "steps: [{id: a, http: {url: 'https://x.example'}}]",
            vec!["step `a` sends a request; a generated plan sends none"],
        ),
        (
            "steps: [{id: a, exec: [ls], allow: {}}]\nplanner: {exec: [p]}\nreplan: {}",
            vec![
                "it has a planner; a generated plan has none",
                "step `a` has the executor `exec`, which is not in `executors`",
            ],
        ),
    ]);
    for (text, expected) in cases {
        let plan = read(text).unwrap_or_else(|mistakes| panic!("{text}: {mistakes:?}"));
        let breached: Vec<String> =
            breaches(&envelope, &outer, &plan).iter().map(ToString::to_string).collect();
        assert_eq!(breached, expected, "{text}");
    }
}

#[test]
fn a_text_with_mistakes_is_no_plan() {
    let mistakes = read("steps: [{id: a, run: ls, alow: {}}, {id: a, run: ls}]").unwrap_err();
    let expected = [
        "line 4: unknown key `alow` in a step (did you mean `allow`?)",
        "line 4: duplicate step `a` (rename one of them)",
    ];
    assert_eq!(mistakes, expected);
    // Only files that the run was started with exist.
    assert!(read("steps: [{id: a, uses: elsewhere.md}]").is_err());
}
