//! `examples/goals`: what its checks ask is what its repair does.

use super::workshop;

const GOAL: &str = "examples/goals/mirror.md";

/// The goal as a plan: what is about its times is left out, its repair becomes its steps.
fn plan(text: &str) -> String {
    let (front, body) = text.split_once("\n---\n").expect("front matter ends");
    let (before, steps) = front.split_once("\nrepair:\n").expect("it has a repair");
    let mut plan = String::new();
    let mut kept = true;
    for line in before.lines() {
        if !line.starts_with(' ') {
            let key = line.split(':').next().unwrap_or_default();
            kept = ["---", "kind", "id", "env", "timeout", "verify"].contains(&key);
        }
        if kept {
            plan.push_str(&line.replace("kind: goal", "kind: plan"));
            plan.push('\n');
        }
    }
    for line in steps.lines() {
        plan.push_str(line.strip_prefix("  ").unwrap_or(line));
        plan.push('\n');
    }
    format!("{plan}---\n{body}")
}

/// The goal as a plan that looks, and does nothing.
fn look(plan: &str) -> String {
    let (before, _) = plan.split_once("\nsteps:").expect("it has steps");
    let before = before.replace("id: mirror-is-fresh", "id: look");
    format!("{before}\nsteps: [{{id: nothing, run: \"true\"}}]\n---\n")
}

#[test]
fn a_mirror_is_mended() {
    let sandbox = workshop();
    let repair = plan(&sandbox.read(GOAL));
    sandbox.file("look.md", look(&repair));
    sandbox.file("repair.md", repair);
    let look = || sandbox.wf(&["run", "look.md"]).code;
    assert_eq!(look(), Some(1), "there is no mirror");
    sandbox.wf(&["run", "repair.md"]).exits(0);
    assert_eq!(look(), Some(0), "it is there");
    let (food, copy) = (
        "examples/goals/prices/food.csv",
        "target/examples/goals/mirror/food.csv",
    );
    sandbox.file(food, "item,cents\nbread,330\n");
    assert_eq!(look(), Some(1), "it is not as it should be");
    sandbox.wf(&["run", "repair.md"]).exits(0);
    assert_eq!(look(), Some(0), "it is as it should be");
    assert_eq!(sandbox.read(copy), sandbox.read(food));
}
