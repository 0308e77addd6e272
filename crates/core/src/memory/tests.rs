mod laws;

use super::{
    BadBundleLine, DreamChanges, Megram, MegramLevel, MegramOrigin, MegramState, MegramTags, MegramWeights,
    MemoryAction, MemoryAdvice, MemoryBundle, RuleSense, ToolTarget, advise, contradict, dream, potentials,
    read_bundle, share, write_bundle,
};
use wf_base::{keyword::Keyword, time::Moment};

pub(super) const NOW: Moment = Moment::from_millis(1_800_000_000_000);
const DAY: i64 = 86_400_000;

pub(super) fn read_lines(text: &str, megrams: &[Megram]) -> Result<Vec<Megram>, BadBundleLine> {
    let known = MemoryBundle { megrams: megrams.to_vec(), notes: Vec::new() };
    read_bundle(text, &known).map(|bundle| bundle.megrams)
}

pub(super) fn write_lines(megrams: &[Megram]) -> String {
    write_bundle(&MemoryBundle { megrams: megrams.to_vec(), notes: Vec::new() }, NOW)
}

pub(super) fn ago(days: i64) -> Moment {
    Moment::from_millis(NOW.millis() - days * DAY)
}

fn tags() -> MegramTags {
    MegramTags::tool("curl", "api.example")
}

/// Megrams of one cluster, all of one state and age.
fn many(count: usize, state: MegramState, days: i64) -> Vec<Megram> {
    let one = |number: usize| {
        let from = format!("{state} {days} {number}");
        let origin = MegramOrigin { at: ago(days), from: &from };
        Megram::new(state, tags(), format!("what {from}"), origin)
    };
    (0..count).map(one).collect()
}

fn rule(sense: RuleSense, days: i64) -> Megram {
    let mut rule = many(1, sense.state(), days).remove(0);
    (rule.level, rule.k) = (MegramLevel::CommonSense, 0.0);
    rule
}

fn words(dream: &DreamChanges) -> (usize, usize, Vec<Option<RuleSense>>) {
    let senses = dream.promote.iter().map(Megram::sense).collect();
    (dream.forget.len(), dream.demote.len(), senses)
}

