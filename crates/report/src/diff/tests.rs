use super::{PartChange, PlanDiff, diff};
use crate::consent::{PlanSummary, tests::sample};
use wf_base::untrusted::plain;

fn view(steps: &str) -> PlanSummary {
    let text = format!("---\nkind: plan\nid: p\nsteps:\n{steps}\n---\n");
    PlanSummary::of_plan(&sample::plan(&text), "plan.md")
}

fn between(before: &str, after: &str) -> PlanDiff {
    diff(&view(before), &view(after))
}

/// `path: word`, one for each change.
fn words(before: &str, after: &str) -> Vec<String> {
    let found = between(before, after);
    let changes = found.changes.iter();
    changes.map(|change| format!("{}: {}", change.line().unwrap().path(), change.word())).collect()
}

fn first(before: &str, after: &str, expected: &str) {
    let found = words(before, after);
    let first = found.first().map(String::as_str);
    assert_eq!(first, Some(expected), "{found:?}");
}

fn step(keys: &str) -> String {
    format!("  - {{id: a, run: x{keys}}}")
}

#[test]
fn what_a_change_of_permission_means() {
    let boxed = |keys: &str| step(&format!(", allow: {{{keys}}}"));
    let open = step("");
    first(&boxed(""), &open, "steps.a.sandbox: wider");
    first(&open, &boxed(""), "steps.a.sandbox: narrower");
    for (allow, path) in [
        ("net: true", "steps.a.allow.net"),
        ("read: [/srv]", "steps.a.allow.read[/srv]"),
        ("write: [out]", "steps.a.allow.write[out]"),
        ("env: [CI]", "steps.a.allow.env[CI]"),
    ] {
        first(&boxed(""), &boxed(allow), &format!("{path}: wider"));
        first(&boxed(allow), &boxed(""), &format!("{path}: narrower"));
    }
    first(&boxed("exec: [git]"), &boxed(""), "steps.a.allow.exec: wider");
}

#[test]
fn what_a_change_of_a_check_means() {
    let check = |keys: &str| step(&format!(", verify: [{{name: c, run: t{keys}}}]"));
    let path = |key: &str| format!("steps.a.verify.c{key}");
    let expect = |text: &str| check(&format!(", expect: {{{text}}}"));
    first(&check(""), &step(""), &path(": weaker"));
    first(&step(""), &check(""), &path(": stronger"));
    first(&check(""), &check(", network: true"), &path(".network: wider"));
    first(&check(""), &check(", mode: plausible"), &path(".mode: weaker"));
    let (five, nine) = (expect("output_lt: 5"), expect("output_lt: 9"));
    first(&five, &nine, &path(".expect.output_lt: weaker"));
    let (five, nine) = (expect("output_gt: 5"), expect("output_gt: 9"));
    first(&five, &nine, &path(".expect.output_gt: stronger"));
    first(&expect("contains: ok"), &check(""), &path(".expect.contains: weaker"));
    first(&step(""), &step(", on_error: continue"), "steps.a.on_error: weaker");
}

/// The changes between plans with these lines in their front matter.
fn heads(before: &str, after: &str) -> Vec<String> {
    let view = |head: &str| {
        let text = format!("---\nkind: plan\nid: p\n{head}steps: [{{id: a, run: x}}]\n---\n");
        PlanSummary::of_plan(&sample::plan(&text), "plan.md")
    };
    let found = diff(&view(before), &view(after));
    let changes = found.changes.iter();
    changes.map(|change| format!("{}: {}", change.line().unwrap().path(), change.word())).collect()
}

#[test]
fn what_a_change_of_replanning_means() {
    let said = |keys: &str| format!("replan: {{{keys}}}\n");
    for (before, after, expected) in [
        ("delta: 0.1", "delta: 0.2", "delta: weaker"),
        ("delta: 0.2", "delta: 0.1", "delta: stronger"),
        ("strict: true", "", "strict: weaker"),
        ("", "strict: true", "strict: stronger"),
        ("", "max_replans: 4", "max_replans: more"),
        ("", "time_budget_seconds: 5", "time_budget_seconds: less"),
        ("", "theta: 0.9", "theta: more"),
        ("", "rho: 0.4", "rho: changed"),
    ] {
        let found = heads(&said(before), &said(after));
        assert_eq!(found, [format!("replan.{expected}")], "{before} {after}");
    }
    // Acceptance with something missing is no proof of all.
    let begun = heads("", "replan: {}\n");
    assert!(begun.contains(&"replan.strict: weaker".into()), "{begun:?}");
    let begun = heads("", "replan: {strict: true}\n");
    assert!(begun.iter().all(|word| !word.ends_with("weaker")), "{begun:?}");
}

#[test]
fn a_planner_and_any_change_of_it_reaches_more() {
    let said = |keys: &str| format!("replan: {{}}\n{keys}");
    let one = said("planner: {exec: [one]}\n");
    let line = |name: &str| {
        format!(
            "planner[{name} adds alternatives to steps that no approver \
        has reviewed]"
        )
    };
    let begun = heads(&said(""), &one);
    assert_eq!(begun[0], format!("{}: wider", line("one")), "{begun:?}");
    let other = heads(&one, &said("planner: {exec: [two]}\n"));
    assert_eq!(other[0], format!("{}: wider", line("two")), "{other:?}");
    let idle = heads(&said("planner: {exec: [one]}\non_stuck: abandon\n"), &one);
    assert_eq!(idle, ["on_stuck: wider"]);
}

