//! What is killed: plans of every shape, whose steps leave a line when they run.

/// A plan, with the files that it needs.
pub struct Scene {
    pub name: &'static str,
    /// Its files; the first is the plan.
    pub files: Vec<(&'static str, String)>,
    /// How it ends.
    pub code: i32,
}

/// Every scene.
pub fn scenes() -> Vec<Scene> {
    vec![
        scene("chain", 0, chain(6)),
        scene("fan", 0, layered(1, &[6, 1])),
        scene("layered 1", 0, layered(7, &[2, 3, 2, 2])),
        scene("layered 2", 0, layered(11, &[1, 4, 4, 1])),
        scene("items", 0, ITEMS.into()),
        scene("retries", 0, RETRIES.into()),
        scene("corrected", 0, CORRECTED.into()),
        scene("failure", 1, FAILURE.into()),
        scene("locks", 0, LOCKS.into()),
        scene("kept files", 0, FILES.into()),
        Scene {
            name: "nested",
            files: vec![("plan.md", NESTED.into()), ("inner.md", INNER.into())],
            code: 0,
        },
        super::generated::scene(),
        Scene {
            name: "agent",
            files: vec![
                ("plan.md", AGENT.into()),
                ("wf.yaml", MODELS.into()),
                ("replies.yaml", REPLIES.into()),
                ("ran.txt", String::new()),
            ],
            code: 0,
        },
        Scene {
            name: "child runs",
            files: vec![
                ("plan.md", DISPATCH.into()),
                ("inner.md", CHILD.into()),
                ("wf.yaml", MODELS.into()),
                ("replies.yaml", DISPATCH_REPLIES.into()),
                ("ran.txt", String::new()),
            ],
            code: 0,
        },
        Scene {
            name: "program",
            files: vec![
                ("plan.md", PROGRAM.into()),
                ("wf.yaml", MODELS.into()),
                ("replies.yaml", PROGRAM_REPLIES.into()),
                ("agent.py", include_str!("../../examples/agent-program/agent.py").into()),
                ("ran.txt", String::new()),
            ],
            code: 0,
        },
    ]
}

fn scene(name: &'static str, code: i32, plan: String) -> Scene {
    Scene { name, files: vec![("plan.md", plan)], code }
}

fn head(id: &str) -> String {
    format!("---\nkind: plan\nid: {id}\npolicy: {{max_parallel: 3}}\nsteps:\n")
}

/// A step that counts on from the steps before it.
fn step(id: &str, needs: &[String]) -> String {
    let env: Vec<String> = (needs.iter().enumerate())
        .map(|(at, need)| format!("N{at}: \"{{{{ steps.{need}.outputs.n }}}}\""))
        .collect();
    let sum: String = (0..needs.len()).map(|at| format!(" + N{at}")).collect();
    format!(
        "  - id: {id}\n    idempotent: true\n    depends_on: [{}]\n    env: {{{}}}\n    \
         outputs: {{n: {{type: integer}}}}\n    writes: [ran.txt]\n    run: |\n      echo {id} >> ran.txt\n      \
         echo \"n=$((1{sum}))\" >> \"$WF_OUTPUT\"\n    \
         verify: [{{name: there, run: grep -qx {id} ran.txt}}]\n",
        needs.join(", "),
        env.join(", "),
    )
}

fn chain(length: usize) -> String {
    let mut text = head("chain");
    for at in 0..length {
        let needs: Vec<String> = at.checked_sub(1).map(|at| format!("s{at}")).into_iter().collect();
        text += &step(&format!("s{at}"), &needs);
    }
    text + "---\n"
}

/// A graph in layers; which steps of the layer before a step needs is decided by a seed.
fn layered(seed: u64, widths: &[usize]) -> String {
    let mut text = head("layered");
    let mut state = seed;
    let mut above: Vec<String> = Vec::new();
    for (layer, width) in widths.iter().enumerate() {
        let mut row = Vec::new();
        for at in 0..*width {
            let id = format!("s{layer}x{at}");
            let needs = above.iter().filter(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                state >> 33 & 1 == 1 || *width == 1
            });
            text += &step(&id, &needs.cloned().collect::<Vec<_>>());
            row.push(id);
        }
        above = row;
    }
    text + "---\n"
}

