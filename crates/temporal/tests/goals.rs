//! Goals whose runs go to a backend: the daemon here decides when.

use crate::{
    farm::Farm,
    programs::{signal, until},
};

/// A goal that a file exists. `repair` is what its repair does before it makes that.
fn goal(farm: &Farm, schedule: &str, repair: &str) {
    farm.file(
        "goals/sum.md",
        format!(
            "---\nkind: goal\nid: sum\nschedule: \"{schedule}\"\nbackend: farm\nverify: [{{name: there, run: test -f out/sum.txt}}]\n\
             on_failure: spawn_plan\napproval: none\nrepair:\n  steps:\n    - {{id: make, run: '{repair} mkdir -p out; echo 4 > out/sum.txt', artifacts: [out/sum.txt]}}\n---\n# A goal\n"
        ),
    );
}

/// The runs of the workspace, as `wf runs` describes them, the latest first.
fn runs(farm: &Farm) -> Vec<String> {
    let listed: serde_json::Value = serde_json::from_str(&farm.wf(&["runs", "--json"]).exits(0).out).unwrap();
    let runs = listed["runs"].as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_goal_is_checked_and_repaired_there() {
    let farm = Farm::new(1);
    goal(&farm, "@yearly", "");
    farm.wf(&["goal", "run", "sum"]).exits(0).says("sum is repaired");
    assert!(farm.path("space/out/sum.txt").exists());
    farm.wf(&["goal", "run", "sum"]).exits(0).says("sum is healthy");
    let runs = runs(&farm);
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert!(farm.server.history(&run).contains("wf.run.v1"), "{run} did not run there");
    }
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_repair_goes_on_while_its_daemon_is_dead() {
    let farm = Farm::new(1);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    let (begun, go) = (marks.join("begun"), marks.join("go"));
    let lasts =
        format!("echo begun >> {}; until [ -e {} ]; do sleep 0.05; done;", begun.display(), go.display());
    goal(&farm, "* * * * * *", &lasts);
    farm.wf(&["goal", "accept", "sum", "--yes"]).exits(0);
    let mut first = farm.start(&["daemon"]);
    until("the repair began", || begun.exists());
    first.kill().unwrap();
    first.wait().unwrap();
    std::fs::write(go, "").unwrap();
    let mut second = farm.start(&["daemon"]);
    until("the goal is healthy", || farm.wf(&["goal", "list"]).out.contains("healthy"));
    signal("TERM", second.id());
    second.wait().unwrap();
    assert_eq!(std::fs::read_to_string(begun).unwrap().lines().count(), 1, "the repair was done once");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}