#[test]
fn what_a_change_of_effort_means() {
    first(&step(""), &step(", retry: {max: 3}"), "steps.a.retry.max: more");
    first(&step(", timeout: 5m"), &step(""), "steps.a.timeout: more");
    first(&step(", timeout: 5m"), &step(", timeout: 1m"), "steps.a.timeout: less");
    first(&step(""), &step(", cwd: b"), "steps.a.cwd: added");
}

#[test]
fn what_a_new_sandbox_allows_is_no_widening() {
    let found = words(
        "  - {id: a, run: x}",
        "  - {id: a, run: x, allow: {net: true, read: [/srv]}, limits: {memory: 1GiB}}",
    );
    let wide: Vec<_> = found.iter().filter(|word| word.ends_with("wider")).collect();
    assert!(wide.is_empty(), "{found:?}");
    assert_eq!(found[0], "steps.a.sandbox: narrower");
}

#[test]
fn a_secret_that_a_step_is_given_is_a_widening() {
    let head = "---\nkind: plan\nid: p\nsecrets: {T: {from: env, name: T}}\nsteps:\n";
    let plan = |env: &str| {
        let steps = "  - {id: a, run: x, env: {T: \"{{ secrets.T }}\"}}";
        let text = format!("{head}{steps}\n  - {{id: b, run: y{env}}}\n---\n");
        PlanSummary::of_plan(&sample::plan(&text), "plan.md")
    };
    let found = diff(&plan(""), &plan(", env: {T: \"{{ secrets.T }}\"}"));
    let wide = found.changes.iter().find(|change| change.word() == "wider");
    assert_eq!(wide.unwrap().line().unwrap().path(), "steps.b.secrets[T]");
}

#[test]
fn parts_come_go_and_change_their_names() {
    let found = between(
        "  - {id: a, run: x}\n  - {id: b, run: y}",
        "  - {id: a, run: x}\n  - {id: c, run: y}\n  - {id: d, run: z}",
    );
    let (from, to) = ("steps.b".into(), "steps.c".into());
    let added = PartChange::Added { part: "steps.d".into() };
    assert_eq!(found.parts, [PartChange::Renamed { from, to }, added]);
    let wide = |word: &String| word == "steps.d.sandbox: wider";
    assert!(words("  - {id: a, run: x}", "  - {id: a, run: x}\n  - {id: d, run: z}").iter().any(wide));
    let found = words("  - {id: a, run: x}\n  - {id: b, run: y}", "  - {id: a, run: x}");
    assert!(found.contains(&"steps.b.run: removed".to_owned()), "{found:?}");
}

#[test]
fn how_it_is_written_means_nothing() {
    let found = between(
        "  - {id: a, run: x, env: {A: 1, B: 2}, timeout: 60s}",
        "  - timeout: 1m # a minute\n    env:\n      B: 2\n      A: 1\n    run: x\n    id: a",
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn what_is_wider_is_told_first() {
    let found = between(
        "  - {id: a, run: \"one\\ntwo\\nthree\\nfour\\n\", retry: {max: 1}}",
        "  - {id: a, run: \"one\\ntwo\\nTHREE\\nfour\\n\", retry: {max: 1}}\n  - {id: b, run: y, timeout: 1m}",
    );
    let text = plain(&found.text());
    let expected = "WIDER: more access\n  steps.b.sandbox wider\n    \
        + none: it may do whatever your user may do\n\n\
        parts\n  + steps.b\n\n\
        other changes\n  steps.a.run changed\n      one\n      two\n    - three\n    + THREE\n      four\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_larger_budget_is_wider() {
    let plan = |head: &str| {
        let text = format!("---\nkind: plan\nid: p\n{head}steps:\n{}\n---\n", step(""));
        PlanSummary::of_plan(&sample::plan(&text), "plan.md")
    };
    let small = "budget: {max_attempts: 5, max_cost_usd: 1, max_wall_time_seconds: 60}\n";
    let word = |before: &str, after: &str, path: &str| {
        let found = diff(&plan(before), &plan(after));
        let mut changes = found.changes.iter();
        let change = changes.find(|change| change.line().unwrap().path() == path);
        change.map(|change| change.word().to_owned())
    };
    for (after, path) in [
        (small.replace('5', "6"), "budget.max_attempts"),
        (small.replace("usd: 1", "usd: 1.000001"), "budget.max_cost_usd"),
        (small.replace("60", "61"), "budget.max_wall_time_seconds"),
        (small.replace("60", "60, progress: true"), "budget.progress"),
        (small.replace("max_attempts: 5, ", ""), "budget.max_attempts"),
        (String::new(), "budget.max_cost_usd"),
    ] {
        assert_eq!(word(small, &after, path).as_deref(), Some("wider"), "{after}");
        assert_eq!(word(&after, small, path).as_deref(), Some("narrower"), "{after}");
    }
}
