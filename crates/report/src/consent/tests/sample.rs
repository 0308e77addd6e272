//! Plans that use everything the language has, for the tests.

use std::{sync::Arc, time::Duration};

use super::super::PlanSummary;
use serde_json::Value;
use wf_base::{name::PlanId, source::Span};
use wf_lang::{InMemoryFiles, LoadedSpec, PlanDefaults, decode::DiagnosticList, load, lower, lower_goal};
use wf_model::{Goal, OnStepFailure, Plan, PlanParts, PlanPolicy, ReplanSettings, Step, SuggestionLimits};

/// A plan that uses every key of the language, each with a unique value.
pub(crate) const ALL: &str = r#"---
kind: plan
id: all-keys
title: A title of the plan
description: A description of the plan
intent: "Do it on {{ params.day }}"
params:
  day: {type: string, enum: [mon, tue], default: tue, description: Which day, taint: auth}
env: {PLAN_VAR: plan-value}
secrets:
  BY_ENV: {from: env, name: HOST_VAR}
  BY_FILE: {from: file, path: keys/secret.txt, mask: false}
  BY_COMMAND: {from: command, run: [pass, show]}
  BY_CONNECTION: {from: connection, connection: the-connection, secret: the-ref}
  BY_KEYRING: KEYRING
skills: [tools]
data: [plan-data/**]
policy: {max_parallel: 17, on_failure: cancel, grace: 18s}
timeout: 19m
replan:
  max_replans: 60
  time_budget_seconds: 61
  alpha: 0.62
  beta: 0.63
  lambda: 0.64
  w1: 0.65
  w2: 0.66
  epsilon: 0.67
  delta: 0.68
  rho: 0.69
  theta: 0.71
  strict: true
planner: {exec: [ask-planner, --hard], timeout: 72s}
on_stuck: consult_planner
undo: {uses: parts.md, with: {what: "undo {{ params.day }}"}, within: 73m}
suggests: {output: result1, plans: [suggested.md]}
type: project
interaction_mode: default_and_offer
resume: manual
budget: {max_attempts: 201, max_rounds: 202, max_wall_time_seconds: 203, max_tokens: 204, max_cost_usd: 2.05, reserve: 0.206, progress: true}
gates:
  - id: ranges
    title: A title of a gate
    on: on_input
    provider: predicate
    check: numeric_range
    extract: $.params.day
    config:
      clamp: {min: 49}
      block_outside: {min: 50, max: 51}
      auto_approve: {max: 52}
      require_approval: {max: 53}
    on_block: told
    escalation: {told: {action: respond, message: told so, fallback: again}}
    approval: {required: 2, approvers: [ann, bob], timeout: 54m, escalate_to: [eve]}
  - {id: texts, on: on_input, provider: predicate, check: string_match, extract: $.params.day, config: {allowed_values: [yes-text], approval_values: [ask-text]}}
  - {id: patterns, on: on_input, provider: predicate, check: regex, extract: $.params.day, config: {pattern: gate.*pattern}}
  - {id: paths, on: on_input, provider: predicate, check: json_path, extract: $.params, config: {json: {path: $.day, equals: mon}}}
  - {id: asked, on: on_output, provider: llm, promote_to_policy: true, config: {prompt: Is it kind}}
  - {id: finds, on: on_output, provider: guardrail, lane: quality, config: {detect: [secrets], on_find: flag}}
escalation:
  again: {action: suppress_and_rephrase, rephrase: be kind, max_retries: 55, fallback: queued}
  queued: {action: transfer_to_queue, queue: the-queue}
  mend: {action: spawn_task, plan: parts.md, with: {what: "mend {{ block.reason }}"}}
steps:
  - id: first
    title: A title of a step
    when: params.day == 'mon'
    gates:
      - id: program
        on: before_step
        provider: script
        run: gate script
        shell: bash
        env: {GATE_VAR: gate-value}
        timeout: 56s
        expect: {contains: gate text}
      - id: argv
        on: before_step
        provider: script
        exec: [gate-program]
      - id: files
        on: before_step
        provider: predicate
        check: file_valid
        extract: $.params.day
        config: {permitted: [uploads], max_size: 57KiB}
    run: |
      echo first script
    shell: [node, -e]
    env: {STEP_VAR: "{{ secrets.BY_ENV }}", OF_CONNECTION: "{{ secrets.BY_CONNECTION }}"}
    cwd: some/where
    timeout: 20m
    queue_timeout: 21m
    retry: {max: 22, backoff: 23s, factor: 2.4, max_delay: 25m, jitter: 0.26, on: [interrupted]}
    idempotent: true
    concurrency: {lock: the-lock, when_busy: newest}
    runs_on: gpu
    on_error: continue
    artifacts: [out/artifact.txt]
    cache: {inputs: [in/cached.txt], outputs: [out/cached.txt]}
    outputs: {rows: {type: integer, minimum: 27, taint: external}}
    tool: the-tool
    target: the-target
    alternatives:
      - id: otherwise
        tool: other-tool
        target: other-target
        run: other script
        shell: python
        env: {WAY_VAR: way-value}
        cwd: other/where
        timeout: 60m
        retry: {max: 61}
        allow: {read: [/srv/other]}
        limits: {memory: 62MiB}
    allow: {read: [/srv/read], write: [out/written], net: true, env: [HOST_PASS], exec: [git]}
    limits: {memory: 28MiB, cpu: 29s, processes: 30, scratch: 31MiB, output: 32MiB}
    classify: [{exit_code: 33, output: flaky, class: environmental}, {signal: 34, class: environmental}]
    inspect:
      - name: lint
        run: lint script
        mode: plausible
        judge: {role: check_judge, votes: 8, required: 7, criteria: [it is what was wanted]}
    test: [{name: unit, run: unit script}]
    loops: {max: 59, on_exhausted: ask}
    verify:
      - name: probed
        run: probe script
        shell: bash
        env: {CHECK_VAR: check-value}
        cwd: check/where
        timeout: 35s
        network: true
        mode: plausible
        allow: {read: [/srv/check]}
        limits: {memory: 36MiB}
        fixed: [fixed/file.txt]
        before: fails
        classify: [{exit_code: 37, class: logical}]
        expect:
          exit_code: 38
          equals: equal text
          contains: contained text
          regex: regex.*text
          output_lt: 39
          tests: {report: report.xml, at_least: 293}
          output_gt: 40
          file_exists: [left/file.txt]
          not_empty: true
          json: [{path: $.a, equals: 41, lt: 42, gt: 43, exists: true, count: 44}]
          json_schema: {type: object, minProperties: 45}
      - {name: program, exec: [checker, --fast]}
  - id: second
    depends_on: [first]
    for_each: [item-one, item-two]
    key: item
    max_parallel: 46
    writes: [written/further.txt]
    exec: [prog, "an argument"]
    alternatives: [{id: by_program, exec: [other-prog]}, {id: by_request, http: {url: "https://other.example.com"}},
      {id: by_plan, uses: parts.md, with: {what: another}}, {id: by_skill, skill: {name: tools, script: tool, args: {much: 213}}}]
  - {id: third, matrix: {axis: [m1, m2], include: [{axis: m3}], exclude: [{axis: m1}]},
    exec: [prog, "{{ matrix.axis }}", "{{ secrets.BY_FILE }}"]}
  - id: fourth
    http:
      method: POST
      url: https://example.com/{{ params.day }}
      headers: {Authorization: "Bearer {{ secrets.BY_COMMAND }}"}
      body: the body
      expect: {status: 204}
      outputs: {found: $.found}
    outputs: {found: {type: string}}
  - {id: fifth, uses: parts.md, with: {what: "with {{ params.day }}"}}
  - id: made
    depends_on: [fourth]
    uses:
      text: "made {{ steps.fourth.outputs.found }}"
      within:
        allow: {read: [/may/read], write: [may/write], net: true, env: [MAY_SEE], exec: [may_start]}
        executors: [run, agent, uses]
        plans: [parts.md]
        roles: [may_role]
        tools: [memory]
        mcp: [may_server]
        fetch: [may.example.com]
        max_steps: 231
        checks: required
        budget: {max_attempts: 232}
        untrusted: true
  - {id: sixth, wait: {duration: 47s}}
  - {id: seventh, wait: {until: "2030-01-01T00:00:00Z"}}
  - {id: eighth, wait: {file: awaited/file.txt}}
  - id: ninth
    approve:
      message: Is it right
      show: {day: "{{ params.day }}"}
      required: 3
      approvers: [cat, dan, fay]
      timeout: 58m
      escalate_to: [gil]
  - {id: chosen, approve: {message: Which one, answer: {choose: [keep, drop]}}}
  - {id: edited, approve: {message: This one, answer: {edit: "draft {{ params.day }}", max_length: 241}}}
  - {id: picked, approve: {message: Those, answer: {select: "{{ params.day }}"}}}
  - {id: contained, container: registry.example/tool@sha256:000000000000000000000000000000000000000000000000000000000000c0de, run: contained script}
  - id: thought
    on_stuck: abandon
    agent: {role: the_role, engine: builtin, tools: [read, run], mcp: [a_server], max_turns: 214, untrusted: [from_outside], when_untrusted: {run: ask}, workspace: worktree, merge: review, conversation: a_session, conversation_idle: 222m, interaction: {register: "register {{ params.day }}", proxy: "proxy {{ params.day }}", planner: "planner {{ params.day }}"}, recall: "recall {{ params.day }}", with: {given: "given {{ params.day }}"}}
    alternatives:
      - id: by_agent
        agent:
          model: other_model
          tools: [list, dispatch, collect, skill, ask, fetch]
          dispatch: {plans: [parts.md], max: 219, max_parallel: 221}
          skills: [tools]
          max_questions: 13
          fetch: [pages.example.com]
          max_turns: 215
          workspace: worktree
          persona: {file: a.persona.md, event: compliment, context: code_review, warmth: 0.11, assertiveness: 0.12, verbosity: 0.13, formality: 0.14, humor: 0.15, initiative: 0.16, certainty: 0.17}
      - {id: by_program, agent: {role: the_role, engine: command, command: [a_program, a_word], max_turns: 217}}
  - {id: skilled, skill: {name: tools, script: tool, args: {much: 212}}}
finally:
  - {id: last, run: last script, detach: true, env: {K: "{{ secrets.BY_KEYRING }}"}}
inspect: [{name: looked_at, run: look at all}]
test: [{name: tried, run: try all}]
verify:
  - {name: whole, run: whole script}
outputs:
  result: {type: string, maxLength: 48, value: "{{ steps.fourth.outputs.found }}"}
  result1: {type: array, value: "{{ steps.fourth.outputs.found }}"}
  result2: {type: array, value: "{{ steps.fourth.outputs.found }}"}
---
Prose of the plan.

## first

Prose of a step.

## thought

Briefing of an agent.
"#;

/// A plan that uses every key that only plans without steps have.
pub(crate) const LONE_AGENT: &str = r"---
kind: plan
id: lone-agent
agent: {role: lone_role, max_turns: 218}
allow: {write: [lone], net: true}
retry: {max: 9, on: [logical]}
verify: [{name: whole, run: whole script}]
---
Briefing of the only agent.
";

/// A goal that uses every key that only goals have.
pub(crate) const GOAL: &str = r#"---
kind: goal
id: all-goal-keys
title: A title of the goal
description: A description of the goal
schedule:
  - "0 6 * * MON-FRI"
  - {cron: "7 0 L * *", timezone: Asia/Tokyo}
  - {at: 2026-12-01T09:03}
timezone: Europe/Berlin
dst: {gap: skip, overlap: both}
exclude: [2026-12-25, 2026-12-28..2027-01-02, {from: "22:00", until: "06:00", on: [SAT]}]
active_from: 2026-01-01
active_until: 2030-01-01T00:00:00Z
splay: 81s
window: 82s
missed: {run: all, window: 83h, cap: 84}
overlap: allow
auto_pause_after: 85
data: [goal-data/**]
backend: farm_of_goal
on_failure: spawn_plan
approval: none
repair: {uses: parts.md, with: {what: "{{ params.goal_param }}"}}
notify:
  - {on: [failed, paused], exec: [sendmail, ops@example.org]}
  - {on: [missed], webhook: {url: https://example.org/hook, secret: HOOK_KEY}}
  - {on: [healthy], webhook: {url_secret: HOOK_URL}}
params: {goal_param: {type: string, default: goal-value}}
env: {GOAL_VAR: goal-variable}
secrets:
  HOOK_KEY: {from: env, name: THE_KEY}
  HOOK_URL: {from: env, name: THE_URL}
skills: [tools]
policy: {max_parallel: 86}
timeout: 87s
budget: {max_attempts: 88}
gates: [{id: goal-gate, on: on_input, provider: predicate, check: approval_always, on_block: goal_told}]
escalation: {goal_told: {action: respond, message: the goal said so}}
replan: {max_replans: 89}
planner: {role: goal_planner}
on_stuck: abandon
verify: [{name: goal_check, run: look at the goal}]
---
"#;

/// The plan that it uses.
pub(crate) const PARTS: &str = "---\nkind: plan\nid: parts\nparams: {what: {type: string}}\n\
    steps:\n  - {id: inner, run: inner script, env: {WHAT: \"{{ params.what }}\"}}\n---\n";

/// A skill of the workspace.
const TOOLS: &str = "---\nname: tools\ndescription: Tools. Use them for tests.\nmetadata:\n  wf: |\n    \
    scripts: {scripts/tool.py: {args: {much: {type: integer, minimum: 211}}}}\n---\n";

pub(crate) fn parts(steps: Vec<Step>) -> PlanParts {
    let (id, count) = (PlanId::parse("sample").unwrap(), steps.len());
    PlanParts::new(id, steps, count, defaults().policy)
}

/// [`ALL`], without a keyring where this build reads none.
pub(crate) fn all() -> String {
    let keyring = if wf_lang::READS_KEYRING {
        "{from: keyring, service: the-service, account: the-account}"
    } else {
        "{from: env, name: UNUSED}"
    };
    ALL.replace("KEYRING\n", &format!("{keyring}\n"))
}

/// The front matter of a file as JSON, and its body.
pub(crate) fn front_matter(text: &str) -> (Value, &str) {
    let (front_matter, body) = text.trim_start_matches("---\n").split_once("---\n").unwrap();
    let node = wf_lang::yaml::read_yaml(
        front_matter,
        Span::new(0, front_matter.len()),
        &mut DiagnosticList::default(),
    );
    (node.unwrap().json(), body)
}

/// The view of a plan or of a goal by its text; `None` if it is not valid.
pub(crate) fn view(text: &str) -> Option<PlanSummary> {
    let loaded = load(&files(text), "plan.md");
    if !loaded.diagnostics.is_empty() {
        return None;
    }
    let plan = lower(&loaded, &defaults()).ok()?;
    Some(PlanSummary::of_plan(&plan, "plan.md").add_goal_if_any(lower_goal(&loaded).ok().as_deref()))
}

/// A plan by its text, with `parts.md` beside it.
pub(crate) fn plan(text: &str) -> Arc<Plan> {
    lower(&loaded(text), &defaults()).unwrap()
}

/// A goal by its text, with `parts.md` beside it, and its plan.
pub(crate) fn goal(text: &str) -> (Arc<Plan>, Arc<Goal>) {
    let loaded = loaded(text);
    let plan = lower(&loaded, &defaults()).unwrap();
    (plan, lower_goal(&loaded).unwrap())
}

const PERSONA: &str = "---\nkind: persona\nevents: {}\n---\n\nNever invent a fact.\n";

const OTHER_PERSONA: &str = "---\nkind: persona\nevents: {}\n---\n\nNever invent a source.\n";

fn files(text: &str) -> InMemoryFiles {
    // The last is another value of a key that names a file.
    let files = [
        ("plan.md", text),
        ("parts.md", PARTS),
        ("skills/tools/SKILL.md", TOOLS),
        ("parts.mdx", PARTS),
        ("a.persona.md", PERSONA),
        ("a.persona.mdx", OTHER_PERSONA),
    ];
    InMemoryFiles(files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).into())
}

fn loaded(text: &str) -> LoadedSpec {
    let loaded = load(&files(text), "plan.md");
    assert_eq!(loaded.diagnostics, []);
    loaded
}

fn defaults() -> PlanDefaults {
    let policy =
        PlanPolicy { max_parallel: 2, on_failure: OnStepFailure::Stop, grace: Duration::from_secs(10) };
    let (retry, replan) = (Arc::default(), ReplanSettings::default());
    PlanDefaults { policy, retry, replan, suggestions: SuggestionLimits::default() }
}
