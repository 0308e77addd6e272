//! `examples/skills`: one plan for each skill that is shipped, with a real `wf` on the `PATH`.

use std::path::Path;

use serde_json::json;

use super::{last, workshop};
use crate::support::{Did, Sandbox};

/// Runs `wf` with itself on the `PATH`.
fn wf(sandbox: &Sandbox, args: &[&str]) -> Did {
    let mut command = sandbox.command(args);
    let own = Path::new(env!("CARGO_BIN_EXE_wf")).parent().unwrap();
    let path = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = path.and_then(|(_, value)| value).unwrap_or_default();
    let path = format!("{}:{}", own.display(), path.display());
    Did::of(command.env("PATH", path))
}

/// The workspace with its skills locked: all were looked at and tried, and none is refused.
fn locked() -> Sandbox {
    let sandbox = workshop();
    wf(&sandbox, &["skill", "lock", "--yes"]).exits(0);
    sandbox
}

/// Runs the example of a skill, which must succeed.
fn ran(skill: &str) -> (Sandbox, Did) {
    let sandbox = locked();
    let did = wf(&sandbox, &["run", &format!("examples/skills/{skill}.md")]).exits(0);
    (sandbox, did)
}

#[test]
fn coding_mends_what_its_tests_found() {
    let (sandbox, did) = ran("coding");
    did.says("succeeded · 4 verified, 1 reported · ");
    assert_eq!(last(&sandbox)["run"]["outputs"], json!({ "passed": true }));
    let log = |name: &str| sandbox.read(&format!("target/examples/skills/{name}.log"));
    assert!(log("before").contains("FAILED"), "{}", log("before"));
    assert!(log("after").contains("OK"), "{}", log("after"));
    let source = sandbox.read("examples/skills/coding/prices.py");
    assert!(!source.contains(r#"",""#), "the original was patched: {source}");
}

#[test]
fn plan_writer_writes_what_runs() {
    let (sandbox, did) = ran("plan-writer");
    did.says("succeeded · 2 verified, 3 reported · ");
    let plan = sandbox.read("target/examples/skills/written/plan.md");
    assert!(plan.contains("depends_on: [list]"), "{plan}");
}

#[test]
fn skill_maker_makes_what_is_valid() {
    let (sandbox, did) = ran("skill-maker");
    did.says("succeeded · 3 verified, 1 reported · ");
    let made = "target/examples/skills/made/skills/line-count/SKILL.md";
    assert!(sandbox.at(made).is_file());
}

#[test]
fn retrospective_asks_before_it_changes_a_copy() {
    let sandbox = locked();
    let example = "examples/skills/retrospective.md";
    let asked = wf(&sandbox, &["run", example]).exits(5);
    asked.says("Tell this pitfall in a copy of the skill?");
    let learned = "target/examples/skills/learned/skills/coding/SKILL.md";
    assert!(!sandbox.at(learned).exists(), "nobody has agreed");
    let run = last(&sandbox)["run"]["id"].as_str().unwrap_or_default().to_owned();
    wf(&sandbox, &["approve", &run, "--yes"]).exits(0).says("+## Known pitfalls");
    wf(&sandbox, &["resume", &run]).exits(0).says("succeeded · 4 verified, 2 reported · ");
    let before = std::fs::read_to_string("skills/coding/SKILL.md").unwrap();
    assert_eq!(sandbox.read("skills/coding/SKILL.md"), before);
    let after = sandbox.read(learned);
    assert!(after.starts_with(&before) && after.contains("nothing here says how it is tested"), "{after}");
}
