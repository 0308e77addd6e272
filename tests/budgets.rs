//! Budgets, with real programs.

use serde_json::Value;

use crate::{
    crash::kill_both,
    support::{Sandbox, until},
};

fn plan(sandbox: &Sandbox, budget: &str, rest: &str) {
    let text = format!("---\nkind: plan\nid: p\nbudget: {{{budget}}}\n{rest}\n---\n");
    sandbox.file("p.md", text);
}

/// The ledger of the latest run.
fn ledger(sandbox: &Sandbox) -> Value {
    let shown = sandbox.wf(&["show", "--last", "--json"]).exits(0);
    let record: Value = serde_json::from_str(&shown.out).unwrap();
    record["ledger"].clone()
}

fn lines(sandbox: &Sandbox, file: &str) -> usize {
    sandbox.read(file).lines().count()
}

#[test]
fn no_attempt_begins_beyond_the_limit_and_finally_still_runs() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n\
        \x20 - {id: a, run: echo x >> ran.txt; exit 1, retry: {max: 50}}\n\
        \x20 - {id: b, depends_on: [a], run: echo never >> ran.txt}\n\
        finally:\n\
        \x20 - {id: tidy, run: echo tidy >> tidy.txt}";
    plan(&sandbox, "max_attempts: 5", steps);
    let reason = "budget exhausted: 4 of 5 attempts; the rest is reserved for `finally` steps";
    let told = sandbox.wf(&["run", "p.md"]).exits(1).says(reason);
    let told = told.says("budget").says("80 % used: 4 of 5 attempts");
    assert_eq!(told.all().matches("% used").count(), 2, "{}", told.all());
    assert_eq!(lines(&sandbox, "ran.txt"), 4);
    assert_eq!(lines(&sandbox, "tidy.txt"), 1);
    let shown = sandbox.wf(&["show", "--last"]).exits(0);
    shown.says("used       attempts 5/5 · spent");
    let reason = sandbox.wf(&["why", "--last", "a"]).exits(0);
    reason.says("not retried: budget exhausted: 4 of 5 attempts");
    sandbox.wf(&["why", "--last", "b"]).exits(0).says("depends");
}

#[test]
fn what_failed_counts_and_a_wrong_amount_fails() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n  - id: a\n    retry: {max: 2}\n    run: |\n\
        \x20     echo usage.tokens=100 >> \"$WF_OUTPUT\"\n\
        \x20     echo '{\"usage\": {\"cost_usd\": 0.1}}' >> \"$WF_OUTPUT\"\n\
        \x20     test \"$WF_ATTEMPT\" = 3\n\
        \x20 - id: b\n    run: echo usage.tokens=-1 >> \"$WF_OUTPUT\"\n    on_error: continue";
    plan(&sandbox, "max_tokens: 1000, max_cost_usd: 2", steps);
    let told = sandbox.wf(&["run", "p.md"]).exits(0);
    told.says(
        "line 1 of the output file: `usage.tokens` cannot be \"-1\": the token count must \
        not be negative",
    );
    let used = ledger(&sandbox);
    assert_eq!(used["tokens"], 300, "{used}");
    assert_eq!(used["cost_micro_usd"], 300_000, "{used}");
    let shown = sandbox.wf(&["show", "--last"]).exits(0);
    shown.says("used       attempts 4 · 300/1k tokens · $0.30/$2.00");
}

#[test]
fn tokens_that_are_used_up_let_nothing_begin() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n\
        \x20 - {id: a, run: echo usage.tokens=95 >> \"$WF_OUTPUT\", verify: [{name: c, run: echo c >> checked.txt}]}\n\
        \x20 - {id: b, depends_on: [a], run: echo never >> ran.txt}";
    plan(&sandbox, "max_tokens: 100", steps);
    let told = sandbox.wf(&["run", "p.md"]).exits(1);
    told.says("verified").says("95 % used: 95 of 100 tokens").says("budget exhausted: 95 of 100 tokens");
    assert_eq!(lines(&sandbox, "ran.txt"), 0);
    sandbox.wf(&["why", "--last", "b"]).exits(0).says("rule: once a budget limit");
}

