use std::collections::BTreeSet;

use super::{PlanSummary, WorkspaceSettings, consent};
use sample::{GOAL, all, goal, plan};
use wf_base::{digest::Sha256Digest, untrusted::plain};
use wf_model::JsonObject;

mod gates;
mod keys;
pub(crate) mod sample;

fn all_of_a_goal() -> PlanSummary {
    let (plan, goal) = goal(GOAL);
    PlanSummary::of_plan(&plan, "plan.md").add_goal(&goal)
}

#[test]
fn no_two_lines_have_the_same_path() {
    for view in [PlanSummary::of_plan(&plan(&all()), "plan.md"), all_of_a_goal()] {
        let paths: BTreeSet<String> = view.lines.iter().map(super::SummaryLine::path).collect();
        assert_eq!(paths.len(), view.lines.len());
    }
}

#[test]
fn a_goal_says_first_when_it_begins() {
    let (plan, goal) = goal(GOAL);
    let text = plain(&consent(&plan, "goal.md", &[], &JsonObject::new(), Some(&goal)));
    let expected =
        "\n\ngoal\n  schedule             on MON to FRI at 06:00, Europe/Berlin (0 6 * * MON-FRI)\n";
    let at = text.find(expected).expect("it is there");
    assert!(at < text.find("\nplan").unwrap_or(usize::MAX), "{text}");
}

#[test]
fn nested_plans_are_shown_once_and_in_full() {
    let text = "---\nkind: plan\nid: twice\nsteps:\n  \
        - {id: a, uses: parts.md, with: {what: x}}\n  \
        - {id: b, uses: parts.md, with: {what: y}}\n---\n";
    let view = PlanSummary::of_plan(&plan(text), "plan.md");
    let inner = |line: &&super::SummaryLine| line.path() == "parts.md: steps.inner.run";
    assert_eq!(view.lines.iter().filter(inner).count(), 1);
}

#[test]
fn a_person_reads_it_in_80_columns() {
    let params = JsonObject::from_iter([("day".to_owned(), "mon".into())]);
    let files = [("plan.md".to_owned(), Sha256Digest::of_bytes(all().as_bytes()))];
    let text = plain(&consent(&plan(&all()), "plan.md", &files, &params, None));
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
        assert_eq!(line, line.trim_end());
    }
    for part in [
        "all-keys  plan.md\n! 5 steps without a sandbox",
        "given.day            \"mon\"",
        "step first\n",
        "  run\n    │ echo first script\n",
        "parts.md step inner\n",
        "finally step last\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn nobody_is_fooled_by_characters_that_do_not_show() {
    let text = "---\nkind: plan\nid: sly\nsteps:\n  \
        - {id: a, run: \"echo safe # \\u202E}x; rm -rf ~\\u001b[2K\"}\n---\n";
    let text = plain(&consent(&plan(text), "plan.md", &[], &JsonObject::new(), None));
    assert!(text.contains("are shown as ⟨U+…⟩ in\n    steps.a.run\n"), "{text}");
    assert!(text.contains("echo safe # ⟨U+202E⟩}x; rm -rf ~⟨U+001B⟩[2K"), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
}

#[test]
fn long_scripts_are_shown_in_full() {
    let long = format!("echo {} end-of-line", "x".repeat(300));
    let text = format!(
        "---\nkind: plan\nid: long\nsteps:\n  - id: a\n    run: |\n{}---\n",
        format!("      {long}\n").repeat(50)
    );
    let text = plain(&consent(&plan(&text), "plan.md", &[], &JsonObject::new(), None));
    let whole: String = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(['│', '┆'])?.strip_prefix(' '))
        .collect();
    assert_eq!(whole.matches("end-of-line").count(), 50);
    assert_eq!(whole.matches('x').count(), 50 * 300);
}

#[test]
fn what_holds_in_the_workspace_is_shown() {
    let house = WorkspaceSettings {
        is_sandboxed: false,
        readable_paths: &["/srv".into()],
        env_passthrough: &["CI_*".into()],
        named: vec![("models.fast.base_url".into(), "https://models.example".into())],
    };
    let view = PlanSummary::default().add_workspace_settings(&house);
    let paths: Vec<String> = view.lines.iter().map(super::SummaryLine::path).collect();
    let expected = [
        "workspace.sandbox",
        "workspace.sandbox.read[/srv]",
        "workspace.env_pass[CI_*]",
        "workspace.models.fast.base_url",
    ];
    assert_eq!(paths, expected);
}
