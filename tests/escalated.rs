//! Plans that escalations of gates start, through the real program.

use crate::support::{Did, Sandbox};

/// The plan that an escalation starts: it notes what it is given.
const MEND: &str = "---\nkind: plan\nid: mend\n\
    params: {gate: {type: string}, step: {type: [string, 'null']}, why: {type: string}}\n\
    steps:\n  - id: note\n    run: echo \"$WF_PARAM_GATE $WF_PARAM_STEP $WF_PARAM_WHY\" >> mended.txt\n\
    \x20   writes: [mended.txt]\n---\n";

/// Runs a plan whose gate, asked at `on`, lets only plans with the id `allowed` pass.
fn run(on: &str, allowed: &str) -> (Sandbox, Did) {
    let place = Sandbox::new();
    place.file("parts/mend.md", MEND);
    place.file(
        "plan.md",
        format!(
            "---\nkind: plan\nid: p\nescalation:\n  mend:\n    action: spawn_task\n    plan: parts/mend.md\n\
             \x20   message: not like this\n\
             \x20   with: {{gate: '{{{{ block.gate }}}}', step: '{{{{ block.step }}}}', why: '{{{{ block.reason }}}}'}}\n\
             steps:\n  - id: work\n    run: echo work >> ran.txt\n    writes: [ran.txt]\n\
             finally:\n  - {{id: last, run: 'test ! -e mended.txt'}}\n\
             gates:\n  - {{id: no, on: {on}, provider: predicate, check: string_match, extract: $.plan, \
             config: {{allowed_values: [{allowed}]}}, on_block: mend}}\n---\n"
        ),
    );
    let did = place.wf(&["run", "plan.md", "-v"]);
    (place, did)
}

#[test]
fn a_block_starts_the_plan_of_its_escalation_once_the_others_have_ended() {
    for (on, step) in [("after_step", "work"), ("before_publish", "null")] {
        let (place, did) = run(on, "q");
        assert_eq!(did.code, Some(1), "{on}: {}", did.all());
        let mended = place.read("mended.txt");
        assert_eq!(mended.lines().count(), 1, "{on}: {mended}{}", did.all());
        assert!(mended.starts_with(&format!("no {step} ")), "{on}: {mended}");
        assert!(mended.contains("not like this"), "{on}: {mended}");
        place.wf(&["show", "--last"]).says("mend");
        place.wf(&["audit", "verify"]).exits(0);
    }
}

#[test]
fn without_a_block_nothing_is_started() {
    let (place, did) = run("after_step", "p");
    assert_eq!(did.code, Some(0), "{}", did.all());
    assert!(!place.at("mended.txt").exists(), "{}", did.all());
    place.wf(&["show", "--last"]).says("no gate escalated to it");
}

#[test]
fn a_retry_asks_the_gates_anew() {
    let (place, did) = run("before_publish", "q");
    did.exits(1);
    place.file("plan.md", place.read("plan.md").replace("allowed_values: [q]", "allowed_values: [p]"));
    place.wf(&["retry", "--last"]).exits(0);
    assert_eq!(place.read("mended.txt").lines().count(), 1, "the plan is not started again");
}

#[test]
fn a_retry_has_its_own_blocks() {
    let place = Sandbox::new();
    place.file("parts/mend.md", MEND).file("allowed", "no");
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\nescalation:\n  mend: {action: spawn_task, plan: parts/mend.md, with: {gate: x, step: y, why: '{{ block.reason }}'}}\n\
         steps:\n  - {id: work, run: 'true'}\n\
         gates:\n  - {id: g, on: before_publish, provider: script, run: 'test \"$(cat ../allowed ../../allowed allowed 2>/dev/null)\" = yes', on_block: mend}\n---\n",
    );
    place.wf(&["run", "plan.md", "--junit", "out.xml"]).exits(1);
    assert!(place.read("out.xml").contains("failures=\"1\""), "{}", place.read("out.xml"));
    place.wf(&["retry", "--last"]).exits(1);
    assert_eq!(place.read("mended.txt").lines().count(), 2, "a new block has a new repair");
    place.wf(&["retry", "--last", "--only", "mend"]).exits(2).says("cannot be selected");
    place.file("allowed", "yes");
    place.wf(&["retry", "--last"]).exits(0).says("no gate escalated to it");
}

#[test]
fn an_item_is_named_as_it_is_shown_and_its_repair_is_not_repeated() {
    let place = Sandbox::new();
    place.file("parts/mend.md", MEND);
    place.file(
        "plan.md",
        "---\nkind: plan\nid: p\nescalation:\n  again: {action: retry, max_retries: 1, fallback: mend}\n\
         \x20 mend: {action: spawn_task, plan: parts/mend.md, with: {gate: '{{ block.gate }}', step: '{{ block.step }}', why: x}}\n\
         steps:\n  - {id: work, for_each: [3, 1], run: 'true'}\n\
         gates:\n  - {id: g, on: after_step, provider: script, run: 'false', on_block: again}\n---\n",
    );
    place.wf(&["run", "plan.md"]).exits(1);
    let mended = place.read("mended.txt");
    assert_eq!(mended.lines().count(), 1, "{mended}");
    assert!(mended.starts_with("g work[3] ") || mended.starts_with("g work[1] "), "{mended}");
}

#[test]
fn whoever_approves_the_plan_approves_what_an_escalation_starts() {
    let place = Sandbox::new();
    let run = |place: &Sandbox| place.wf(&["check", "plan.md"]);
    place.file("parts/mend.md", MEND);
    let (first, _) = self::run("after_step", "p");
    let plan = first.read("plan.md");
    place.file("plan.md", &plan);
    run(&place).exits(0);
    place.file("before.md", &plan);
    place.file("plan.md", plan.replace("why: '{{ block.reason }}'", "why: no reason"));
    let changed = place.wf(&["diff", "before.md", "plan.md"]);
    assert_ne!(changed.code, Some(0), "{}", changed.all());
    changed.says("no reason");
}
