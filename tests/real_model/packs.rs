//! The packs with the real small model in every role. It follows the schemas of outputs, and hardly an instruction: so
//! what is asserted is what must hold whatever it says.

use serde_json::Value;

use super::{ModelServer, Relay};
use crate::{
    examples::{last, pack, with_wf},
    support::{Did, Sandbox},
};

/// A pack whose roles the small model plays.
struct SmallPack {
    place: Sandbox,
    relay: Relay,
    _server: ModelServer,
}

/// A run of a pack that ended, or waits for people.
struct EndedRun {
    did: Did,
    /// The run, as `wf show --json` has it.
    shown: Value,
}

impl SmallPack {
    /// Copies a pack, and names the model in `wf.yaml` as its README says.
    fn new(name: &str, max_output: u32) -> Self {
        let server = ModelServer::start();
        let relay = Relay::to(server.authority());
        let place = pack(name);
        let url = relay.base_url();
        let model = format!(
            "{{api: openai, base_url: \"{url}\", model: smollm2, max_output: {max_output}, context_window: 4096}}"
        );
        let config = place.read("wf.yaml");
        let lines = config.lines().map(|line| match line.split_once("{api: scripted") {
            Some((name, _)) => format!("{name}{model}\n"),
            None => format!("{line}\n"),
        });
        place.file("wf.yaml", lines.collect::<String>());
        Self { place, relay, _server: server }
    }

    /// Runs a plan until it ends or waits, and asserts what holds of every run.
    fn run(&self, args: &[&str]) -> EndedRun {
        let did = with_wf(&self.place, &[&["run"], args].concat());
        assert!(matches!(did.code, Some(0 | 1 | 5)), "{}", did.all());
        let shown = last(&self.place);
        self.is_counted(&shown);
        is_within_budget(&shown);
        is_proven(&shown);
        EndedRun { did, shown }
    }

    /// Every token that the server counted is in the record, and no other. It counts at the end of a reply: a call that a
    /// limit of time cut is estimated.
    fn is_counted(&self, shown: &Value) {
        let events = self.relay.events();
        let ends: Vec<&Value> =
            events.iter().map(|event| &event["usage"]).filter(|usage| usage.is_object()).collect();
        let counts = ends.iter().flat_map(|usage| [&usage["prompt_tokens"], &usage["completion_tokens"]]);
        let counted = counts.filter_map(Value::as_u64).sum::<u64>();
        assert!(counted > 0, "the model was asked");
        let tokens = sum(shown, "tokens");
        if sum(shown, "calls") == ends.len() as u64 {
            assert_eq!(tokens, counted, "{:#}", shown["models"]);
        } else {
            assert!(tokens >= counted, "{tokens} of {counted}: {:#}", shown["models"]);
        }
        if let Some(ledger) = shown["ledger"]["tokens"].as_u64() {
            assert_eq!(ledger, tokens, "the ledger of a run has what is nested in it, too");
        }
    }
}

impl EndedRun {
    /// How a step ended: its state, or nothing if it did not begin.
    fn state(&self, step: &str) -> Option<&str> {
        self.step(step)["state"].as_str()
    }

    fn step(&self, step: &str) -> &Value {
        let steps = self.shown["steps"].as_array().expect("the run has steps");
        steps.iter().find(|row| row["step"] == step).unwrap_or(&Value::Null)
    }

    /// The outputs of a step that succeeded.
    fn outputs(&self, step: &str) -> Option<&Value> {
        (self.state(step) == Some("succeeded")).then(|| &self.step(step)["outputs"])
    }
}

/// The tokens, or the calls, of a run and of those nested in it.
fn sum(shown: &Value, what: &str) -> u64 {
    let own = shown["models"].as_array().into_iter().flatten().filter_map(|model| model[what].as_u64());
    own.sum::<u64>() + records(shown).map(|record| sum(record, what)).sum::<u64>()
}