#[test]
fn a_kill_resets_nothing() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n\
        \x20 - {id: a, run: \"echo usage.tokens=40 >> \\\"$WF_OUTPUT\\\"\"}\n\
        \x20 - {id: b, depends_on: [a], idempotent: true, retry: {max: 9}, run: \"echo x >> ran.txt; echo usage.tokens=7 >> \\\"$WF_OUTPUT\\\"; [ -e go ] || sleep 50; exit 1\"}";
    plan(&sandbox, "max_attempts: 4", steps);
    let mut child = sandbox.start(&["run", "p.md"]);
    until("the second step runs", || lines(&sandbox, "ran.txt") == 1);
    kill_both(&mut child);
    let before = ledger(&sandbox);
    assert_eq!((&before["attempts"], &before["tokens"]), (&2.into(), &40.into()));
    sandbox.file("go", "");
    let told = sandbox.wf(&["resume", "--last"]).exits(1);
    told.says("budget exhausted: 4 of 4 attempts");
    let after = ledger(&sandbox);
    assert_eq!(after["attempts"], 4, "{after}");
    // The attempt that nobody saw the end of left its file behind.
    assert_eq!(after["tokens"], 40 + 3 * 7, "{after}");
    assert_eq!(after["since"], before["since"]);
    assert_eq!(lines(&sandbox, "ran.txt"), 3);
}

#[test]
fn time_that_is_over_ends_what_runs() {
    let sandbox = Sandbox::new();
    let steps = "steps:\n  - {id: a, run: sleep 50}\n\
        finally:\n  - {id: tidy, run: echo tidy >> tidy.txt}";
    plan(&sandbox, "max_wall_time_seconds: 1", steps);
    let told = sandbox.wf(&["run", "p.md"]).exits(1);
    told.says("budget exhausted: 1s").says("cancelled");
    assert_eq!(lines(&sandbox, "tidy.txt"), 1);
}

#[test]
fn a_run_that_makes_progress_has_more_time() {
    // Of 2 s, the last is 1.8 s in; a step ends each 0.4 s. Twice the limit is the end of it.
    let sandbox = Sandbox::new();
    let mut steps = String::from("steps:\n  - {id: s0, run: sleep 0.3}\n");
    for at in 1..20 {
        let before = at - 1;
        steps += &format!("  - {{id: s{at}, depends_on: [s{before}], run: sleep 0.3}}\n");
    }
    let budget = "max_wall_time_seconds: 2, progress: true";
    plan(&sandbox, budget, steps.trim_end());
    let told = sandbox.wf(&["run", "p.md"]).exits(1);
    let told = told
        .says("the run makes progress; its time limit is now 2s500ms")
        .says("its time limit is now 4s")
        .says("budget exhausted: ");
    assert!(told.all().contains(" of 4s"), "{}", told.all());
}

#[test]
fn nested_runs_count_in_the_run_above() {
    let sandbox = Sandbox::new();
    let inner = "---\nkind: plan\nid: inner\nsteps:\n\
        \x20 - {id: x, run: echo usage.tokens=5 >> \"$WF_OUTPUT\"}\n\
        \x20 - {id: y, run: echo usage.cost_usd=0.5 >> \"$WF_OUTPUT\"}\n---\n";
    sandbox.file("inner.md", inner);
    let steps = "steps:\n\
        \x20 - {id: a, uses: inner.md}\n\
        \x20 - {id: b, depends_on: [a], uses: inner.md}\n\
        \x20 - {id: c, depends_on: [b], run: echo never >> ran.txt}";
    plan(&sandbox, "max_attempts: 6", steps);
    let told = sandbox.wf(&["run", "p.md"]).exits(1);
    told.says("budget exhausted: 6 of 6 attempts");
    let used = ledger(&sandbox);
    assert_eq!((&used["attempts"], &used["tokens"]), (&6.into(), &10.into()));
    assert_eq!(used["cost_micro_usd"], 1_000_000);
}
