//! What gates do to runs, through the real program: each trigger, each escalation.

use crate::{
    decisions::last,
    support::{Did, Sandbox},
};

/// A run of steps with gates.
struct Told {
    place: Sandbox,
    did: Did,
}

/// Runs a plan with a step that appends to `ran.txt` and gives `n`; `gate` is a gate of the plan,
/// `more` further keys of it.
fn told(gate: &str, more: &str) -> Told {
    let place = Sandbox::new();
    let plan = format!(
        "---\nkind: plan\nid: p\nparams: {{note: {{type: string, default: 'ada@corp.com'}}}}\n{more}\
         gates:\n  - {gate}\nsteps:\n  - id: work\n    run: |\n      echo \"$WF_PARAM_NOTE\" >> ran.txt\n\
         \x20     if test -n \"${{WF_CORRECTION:-}}\"; then cp \"$WF_CORRECTION_FILE\" told.json; fi\n\
         \x20     echo \"note=write to bob@corp.com, n$(wc -l < ran.txt)\" >> \"$WF_OUTPUT\"\n\
         \x20   outputs: {{note: {{type: string}}}}\n\
         \x20 - id: after\n    depends_on: [work]\n    exec: [echo, \"{{{{ steps.work.outputs.note }}}}\"]\n\
         finally:\n  - {{id: last, run: echo last >> last.txt}}\n\
         outputs:\n  note: {{type: string, value: \"{{{{ steps.work.outputs.note }}}}\"}}\n---\n"
    );
    place.file("plan.md", plan);
    let did = place.wf(&["run", "plan.md", "-v"]);
    Told { place, did }
}

impl Told {
    fn ran(&self) -> usize {
        self.place.read("ran.txt").lines().count()
    }
}

const BLOCK: &str = "provider: predicate, check: string_match, extract: $.plan, \
                     config: {allowed_values: [q]}";

#[test]
fn a_block_at_each_trigger_stops_what_it_is_asked_about() {
    // How often the step ran, and whether the steps that run last did.
    for (on, ran, last) in [
        ("before_run", 0, false),
        ("on_input", 0, false),
        ("before_step", 0, true),
        ("on_tool_call", 0, true),
        ("after_step", 1, true),
        ("on_output", 1, true),
        ("before_publish", 1, true),
    ] {
        let told = told(&format!("{{id: no, on: {on}, {BLOCK}}}"), "");
        assert_eq!(told.did.code, Some(1), "{on}: {}", told.did.all());
        assert!(told.did.all().contains("gate `no`"), "{on}: {}", told.did.all());
        assert_eq!(told.ran(), ran, "{on}: {}", told.did.all());
        let is_last = matches!(on, "before_step" | "on_tool_call");
        let did_last = told.place.at("last.txt").exists();
        assert_eq!(did_last, last && !is_last, "{on}: {}", told.did.all());
    }
}

