//! Results that a retry reuses are held to the same as those of its own steps.

use serde_json::Value;

use crate::support::{Sandbox, until};

/// A plan with a verified result, a step that fails until `up` is there and then writes over the file of that result,
/// and a confined step that reads it. `built` is the step with the result; its file is `FILE`.
fn retried(built: &str, file: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.file("inner.md", INNER);
    sandbox.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: p\nsteps:\n{built}  - id: mid\n    depends_on: [build]\n    \
             run: test -e up && echo evil > {file}\n  - id: ship\n    depends_on: [build, mid]\n    \
             allow: {{}}\n    run: cat {file}\n    verify: [{{name: ran, run: \"true\"}}]\n\
             verify: [{{name: there, run: test -s {file}}}]\n---\n"
        ),
    );
    sandbox.wf(&["run", "-q", "plan.md"]).exits(1);
    sandbox.file("up", "");
    let said = sandbox.wf(&["retry", "--last", "-v"]).exits(0).all();
    (sandbox, said)
}

const BUILD: &str = "  - id: build\n    run: echo good > a.bin\n    artifacts: [a.bin]\n    \
    verify: [{name: good, run: grep -qx good a.bin}]\n";

/// Of two items the second fails at first.
const ITEMS: &str = "  - id: build\n    for_each: [a, b]\n    max_parallel: 1\n    \
    run: test \"$WF_ITEM\" = a || test -e up || exit 1; echo good > $WF_ITEM.bin\n    \
    artifacts: [\"{{ item }}.bin\"]\n    verify: [{name: good, exec: [grep, -qx, good, \"{{ item }}.bin\"]}]\n";

const NESTED: &str = "  - id: build\n    uses: inner.md\n";

const INNER: &str = "---\nkind: plan\nid: inner\nsteps:\n  - id: make\n    run: echo good > a.bin\n    \
    artifacts: [a.bin]\n    verify: [{name: good, run: grep -qx good a.bin}]\n---\n";

fn json(sandbox: &Sandbox, args: &[&str]) -> Value {
    serde_json::from_str(&sandbox.wf(args).out).unwrap()
}

/// How each result stands, by the name of its step; of the run by an empty name.
fn standings(sandbox: &Sandbox) -> Vec<(String, String)> {
    let shown = json(sandbox, &["show", "--last", "--json"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = shown["steps"].as_array().unwrap().iter();
    let steps = steps.map(|step| (text(&step["step"]) + &step["item"].to_string(), text(&step["standing"])));
    steps.chain([(String::new(), text(&shown["run"]["standing"]))]).collect()
}

#[test]
fn what_changed_after_a_retry_began_is_verified_no_more_and_read_as_it_was() {
    for built in [BUILD, NESTED] {
        let (sandbox, said) = retried(built, "a.bin");
        assert!(said.contains("build · reused from run"), "{said}");
        assert!(said.contains("ship │ good"), "{said}");
        assert!(said.contains("stale            build · a.bin changed after it was checked"), "{said}");
        let standings = standings(&sandbox);
        assert!(standings.contains(&("buildnull".into(), "reported".into())), "{standings:?}");
        assert!(standings.contains(&(String::new(), "reported".into())), "{standings:?}");
    }
}

#[test]
fn a_reused_item_that_changed_is_verified_no_more() {
    let (sandbox, said) = retried(ITEMS, "a.bin");
    assert!(said.contains("build[a] · reused from run"), "{said}");
    assert!(said.contains("stale            build[a] · a.bin changed after it was checked"), "{said}");
    let standings = standings(&sandbox);
    assert!(standings.contains(&("build0".into(), "reported".into())), "{standings:?}");
    assert!(standings.contains(&("build1".into(), "verified".into())), "{standings:?}");
    assert!(standings.contains(&(String::new(), "reported".into())), "{standings:?}");
}

#[test]
fn a_retry_that_is_resumed_still_knows_what_its_results_were_checked_with() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: p\nsteps:\n{BUILD}  - id: ask\n    depends_on: [build]\n    \
             run: test -e up && touch begun && sleep 1\n    idempotent: true\n---\n"
        ),
    );
    sandbox.wf(&["run", "-q", "plan.md"]).exits(1);
    sandbox.file("up", "");
    let mut retry = sandbox.start(&["retry", "--last"]);
    until("the retry has begun", || sandbox.at("begun").exists());
    retry.kill().unwrap();
    retry.wait().unwrap();
    sandbox.file("a.bin", "evil\n");
    let said = sandbox.wf(&["resume", "--last", "-v"]).exits(0).all();
    assert!(said.contains("a.bin changed after it was checked"), "{said}");
}