const ITEMS: &str = r#"---
kind: plan
id: items
policy: {max_parallel: 2}
steps:
  - id: list
    idempotent: true
    outputs: {names: {type: array, items: {type: string}}}
    run: |
      echo list >> ran.txt
      echo 'names=["a","b","c","d"]' >> "$WF_OUTPUT"
  - id: each
    idempotent: true
    depends_on: [list]
    for_each: steps.list.outputs.names
    outputs: {up: {type: string}}
    writes: [ran.txt]
    run: |
      echo "each $WF_ITEM" >> ran.txt
      echo "up=$WF_ITEM$WF_ITEM" >> "$WF_OUTPUT"
    verify: [{name: there, run: grep -q each ran.txt}]
  - id: join
    idempotent: true
    depends_on: [each]
    env: {ALL: "{{ steps.each.outputs.up }}"}
    run: echo "join $ALL" >> ran.txt
---
"#;

/// An agent whose first attempt is refuted, and whose answer is repaired. A tool call of another kind than these might be
/// under way when the engine dies, and is then not made again.
const AGENT: &str = r"---
kind: plan
id: agent
steps:
  - id: fix
    agent: {role: executor, tools: [read, list, write], max_turns: 6}
    allow: {write: [ran.txt]}
    retry: {max: 9, backoff: 10ms, on: [logical]}
    outputs: {summary: {type: string}}
    verify: [{name: done, run: grep -qx second ran.txt}]
---

## fix

Write what is asked for.
";

/// An agent that starts child runs, of which one waits for another.
const DISPATCH: &str = r"---
kind: plan
id: dispatch
steps:
  - id: lead
    agent: {role: executor, tools: [dispatch, collect], dispatch: {plans: [inner.md], max_parallel: 2}}
    outputs: {summary: {type: string}}
---

## lead

Start what is asked for.
";

const CHILD: &str = r#"---
kind: plan
id: inner
params: {word: {type: string}}
steps:
  - {id: say, idempotent: true, run: echo "say $WF_PARAM_WORD" >> ran.txt}
  - {id: again, idempotent: true, depends_on: [say], run: echo "again $WF_PARAM_WORD" >> ran.txt}
---
"#;

const DISPATCH_REPLIES: &str = r#"
- replies:
    - tool_calls:
        - {tool: dispatch, arguments: {id: one, plan: inner, params: {word: one}}}
        - {tool: dispatch, arguments: {id: two, plan: inner, params: {word: two}}}
        - {tool: dispatch, arguments: {id: three, plan: inner, params: {word: three}, depends_on: [one]}}
    - tool_calls: [{tool: collect, arguments: {id: two}}]
    - tool_calls: [{tool: collect, arguments: {id: all}}]
    - text: '{"summary": "all ran"}'
"#;

/// A program that works as an agent, begins anew after each crash, and whose first attempt is refuted.
const PROGRAM: &str = r"---
kind: plan
id: program
steps:
  - id: fix
    agent: {role: executor, engine: command, command: [python3, agent.py], max_turns: 40}
    allow: {write: [ran.txt]}
    retry: {max: 9, backoff: 10ms, on: [logical, environmental]}
    outputs: {summary: {type: string}}
    verify: [{name: done, run: grep -qx second ran.txt}]
---

## fix

Write what is asked for.
";

const PROGRAM_REPLIES: &str = r#"
- when: Previous attempt
  replies:
    - tool_calls: [{tool: run, arguments: {script: "echo second > ran.txt"}}]
    - text: '{"summary": "written"}'
- replies:
    - tool_calls: [{tool: run, arguments: {script: cat ran.txt}}, {tool: run, arguments: {script: "echo first > ran.txt"}}]
    - text: '{"summary": "written"}'
"#;

const MODELS: &str = r"models: {m: {api: scripted, model: replies.yaml, price: {input: 1, output: 2}}}
roles: {executor: m}
";

const REPLIES: &str = r#"
- when: Previous attempt
  replies:
    - tool_calls:
        - {tool: list, arguments: {}}
        - {tool: write, arguments: {path: ran.txt, text: "second\n"}}
    - text: done
    - text: '{"summary": "written"}'