/// A gate about what is executed is asked before every attempt: the first, a retry, one of another
/// round and one of another way (Silas 5.2.1, c2).
#[test]
fn what_is_executed_is_asked_about_before_every_attempt() {
    let asked = |did: &Did| {
        let events = did
            .out
            .lines()
            .filter(|line| line.contains(r#""event":"gate_evaluated""#) && line.contains("on_tool_call"));
        events.count()
    };
    let plan = |more: &str, step: &str, gate: &str| {
        format!(
            "---\nkind: plan\nid: p\n{more}gates:\n  - {gate}\n  \
             - {{id: first, on: before_step, provider: predicate, check: regex, extract: $.plan, \
             config: {{pattern: p}}}}\nsteps:\n  - id: work\n{step}---\n"
        )
    };
    let any = "{id: calls, on: on_tool_call, provider: predicate, check: regex, extract: $.plan, \
               config: {pattern: p}}";
    let place = Sandbox::new();
    let again = "    run: echo x >> ran.txt; test $(wc -l < ran.txt) -ge 3\n    \
                 retry: {max: 5, backoff: 0s, on: [logical]}\n";
    place.file("plan.md", plan("", again, any));
    let did = place.wf(&["run", "plan.md", "--json"]).exits(0);
    assert_eq!(asked(&did), 3, "{}", did.out);
    let entered = did.out.lines().filter(|line| line.contains("before_step"));
    assert_eq!(entered.count(), 1, "{}", did.out);

    // What it blocks is not executed, and it is told which attempt would begin.
    let place = Sandbox::new();
    let once = "{id: calls, on: on_tool_call, provider: predicate, check: numeric_range, \
                extract: $.attempt, config: {auto_approve: {max: 1}}}";
    place.file("plan.md", plan("", again, once));
    let did = place.wf(&["run", "plan.md"]).exits(1);
    assert_eq!(place.read("ran.txt").lines().count(), 1, "{}", did.all());
    did.says("gate `calls`");

    // Another way in another round is asked about, too, and what is sent back by checks.
    let place = Sandbox::new();
    let other = "    tool: a:x\n    run: echo x >> ran.txt; exit 1\n    alternatives:\n      \
                 - {id: other, tool: 'b:y', run: echo y >> ran.txt}\n";
    place.file("plan.md", plan("replan: {strict: true}\n", other, any));
    let did = place.wf(&["run", "plan.md", "--json"]).exits(0);
    assert_eq!(place.read("ran.txt"), "x\ny\n");
    assert_eq!(asked(&did), 2, "{}", did.out);
}

/// Who is asked before a further attempt answers it as any other question.
#[test]
fn people_are_asked_before_a_further_attempt() {
    let place = Sandbox::new();
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\ngates:\n  - {id: calls, on: on_tool_call, provider: predicate, \
         check: numeric_range, extract: $.attempt, config: {auto_approve: {max: 0}, \
         require_approval: {max: 9}}}\nsteps:\n  - id: work\n    \
         run: echo x >> ran.txt; test $(wc -l < ran.txt) -ge 2\n    \
         retry: {max: 5, backoff: 0s, on: [logical]}\n---\n",
    );
    place.wf(&["run", "plan.md"]).exits(5);
    assert_eq!(place.read("ran.txt"), "x\n");
    let run = last(&place);
    place.wf(&["approve", &run, "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(0);
    assert_eq!(place.read("ran.txt"), "x\nx\n");
}

/// What a gate wanted and may not is in the audit log by name (Silas 5.4).
#[test]
fn what_gates_may_not_do_reaches_the_audit_log() {
    let place = Sandbox::new();
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\ngates:\n  - id: bold\n    on: before_step\n    provider: script\n    \
         run: |\n      echo '{\"modified_context\": {\"params\": {\"a\": 1}, \"tool_args\": [\"true\"]}}'\n  \
         - {id: critic, on: before_step, lane: quality, provider: predicate, check: regex, \
         extract: $.plan, config: {pattern: q}}\nsteps:\n  - {id: work, exec: ['false']}\n---\n",
    );
    place.wf(&["run", "plan.md"]).exits(0);
    let log = place.read(".wf/audit/log.jsonl");
    let of = |gate: &str| {
        let mut lines = log.lines().filter(|line| line.contains("gate_evaluated"));
        let line = lines.find(|line| line.contains(gate)).unwrap();
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["about"]["result"].clone()
    };
    let bold = of("bold");
    assert_eq!(bold["rejected"], serde_json::json!(["params"]), "{bold}");
    assert_eq!(bold["changed"], serde_json::json!(["tool_args"]), "{bold}");
    let critic = of("critic");
    assert_eq!(critic["ignored"], "block", "{critic}");
    assert_eq!(critic["action"], "continue", "{critic}");
    place.wf(&["audit", "verify"]).exits(0);
}

#[test]
fn advice_changes_nothing() {
    for on in ["before_run", "before_step", "after_step", "before_publish"] {
        let told = told(&format!("{{id: no, on: {on}, lane: quality, {BLOCK}}}"), "");
        assert_eq!(told.did.code, Some(0), "{on}: {}", told.did.all());
        told.did.says("may not answer block");
    }
}

#[test]
fn what_people_must_agree_to_waits_at_each_trigger() {
    for (on, ran) in [("before_run", 0), ("before_step", 0), ("after_step", 1), ("before_publish", 1)] {
        let gate = format!("{{id: ask, on: {on}, provider: predicate, check: approval_always}}");
        let told = told(&gate, "");
        assert_eq!(told.did.code, Some(5), "{on}: {}", told.did.all());
        assert_eq!(told.ran(), ran, "{on}");
        let mut code = Some(5);
        for _ in 0..4 {
            let database = told.place.database();
            let id: String = database.query_row("SELECT id FROM runs", [], |row| row.get(0)).unwrap();
            told.place.wf(&["approve", &id, "--yes"]).exits(0);
            code = told.place.wf(&["resume", "--last"]).code;
            if code != Some(5) {
                break;
            }
        }
        assert_eq!(code, Some(0), "{on}");
        assert_eq!(told.ran(), 1, "{on}");
    }
}

#[test]
fn escalations_do_what_they_say() {
    let escalation = |how: &str| {
        let gate = format!("{{id: no, on: on_output, {BLOCK}, on_block: then}}");
        told(&gate, &format!("escalation: {{then: {how}}}\n"))
    };
    let respond = escalation("{action: respond, message: 'not here'}");
    assert_eq!((respond.did.code, respond.ran()), (Some(1), 1));
    respond.did.says("not here");
    let retry = escalation("{action: retry, max_retries: 2}");
    assert_eq!((retry.did.code, retry.ran()), (Some(1), 3));
    let rephrase = "{action: suppress_and_rephrase, max_retries: 1, rephrase: 'say it kindly'}";
    let rephrase = escalation(rephrase);
    assert_eq!((rephrase.did.code, rephrase.ran()), (Some(1), 2));
    let correction = rephrase.place.read("told.json");
    assert!(correction.contains("say it kindly"), "{correction}");
    let human = escalation("{action: escalate_human, message: 'look at it'}");
    assert_eq!(human.did.code, Some(5));
    human.did.says("look at it");
    let queue = escalation("{action: transfer_to_queue, queue: desk}");
    assert_eq!(queue.did.code, Some(5));
    let report = escalation("{action: report}");
    report.did.says("escalates").exits(1);
}

#[test]
fn a_block_that_a_person_lifts_goes_on() {
    let gate = format!("{{id: no, on: after_step, {BLOCK}, on_block: then}}");
    let told = told(&gate, "escalation: {then: {action: escalate_human}}\n");
    for _ in 0..2 {
        let database = told.place.database();
        let id: String = database.query_row("SELECT id FROM runs", [], |row| row.get(0)).unwrap();
        told.place.wf(&["approve", &id, "--yes"]).exits(0);
        told.place.wf(&["resume", "--last"]);
    }
    let shown = told.place.wf(&["show", "--last"]);
    assert_eq!(told.ran(), 1, "{}", shown.all());
}

#[test]
fn what_a_person_lifts_is_one_block_and_not_what_other_gates_said() {
    let lifted = |other: &str| {
        let gate = format!("{{id: no, on: on_output, {BLOCK}, on_block: then}}\n  - {other}");
        let told = told(&gate, "escalation: {then: {action: escalate_human}}\n");
        assert_eq!(told.did.code, Some(5), "{}", told.did.all());
        for step in ["work", "after", "last"] {
            let id = last(&told.place);
            told.place.wf(&["approve", &id, step, "--yes"]);
            told.place.wf(&["resume", "--last"]);
        }
        told.place.wf(&["show", "--last"]).out
    };
    let shown = lifted(&format!("{{id: too, on: on_output, {BLOCK}}}"));
    assert!(shown.contains("failed") && shown.contains("gate too blocked"), "{shown}");
    let email = "provider: guardrail, config: {detect: [email], on_find: redact}";
    let shown = lifted(&format!("{{id: scrub, on: on_output, {email}}}"));
    assert!(shown.contains("succeeded"), "{shown}");
    assert!(shown.contains("[redacted: email]") && !shown.contains("bob@corp.com"), "{shown}");
}

#[test]
fn what_a_gate_rewrites_is_what_goes_on() {
    let email = "provider: guardrail, config: {detect: [email], on_find: redact}";
    let input = told(&format!("{{id: scrub, on: on_input, {email}}}"), "");
    assert_eq!(input.did.code, Some(0), "{}", input.did.all());
    let ran = input.place.read("ran.txt");
    assert!(ran.contains("[redacted: email]") && !ran.contains("ada@corp.com"), "{ran}");
    let output = told(&format!("{{id: scrub, on: on_output, {email}}}"), "");
    assert_eq!(output.did.code, Some(0), "{}", output.did.all());
    let shown = output.place.wf(&["show", "--last"]).out;
    assert!(shown.contains("[redacted: email]") && !shown.contains("bob@corp.com"), "{shown}");
    let publish = told(&format!("{{id: scrub, on: before_publish, {email}}}"), "");
    let record = publish.place.wf(&["show", "--last", "--json"]).out;
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let given = record["run"]["outputs"]["note"].as_str().unwrap_or_default();
    assert!(given.contains("[redacted: email]"), "{given} {}", publish.did.all());
    let place = Sandbox::new();
    let gate = format!("{{id: scrub, on: on_tool_call, {email}}}");
    let plan =
        |work: &str| format!("---\nkind: plan\nid: p\nsteps: [{{id: a, {work}, gates: [{gate}]}}]\n---\n");
    place.file("plan.md", plan("exec: [echo, 'to ada@corp.com']"));
    let did = place.wf(&["run", "plan.md", "-v"]).exits(0);
    did.says("to [redacted: email]");
    place.file("plan.md", plan("run: 'echo to ada@corp.com'"));
    let did = place.wf(&["run", "plan.md"]).exits(1);
    did.says("only `exec` can be rewritten");
}

/// A clamp moves a parameter, a word of a command and an output, each at the triggers that may rewrite it.
#[test]
fn a_clamp_moves_what_its_trigger_may_rewrite() {
    let place = Sandbox::new();
    let gate = |id: &str, on: &str, extract: &str| {
        format!(
            "{{id: {id}, on: {on}, provider: predicate, check: numeric_range, extract: {extract}, \
             config: {{clamp: {{max: 10}}, auto_approve: {{max: 10}}}}}}"
        )
    };
    let plan = format!(
        "---\nkind: plan\nid: p\nparams: {{sum: {{type: integer}}, size: {{type: integer}}}}\ngates:\n  - {}\n  - {}\n\
         steps:\n  - id: word\n    exec: [sh, -c, 'echo \"$0 $WF_PARAM_SUM\" > word.txt', '{{{{ params.size }}}}']\n    \
         gates:\n      - {}\n  - id: rows\n    run: echo rows=99 >> \"$WF_OUTPUT\"\n    outputs: {{rows: {{type: integer}}}}\n    \
         gates:\n      - {}\n  - id: read\n    depends_on: [rows]\n    exec: [sh, -c, 'echo $0 > rows.txt', \
         '{{{{ steps.rows.outputs.rows }}}}']\n---\n",
        gate("sum", "before_run", "$.params.sum"),
        // It sees the parameter as the one before left it.
        gate("again", "on_input", "$.params.sum").replace("clamp: {max: 10}, ", ""),
        gate("size", "on_tool_call", "'$.tool_args[3]'"),
        gate("made", "after_step", "$.response.rows"),
    );
    place.file("plan.md", plan);
    let did = place.wf(&["run", "plan.md", "-p", "sum=5000", "-p", "size=70"]).exits(0);
    assert_eq!(
        (place.read("word.txt").trim(), place.read("rows.txt").trim()),
        ("10 10", "10"),
        "{}",
        did.all()
    );
    place.wf(&["show", "--last", "-v"]).exits(0).says("clamped from 5000 to 10");
}

#[test]
fn gates_of_the_workspace_come_first_and_all_are_asked() {
    let place = Sandbox::new();
    place.file("wf.yaml", "gates: [house]\n");
    let gate = |id: &str| {
        format!(
            "---\nkind: gate\nid: {id}\non: before_step\nprovider: predicate\ncheck: string_match\n\
                 extract: $.plan\nconfig: {{allowed_values: [q]}}\n---\n"
        )
    };
    place.file("gates/house.md", gate("house")).file("gates/own.md", gate("own"));
    place.file("plan.md", "---\nkind: plan\nid: p\nsteps: [{id: a, run: touch ran, gates: [own]}]\n---\n");
    place.wf(&["run", "plan.md"]).exits(1).says("gate `house`");
    let reason = place.wf(&["why", "--last", "a"]).exits(0).out;
    let at = |id: &str| reason.find(&format!("gate `{id}`")).unwrap_or(usize::MAX);
    assert!(at("house") < at("own") && at("own") < usize::MAX, "{reason}");
    assert!(!place.at("ran").exists());
}