#[test]
fn reused_items_and_what_was_nested_in_reused_results_are_verified_again() {
    let sandbox = Sandbox::new();
    sandbox.file("inner.md", INNER.replace("a.bin", "in.bin"));
    let nested = NESTED.replace("build", "nest");
    let last = "  - id: last\n    depends_on: [build, nest]\n    run: test -e end\n";
    sandbox.file("plan.md", format!("---\nkind: plan\nid: p\nsteps:\n{ITEMS}{nested}{last}---\n"));
    sandbox.wf(&["run", "-q", "plan.md"]).exits(1);
    sandbox.file("up", "");
    // Now one item is reused, then the whole step and the nested plan.
    sandbox.wf(&["retry", "--last", "-q"]).exits(1);
    for changed in [&["a.bin"][..], &["b.bin", "in.bin"]] {
        sandbox.wf(&["verify", "--last"]).exits(0).says("passed: 3 of 3");
        for file in changed {
            sandbox.file(file, "evil\n");
        }
        let said = sandbox.wf(&["verify", "--last"]).exits(1).all();
        for file in changed {
            let name = if *file == "in.bin" { "nest/make" } else { &format!("build[{}]", &file[..1]) };
            let line = said.lines().find(|line| line.starts_with(name)).unwrap();
            assert!(line.contains("fail"), "{said}");
            sandbox.file(file, "good\n");
        }
        sandbox.file("end", "");
        sandbox.wf(&["retry", "--last", "-q"]);
    }
}

#[test]
fn a_retry_has_the_artifacts_of_the_results_that_it_reuses() {
    for built in [BUILD, NESTED] {
        let (sandbox, _) = retried(built, "a.bin");
        assert_eq!(sandbox.wf(&["show", "--last", "--artifact", "a.bin"]).exits(0).out, "good\n");
        let statement = json(&sandbox, &["attest", "--last", "--statement"]);
        assert_eq!(statement["subject"][0]["name"], "a.bin", "{statement}");
        assert_eq!(statement["predicate"]["stale"][0]["path"], "a.bin", "{statement}");
    }
}

/// A step that replaces its file by one that is named after the version.
const VERSIONED: &str = "---\nkind: plan\nid: v\nsteps:\n  - id: build\n    \
    cache: {inputs: [version], outputs: [\"dist/**\"]}\n    \
    run: rm -rf dist; mkdir dist; cp version dist/$(cat version)\n  - id: ship\n    depends_on: [build]\n    \
    run: ls dist\n---\n";

#[test]
fn a_cached_result_is_not_mixed_with_another_one() {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", VERSIONED);
    let ship = |version: &str| {
        sandbox.file("version", version);
        sandbox.wf(&["run", "-v", "plan.md"]).exits(0).all()
    };
    ship("one");
    let two = ship("two");
    assert!(two.contains("ship │ two") && !two.contains("ship │ one"), "{two}");
    let one = ship("one");
    assert!(one.contains("ship │ one") && !one.contains("ship │ two"), "{one}");
    sandbox.wf(&["why", "--last", "build"]).exits(0).says("`dist/two` is of another result of the step");
    // What a tool puts there is nobody's result.
    sandbox.file("dist/.tool/state", "");
    sandbox.wf(&["run", "-v", "plan.md"]).exits(0).says("cached");
}

#[test]
fn a_result_whose_artifacts_retention_removed_is_made_again_and_a_reused_one_names_its_run() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "plan.md",
        format!("---\nkind: plan\nid: p\nsteps:\n{ITEMS}  - {{id: ship, depends_on: [build], run: test -e ships}}\n---\n"),
    );
    sandbox.file("up", "");
    sandbox.wf(&["run", "-q", "plan.md"]).exits(1);
    let first = json(&sandbox, &["show", "--last", "--json"])["run"]["id"].as_str().unwrap().to_owned();
    sandbox.wf(&["retry", "--last"]).exits(1).says("reused");
    let logs = sandbox.wf(&["logs", "--last", "build"]).exits(2);
    logs.says("`build` of run ").says(&format!("was reused from run {}", &first[..8])).says("wf logs ");
    // The files of the newest run stay, and those that are younger than an hour.
    let small = "steps:\n  - {id: a, run: echo x > small.bin, artifacts: [small.bin]}\n---\n";
    sandbox.file("small.md", format!("---\nkind: plan\nid: small\n{small}"));
    sandbox.wf(&["run", "-q", "small.md"]).exits(0);
    sandbox.file("wf.yaml", "retention: {max_artifact_bytes: 1}\n");
    let age = "find .wf/blobs -type f -exec touch -d 2020-01-01 {} +";
    assert!(sandbox.program("sh").args(["-c", age]).status().unwrap().success());
    sandbox.wf(&["run", "-q", "small.md"]).exits(0);
    sandbox.file("ships", "");
    let said = sandbox.wf(&["retry", &first, "-v"]).exits(0).all();
    assert!(said.contains("was removed by `retention`"), "{said}");
}
