//! The scripts of Forge, each by itself: what it is given, and what it prints, puts out or writes.

use serde_json::{Value, json};

use super::pack;
use crate::support::{Did, Sandbox};

/// Where a script puts out its values.
const OUTPUT: &str = "output.json";

/// Runs a script as a step does.
fn script(place: &Sandbox, line: &str, given: &[(&str, &str)]) -> Did {
    let mut words = line.split(' ');
    let path = format!("scripts/{}.py", words.next().unwrap_or_default());
    place.file(OUTPUT, "");
    let mut command = place.program("python3");
    command.arg(path).args(words).env("WF_OUTPUT", place.at(OUTPUT)).envs(given.iter().copied());
    Did::of(command.env("PYTHONDONTWRITEBYTECODE", "1"))
}

/// What the last script put out.
fn put_out(place: &Sandbox) -> Value {
    serde_json::from_str(&place.read(OUTPUT)).expect("a line of JSON")
}

#[test]
fn a_desk_is_told_what_is_stable_first() {
    let place = pack();
    script(&place, "start", &[]).exits(0);
    let told = put_out(&place);
    assert_eq!(told["views"], "2 active: V-001(0.65) V-002(0.55)");
    assert_eq!(
        told["knowledge"],
        "PK-001 Check revisions before the headline\nPK-002 Look at the revisions of the two months before",
        "PK-003 has a weight below 0.4"
    );
    assert_eq!(told["calibration"], "macro_regime: bias +0.14 at a confidence of 0.6-0.7");
    assert_eq!(told["portfolio"].as_str().map(|text| text.lines().count()), Some(8));
}