/// The runs nested in a run.
fn records(shown: &Value) -> impl Iterator<Item = &Value> {
    shown["nested"].as_array().into_iter().flatten().map(|nested| &nested["record"])
}

/// No attempt began over a limit; what was under way may pass it.
fn is_within_budget(shown: &Value) {
    let (limit, used) = (&shown["ledger"]["budget"]["max_tokens"], &shown["ledger"]["tokens"]);
    if let (Some(limit), Some(used)) = (limit.as_u64(), used.as_u64()) {
        assert!(used <= limit, "{used} of {limit} tokens");
    }
    records(shown).for_each(is_within_budget);
}

/// No step is verified but by checks that passed.
fn is_proven(shown: &Value) {
    for step in shown["steps"].as_array().into_iter().flatten().filter(|step| step["standing"] == "verified")
    {
        let checks = shown["checks"].as_array().into_iter().flatten();
        let mut own = checks.filter(|check| check["step"] == step["step"] && check["item"] == step["item"]);
        let last = own.clone().filter_map(|check| check["attempt"].as_u64()).max();
        assert!(
            last.is_some() && own.all(|check| check["attempt"].as_u64() != last || passes(check)),
            "{step:#}"
        );
    }
    records(shown).for_each(is_proven);
}

fn passes(check: &Value) -> bool {
    check["verdict"]["ruling"] == "pass"
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn a_turn_of_silas_goes_where_its_router_says() {
    let pack = SmallPack::new("silas", 160);
    let run = pack.run(&["turn.md", "-p", "message=When is the office open?"]);
    let Some(route) = run.outputs("route") else {
        // Two answers were no decision.
        assert_eq!(
            (run.did.code, run.state("reply"), run.state("work")),
            (Some(1), Some("skipped"), Some("skipped"))
        );
        with_wf(&pack.place, &["logs", "--last", "excuse"]).exits(0).says("Nothing was done");
        return;
    };
    assert!(is_one_of(&route["route"], &["direct", "planner"]), "{route:#}");
    assert!(
        is_one_of(&route["interaction_register"], &["exploration", "execution", "review", "status"]),
        "{route:#}"
    );
    assert!(
        is_one_of(&route["context_profile"], &["conversation", "coding", "research", "support"]),
        "{route:#}"
    );
    assert_eq!(run.state("excuse"), Some("skipped"));
    if route["route"] == "direct" {
        assert_eq!((run.did.code, run.state("work")), (Some(0), Some("skipped")));
        let response = route["response"].as_str().unwrap_or_default();
        let first = response.lines().next().unwrap_or_default();
        with_wf(&pack.place, &["logs", "--last", "reply"]).exits(0).says(first);
    } else {
        assert_eq!(run.state("reply"), Some("skipped"));
        // A plan that `wf check` accepts is shown to a person; another one ends the turn.
        assert_eq!(run.did.code == Some(5), run.did.all().contains("work/agree"), "{}", run.did.all());
        assert!(!pack.place.at("out/result.md").exists(), "nobody has agreed to anything");
    }
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn a_question_to_sylk_is_classified_within_its_schema_and_answered_with_a_quote_or_not_at_all() {
    let pack = SmallPack::new("sylk", 120);
    let run = pack.run(&["route.md", "-p", "question=What is the strategy against bursts?"]);
    let Some(route) = run.outputs("classify") else {
        assert_eq!(
            (run.did.code, run.state("code"), run.state("history")),
            (Some(1), Some("skipped"), Some("skipped"))
        );
        return;
    };
    let target = route["target"].as_str().unwrap_or_default();
    assert!(["librarian", "archivalist", "academic", "architect"].contains(&target), "{route:#}");
    assert!(route["confidence"].as_f64().is_some_and(|sure| (0.0..=1.0).contains(&sure)), "{route:#}");
    assert_eq!(run.state("code") == Some("skipped"), target != "librarian");
    assert_eq!(run.state("history") == Some("skipped"), target != "archivalist");
    let is_kept = route["method"] == "model" && route["confidence"].as_f64() >= Some(0.8);
    assert_eq!(run.state("keep") == Some("skipped"), !is_kept);
    for answer in records(&run.shown).filter(|record| record["run"]["plan"] == "answer-code") {
        for step in
            answer["steps"].as_array().into_iter().flatten().filter(|step| step["standing"] == "verified")
        {
            let (file, quote) = (&step["outputs"]["file"], &step["outputs"]["quote"]);
            let text = pack.place.read(file.as_str().unwrap_or_default());
            assert!(text.contains(quote.as_str().unwrap_or("?")), "the quote is there: {step:#}");
        }
    }
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for minutes: see docs/agents.md"]
fn a_request_to_artoo_ends_within_its_rounds_and_says_what_was_achieved() {
    let pack = SmallPack::new("artoo", 64);
    let run = pack.run(&["ask.md", "-p", "request=Which text is the longest, and how long is it?"]);
    if let Some(task) = run.outputs("perceive") {
        let id = task["task_id"].as_str().unwrap_or_default();
        assert!(id.starts_with(|first: char| first.is_ascii_lowercase()) && id.len() <= 61, "{task:#}");
        assert!(task["intent"].as_str().is_some_and(|intent| !intent.is_empty()), "{task:#}");
    }
    // The first attempt, and three rounds more at most.
    let rounds = run.shown["rounds"].as_array().map_or(0, Vec::len);
    assert!(rounds <= 4, "{:#}", run.shown["rounds"]);
    let told = with_wf(&pack.place, &["logs", "--last", "tell"]).exits(0).all();
    let answer = pack.place.read("out/answer.md");
    if run.did.code == Some(0) {
        // Only a judge says so: that is plausible, and not verified.
        assert!(!answer.is_empty() && told.contains(answer.trim()), "{told}");
        assert_ne!(run.step("attempt")["standing"], "verified");
    } else {
        assert_ne!(run.state("attempt"), Some("succeeded"));
        assert!(!answer.is_empty() || told.contains("nothing was achieved"), "{told}");
    }
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for minutes: see docs/agents.md"]
fn an_analysis_of_forge_is_stored_only_if_its_judge_accepts_it() {
    let pack = SmallPack::new("forge", 200);
    let run = pack.run(&[
        "sub.md",
        "-p",
        "id=growth",
        "-p",
        "skill=view-validation",
        "-p",
        "objective=Say in one sentence that the View holds.",
    ]);
    let checks: Vec<&Value> = run.shown["checks"].as_array().into_iter().flatten().collect();
    for check in &checks {
        assert!(is_one_of(&check["verdict"]["ruling"], &["pass", "fail", "error"]), "{check:#}");
    }
    let is_accepted =
        checks.iter().rev().find(|check| check["step"] == "analyse").is_some_and(|check| passes(check));
    assert_eq!(run.state("analyse") == Some("succeeded"), is_accepted, "{:#}", run.did.all());
    assert_ne!(run.step("analyse")["standing"], "verified", "a judge makes plausible");
    assert_eq!(pack.place.at("session/results/growth.md").exists(), run.did.code == Some(0) && is_accepted);
    let task: Value =
        serde_json::from_str(&pack.place.read("session/tasks/growth.json")).expect("the task is kept");
    assert_eq!(task["skill"], "view-validation");
}

#[test]
#[ignore = "downloads a model of 127 MB and runs it for a minute: see docs/agents.md"]
fn what_forge_compresses_is_verified_by_counting_its_words() {
    let pack = SmallPack::new("forge", 200);
    let run = pack.run(&["compact.md", "-p", "target=V-001", "-p", "focus=What is the confidence of V-001?"]);
    let is_verified = run.step("compact")["standing"] == "verified";
    assert_eq!(run.did.code == Some(0), is_verified, "{}", run.did.all());
    if is_verified {
        let text = run.shown["run"]["outputs"]["text"].as_str().expect("the plan puts out the text");
        assert!((1..=150).contains(&text.split_whitespace().count()), "{text}");
    }
}
