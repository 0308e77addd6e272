//! What a step reads of a verified result is what was verified, or it is told that it was not.

use serde_json::Value;

use crate::support::Sandbox;

/// What the leftover of `make` does to its result: wrong from when `use` has begun until it has read it.
const SWAP: &str = "until test -e copy/begun; do sleep 0.01; done; echo wrong > out/it; touch copy/wrong; \
    until test -e copy/read; do sleep 0.01; done; echo right > out/it; touch copy/right";

const READ: &str = "touch copy/begun; until test -e copy/wrong; do sleep 0.01; done; cp out/it copy/it; \
    touch copy/read; until test -e copy/right; do sleep 0.01; done";

/// A plan in which what `make` left does something while `use` works; `how` are more keys of that step.
fn plan(swap: &str, how: &str, read: &str) -> String {
    let quoted = |text: &str| serde_json::json!(text).to_string();
    let make = format!("mkdir -p out copy; echo right > out/it; setsid sh -c '{swap}' > /dev/null 2>&1 &");
    format!(
        "---\nkind: plan\nid: relied\nsteps:\n  - id: make\n    run: {}\n    artifacts: [out/it]\n    \
         verify: [{{name: right, run: grep -qx right out/it}}]\n  - id: use\n    depends_on: [make]\n    \
         {how}\n    run: {}\n    verify: [{{name: ran, run: test -e copy/begun}}]\n---\n",
        quoted(&make),
        quoted(read),
    )
}

/// Runs a plan. Returns its lines, and how some steps stand, each with a reason.
fn run<const N: usize>(sandbox: &Sandbox, plan: &str, steps: [&str; N]) -> (String, [(String, String); N]) {
    sandbox.file("plan.md", plan);
    let said = sandbox.wf(&["run", "plan.md"]).exits(0).all();
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let rows = shown["steps"].as_array().unwrap();
    let standing = |step: &str| {
        let row = rows.iter().find(|row| row["step"] == step).unwrap();
        (row["standing"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap_or_default().to_owned())
    };
    (said, steps.map(standing))
}

/// How `make` stands after a run in which what it left does something while a confined `use` works.
fn standing(swap: &str, read: &str) -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let plan = plan(swap, "allow: {write: [copy]}", read);
    let (said, [(make, _)]) = run(&sandbox, &plan, ["make"]);
    (sandbox, make, said)
}

#[test]
fn what_was_swapped_while_a_step_read_it_is_verified_no_more() {
    let (sandbox, make, said) = standing(SWAP, READ);
    // It read what was kept, but nothing else did, and at the end all is as it was.
    assert_eq!(sandbox.read("copy/it"), "right\n");
    assert_eq!(sandbox.read("out/it"), "right\n");
    assert_eq!(make, "reported", "{said}");
    assert!(said.contains("evidence of `make` is stale: out/it changed after it was checked"), "{said}");
}

#[test]
fn what_nobody_touched_stays_verified() {
    let read = "touch copy/begun; cp out/it copy/it";
    let (sandbox, make, said) = standing("sleep 1000", read);
    assert_eq!(sandbox.read("copy/it"), "right\n");
    assert_eq!(make, "verified", "{said}");
}

/// The keys of a step that reads the file itself, and has declared what it makes.
const OPEN: &str = "writes: [copy/begun, copy/it, copy/read]";

/// The reason why such a step is only reported.
const SWAPPED: &str = "`out/it` changed while this step could read it";

#[test]
fn a_step_without_allow_that_could_read_a_swapped_file_is_reported() {
    let sandbox = Sandbox::new();
    let (said, [make, reader]) = run(&sandbox, &plan(SWAP, OPEN, READ), ["make", "use"]);
    // The attack works, and at the end all is as it was.
    assert_eq!((sandbox.read("copy/it"), sandbox.read("out/it")), ("wrong\n".into(), "right\n".into()));
    assert_eq!((make.0.as_str(), reader.0.as_str()), ("verified", "reported"), "{said}");
    assert!(reader.1.starts_with(SWAPPED), "{reader:?}");
    assert!(sandbox.wf(&["show", "--last"]).exits(0).out.contains(SWAPPED));
}

#[test]
fn a_step_without_allow_stays_verified_where_nobody_swaps_or_it_declares_the_file() {
    let untouched = "touch copy/begun; cp out/it copy/it";
    let (said, steps) = run(&Sandbox::new(), &plan("sleep 1000", OPEN, untouched), ["make", "use"]);
    assert_eq!(steps.map(|step| step.0), ["verified", "verified"], "{said}");
    let changed = "touch copy/begun; echo more >> out/it";
    let declared = "writes: [copy/begun, out/it]";
    let (said, steps) = run(&Sandbox::new(), &plan("sleep 1000", declared, changed), ["make", "use"]);
    assert_eq!(steps.map(|step| step.0), ["reported", "verified"], "{said}");
    let (said, steps) = run(&Sandbox::new(), &plan("sleep 1000", OPEN, changed), ["make", "use"]);
    assert_eq!(steps.map(|step| step.0), ["reported", "reported"], "{said}");
}

#[test]
fn what_may_have_been_made_of_a_swapped_file_is_not_reused() {
    let sandbox = Sandbox::new();
    sandbox.file("copy/.keep", "");
    let cached = format!("{OPEN}\n    cache: {{inputs: [out/it], outputs: [copy/it]}}");
    let untouched = "touch copy/begun; cp out/it copy/it";
    for (swap, read, standing) in [(SWAP, READ, "reported"), ("sleep 1000", untouched, "verified")] {
        let (said, [reader]) = run(&sandbox, &plan(swap, &cached, read), ["use"]);
        assert_eq!(reader.0, standing, "{said}");
        sandbox.wf(&["retry", "--last", "--from", "use"]);
        let again = sandbox.wf(&["show", "--last"]).all();
        assert_eq!(again.contains("cached"), standing == "verified", "{again}");
    }
}
