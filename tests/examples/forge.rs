//! The pack of Forge: a desk with analysts, a clean room for the synthesis, limits, people, and what is learned.

mod scripts;
mod stopped;

use std::path::Path;

use serde_json::Value;

use crate::{
    decisions::last,
    support::{Did, Sandbox},
};

const QUESTION: &str = "question=Does the retail report change our Views?";

fn pack() -> Sandbox {
    super::pack("forge")
}

/// Each file of the archive, with its content.
fn archive(place: &Sandbox) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for folder in std::fs::read_dir(place.at("memory")).unwrap().flatten() {
        for file in std::fs::read_dir(folder.path()).unwrap().flatten() {
            files.push((file.path().display().to_string(), std::fs::read_to_string(file.path()).unwrap()));
        }
    }
    files.sort();
    files
}

/// Proposes an Expression with one other parameter.
fn expression(place: &Sandbox, changed: &str) -> Did {
    let params = r#"{"id": "steep", "title": "Two-year ten-year steepener", "view_id": "V-001",
        "rationale": "The front end prices too few cuts.", "notional": 60, "max_loss_pct": 5, "duration_impact": -5,
        "factor": "rates", "factor_pct": 8, "entry": 0.35, "target": 0.8, "stop": 0.2, "expires": "2999-03-31"}"#;
    place.file("params.json", params);
    place.wf(&["run", "write-expression.md", "--params", "params.json", "-p", changed])
}

#[test]
fn every_plan_and_skill_is_without_mistakes() {
    let place = pack();
    let mut files = vec!["check".to_owned(), "goals".to_owned()];
    for entry in std::fs::read_dir(place.path()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_markdown = Path::new(&name).extension().is_some_and(|end| end == "md");
        if is_markdown && name != "README.md" {
            place.wf(&["graph", &name]).exits(0);
            files.push(name);
        }
    }
    let args: Vec<&str> = files.iter().map(String::as_str).collect();
    place.wf(&args).exits(0).says("no problems found");
    place.wf(&["skill", "validate", "skills", "--profile", "spec"]).exits(0).says("10 of 10 skills pass");
}

