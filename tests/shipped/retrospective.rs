//! The bar of the skill `retrospective`, and what it does once it is passed.

use serde_json::{Value, json};
use wf_base::digest::Sha256Digest;

use super::bench::Bench;

const PROPOSE: &str = "retrospective/scripts/propose.py";
const APPLY: &str = "retrospective/scripts/apply.py";
const SKILL: &str =
    "---\nname: csv\ndescription: Reads. Use when there are tables.\n---\n# CSV\n\n```sh\nread\n```\n";
const SCRIPT: &str = "exit 1\n";

/// What a run recorded of the step that runs the skill's script.
fn run(number: u32, params: u32, state: &str, log: &str) -> Value {
    let failed = state == "failed";
    json!({
        "kind": "run",
        "works": {"load": "skill csv/scripts/read.sh"},
        "logs": {"load": log},
        "show": {
            "run": {"id": format!("{number:032x}"), "plan": "p", "params": {"n": params}, "retry_of": null},
            "steps": [{"step": "load", "item": null, "state": state, "reason": "exit code 1",
                       "failure_class": failed.then_some("logical"), "cache_key": null, "reused_from": null}],
            "attempts": [{"step": "load", "item": null, "attempt": 1, "failure_class": null,
                          "exit": {"kind": "code", "code": i32::from(failed)}}],
            "checks": [],
            "approved": {"skills": [
                {"path": "skills/csv/scripts/read.sh", "digest": Sha256Digest::of_bytes(SCRIPT.as_bytes()).to_string()}]},
        },
    })
}

/// Runs that failed alike, but for what differs from run to run.
fn failures(count: u32) -> Vec<Value> {
    let one = |at: u32| {
        let log = format!(
            "noise\nerror: column {at} not found in /tmp/x{at}/a.csv: '{at}'\nremedy: name a column\n"
        );
        run(at, at, "failed", &log)
    };
    (1..=count).map(one).collect()
}

fn bench(evidence: &[Value]) -> Bench {
    let bench = Bench::new();
    bench.file("skills/csv/SKILL.md", SKILL);
    bench.file("skills/csv/scripts/read.sh", SCRIPT);
    let lines: Vec<String> = evidence.iter().map(Value::to_string).collect();
    bench.file("e.jsonl", &lines.join("\n"));
    bench
}

/// What is proposed from this evidence: how much, and what is missing.
fn proposals(evidence: &[Value]) -> (u64, String) {
    let bench = bench(evidence);
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let outputs = bench.outputs();
    let count = outputs["proposals"].as_u64().expect("a number");
    let written = std::fs::read_dir(bench.at("proposals")).map_or(0, Iterator::count);
    assert_eq!(written as u64, count, "each proposal is a file");
    assert_eq!(bench.read("skills/csv/SKILL.md"), SKILL, "no skill is changed");
    (count, outputs["missing"].to_string())
}

/// Makes a proposal there; the arguments that apply it.
pub fn propose_in(bench: &Bench) -> Vec<String> {
    bench.file("skills/csv/SKILL.md", SKILL);
    bench.file("skills/csv/scripts/read.sh", SCRIPT);
    let lines: Vec<String> = failures(5).iter().map(Value::to_string).collect();
    bench.file("e.jsonl", &lines.join("\n"));
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let found = bench.outputs()["found"][0].clone();
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    vec![
        format!("--proposal={}", text("path")),
        format!("--digest={}", text("digest")),
        "--into=learned".into(),
        "--skills=skills".into(),
    ]
}

#[test]
fn four_are_too_few_and_five_are_enough() {
    let (count, missing) = proposals(&failures(4));
    assert_eq!(count, 0);
    assert!(missing.contains("1 more runs (4 of 5)"), "{missing}");
    assert_eq!(proposals(&failures(5)).0, 1);
    assert_eq!(proposals(&failures(9)).0, 1);
    assert_eq!(proposals(&[]).0, 0);
}

#[test]
fn one_contradiction_is_enough_for_nothing() {
    let with = |more: Value| proposals(&[failures(5), vec![more]].concat());
    let (count, missing) = with(run(6, 3, "succeeded", ""));
    assert_eq!(count, 0);
    assert!(missing.contains("contradicts"), "{missing}");
    // The same step with other parameters says nothing against it.
    assert_eq!(with(run(6, 6, "succeeded", "")).0, 1);
    let memory = |space: &str, sigma: f64| json!({"kind": "memory", "megrams": [{"space": space, "entity": "path:any", "sigma": sigma}]});
    assert_eq!(with(memory("tool:p/load", 1.0)).0, 0);
    assert_eq!(with(memory("tool:p/load", -1.0)).0, 1);
    assert_eq!(with(memory("tool:q/load", 1.0)).0, 1);
}

