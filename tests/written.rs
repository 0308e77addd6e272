//! A file that only `writes` lists is evidence of its step until another task that declares it begins.

use serde_json::Value;

use crate::support::{Did, Sandbox, until};

/// A verified step that makes a file, without declaring it as an artifact.
const MAKE: &str = "  - id: make\n    run: echo right > it\n    writes: [it]\n    \
    verify: [{name: right, run: grep -qx right it}]\n";

/// What the last line of a run says about its file.
const STALE: &str = "evidence of `make` is stale: it changed after it was checked";

/// A verified step after it that does something, with more keys.
fn after(work: &str, keys: &str) -> String {
    let work = Value::from(work);
    format!(
        "  - id: use\n    depends_on: [make]\n    {keys}\n    run: {work}\n    \
         verify: [{{name: ran, run: test -s it}}]\n"
    )
}

fn plan(steps: &[&str]) -> String {
    format!("---\nkind: plan\nid: written\nsteps:\n{}---\n", steps.concat())
}

/// Runs a plan. Returns its workspace and its lines.
fn run(steps: &[&str], code: i32) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", plan(steps));
    let said = sandbox.wf(&["run", "plan.md"]).exits(code).all();
    (sandbox, said)
}

/// How the steps of the last run stand, in plan order, without those of items.
fn standings(sandbox: &Sandbox) -> Vec<String> {
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let rows = shown["steps"].as_array().unwrap().iter().filter(|row| row["item"].is_null());
    rows.map(|row| row["standing"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_process_that_a_step_left_cannot_change_its_product_unseen() {
    let left = "until test -e begun; do sleep 0.01; done; echo wrong > it; touch wrong";
    let make = MAKE.replace(
        "run: echo right > it",
        &format!("run: |\n      echo right > it\n      setsid sh -c '{left}' > /dev/null 2>&1 &"),
    );
    let wait = "touch begun; until test -e wrong; do sleep 0.01; done";
    let (sandbox, said) = run(&[&make, &after(wait, "writes: [begun, wrong]")], 0);
    assert_eq!(standings(&sandbox), ["reported", "verified"], "{said}");
    assert!(said.contains(STALE), "{said}");
}

#[test]
fn a_step_that_changes_a_product_has_to_declare_it() {
    for (keys, make) in [
        ("writes: [other]", "reported"),
        ("writes: [it]", "verified"),
        ("writes: [\"i*\"]", "verified"),
        ("allow: {write: [it]}", "verified"),
        ("artifacts: [it]", "verified"),
        ("cache: {inputs: [], outputs: [it]}", "verified"),
    ] {
        let (sandbox, said) = run(&[MAKE, &after("echo more >> it", keys)], 0);
        assert_eq!(standings(&sandbox), [make, "verified"], "{keys}: {said}");
        assert_eq!(said.contains(STALE), make == "reported", "{keys}: {said}");
    }
}

#[test]
fn a_product_that_is_removed_or_replaced_is_no_evidence_any_more() {
    for change in ["rm it; echo x > it.bak; mv it.bak other; echo y > it", "mv it old; mkdir it; touch it/x"]
    {
        let (sandbox, said) = run(&[MAKE, &after(change, "writes: [other, old]")], 0);
        assert_eq!(standings(&sandbox)[0], "reported", "{change}: {said}");
    }
}

#[test]
fn items_may_change_one_product_in_turn_and_none_that_is_of_another() {
    let each = |of: &str, file: &str| {
        format!(
            "  - id: make\n    for_each: {of}\n    run: echo right >> {file}\n    writes: [\"{file}\"]\n    \
             verify: [{{name: right, exec: [grep, -q, right, \"{file}\"]}}]\n"
        )
        .replace(
            "run: echo right >> {{ item.file }}",
            "env: {FILE: \"{{ item.file }}\"}\n    run: echo right >> $FILE",
        )
        .replace("run: echo right >> {{ item }}", "run: echo right >> $WF_ITEM")
    };
    let list = "[{file: it, n: 1}, {file: own, n: 2}, {file: it, n: 3}]";
    for (of, file) in [("[a, b, c]", "it"), (list, "{{ item.file }}")] {
        let (sandbox, said) = run(&[&each(of, file)], 0);
        assert_eq!(standings(&sandbox), ["verified"], "{said}");
    }
    for (of, file) in [("[it, own]", "{{ item }}"), (list, "{{ item.file }}"), ("[a, b]", "it")] {
        let (sandbox, said) = run(&[&each(of, file), &after("echo more >> it", "writes: [x]")], 0);
        assert_eq!(standings(&sandbox), ["reported", "verified"], "{said}");
    }
}

#[test]
fn a_retry_makes_again_what_a_person_changed() {
    let fails = "  - {id: last, depends_on: [make], run: test -e up}\n";
    let (sandbox, _) = run(&[MAKE, fails], 1);
    sandbox.file("up", "");
    let attested = || {
        let said = sandbox.wf(&["attest", "--last", "--statement"]).exits(0).out;
        let said: Value = serde_json::from_str(&said).unwrap();
        said["predicate"]["stale"].clone()
    };
    sandbox.file("it", "of a person\n");
    let said = sandbox.wf(&["retry", "--last"]).exits(0).all();
    assert!(said.contains("make · its product `it` changed since"), "{said}");
    assert_eq!(
        (sandbox.read("it"), standings(&sandbox)),
        ("right\n".into(), vec!["verified".into(), "reported".into()])
    );
    assert_eq!(attested(), serde_json::json!([]));
    sandbox.wf(&["verify", "--last"]).exits(0);
    sandbox.file("it", "right\nof a person\n");
    assert_eq!(attested()[0]["path"], "it", "{}", attested());
    sandbox.wf(&["verify", "--last"]).exits(1).says("it changed");
}

#[test]
fn a_retry_keeps_a_result_whose_product_a_step_in_turn_changed() {
    let mend = "  - id: mend\n    depends_on: [make, gate]\n    writes: [it]\n    \
        run: echo more >> it; test -e done\n    verify: [{name: more, run: grep -q more it}]\n";
    let gate = "  - {id: gate, depends_on: [make], run: test -e up}\n";
    let nested = "  - {id: make, uses: inner.md}\n";
    for make in [MAKE, nested] {
        let sandbox = Sandbox::new();
        sandbox.file("inner.md", plan(&[MAKE])).file("plan.md", plan(&[make, gate, mend]));
        sandbox.wf(&["run", "plan.md"]).exits(1);
        sandbox.file("up", "");
        for code in [1, 1, 0] {
            if code == 0 {
                sandbox.file("done", "");
            }
            let said = sandbox.wf(&["retry", "--last", "-v"]).exits(code).all();
            assert!(said.contains("make · reused from run"), "{said}");
        }
        assert_eq!(sandbox.read("it"), "right\nmore\nmore\nmore\n");
        assert_eq!(standings(&sandbox), ["verified", "reported", "verified"]);
    }
}

#[test]
fn the_products_of_a_used_plan_are_evidence_of_its_step() {
    let nested = "  - {id: make, uses: inner.md}\n";
    for (keys, make) in [("writes: [other]", "reported"), ("writes: [it]", "verified")] {
        let sandbox = Sandbox::new();
        let steps = [nested, &after("echo more >> it", keys)];
        sandbox.file("inner.md", plan(&[MAKE])).file("plan.md", plan(&steps));
        let said = sandbox.wf(&["run", "plan.md"]).exits(0).all();
        assert_eq!(standings(&sandbox), [make, "verified"], "{keys}: {said}");
    }
}

#[test]
fn a_product_that_is_a_folder_is_not_read() {
    for writes in ["lib", "lib/", "missing"] {
        let make = MAKE.replace("writes: [it]", &format!("writes: [\"i*\", {writes}]"));
        let make = make.replace("run: echo right > it", "run: echo right > it; mkdir lib; echo x > lib/x");
        let (sandbox, said) = run(&[&make, &after("echo more >> lib/x; echo more >> it", "writes: [x]")], 0);
        assert_eq!(standings(&sandbox), ["verified", "verified"], "{said}");
        let taken = "SELECT count(*) FROM events WHERE kind = 'evidence_taken'";
        let taken: u32 = sandbox.database().query_row(taken, [], |row| row.get(0)).unwrap();
        assert_eq!(taken, 0);
    }
}

#[test]
fn no_digest_of_a_product_with_a_secret_is_recorded() {
    let make = "  - id: make\n    env: {PIN: \"{{ secrets.PIN }}\"}\n    run: printf %s \"$PIN\" > it; echo x > own\n    \
        writes: [it, own]\n    verify: [{name: there, run: test -s it}]\n";
    let secret = "id: written\nsecrets: {PIN: {from: env, name: A_PIN}}\n";
    let sandbox = Sandbox::new();
    sandbox.file("plan.md", plan(&[make]).replace("id: written\n", secret));
    Did::of(sandbox.command(&["run", "plan.md"]).env("A_PIN", "pin-2718281828")).exits(0);
    assert_eq!(
        (sandbox.read("it").as_str(), standings(&sandbox)),
        ("pin-2718281828", vec!["verified".into()])
    );
    let body = "SELECT body FROM events WHERE kind = 'evidence_taken'";
    let body: String = sandbox.database().query_row(body, [], |row| row.get(0)).unwrap();
    assert!(body.contains("\"own\"") && !body.contains("\"it\""), "{body}");
}

#[test]
fn a_run_that_is_resumed_knows_which_products_are_released() {
    for (keys, make) in [("writes: [it, begun]", "verified"), ("writes: [begun]", "reported")] {
        let sandbox = Sandbox::new();
        let work = after("echo more >> it; touch begun; sleep 1", &format!("idempotent: true\n    {keys}"));
        sandbox.file("plan.md", plan(&[MAKE, &work]));
        let mut run = sandbox.start(&["run", "plan.md"]);
        until("the step has begun", || sandbox.at("begun").exists());
        run.kill().unwrap();
        run.wait().unwrap();
        let said = sandbox.wf(&["resume", "--last"]).exits(0).all();
        assert_eq!(standings(&sandbox), [make, "verified"], "{keys}: {said}");
    }
}
