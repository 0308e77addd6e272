//! A secret is used, and found nowhere afterwards.

use crate::bad_input::files;
use crate::support::Sandbox;

const SECRET: &str = "s3cr3t/pa+ss word-Ωmega";

const PLAN: &str = r#"---
kind: plan
id: leaky
secrets:
  TOKEN: {from: env, name: DEPLOY_TOKEN}
  KEY: {from: file, path: key.txt}
  MADE: {from: command, run: [printf, "made-%s", "by-command"]}
steps:
  - id: use
    env: {TOKEN: "{{ secrets.TOKEN }}", KEY: "{{ secrets.KEY }}", MADE: "{{ secrets.MADE }}"}
    run: |
      test -n "$TOKEN" && test -n "$KEY" && test ${#MADE} = 15
      echo "token is $TOKEN and key is $KEY, $MADE" >&2
      printf '%s' "$TOKEN" | base64
      printf 'x%s' "$TOKEN" | base64
      printf '%s' "$TOKEN" | od -An -tx1 | tr -d ' \n'
      printf '%s' "$TOKEN" | cut -c1-5 | tr -d '\n'; sleep 0.1; printf '%s' "$TOKEN" | cut -c6-
      printf '%s' "${WF_CORRECTION:-}" > told.json
    retry: {max: 1}
    verify:
      - {name: shows, run: "cat leaked.txt; false"}
      - {name: says, run: cat leaked.txt, expect: {equals: nothing}}
  - id: claim
    env: {TOKEN: "{{ secrets.TOKEN }}"}
    run: echo "told=$TOKEN" >> "$WF_OUTPUT"
    outputs: {told: {type: string}}
---
"#;

#[test]
fn no_form_of_a_secret_is_kept_or_shown() {
    let sandbox = Sandbox::new();
    sandbox
        .file("leaky.md", PLAN)
        .file("key.txt", "the-key-in-the-file\n");
    sandbox.file("leaked.txt", SECRET);
    sandbox.file("wf.yaml", "policy: {on_failure: continue}\n");
    let mut command = sandbox.command(&["run", "-v", "leaky.md"]);
    let output = command.env("DEPLOY_TOKEN", SECRET).output().unwrap();
    let mut seen = output.stdout;
    seen.extend(output.stderr);
    for args in [
        &["show", "--last", "--json"][..],
        &["logs", "--last"],
        &["why", "--last", "use"],
    ] {
        let did = sandbox.wf(args);
        seen.extend(did.all().into_bytes());
    }
    for (path, _) in files(&sandbox.at(".wf")) {
        seen.extend(std::fs::read(path).unwrap());
    }
    let told = sandbox.read("told.json");
    assert!(told.contains("found `***`"), "{told}");
    assert!(told.contains(r#""evidence":"***"#), "{told}");
    seen.extend(told.into_bytes());
    let hex: String = SECRET.bytes().map(|byte| format!("{byte:02x}")).collect();
    for form in [
        SECRET,
        "the-key-in-the-file",
        "made-by-command",
        &hex,
        "czNjcjN0L3BhK3NzIHdvcmQ",
        "MzY3IzdC9w",
    ] {
        let found = seen.windows(form.len()).any(|part| part == form.as_bytes());
        assert!(!found, "{form} is kept or shown");
    }
    let shown = String::from_utf8_lossy(&seen);
    assert!(
        shown.contains("token is *** and key is ***, ***"),
        "{shown}"
    );
}

#[test]
fn a_secret_that_is_not_there_is_named_and_nothing_else() {
    let sandbox = Sandbox::new();
    sandbox
        .file("leaky.md", PLAN)
        .file("key.txt", "the-key-in-the-file\n");
    sandbox
        .wf(&["run", "leaky.md"])
        .exits(1)
        .says("TOKEN")
        .says("DEPLOY_TOKEN");
}