#[test]
fn a_brief_has_its_context_as_deep_as_it_is_asked_for() {
    let place = pack();
    let brief = |id: &str, context: &str, retry_of: &str| {
        let (skill, objective) =
            if retry_of.is_empty() { ("view-validation", "Is it so?") } else { ("", "") };
        let given = [
            ("ID", id),
            ("SKILL", skill),
            ("OBJECTIVE", objective),
            ("CONTEXT", context),
            ("NOTES", "be brief"),
            ("PRIOR", "[]"),
            ("CONTRASTIVE", "true"),
            ("RETRY_OF", retry_of),
        ];
        script(&place, "brief", &given)
    };
    brief("first", r#"["V-001:header", "PK-001"]"#, "").exits(0);
    let told = put_out(&place);
    let context = told["context"].as_str().unwrap();
    assert!(context.starts_with("[V-001:header]\n# V-001 ") && !context.contains("## SUMMARY"), "{context}");
    assert!(context.contains("[PK-001]\n") && context.contains("revised away"), "{context}");
    assert!(told["criteria"].as_str().unwrap().contains("Cites specific data"));
    assert_eq!(told["contrastive"], json!(["contrastive"]));
    brief("again", "[]", "first").exits(0);
    let told = put_out(&place);
    assert_eq!(told["notes"], "RETRY of first. Simplified context.\nbe brief");
    assert!(told["context"].as_str().unwrap().contains("[PK-001:summary]"));
    brief("lost", r#"["V-009"]"#, "")
        .exits(1)
        .says("the context `V-009` does not exist: memory/views/V-009.md");
}

#[test]
fn a_review_is_told_what_the_archive_knows_about_its_output() {
    let place = pack();
    let given = [("OUTPUT", "A call of the macro regime."), ("FOCUS", "Are the revisions looked at?")];
    script(&place, "evidence", &given).exits(0);
    let told = put_out(&place);
    assert!(told["calibration"].as_str().unwrap().contains("bias: +0.14"));
    let knowledge = told["knowledge"].as_str().unwrap();
    assert!(knowledge.contains("PK-001") && knowledge.contains("PK-002") && !knowledge.contains("PK-003"));
}

#[test]
fn an_exposure_is_what_an_expression_would_make_of_the_portfolio() {
    let place = pack();
    let context =
        r#"{"params": {"notional": 60, "duration_impact": -5, "factor": "rates", "factor_pct": 8}}"#;
    let did = script(&place, "exposure", &[("WF_GATE_CONTEXT", context)]).exits(0);
    assert_eq!(did.out, "gross: 200.0\nduration: 5\nfactor: 30.0\n");
}

/// The environment of `write-expression.md`, for a View.
fn expression(view: &str) -> Vec<(&'static str, String)> {
    let given = [
        ("TITLE", "Steepener"),
        ("VIEW_ID", view),
        ("RATIONALE", "The front end."),
        ("NOTIONAL", "30"),
        ("MAX_LOSS_PCT", "1.5"),
        ("DURATION_IMPACT", "0.4"),
        ("ENTRY", "0.35"),
        ("TARGET", "0.8"),
        ("STOP", "0.2"),
        ("EXPIRES", "2999-03-31"),
    ];
    given.map(|(name, value)| (name, value.to_owned())).to_vec()
}

fn about_expression(place: &Sandbox, action: &str, view: &str) -> Did {
    let given = expression(view);
    let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
    script(place, &format!("expression {action}"), &given)
}

#[test]
fn an_expression_is_linked_and_one_that_was_not_taken_is_tracked_if_its_view_was_held() {
    let place = pack();
    about_expression(&place, "write", "V-001").exits(0);
    assert_eq!(place.read(OUTPUT), "path=memory/expressions/E-002.md\n");
    assert!(
        place
            .read("memory/expressions/E-002.md")
            .starts_with("# E-002 Steepener\nstatus: active\nview_id: V-001\n")
    );
    assert!(place.read("memory/views/V-001.md").contains("expressions: E-001 E-002\n"));
    about_expression(&place, "untaken", "V-001").exits(0);
    assert!(place.read("memory/counterfactuals/CF-002.md").contains("status: tracking\n"));
    // V-002 has a confidence of 0.55.
    about_expression(&place, "untaken", "V-002").exits(0);
    assert!(place.read("memory/counterfactuals/CF-003.md").contains("status: recorded\n"));
    about_expression(&place, "write", "V-009").exits(1).says("there is no memory/views/V-009.md");
}

#[test]
fn an_exit_is_reached_at_its_target_its_stop_or_its_time() {
    let place = pack();
    let known = place.read("memory/expressions/E-001.md").replace("2026-12-31", "2999-12-31");
    for (level, expires, said) in [
        ("4.02", "2999-12-31", None),
        // It was opened at 4.10 for a fall to 3.60.
        ("3.60", "2999-12-31", Some("E-001: target")),
        ("4.40", "2999-12-31", Some("E-001: stop")),
        ("4.02", "2020-12-31", Some("E-001: time")),
    ] {
        place.file("memory/expressions/E-001.md", known.replace("2999-12-31", expires));
        place.file("portfolio/levels.md", format!("# Levels\nE-001: {level}\n---\n"));
        let did = script(&place, "tracking expressions check", &[]);
        let did = did.exits(i32::from(said.is_some()));
        assert_eq!(did.out.trim_end(), said.unwrap_or_default());
    }
}

#[test]
fn a_counterfactual_is_not_judged_before_fourteen_days() {
    let place = pack();
    let known = place.read("memory/counterfactuals/CF-001.md");
    place.file("portfolio/levels.md", "# Levels\nCF-001: 0.95\n---\n");
    for (day, said) in [("2999-11-20", ""), ("2020-11-20", "CF-001: target")] {
        place.file("memory/counterfactuals/CF-001.md", known.replace("2026-11-20", day));
        let did = script(&place, "tracking counterfactuals check", &[]);
        assert_eq!(did.exits(i32::from(!said.is_empty())).out.trim_end(), said);
    }
    script(&place, "tracking counterfactuals settle", &[]).exits(0);
    assert!(place.read("memory/counterfactuals/CF-001.md").contains("status: completed\n"));
    script(&place, "tracking counterfactuals check", &[]).exits(0);
}

#[test]
fn a_synthesis_fits_the_archive_or_says_what_does_not() {
    let place = pack();
    let update = |view: &str, prior: f64, now: f64, direction: &str, slow: f64| {
        json!({"view_id": view, "prior_confidence": prior, "updated_confidence": now, "direction": direction,
               "scenario_changes": [{"scenario": "slow", "prior_probability": 0.6, "updated_probability": slow}],
               "key_evidence": "revised"})
    };
    let right = update("V-001", 0.65, 0.58, "weakened", 0.5);
    for (updates, said) in [
        (json!([right]), ""),
        (json!([right, right]), "V-001 is there twice"),
        (json!([update("V-001", 0.65, 0.7, "weakened", 0.5)]), "V-001 is not weakened from 0.65 to 0.7"),
        (
            json!([update("V-001", 0.65, 0.58, "weakened", 0.9)]),
            "the scenarios of V-001 are more than 1 together",
        ),
        (json!([update("V-007", 0.65, 0.58, "weakened", 0.5)]), "V-007 does not exist"),
    ] {
        let updates = updates.to_string();
        let given = [("VIEW_UPDATES", updates.as_str()), ("EXPRESSION_IMPLICATIONS", "[]")];
        script(&place, "synthesis check", &given).exits(i32::from(!said.is_empty())).says(said);
    }
    let did = script(&place, "synthesis gather", &[("ANALYSES", r#"["growth"]"#)]);
    did.exits(1).says("a synthesis needs session/integration_brief.md");
}

#[test]
fn results_are_stored_and_read_again() {
    let place = pack();
    let given = [
        ("ID", "growth"),
        ("SKILL", "view-validation"),
        ("SUMMARY", "It holds."),
        ("ANALYSIS", "All of it."),
        ("COUNTERARGUMENT", r#"["Prices rose."]"#),
    ];
    script(&place, "store analysis", &given).exits(0);
    let stored = place.read("session/results/growth.md");
    assert!(
        stored.ends_with("## ANALYSIS\nAll of it.\n\n## STRONGEST COUNTERARGUMENT\nPrices rose.\n"),
        "{stored}"
    );
    let given =
        [("ID", "second"), ("VERDICT", "revise"), ("REASONING", "Too sure."), ("CHANGES", "Halve the size.")];
    script(&place, "store review", &given).exits(0);
    assert!(place.read("session/results/second.md").starts_with("# second\nverdict: revise\n---\n"));
    script(&place, "target", &[("TARGET", "all_results")]).exits(0);
    let text = put_out(&place)["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("--- growth.md ---\n") && text.contains("\n\n--- second.md ---\n"), "{text}");
}

#[test]
fn lessons_cover_all_and_are_recorded_once() {
    let place = pack();
    place.file(
        "memory/outcomes/OUT-001.md",
        "# OUT-001 Outcome of E-001\nexpression: E-001\nstatus: target\n---\n",
    );
    script(&place, "learn check", &[]).exits(1).says("OUT-001");
    let lesson = json!([{"lesson": "Close what has no reason.", "skill": "portfolio-review", "stance": "supports",
                         "weight": 0.5, "source": "OUT-001"}]);
    let lessons = lesson.to_string();
    let other = lessons.replace("portfolio-review", "reading-tea").replace("OUT-001", "OUT-002");
    let learn = |action: &str, reviewed: &str, lessons: &str| {
        script(&place, action, &[("REVIEWED", reviewed), ("LESSONS", lessons)])
    };
    learn("learn compare", "[]", &lessons).exits(1).says("`reviewed` must name OUT-001, and names nothing");
    learn("learn compare", r#"["OUT-001"]"#, &other)
        .exits(1)
        .says("there is no skill reading-tea")
        .says("the source OUT-002 of a lesson is none of them");
    learn("learn record", r#"["OUT-001"]"#, &lessons).exits(0);
    assert!(place.read("memory/pk/PK-004.md").starts_with("# PK-004 Close what has no reason.\n"));
    script(&place, "learn check", &[]).exits(0).says("all are reviewed");
}

#[test]
fn knowledge_is_evidence_and_a_proposal_has_one_number() {
    let place = pack();
    script(&place, "knowledge", &[]).exits(1).says("wf skill install bundled:retrospective");
    place.file("skills/retrospective/scripts/propose.py", "");
    script(&place, "knowledge", &[]).exits(0);
    let lines = place.read("session/knowledge.jsonl");
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let expected = json!({"kind": "lesson", "id": "PK-001", "skill": "view-validation", "stance": "supports",
                          "weight": 0.6, "lesson": "Check revisions before the headline"});
    assert_eq!((first, lines.lines().count()), (expected, 3));
    let found = r#"[{"text": "A proposal.\n", "digest": "ab", "skill": "view-validation"}]"#;
    for _ in 0..2 {
        script(&place, "number", &[("FOUND", found)]).exits(0);
        assert_eq!(put_out(&place)["path"], "memory/proposals/SEP-001.md");
    }
    assert_eq!(place.read("memory/proposals/SEP-001.md"), "A proposal.\n");
}
