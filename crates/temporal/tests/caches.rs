//! The cache of runs on a backend: a result is reused wherever and whenever it was made, as here.

use crate::{
    farm::Farm,
    mirrors::{compare_with_state, copy},
    programs::Did,
};

/// A plan whose steps are cached. Each time that one works, or is checked, is marked.
const PLAN: &str = r#"steps:
  - id: build
    cache: {inputs: [in.txt], outputs: [out/made.txt]}
    artifacts: [out/made.txt]
    run: 'echo x >> "MARKS/built"; mkdir -p out; cat in.txt > out/made.txt; echo n=3 >> "$WF_OUTPUT"'
    outputs: {n: {type: integer}}
    verify: [{name: made, run: grep -q . out/made.txt}]
  - id: parts
    depends_on: [build]
    for_each: [a, b]
    cache: {inputs: [out/made.txt], outputs: ["out/{{ item }}.txt"]}
    run: 'echo x >> "MARKS/built"; cp out/made.txt "out/$WF_ITEM.txt"'
  - {id: all, depends_on: [parts], run: cat out/a.txt out/b.txt}
  - {id: below, depends_on: [all], uses: below.md}"#;

const BELOW: &str = r#"steps:
  - id: deep
    cache: {inputs: [in.txt], outputs: [out/deep.txt]}
    run: 'echo x >> "MARKS/built"; cp in.txt out/deep.txt'"#;

/// A farm with the plan, and one worker.
fn farm() -> Farm {
    let farm = Farm::new(1);
    let marks = farm.path("marks");
    std::fs::create_dir(&marks).unwrap();
    for (id, text) in [("build", PLAN), ("below", BELOW)] {
        farm.plan(id, &text.replace("MARKS", marks.to_str().unwrap()));
    }
    farm.file("in.txt", "one\n");
    farm
}

/// Returns how often a step worked.
fn works(farm: &Farm) -> usize {
    std::fs::read_to_string(farm.path("marks/built")).unwrap_or_default().lines().count()
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_one_host_made_another_reuses_as_the_workspace_would() {
    let mut farm = farm();
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    assert_eq!(works(&farm), 4);
    let first = farm.run();
    assert_eq!(farm.count(&first, "cache_hit", None), 0);
    farm.wf(&["why", &first, "build"]).exits(0);
    farm.kill_host("w1");
    farm.start_worker("w2");
    std::fs::remove_dir_all(farm.path("space/out")).unwrap();
    // There by the object store, here by what came back to the workspace.
    assert_eq!(compare_with_state(&farm, &["run", "--json", "build.md"]), Some(0));
    assert_eq!(works(&farm), 4);
    let run = farm.run();
    assert_eq!((farm.count(&run, "cache_hit", None), farm.count(&run, "attempt_started", None)), (3, 2));
    farm.wf(&["why", &run, "build"]).exits(0).says(&first[..8]);
    assert_eq!(std::fs::read_to_string(farm.path("space/out/made.txt")).unwrap(), "one\n", "it came back");
    farm.file("in.txt", "two\n");
    assert_eq!(compare_with_state(&farm, &["run", "--json", "build.md"]), Some(0));
    assert_eq!(works(&farm), 12, "its inputs changed, for both");
    farm.wf(&["why", &farm.run(), "build"]).exits(0).says("in.txt");
    farm.wf(&["audit", "verify"]).exits(0).says("valid");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_was_made_here_is_reused_there() {
    let farm = farm();
    farm.wf(&["run", "build.md"]).exits(0);
    std::fs::remove_dir_all(farm.path("space/out")).unwrap();
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    assert_eq!(works(&farm), 4);
    farm.wf(&["run", "--no-cache", "--on", "farm", "build.md"]).exits(0);
    assert_eq!(works(&farm), 8, "nothing is looked for");
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_one_workspace_made_another_reuses() {
    let farm = farm();
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    let (first, other) = (farm.run(), farm.path("other"));
    copy(&farm.path("space"), &other);
    let wf = |args: &[&str]| Did::of(&mut farm.command_in(&other, args));
    wf(&["run", "--on", "farm", "build.md"]).exits(0).says("cached");
    assert_eq!(works(&farm), 4);
    wf(&["show", "--last"]).exits(0);
    wf(&["why", "--last", "build"]).exits(0).says(&first[..8]);
    wf(&["audit", "verify"]).exits(0).says("valid");
    // What was found is known there from now on.
    wf(&["run", "build.md"]).exits(0).says("cached");
    assert_eq!(works(&farm), 4);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_result_that_was_altered_is_made_anew() {
    let farm = farm();
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    for object in walk(&farm.path("objects/sha256")) {
        if std::fs::read(&object).unwrap() == b"one\n" {
            std::fs::write(&object, "bad\n").unwrap();
        }
    }
    // The file of the workspace is stored anew by the next run, and with it the object.
    farm.file("in.txt", "two\n");
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    for object in walk(&farm.path("objects/results")) {
        std::fs::write(&object, "sha256:00").unwrap();
    }
    std::fs::remove_dir_all(farm.path("space/.wf")).unwrap();
    farm.wf(&["run", "--on", "farm", "build.md"]).exits(0);
    assert_eq!(works(&farm), 12);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn a_result_with_a_secret_is_not_kept() {
    let mut farm = Farm::new(0);
    for name in ["w1", "w2"] {
        farm.start_worker_with(name, &[("TOKEN", "s3cr3t-token-of-the-test")]);
    }
    let step = r#"secrets: {TOKEN: {from: env, name: TOKEN}}
steps:
  - id: leaks
    cache: {inputs: [], outputs: [out.txt]}
    env: {TOKEN: "{{ secrets.TOKEN }}"}
    run: printf '%s' "$TOKEN" > out.txt"#;
    farm.plan("leaks", step);
    farm.wf(&["run", "--on", "farm", "leaks.md"]).exits(0).says("`out.txt` contains a secret");
    let run = farm.run();
    assert!(!farm.path("objects/results").exists(), "no result is shared");
    farm.wf(&["run", "--on", "farm", "leaks.md"]).exits(0);
    assert_eq!(farm.count(&farm.run(), "cache_hit", None), 0);
    farm.wf(&["why", &run, "leaks"]).exits(0);
}

/// Returns the files below a folder.
pub fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] })
        .collect()
}
