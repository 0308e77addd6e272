//! What a confined step cannot do itself, it may want wf to do: by links in what it leaves.

use crate::support::Sandbox;

const PLAN: &str = r#"---
kind: plan
id: deputies
policy: {max_parallel: 1, on_failure: continue}
steps:
  - id: artifact_out
    allow: {write: [a]}
    run: ln -sfn ../outside.txt a/x; ln -sfn /etc/passwd a/y
    artifacts: ["a/*"]
  - id: artifact_of_state
    allow: {write: [b]}
    run: ln -sfn ../.wf/guarded.txt b/x
    artifacts: [b/x]
  - id: artifacts_of_state
    allow: {write: [c]}
    run: ln -sfn ../.wf c/x
    artifacts: ["c/x/**"]
  - id: artifact_that_waits
    allow: {write: [d]}
    run: mkfifo d/x
    artifacts: [d/x]
  - id: existence
    allow: {write: [e]}
    run: ln -sfn /etc e/x
    verify: [{name: there, expect: {file_exists: e/x/passwd}}]
  - id: folder_of_check
    allow: {write: [f]}
    run: ln -sfn OUTSIDE f/x
    verify: [{name: there, cwd: f/x, run: cat result.txt}]
  - id: folder_of_step
    allow: {write: [f]}
    cwd: f/x
    run: cat result.txt
  - id: written_for_all
    allow: {write: [g/../../../outside]}
    run: "true"
---
"#;

#[test]
fn nobody_has_it_done_by_wf() {
    let outside = Sandbox::new();
    outside.file("result.txt", "canary-of-deputies");
    let plan = PLAN.replace("OUTSIDE", &outside.path().display().to_string());
    let sandbox = Sandbox::new();
    sandbox.file(".wf/guarded.txt", "canary-of-deputies");
    let (plan, _) = plan.split_once("  - id: written_for_all").unwrap();
    let plan = format!("{plan}---\n");
    sandbox.file("plan.md", plan);
    let did = sandbox.wf(&["run", "plan.md"]).exits(1);
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0).out;
    for step in [
        "artifact_out",
        "artifact_of_state",
        "artifacts_of_state",
        "artifact_that_waits",
        "existence",
        "folder_of_check",
        "folder_of_step",
    ] {
        let failed =
            did.all().lines().any(|line| line.contains(" failed ") && line.contains(&format!("  {step}")));
        println!("{step:<24} {}", if failed { "stopped" } else { "GOT THROUGH" });
        assert!(failed, "{step} got through:\n{}", did.all());
    }
    assert!(!shown.contains("canary") && !shown.contains("\"digest\""), "{shown}");
    sandbox.file("up.md", PLAN);
    sandbox.wf(&["check", "up.md"]).exits(3);
}

/// What is brought back from the cache is not written through a link that a step put there.
#[test]
fn nothing_is_brought_back_through_a_link() {
    let outside = Sandbox::new();
    outside.file("result.txt", "precious");
    let sandbox = Sandbox::new();
    let plan = format!(
        "---\nkind: plan\nid: back\npolicy: {{max_parallel: 1}}\nparams: {{link: {{type: boolean, default: false}}}}\nsteps:\n\
         \x20 - id: lay\n    allow: {{write: [out]}}\n    run: rm -rf out/sub; if $WF_PARAM_LINK; then ln -s {} out/sub; else mkdir out/sub; fi\n\
         \x20 - id: build\n    depends_on: [lay]\n    allow: {{write: [out]}}\n    run: echo built > out/sub/result.txt\n\
         \x20   cache: {{inputs: [], outputs: [out/sub/result.txt]}}\n---\n",
        outside.path().display()
    );
    sandbox.file("plan.md", plan.replace("-p", ""));
    sandbox.wf(&["run", "plan.md"]).exits(0);
    let did = sandbox.wf(&["run", "plan.md", "-p", "link=true"]);
    assert_eq!(outside.read("result.txt"), "precious", "{}", did.all());
}