/// Lessons about the skill, each in its words.
fn lessons(count: u32) -> Vec<Value> {
    (1..=count).map(|at| lesson(at, "supports", 0.4)).collect()
}

fn lesson(number: u32, stance: &str, weight: f64) -> Value {
    let text = format!("Lesson `{number}` of\n# somebody");
    json!({"kind": "lesson", "id": format!("PK-{number:03}"), "skill": "csv", "stance": stance, "weight": weight, "lesson": text})
}

#[test]
fn lessons_have_the_same_bar() {
    let (count, missing) = proposals(&lessons(4));
    assert_eq!(count, 0);
    assert!(missing.contains("1 more lessons (4 of 5)"), "{missing}");
    assert_eq!(proposals(&lessons(5)).0, 1);
    let with = |more: Value| proposals(&[lessons(4), vec![more]].concat()).0;
    assert_eq!(with(lesson(5, "supports", 0.39)), 0, "it weighs too little");
    assert_eq!(with(lesson(4, "supports", 1.0)), 0, "the same lesson counts once");
    let mut other = lesson(5, "supports", 1.0);
    other["skill"] = json!("tables");
    assert_eq!(with(other), 0, "another skill");
}

#[test]
fn one_lesson_that_contradicts_is_enough_for_nothing() {
    let (count, missing) = proposals(&[lessons(5), vec![lesson(6, "contradicts", 0.1)]].concat());
    assert_eq!(count, 0);
    assert!(missing.contains("contradicts it: PK-006"), "{missing}");
    let bench = bench(&[lesson(1, "perhaps", 1.0)]);
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).refuses(2, "supports or contradicts");
}

#[test]
fn lessons_are_told_once_as_they_are_and_without_markup() {
    let bench = bench(&lessons(5));
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let found = bench.outputs()["found"][0].clone();
    let text = found["text"].as_str().unwrap().to_owned();
    assert!(text.contains("5 lessons speak for it, 0 against it."), "{text}");
    assert!(text.contains("> # CSV") && text.contains("+- Lesson '3' of ' somebody"), "{text}");
    let digest = format!("--digest={}", found["digest"].as_str().unwrap());
    let proposal = format!("--proposal={}", found["path"].as_str().unwrap());
    bench.run(APPLY, &[&proposal, &digest, "--into=learned"]).exits(0);
    let learned = bench.read("learned/csv/SKILL.md");
    assert!(learned.starts_with(SKILL) && learned.matches("- Lesson").count() == 5, "{learned}");
    // What the skill says already is not proposed again.
    bench.file("skills/csv/SKILL.md", &learned);
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    assert!(bench.outputs()["missing"].to_string().contains("the skill says it already"));
}

#[test]
fn a_run_counts_once() {
    let same: Vec<Value> = vec![failures(1); 5].concat();
    assert_eq!(proposals(&same).0, 0);
    let mut retried = failures(5);
    for at in 1..5 {
        retried[at]["show"]["run"]["retry_of"] = retried[at - 1]["show"]["run"]["id"].clone();
    }
    assert_eq!(proposals(&retried).0, 0, "retries of a run are no other runs");
}

#[test]
fn only_the_same_counts() {
    let mut other = failures(5);
    other[0]["show"]["approved"]["skills"][0]["digest"] = json!("00");
    assert_eq!(proposals(&other).0, 0, "another version of the script");
    let mut other = failures(5);
    other[0]["show"]["approved"]["skills"] = json!([]);
    assert_eq!(proposals(&other).0, 0, "nobody approved that script");
    let mut other = failures(5);
    other[0]["show"]["steps"][0]["failure_class"] = json!("environmental");
    assert_eq!(proposals(&other).0, 0, "another class");
    let mut other = failures(5);
    other[0]["logs"]["load"] = json!("error: no such table");
    assert_eq!(proposals(&other).0, 0, "another message");
    let mut other = failures(5);
    other[0]["works"]["load"] = json!("skill ../csv/scripts/read.sh");
    assert_eq!(proposals(&other).0, 0, "no name of a skill");
}

#[test]
fn what_is_always_mended_or_tried_again_is_a_pattern() {
    let mut all: Vec<Value> = (1..=5).map(|at| run(at, at, "succeeded", "")).collect();
    for one in &mut all {
        let attempts = &mut one["show"]["attempts"];
        *attempts = json!([
            {"step": "load", "item": null, "attempt": 1, "failure_class": "environmental", "exit": {"kind": "code", "code": 1}},
            {"step": "load", "item": null, "attempt": 2, "failure_class": null, "exit": {"kind": "code", "code": 0}}]);
    }
    let one = bench(&all);
    one.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let text = one.outputs()["found"][0]["text"].to_string();
    assert!(text.contains("give its step `retry`"), "{text}");
    for one in &mut all {
        one["show"]["checks"] = json!([{"step": "load", "item": null, "attempt": 1,
            "verdict": {"name": "has_rows", "ruling": "fail"}}]);
    }
    let one = bench(&all);
    one.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let text = one.outputs()["found"][0]["text"].to_string();
    assert!(text.contains("see to `has_rows`"), "{text}");
}

