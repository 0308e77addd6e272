//! A scene in which a run makes a plan and runs it.

use serde_json::json;

use super::plans::Scene;

/// The plan of a run that makes another.
const OUTER: &str = r#"---
kind: plan
id: outer
steps:
  - id: write
    idempotent: true
    allow: {write: [ran.txt]}
    run: echo write >> ran.txt; cat made.json >> "$WF_OUTPUT"
    outputs: {plan: {type: string}}
  - id: work
    depends_on: [write]
    uses:
      text: "{{ steps.write.outputs.plan }}"
      within: {allow: {write: [ran.txt]}, max_steps: 3}
    with: {word: w}
    outputs: {said: {type: string}}
    verify: [{name: there, run: grep -qx "a w" ran.txt}]
  - id: last
    idempotent: true
    depends_on: [work]
    env: {SAID: "{{ steps.work.outputs.said }}"}
    run: echo "last $SAID" >> ran.txt
---
"#;

/// The plan that it makes.
const MADE: &str = r#"---
kind: plan
id: made
params: {word: {type: string}}
steps:
  - {id: a, idempotent: true, allow: {write: [ran.txt]}, run: "echo \"a $WF_PARAM_WORD\" >> ran.txt"}
  - id: b
    idempotent: true
    depends_on: [a]
    allow: {write: [ran.txt]}
    outputs: {said: {type: string}}
    run: |
      echo "b $WF_PARAM_WORD" >> ran.txt
      echo "said=$WF_PARAM_WORD!" >> "$WF_OUTPUT"
finally:
  - {id: c, idempotent: true, allow: {write: [ran.txt]}, run: "echo \"c $WF_PARAM_WORD\" >> ran.txt"}
outputs: {said: {value: "{{ steps.b.outputs.said }}", type: string}}
---
"#;

pub fn scene() -> Scene {
    let files = vec![
        ("plan.md", OUTER.into()),
        ("made.json", json!({ "plan": MADE }).to_string()),
        ("ran.txt", String::new()),
    ];
    Scene { name: "generated plan", files, code: 0 }
}
