//! Runs inside runs do on a backend what they do here: the same events and the same record of each.

use crate::{farm::Farm, mirrors::compare_all};

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn plans_that_run_plans_do_there_what_they_do_here() {
    let farm = Farm::new(2);
    let used = [("shaky", SHAKY), ("sleeps", SLEEPS), ("claim", CLAIM), ("reads", READS), ("spends", SPENDS)];
    for (id, text) in used {
        farm.plan(id, text);
    }
    let plans = [
        ("inner", 0, INNER),
        ("middle", 0, MIDDLE),
        ("outer", 0, OUTER),
        ("failing", 1, FAILING),
        ("slow", 1, SLOW),
        ("claims", 0, CLAIMS),
        ("kept", 0, KEPT),
        ("budget", 1, BUDGET),
    ];
    compare_all(&farm, &plans);
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn plans_that_a_run_makes_do_there_what_they_do_here() {
    let farm = Farm::new(2);
    farm.file("plan.txt", GENERATED).file("write.py", WRITE);
    farm.file("proposal.json", PROPOSAL).file("parts.txt", "bolts 2\nnuts 3\n");
    compare_all(&farm, &[("made", 0, MADE), ("refused", 1, REFUSED), ("appended", 0, APPENDED)]);
}

const INNER: &str = r#"params: {word: {type: string, default: none}, times: {type: integer, default: 1}}
outputs: {said: {value: "{{ steps.say.outputs.said }}", type: string}}
steps:
  - id: say
    run: |
      mkdir -p said
      echo "$WF_PARAM_WORD" > "said/$WF_PARAM_WORD.txt"
      echo "said=$WF_PARAM_WORD$WF_PARAM_TIMES" >> "$WF_OUTPUT"
    outputs: {said: {type: string}}
    artifacts: ["said/{{ params.word }}.txt"]
    verify: [{name: there, run: ls said, expect: {contains: .txt}}]"#;

const MIDDLE: &str = r#"params: {word: {type: string, default: mid}}
outputs: {said: {value: "{{ steps.one.outputs.said }}", type: string}}
steps:
  - {id: first, run: "echo first > \"first-$WF_PARAM_WORD.txt\"", artifacts: ["first-{{ params.word }}.txt"]}
  - id: one
    depends_on: [first]
    uses: inner.md
    with: {word: "{{ params.word }}", times: 2}
  - {id: look, depends_on: [one], run: "cat \"said/$WF_PARAM_WORD.txt\""}"#;

const OUTER: &str = r#"policy: {max_parallel: 3}
params: {words: {type: array, items: {type: string}, default: [a, b, c]}}
outputs: {all: {value: "{{ steps.all.outputs.text }}", type: string}}
steps:
  - id: many
    for_each: params.words
    uses: middle.md
    with: {word: "{{ item }}"}
  - id: all
    depends_on: [many]
    env: {SAID: "{{ steps.many.outputs.said }}"}
    run: cat said/a.txt said/b.txt said/c.txt first-a.txt; echo "text=$SAID" >> "$WF_OUTPUT"
    outputs: {text: {type: string}}
    verify: [{name: three, run: ls said, expect: {contains: c.txt}}]"#;

const FAILING: &str = r#"steps:
  - id: shaky
    uses: shaky.md
    retry: {max: 2, backoff: 10ms, on: [logical]}
  - {id: never, depends_on: [shaky], run: "true"}
finally:
  - {id: clean, uses: inner.md, with: {word: clean}}"#;

const SLOW: &str = r"steps:
  - {id: slow, uses: sleeps.md, timeout: 1500ms}";

const MADE: &str = r#"steps:
  - id: write
    exec: [python3, write.py]
    allow: {}
    outputs: {text: {type: string}}
  - id: work
    depends_on: [write]
    uses:
      text: "{{ steps.write.outputs.text }}"
      within: {executors: [run], allow: {write: [out]}, max_steps: 3}
    with: {name: robin}
    outputs: {greeted: {type: integer}}
  - {id: after, depends_on: [work], run: "cat out/hello.txt"}"#;

const REFUSED: &str = r#"steps:
  - id: write
    exec: [python3, write.py]
    allow: {}
    outputs: {text: {type: string}}
  - id: work
    depends_on: [write]
    uses:
      text: "{{ steps.write.outputs.text }}"
      within: {executors: [run], allow: {write: [elsewhere]}, max_steps: 3}
    with: {name: robin}"#;

const CLAIMS: &str = r#"policy: {max_parallel: 3}
steps:
  - {id: many, for_each: [1, 2, 3], uses: claim.md}
  - {id: all, depends_on: [many], run: 'test "$(cat shared/count.txt)" = 3'}"#;

/// What a nested run verified is read as it was verified, whatever was done to it since, by whatever worker.
const KEPT: &str = r"policy: {max_parallel: 8}
steps:
  - {id: make, uses: inner.md, with: {word: a}}
  - {id: spoil, depends_on: [make], run: echo spoiled > said/a.txt}
  - {id: read, depends_on: [make, spoil], for_each: [1, 2, 3, 4], allow: {}, run: grep -qx a said/a.txt}
  - {id: below, depends_on: [read], uses: reads.md}";

const READS: &str = r"steps:
  - {id: read, for_each: [1, 2, 3, 4], allow: {}, run: grep -qx a said/a.txt}";

const BUDGET: &str = r"budget: {max_attempts: 6, reserve: 0}
policy: {max_parallel: 1}
steps:
  - {id: one, uses: spends.md}
  - {id: two, depends_on: [one], uses: spends.md}
  - {id: three, depends_on: [two], run: echo never}";

const SPENDS: &str = r#"steps:
  - {id: a, run: echo "usage.tokens=10" >> "$WF_OUTPUT"}
  - {id: b, depends_on: [a], run: echo b}"#;

/// A plan that fails, the first time by a step and then by a check.
const SHAKY: &str = r#"steps:
  - {id: tries, run: 'echo x >> tries.txt; test "$(wc -l < tries.txt)" -gt 1'}
  - {id: next, depends_on: [tries], run: "echo wrong", verify: [{name: right, run: "false"}]}"#;

const SLEEPS: &str = r"steps:
  - {id: sleeps, run: sleep 60}
finally:
  - {id: clean, run: echo cleaned}";

const GENERATED: &str = r#"---
kind: plan
id: greet
params: {name: {type: string}}
steps:
  - id: greet
    run: mkdir -p out; echo "hello $WF_PARAM_NAME" > out/hello.txt; echo "greeted=1" >> "$WF_OUTPUT"; echo "more=2" >> "$WF_OUTPUT"
    allow: {write: [out]}
    outputs: {greeted: {type: integer}, more: {type: integer}}
    verify: [{name: there, run: test -s out/hello.txt}]
outputs:
  greeted: {value: "{{ steps.greet.outputs.greeted }}", type: integer}
  more: {value: "{{ steps.greet.outputs.more }}", type: integer}
---
# Greet
"#;

const WRITE: &str = r#"import json, os
print(json.dumps({"text": open("plan.txt").read()}), file=open(os.environ["WF_OUTPUT"], "a"))
"#;

/// A plan whose open step gets its plan from the planner, in the second round.
const APPENDED: &str = r"replan: {max_replans: 1, strict: true}
planner: {exec: [cat, proposal.json]}
steps:
  - {id: list, writes: [out], run: mkdir -p out && cp parts.txt out/report.txt}
  - id: fixes
    depends_on: [list]
    uses: {within: {allow: {write: [out]}, executors: [run], max_steps: 3}}
  - {id: publish, depends_on: [fixes], writes: [published.txt], run: cp out/report.txt published.txt}
verify:
  - {name: has_total, run: grep -q '^total 5$' published.txt}";

const PROPOSAL: &str = r#"{"reason": "a total is missing", "steps": {"fixes": {"id": "total", "plan":
"---\nkind: plan\nid: total\nsteps:\n  - id: add\n    run: echo total 5 >> out/report.txt\n    allow: {write: [out]}\n---\n"}}}"#;

/// Tasks of several runs that change the same file, which are right if they take turns.
const CLAIM: &str = r"steps:
  - id: count
    run: |
      mkdir -p shared
      before=$(cat shared/count.txt 2>/dev/null || echo 0)
      sleep 0.2
      echo $((before + 1)) > shared/count.txt
    writes: [shared/count.txt]";