#[test]
fn the_matrix_is_that_of_the_source() {
    let rows = [
        ("abandon", 0.95, -1.0, 0.05),
        ("accept", 0.90, 1.0, 0.05),
        ("change_approach", 0.85, -1.0, 0.05),
        ("success", 0.80, 1.0, 0.05),
        ("break_symmetry", 0.75, 1.0, 0.05),
        ("change_path", 0.30, 0.0, 0.2),
        ("refine", 0.10, 0.5, 0.5),
        ("feedback", 0.95, -1.0, 0.05),
    ];
    for (state, (word, f, sigma, k)) in MegramState::ALL.iter().copied().zip(rows) {
        assert_eq!(state.as_str(), word);
        assert_eq!(serde_json::to_value(state).unwrap(), word);
        assert_eq!(state.weights(), MegramWeights { f, sigma, k });
    }
    for &level in MegramLevel::ALL {
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
}

#[test]
fn actions_follow_from_the_thresholds_as_their_signs_say() {
    for (attention, decision, action) in [
        (0.0, 0.0, MemoryAction::Ignore),
        (0.499, 0.499, MemoryAction::Ignore),
        (0.5, 0.2, MemoryAction::Caution),
        (0.5, 0.201, MemoryAction::Exploit),
        (0.5, -0.2, MemoryAction::Caution),
        (0.5, -0.201, MemoryAction::Avoid),
        (9.0, 0.0, MemoryAction::Caution),
    ] {
        assert_eq!(MemoryAction::of(attention, decision), action, "{attention} {decision}");
    }
}

#[test]
fn half_of_a_decisive_megram_is_left_after_two_weeks() {
    for (state, days, left) in [
        (MegramState::Accept, 14, 0.447),
        (MegramState::ChangePath, 7, 0.074),
        (MegramState::Refine, 0, 0.1),
        (MegramState::Refine, -3, 0.1),
    ] {
        let found = share(&many(1, state, days).remove(0), NOW).attention;
        assert!((found - left).abs() < 0.001, "{state} {days}: {found}");
    }
}

#[test]
fn the_two_channels_of_a_cluster() {
    let mixed = [many(1, MegramState::Accept, 0), many(1, MegramState::Abandon, 0)].concat();
    let known = potentials(&mixed, NOW);
    assert!((known.attention - 1.85).abs() < 1e-9);
    assert!((known.decision + 0.05).abs() < 1e-9);
    assert_eq!(known.action, MemoryAction::Caution);
    assert_eq!(potentials(&mixed, ago(-60)).action, MemoryAction::Ignore);
    assert_eq!(potentials([], NOW).attention.to_bits(), 0.0_f64.to_bits());
    // A rule is made of evidence, but is none itself.
    let known = potentials(&[rule(RuleSense::Constraint, 0)], NOW);
    assert_eq!(known.action, MemoryAction::Ignore);
}

#[test]
fn what_has_faded_is_forgotten_and_a_law_is_not() {
    let mut law = rule(RuleSense::Constraint, 4000);
    law.level = MegramLevel::Thinking;
    let old = many(1, MegramState::Accept, 46).remove(0);
    let rows = [law, rule(RuleSense::BestPractice, 4000), old.clone()];
    assert_eq!(dream(&rows, NOW).forget, [old.id]);
    assert!(dream(&many(1, MegramState::Accept, 43), NOW).is_empty());
}

/// A cluster is forgotten by its attention, not each megram by its remaining weight (artoo v0.8,
/// `Λ_gc`): a megram of almost no weight counts beside the others.
#[test]
fn a_cluster_is_forgotten_as_a_whole() {
    let faint = many(1, MegramState::Refine, 0).remove(0);
    let soon = Moment::from_millis(NOW.millis() + 3_600_000);
    assert!(dream(std::slice::from_ref(&faint), soon).is_empty());
    let later = Moment::from_millis(NOW.millis() + 3 * 3_600_000);
    assert_eq!(dream(std::slice::from_ref(&faint), later).forget, [faint.id]);
    for (others, count, forgotten) in
        [(MegramState::Refine, 1, 0), (MegramState::Accept, 1, 0), (MegramState::ChangePath, 1, 0)]
    {
        let rows = [vec![faint.clone()], many(count, others, 1)].concat();
        assert_eq!(words(&dream(&rows, later)), (forgotten, 0, vec![]), "{others}");
    }
    // Two that are too little alone are enough together, and later too little together.
    let rows = many(2, MegramState::Accept, 50);
    assert_eq!(words(&dream(&rows, NOW)), (0, 0, vec![]));
    assert_eq!(words(&dream(&rows, ago(-10))), (2, 0, vec![]));
    // Evidence about something else preserves nothing.
    let mut elsewhere = many(1, MegramState::Accept, 0);
    elsewhere[0].tags = MegramTags::tool("curl", "other");
    let rows = [vec![faint.clone()], elsewhere].concat();
    assert_eq!(dream(&rows, later).forget, [faint.id]);
}

#[test]
fn a_certain_cluster_becomes_one_rule() {
    for (count, state, expected) in [
        (5, MegramState::Accept, vec![]),
        (6, MegramState::Accept, vec![Some(RuleSense::BestPractice)]),
        (6, MegramState::Abandon, vec![Some(RuleSense::Constraint)]),
        (40, MegramState::ChangePath, vec![]),
    ] {
        let rows = many(count, state, 0);
        let dreamt = dream(&rows, NOW);
        assert_eq!(words(&dreamt), (0, 0, expected), "{count} {state}");
        let after = dreamt.apply_to(&rows);
        assert!(dream(&after, NOW).is_empty(), "{count} {state}");
        // Also when the evidence has faded.
        assert!(dream(&after, ago(-500)).promote.is_empty());
    }
}

#[test]
fn a_rule_says_what_it_was_made_of() {
    let mut rows = [many(5, MegramState::Success, 2), many(2, MegramState::Accept, 1)].concat();
    rows.last_mut().unwrap().content = format!("the\nlast {}", "x".repeat(300));
    let made = dream(&rows, NOW).promote.remove(0);
    let expected = "Best practice: prefer tool:curl on path:api.example. \
                    Seen 7 times: 2 accept, 5 success. Last: ";
    assert!(made.content.starts_with(expected), "{}", made.content);
    assert_eq!((made.level, made.created), (MegramLevel::CommonSense, NOW));
    assert_eq!((made.f, made.sigma, made.k), (0.80, 1.0, 0.0));
    rows.reverse();
    assert_eq!(dream(&rows, NOW).promote, [made]);
}

#[test]
fn a_rule_that_the_evidence_contradicts_is_one_no_more() {
    for (sense, state, lost) in [
        (RuleSense::BestPractice, MegramState::Accept, 0),
        (RuleSense::BestPractice, MegramState::ChangePath, 0),
        (RuleSense::BestPractice, MegramState::Abandon, 1),
        (RuleSense::Constraint, MegramState::Abandon, 0),
        (RuleSense::Constraint, MegramState::ChangePath, 0),
        (RuleSense::Constraint, MegramState::Accept, 1),
    ] {
        let rows = [vec![rule(sense, 1)], many(1, state, 0)].concat();
        let dreamt = dream(&rows, NOW);
        assert_eq!(words(&dreamt), (0, lost, vec![]), "{sense:?} {state}");
        let after = dreamt.apply_to(&rows);
        let first = &after[0];
        let (level, k) =
            if lost == 1 { (MegramLevel::Knowledge, 0.05) } else { (MegramLevel::CommonSense, 0.0) };
        assert_eq!((first.level, first.k), (level, k), "{sense:?} {state}");
    }
}

#[test]
fn a_contrary_rule_takes_the_place_of_one_that_lost_its_trust() {
    let rows = [vec![rule(RuleSense::BestPractice, 0)], many(6, MegramState::Abandon, 0)].concat();
    let dreamt = dream(&rows, NOW);
    assert_eq!(words(&dreamt), (0, 1, vec![Some(RuleSense::Constraint)]));
    assert!(dream(&dreamt.apply_to(&rows), NOW).is_empty());
    // An old megram is evidence of almost no weight.
    let rows = [vec![rule(RuleSense::BestPractice, 90)], many(1, MegramState::Abandon, 0)].concat();
    let dreamt = dream(&rows, NOW);
    assert_eq!(words(&dreamt), (0, 1, vec![]));
    assert!(potentials(&dreamt.apply_to(&rows), NOW).decision < -0.9);
    // Without evidence that contradicts it, the rule stays.
    assert_eq!(dream(&rows, ago(-80)).forget, [rows[1].id]);
}

#[test]
fn feedback_speaks_against_a_rule_whatever_it_says() {
    let origin = MegramOrigin { at: NOW, from: "a person" };
    for sense in [RuleSense::BestPractice, RuleSense::Constraint] {
        let rule = rule(sense, 30);
        let said = contradict(&rule, "not so".into(), origin).unwrap();
        assert_eq!(said.tags, rule.tags);
        let dreamt = dream(&[rule.clone(), said], NOW);
        assert_eq!(dreamt.demote, [rule.id], "{sense:?}");
    }
    let megram = many(1, MegramState::Accept, 0).remove(0);
    let refused = contradict(&megram, "not so".into(), origin).unwrap_err();
    assert_eq!(refused.level, MegramLevel::Megram);
}

#[test]
fn advice_goes_by_rules_and_then_by_evidence() {
    let mut elsewhere = many(3, MegramState::Accept, 0);
    for megram in &mut elsewhere {
        megram.tags = MegramTags::tool("curl", "other");
    }
    let mut rows = [many(2, MegramState::Abandon, 0), elsewhere].concat();
    let alone = |tool: &str| ToolTarget { tool: tool.into(), entity: None };
    let pairs = [
        ToolTarget::of_run("curl", Some("api.example"), None),
        ToolTarget::of_run("curl", Some("other"), None),
        alone("curl"),
        alone("wget"),
    ];
    let actions = |rows: &[Megram]| {
        let advice = advise(rows, &pairs, NOW);
        advice.iter().map(|advice| advice.action).collect::<Vec<_>>()
    };
    let (avoid, exploit, ignore) = (MemoryAction::Avoid, MemoryAction::Exploit, MemoryAction::Ignore);
    assert_eq!(actions(&rows), [avoid, exploit, exploit, ignore]);
    rows.push(rule(RuleSense::BestPractice, 0));
    assert_eq!(actions(&rows), [exploit, exploit, exploit, ignore]);
    let constraint = rule(RuleSense::Constraint, 0);
    rows.push(constraint.clone());
    assert_eq!(actions(&rows), [avoid, exploit, exploit, ignore]);
    let MemoryAdvice { rules, .. } = advise(&rows, &pairs, NOW).remove(0);
    assert_eq!(rules, [constraint.id]);
}

#[test]
fn lines_are_read_strictly() {
    let line = r#"{"created":"2026-11-01T00:00:00Z","space":"tool:curl","entity":"path:a","content":"","state":"accept"}"#;
    let read = read_lines(&format!("\n{line}\n{line}\n"), &[]).unwrap();
    assert_eq!(read.len(), 1, "the same twice is one");
    assert_eq!(
        MegramState::Accept.weights(),
        MegramWeights { f: read[0].f, sigma: read[0].sigma, k: read[0].k }
    );
    assert_eq!(read_lines(&write_lines(&read), &read).unwrap(), read);
    let other = serde_json::to_string(&read[0]).unwrap().replace("accept", "abandon");
    let with = |more: &str| line.replace("\"state\"", &format!("{more},\"state\""));
    for (text, known, cause) in [
        ("nothing".into(), &[][..], "expected ident, at column 2"),
        (
            line.replace("tool:curl", "curl"),
            &[],
            "invalid tag `curl`: write KIND:VALUE, like tool:curl, intent:build_the_page, path:api.example or env:local",
        ),
        (with("\"f\":1.5"), &[], "`f` is 1.5; it must be from 0 to 1"),
        (with("\"sigma\":-2"), &[], "`sigma` is -2; it must be from -1 to 1"),
        (with("\"k\":0"), &[], "`k` is 0; it must be more than 0 on a level that decays"),
        (
            with("\"level\":\"thinking\",\"k\":1"),
            &[],
            "`k` is 1; it must be 0 on a level that does not decay",
        ),
        (with("\"level\":\"common_sense\",\"sigma\":0"), &[], "`sigma` is 0; it must be not 0 for a rule"),
        (other, &read, "duplicate megram id"),
    ] {
        let wrong = read_lines(&format!("{line}\n{text}"), known).unwrap_err();
        assert_eq!(wrong.line, 2, "{text}");
        assert!(wrong.cause.to_string().starts_with(cause), "{text}: {}", wrong.cause);
    }
    let unknown = read_lines(&with("\"weight\":1"), &[]).unwrap_err();
    assert!(unknown.to_string().starts_with("line 1: unknown field `weight`"), "{unknown}");
}