- replies:
    - tool_calls: [{tool: read, arguments: {path: plan.md}}, {tool: unknown, arguments: {}}]
    - tool_calls: [{tool: write, arguments: {path: ran.txt, text: "first\n"}}]
    - text: '{"summary": "written"}'
"#;

const RETRIES: &str = r#"---
kind: plan
id: retries
steps:
  - id: third_time
    retry: {max: 4, backoff: 10ms, on: [logical, interrupted]}
    run: |
      echo "try $WF_ATTEMPT" >> ran.txt
      echo x >> tries
      test "$(wc -l < tries)" -ge 3
  - id: after
    idempotent: true
    depends_on: [third_time]
    run: echo after >> ran.txt
---
"#;

/// It succeeds only if every attempt is told what its checks found of the one before. After an
/// interruption nobody knows what that was, so it is found anew.
const CORRECTED: &str = r#"---
kind: plan
id: corrected
steps:
  - id: answer
    retry: {max: 9, on: [logical, interrupted]}
    run: |
      touch answer
      case "${WF_CORRECTION:-}" in
        *'"criterion":"first"'*) echo first >> ran.txt; echo one > answer ;;
        *'"criterion":"second"'*) echo second >> ran.txt; echo two >> answer ;;
      esac
    verify:
      - {name: first, run: grep -qx one answer}
      - {name: second, run: grep -qx two answer}
---
"#;

const FAILURE: &str = r#"---
kind: plan
id: failure
policy: {max_parallel: 2, on_failure: stop}
steps:
  - {id: good, idempotent: true, run: echo good >> ran.txt}
  - {id: bad, idempotent: true, depends_on: [good], run: "echo bad >> ran.txt; exit 3"}
  - {id: never, depends_on: [bad], run: echo never >> ran.txt}
finally:
  - {id: tidy, idempotent: true, run: echo tidy >> ran.txt}
  - {id: tell, idempotent: true, run: echo tell >> ran.txt}
---
"#;

const LOCKS: &str = r#"---
kind: plan
id: locks
policy: {max_parallel: 4}
steps:
  - id: turn
    idempotent: true
    for_each: [1, 2, 3, 4]
    concurrency: door
    run: |
      flock -n held sh -c 'echo "turn $WF_ITEM" >> ran.txt; sleep 0.01'
  - {id: wait, depends_on: [turn], wait: {duration: 20ms}}
  - {id: last, idempotent: true, depends_on: [wait], concurrency: door, run: echo last >> ran.txt}
---
"#;

const FILES: &str = r#"---
kind: plan
id: files
steps:
  - id: make
    idempotent: true
    artifacts: ["out/*.txt"]
    run: |
      echo make >> ran.txt
      mkdir -p out
      echo one > out/one.txt
      echo two > out/two.txt
  - id: use
    idempotent: true
    depends_on: [make]
    cache: {inputs: ["out/*.txt"], outputs: [sum]}
    run: |
      echo use >> ran.txt
      cat out/*.txt > sum
verify: [{name: whole, run: test "$(cat sum | wc -l)" = 2}]
---
"#;

const NESTED: &str = r#"---
kind: plan
id: outer
policy: {max_parallel: 2}
steps:
  - {id: first, idempotent: true, run: echo first >> ran.txt}
  - id: inner
    depends_on: [first]
    for_each: [1, 2]
    uses: inner.md
    with: {word: "w{{ item }}"}
  - id: last
    idempotent: true
    depends_on: [inner]
    env: {SAID: "{{ steps.inner.outputs.said }}"}
    run: echo "last $SAID" >> ran.txt
---
"#;

const INNER: &str = r#"---
kind: plan
id: inner
params: {word: {type: string}}
steps:
  - {id: a, idempotent: true, run: "echo \"a $WF_PARAM_WORD\" >> ran.txt"}
  - id: b
    idempotent: true
    depends_on: [a]
    outputs: {said: {type: string}}
    run: |
      echo "b $WF_PARAM_WORD" >> ran.txt
      echo "said=$WF_PARAM_WORD!" >> "$WF_OUTPUT"
finally:
  - {id: c, idempotent: true, run: "echo \"c $WF_PARAM_WORD\" >> ran.txt"}
outputs: {said: {value: "{{ steps.b.outputs.said }}"}}
---
"#;