#[test]
fn the_bar_is_not_lowered_and_evidence_must_be_some() {
    let bench = bench(&failures(4));
    bench.run(PROPOSE, &["--evidence=e.jsonl", "--bar=4"]).refuses(2, "cannot be lower than 5");
    bench.run(PROPOSE, &["--evidence=none"]).refuses(2, "cannot be read");
    for text in ["[]", "{", "{\"kind\": \"run\"}", "{\"kind\": \"memory\"}", "\u{0}"] {
        bench.file("e.jsonl", text);
        bench.run(PROPOSE, &["--evidence=e.jsonl"]).refuses(2, "e");
    }
    assert!(!bench.at("proposals").exists());
}

#[test]
fn somebodys_text_stays_text() {
    let mut all = failures(5);
    for one in &mut all {
        one["logs"]["load"] = json!("error: `x` <!-- ignore --> [do](http://x) \u{1b}[2J\u{202e} ## Head");
    }
    let bench = bench(&all);
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let text = bench.outputs()["found"][0]["text"].as_str().unwrap().to_owned();
    let said = text.lines().find(|line| line.contains("fails (logical)")).unwrap();
    let odd = |c: char| c.is_control() || matches!(c, '<' | '>' | '[' | ']' | '#' | '\u{202e}');
    assert!(!said.contains(odd), "{said}");
    assert_eq!(said.matches('`').count(), 4, "{said}");
}

#[test]
fn a_proposal_is_applied_to_a_copy_as_it_was_approved() {
    let bench = Bench::new();
    let args = propose_in(&bench);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    bench.run(APPLY, &args).exits(0);
    let learned = bench.read("learned/csv/SKILL.md");
    let entry = "\n## Known pitfalls\n\n- `scripts/read.sh` fails (logical) with `error: column N not found in PATH: '…'`. What it says to do: `name a column`.\n";
    assert_eq!(learned, format!("{SKILL}{entry}"));
    assert_eq!(super::loads(&learned, "csv"), Vec::<String>::new());
    assert_eq!(bench.read("skills/csv/SKILL.md"), SKILL);
    assert_eq!(bench.read("learned/csv/scripts/read.sh"), SCRIPT);
    bench.run(APPLY, &args).refuses(2, "there already");
    // What was learned is not proposed again, and a second one joins it.
    bench.file("skills/csv/SKILL.md", &learned);
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0).says("says it already");
    let mut more = failures(5);
    for one in &mut more {
        one["logs"]["load"] = json!("error: no such table");
    }
    let lines: Vec<String> = more.iter().map(Value::to_string).collect();
    bench.file("e.jsonl", &lines.join("\n"));
    bench.run(PROPOSE, &["--evidence=e.jsonl"]).exits(0);
    let text = bench.outputs()["found"][0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("\n+- `scripts/read.sh` fails (logical) with `error: no such table`."), "{text}");
    assert!(!text.contains("+## Known"), "{text}");
}

#[test]
fn what_was_not_approved_or_has_changed_is_refused() {
    let bench = Bench::new();
    let args = propose_in(&bench);
    let path = args[0].trim_start_matches("--proposal=").to_owned();
    let all: Vec<&str> = args.iter().map(String::as_str).collect();
    let text = bench.read(&path);
    bench.file(&path, &text.replace("name a column", "do as I say"));
    bench.run(APPLY, &all).refuses(2, "not the one that was approved");
    bench.file(&path, &text);
    bench.file("skills/csv/SKILL.md", &format!("{SKILL}more\n"));
    bench.run(APPLY, &all).refuses(2, "has changed since");
    bench.file("skills/csv/SKILL.md", SKILL);
    let broken = text.replace("\n read\n", "\n write\n");
    assert_ne!(broken, text, "the diff shows what stands around");
    let digest = format!("--digest={}", Sha256Digest::of_bytes(broken.as_bytes()));
    bench.file(&path, &broken);
    bench.run(APPLY, &[all[0], &digest, all[2]]).refuses(2, "does not fit");
    let elsewhere = text.replacen("\"SKILL.md\"", "\"../x\"", 1);
    let digest = format!("--digest={}", Sha256Digest::of_bytes(elsewhere.as_bytes()));
    bench.file(&path, &elsewhere);
    bench.run(APPLY, &[all[0], &digest, all[2]]).refuses(2, "no proposal");
    assert!(!bench.at("learned").exists());
}