#[test]
fn a_question_is_analysed_challenged_tried_again_and_synthesised() {
    let place = pack();
    place.wf(&["run", "desk.md", "-p", QUESTION]).exits(0).says("succeeded");
    let log = place.wf(&["logs", "--last", "desk", "--calls"]).exits(0).out;
    // `ready` returned while nothing had ended: the analyses had only been started in the same reply.
    assert!(log.contains(r#"{"runs":[],"pending":2}"#), "{log}");
    for told in ["2 active: V-001(0.65) V-002(0.55)", "PK-001 Check revisions", "macro_regime: bias +0.14"] {
        assert!(log.contains(told), "the desk is told {told:?} first: {log}");
    }
    place
        .wf(&["show", "--last"])
        .exits(0)
        .says("agents with middle: 4 calls")
        .says("judges with middle: 3 calls");
    assert!(log.contains(r#""verdict":["reject"]"#) && log.contains(r#""verdict":["accept"]"#), "{log}");
    assert!(place.read("memory/views/V-001.md").contains("confidence: 0.58"));
    assert!(place.read("memory/views/V-001.md").contains("- slow: 0.5\n- steady: 0.4\n- boom: 0.1"));
    assert!(place.read("memory/expressions/E-001.md").contains("status: review_required"));
    let mut kept = archive(&place).into_iter().filter(|(path, _)| path.contains("/archive/V-001_"));
    assert!(
        kept.next().is_some_and(|(_, text)| text.contains("confidence: 0.65")),
        "the View before is kept"
    );
}

#[test]
fn a_retry_sees_only_summaries_of_its_context() {
    let place = pack();
    place.wf(&["run", "desk.md", "-p", QUESTION]).exits(0);
    let task: Value = serde_json::from_str(&place.read("session/tasks/credit_again.json")).unwrap();
    assert_eq!(task["context"], serde_json::json!(["V-002:summary", "portfolio:summary"]));
    let log = place.wf(&["logs", "--last", "desk/credit_again/analyse", "--calls"]).exits(0).out;
    assert!(log.contains("RETRY of credit") && log.contains("[V-002:summary]"), "{log}");
    let below = "`factor_…` is the share of the risk that a factor has";
    assert!(!log.contains(below), "what is below the header and the summary is not told: {log}");
    let first = place.wf(&["logs", "--last", "desk/credit/analyse", "--calls"]).exits(0).out;
    assert!(first.contains("[From growth]"), "what it builds on is told: {first}");
    assert!(first.contains(below), "the first one had all of it: {first}");
}

#[test]
fn the_synthesis_knows_nothing_of_the_desk() {
    let place = pack();
    place.wf(&["run", "desk.md", "-p", QUESTION]).exits(0);
    let log = place.wf(&["logs", "--last", "desk/synthesis/synthesise", "--calls"]).exits(0).out;
    for told in [
        "The revision matters more than the headline",
        "the invalidation (two months above 0.5 %) is not met",
    ] {
        assert!(log.contains(told), "the brief and the analyses in full: {log}");
    }
    for not_told in [
        "I distrust the headline",
        "Does the retail report change our Views",
        "session/context/gaps.md",
        "dispatch",
    ] {
        assert!(!log.contains(not_told), "{not_told:?} is of the desk: {log}");
    }
}

#[test]
fn a_synthesis_that_does_not_fit_the_archive_changes_nothing() {
    for (right, wrong, mistake) in [
        (
            r#""prior_confidence": 0.65"#,
            r#""prior_confidence": 0.75"#,
            "V-001 has a confidence of 0.65, not 0.75",
        ),
        (r#""scenario": "slow""#, r#""scenario": "crash""#, "V-001 has no scenario `crash`"),
        (r#""view_id": "V-002""#, r#""view_id": "V-009""#, "V-009 does not exist"),
    ] {
        let place = pack();
        let before = archive(&place);
        place.file("replies/strong.yaml", place.read("replies/strong.yaml").replace(right, wrong));
        place.wf(&["run", "desk.md", "-p", QUESTION]).exits(0).says(mistake);
        assert_eq!(archive(&place), before);
    }
}

#[test]
fn a_view_that_is_invalidated_flags_its_expressions() {
    let place = pack();
    let replies =
        place.read("replies/strong.yaml").replace("weakened\", \"scenario", "invalidated\", \"scenario");
    place.file("replies/strong.yaml", replies.replace(r#""action": "adjust""#, r#""action": "hold""#));
    place.wf(&["run", "desk.md", "-p", QUESTION]).exits(0);
    assert!(place.read("memory/views/V-001.md").contains("status: invalidated"));
    let flagged = place.read("memory/expressions/E-001.md");
    assert!(
        flagged.contains("status: review_required") && flagged.contains("reason: V-001 is invalidated"),
        "{flagged}"
    );
}

#[test]
fn an_analysis_that_the_judge_rejects_fails_after_one_correction() {
    let place = pack();
    let args = [
        "run",
        "sub.md",
        "-p",
        "id=curve",
        "-p",
        "skill=rv-analysis",
        "-p",
        "objective=What does the curve price?",
    ];
    place.wf(&args).exits(1).says("analyse · attempt 2").says("check validation failed");
    assert!(!place.at("session/results/curve.md").exists());
    place
        .wf(&["run", "sub.md", "-p", "id=nothing"])
        .exits(1)
        .says("an analysis needs a skill and an objective");
    place
        .wf(&["run", "sub.md", "-p", "id=again", "-p", "retry_of=never"])
        .exits(1)
        .says("there is no such task");
}

#[test]
fn an_expression_over_a_limit_asks_nobody_and_writes_nothing() {
    let place = pack();
    let before = archive(&place);
    for (over, gate) in [
        ("max_loss_pct=5.1", "max-single-risk"),
        ("notional=60.1", "max-gross-exposure"),
        ("duration_impact=-5.1", "max-duration-contribution"),
        ("factor_pct=8.1", "max-factor-concentration"),
    ] {
        expression(&place, over).exits(1).says(gate);
        assert_eq!(archive(&place), before, "{over}");
        let shown = place.wf(&["show", "--last"]).exits(0).all();
        assert!(!shown.contains("model call"), "nobody is asked: {shown}");
    }
    // At the limits it goes on; but the portfolio changes while a person is asked: it is judged as it is by then.
    expression(&place, "max_loss_pct=5").exits(5);
    place.file("portfolio/state.md", place.read("portfolio/state.md").replace("gross: 140", "gross: 150"));
    let run = last(&place);
    place.wf(&["approve", &run, "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(1).says("`max-gross-exposure`: 210 is not at most 200");
    assert_eq!(archive(&place), before);
}

#[test]
fn an_expression_is_written_once_it_is_reviewed_and_agreed_to() {
    let place = pack();
    place.wf(&["run", "desk.md", "-p", "question=Express V-001 with a steepener"]).exits(5);
    let run = last(&place);
    place.wf(&["approve", &run, "--yes"]).exits(0).says("approve_with_notes").says("asks for a smaller size");
    place.wf(&["resume", &run]).exits(0);
    assert!(place.read("memory/expressions/E-002.md").contains("view_id: V-001"));
    assert!(place.read("memory/views/V-001.md").contains("expressions: E-001 E-002"));
}

#[test]
fn a_declined_expression_is_a_counterfactual() {
    let place = pack();
    expression(&place, "title=Steepener that nobody can judge").exits(5).says("nobody can judge");
    let run = last(&place);
    place.wf(&["deny", &run, "--reason", "not now", "--yes"]).exits(0).says("escalate");
    place.wf(&["resume", &run]).exits(1);
    assert!(!place.at("memory/expressions/E-002.md").exists());
    let untaken = place.read("memory/counterfactuals/CF-002.md");
    assert!(
        untaken.contains("status: tracking\ndecision_type: rejected_expression\nview_id: V-001"),
        "{untaken}"
    );
}

#[test]
fn the_desk_goes_on_when_its_expression_is_declined() {
    let place = pack();
    place.wf(&["run", "desk.md", "-p", "question=Express V-001 with a steepener"]).exits(5);
    let run = last(&place);
    place.wf(&["deny", &run, "--reason", "not now", "--yes"]).exits(0);
    place.wf(&["resume", &run]).exits(0);
    assert!(
        place.at("memory/counterfactuals/CF-002.md").exists()
            && !place.at("memory/expressions/E-002.md").exists()
    );
}

#[test]
fn what_the_reviewer_sends_back_reaches_nobody() {
    let place = pack();
    let before = archive(&place);
    expression(&place, "title=Steepener that is too confident").exits(1).says("check not_sent_back failed");
    assert_eq!(archive(&place), before);
    assert!(place.read("session/results/review_steep.md").contains("Set the stop to 0.1"));
}

#[test]
fn a_text_is_compressed_to_at_most_150_words() {
    let place = pack();
    let compact =
        |focus: &str| place.wf(&["run", "compact.md", "-p", "target=V-001", "-p", &format!("focus={focus}")]);
    compact("What is the confidence of V-001?").exits(0).says("1 verified");
    compact("anything at all").exits(1).says("check at_most_150_words failed");
}

#[test]
fn exits_are_closed_counterfactuals_judged_and_the_week_learned_from() {
    let place = pack();
    let far = place.read("memory/expressions/E-001.md").replace("2026-12-31", "2999-12-31");
    place.file("memory/expressions/E-001.md", far);
    place.wf(&["goal", "run", "hourly-outcomes"]).exits(0).says("healthy");
    place.file("portfolio/levels.md", "# Levels\nE-001: 3.55\nCF-001: 0.95\n---\n");
    place.wf(&["goal", "run", "hourly-outcomes"]).says("E-001: target").says("not approved");
    assert!(
        place.read("memory/expressions/E-001.md").contains("status: active"),
        "nothing without a standing approval"
    );
    let old = place.read("memory/counterfactuals/CF-001.md").replace("2026-11-20", "2020-11-20");
    place.file("memory/counterfactuals/CF-001.md", old);
    for goal in ["hourly-outcomes", "hourly-counterfactuals"] {
        place.wf(&["approve", &format!("goals/{goal}.md"), "--yes"]).exits(0);
        place.wf(&["goal", "run", goal]).exits(0).says("is repaired");
    }
    assert!(place.read("memory/expressions/E-001.md").contains("status: closed"));
    assert!(place.read("memory/outcomes/OUT-001.md").contains("expression: E-001\nstatus: target"));
    assert!(place.read("memory/counterfactuals/CF-001.md").contains("status: completed"));
    place.wf(&["approve", "goals/retrospective.md", "--yes"]).exits(0);
    // The model forgets the counterfactual: the repair fails, and nothing is recorded.
    place.wf(&["goal", "run", "retrospective"]).says("must name CF-001, OUT-001");
    assert!(!place.at("memory/pk/PK-004.md").exists());
    let replies = place
        .read("replies/strong.yaml")
        .replace(r#""reviewed": ["OUT-001"]"#, r#""reviewed": ["OUT-001", "CF-001"]"#);
    place.file("replies/strong.yaml", replies);
    place.wf(&["approve", "goals/retrospective.md", "--yes"]).exits(0);
    place.wf(&["goal", "run", "retrospective"]).exits(0).says("is repaired");
    assert!(place.read("memory/pk/PK-004.md").contains("stance: supports"));
    place.wf(&["goal", "run", "retrospective"]).exits(0).says("healthy");
}

/// Process knowledge about one skill, beside the two pieces that the pack has.
fn know(place: &Sandbox, number: u32, stance: &str) {
    let text = format!(
        "# PK-{number:03} Lesson {number}\nskill: view-validation\nweight: 0.5\nstance: {stance}\n---\n"
    );
    place.file(&format!("memory/pk/PK-{number:03}.md"), text);
}

#[test]
fn five_lessons_and_a_person_change_a_copy_of_a_skill() {
    let place = pack();
    place.wf(&["run", "propose.md"]).exits(1).says("wf skill install bundled:retrospective");
    place.wf(&["skill", "install", "bundled:retrospective", "--yes"]).exits(0);
    know(&place, 4, "supports");
    know(&place, 5, "supports");
    place.wf(&["run", "propose.md"]).exits(0);
    place
        .wf(&["logs", "--last", "weigh"])
        .exits(0)
        .says("view-validation: lessons: missing: 1 more lessons (4 of 5)");
    know(&place, 6, "supports");
    know(&place, 7, "contradicts");
    place.wf(&["run", "propose.md"]).exits(0);
    place.wf(&["logs", "--last", "weigh"]).exits(0).says("what contradicts it: PK-007");
    assert!(!place.at("memory/proposals/SEP-001.md").exists());
    std::fs::remove_file(place.at("memory/pk/PK-007.md")).unwrap();
    place.wf(&["run", "propose.md"]).exits(5);
    assert!(
        place.read("memory/proposals/SEP-001.md").contains("> - Cites specific data"),
        "it quotes what exists"
    );
    let (run, skill) = (last(&place), place.read("skills/view-validation/SKILL.md"));
    place.wf(&["approve", &run, "--yes"]).exits(0).says("+- Lesson 6");
    place.wf(&["resume", &run]).exits(0);
    assert_eq!(place.read("skills/view-validation/SKILL.md"), skill, "no skill is changed in its place");
    assert!(place.read("session/learned/view-validation/SKILL.md").contains("- Lesson 6"));
    place.wf(&["skill", "validate", "session/learned/view-validation"]).exits(0);
}

#[test]
fn the_recording_of_a_question_is_repeated_without_a_model() {
    let place = pack();
    for model in ["strong", "middle", "small"] {
        place.file(&format!("replies/{model}.yaml"), "[]\n");
    }
    place.wf(&["replay", "tape"]).exits(0).says("no difference");
    // The criteria of a skill are part of what its judge is asked.
    let skill = "skills/view-validation/SKILL.md";
    place.file(skill, place.read(skill).replace("Cites specific data", "Cites data"));
    place.wf(&["replay", "tape"]).exits(1).says("has no reply to this request");
}

#[test]
fn the_recording_of_an_expression_is_repeated_with_the_answer_of_a_person() {
    let place = pack();
    place.file("replies/strong.yaml", "[]\n");
    place.wf(&["replay", "tape-expression", "--answers"]).exits(0).says("no difference");
    // A lower limit blocks before anybody is asked.
    place.file("portfolio/state.md", place.read("portfolio/state.md").replace("gross: 140", "gross: 190"));
    place.wf(&["replay", "tape-expression", "--answers"]).exits(1).says("differs at event");
}
