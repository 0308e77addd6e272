//! What a step reads of a verified result is what was verified, or it is told that it was not.

use serde_json::Value;

use crate::support::Sandbox;

/// What the leftover of `make` does to its result: wrong from when `use` has begun until it has read it.
const SWAP: &str = "until test -e copy/begun; do sleep 0.01; done; echo wrong > out/it; touch copy/wrong; \
    until test -e copy/read; do sleep 0.01; done; echo right > out/it; touch copy/right";

const READ: &str = "touch copy/begun; until test -e copy/wrong; do sleep 0.01; done; cp out/it copy/it; \
    touch copy/read; until test -e copy/right; do sleep 0.01; done";

/// How `make` stands after a run in which what it left does something while `use` works.
fn standing(swap: &str, read: &str) -> (Sandbox, String, String) {
    let sandbox = Sandbox::new();
    let quoted = |text: &str| serde_json::json!(text).to_string();
    let make = format!("mkdir -p out; echo right > out/it; setsid sh -c '{swap}' > /dev/null 2>&1 &");
    sandbox.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: relied\nsteps:\n  - id: make\n    run: {}\n    artifacts: [out/it]\n    \
             verify: [{{name: right, run: grep -qx right out/it}}]\n  - id: use\n    depends_on: [make]\n    \
             allow: {{write: [copy]}}\n    run: {}\n    verify: [{{name: ran, run: test -e copy/begun}}]\n---\n",
            quoted(&make),
            quoted(read),
        ),
    );
    let said = sandbox.wf(&["run", "plan.md"]).exits(0).all();
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let steps = shown["steps"].as_array().unwrap().iter();
    let make = steps.clone().find(|step| step["step"] == "make").unwrap();
    let standing = make["standing"].as_str().unwrap().to_owned();
    (sandbox, standing, said)
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
