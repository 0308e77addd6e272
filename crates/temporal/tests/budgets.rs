//! Budgets of runs whose work calls models on several hosts at once: no more is spent than here.

use crate::{farm::Farm, mirrors::copy, model_server::ModelServer, programs::Did};

/// A step whose check a judge decides, on one of the workers.
const JUDGED: &str = r#"  - id: NAME
    runs_on: NAME
    run: echo "it is done" > NAME.txt
    writes: [NAME.txt]
    verify:
      - name: says_so
        mode: plausible
        run: cat NAME.txt
        judge: {role: judge, votes: 1, criteria: [The text says that it is done.]}
"#;

const VERDICT: &str =
    r#"{"verdicts": [{"criterion": 1, "verdict": "pass", "quote": "it is done", "reason": "it says so"}]}"#;

/// The budget for one call, and not for two at once.
const BUDGET: &str =
    "policy: {max_parallel: 2, on_failure: continue}\nbudget: {max_tokens: 1200, reserve: 0}\nsteps:\n";

/// Runs a plan there and here, and asserts that each calls the model once and refuses to do so a second time.
fn assert_one_call(farm: &Farm, model: &ModelServer, plan: &str, refusal: &str) {
    let here = farm.path("here");
    let _ = std::fs::remove_dir_all(&here);
    copy(&farm.path("space"), &here);
    farm.wf(&["run", "--on", "farm", plan]).exits(1).says(refusal);
    assert_eq!(model.take_calls(), 1, "{plan} there");
    Did::of(&mut farm.command_in(&here, &["run", plan])).exits(1).says(refusal);
    assert_eq!(model.take_calls(), 1, "{plan} here");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn calls_under_way_on_several_hosts_are_paid_from_one_budget() {
    let model = ModelServer::start(VERDICT);
    let farm = Farm::new(2);
    let models = format!(
        "models:\n  slow: {{api: openai, base_url: \"{}\", model: slow, max_output: 2000, price: {{input: 1, output: 2}}}}\nroles: {{judge: slow}}\n",
        model.url()
    );
    farm.file("wf.yaml", farm.config() + &models);
    let [one, other] = ["w1", "w2"].map(|name| JUDGED.replace("NAME", name));
    farm.plan("beside", &format!("{BUDGET}{one}{other}"));
    let refusal = "the budget does not allow a model call";
    assert_one_call(&farm, &model, "beside.md", refusal);

    // Two nested runs are paid by the run around them.
    for (name, step) in [("one", &one), ("other", &other)] {
        farm.plan(name, &format!("steps:\n{step}"));
    }
    let uses = "  - {id: one, uses: one.md}\n  - {id: other, uses: other.md}";
    farm.plan("within", &format!("{BUDGET}{uses}"));
    assert_one_call(&farm, &model, "within.md", "in which this run is nested");

    // What was used is less than what was set aside: one after the other may call.
    let depends = other.replace("    runs_on: w2\n", "    runs_on: w2\n    depends_on: [w1]\n");
    farm.plan("after", &format!("{BUDGET}{one}{depends}"));
    farm.wf(&["run", "--on", "farm", "after.md"]).exits(0);
    assert_eq!(model.take_calls(), 2);
}
