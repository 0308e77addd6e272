use std::{collections::BTreeMap, fs, path::Path, sync::Mutex};

use crate::{
    Caller, CommandError, Host, LineReader,
    authoring::{AuthoringSettings, PlanAuthor},
};
use wf_base::{diag::CheckedFile, remedy::UserAction};
use wf_core::agent::authoring::{PlanningBudget, PlanningRecord, TaskSpec};
use wf_engine::Cassette;
use wf_store::{PlanningStore, StateFolder};

const CONFIG: &str = "models: {m: {api: scripted, model: replies.yaml}}\nroles: {planner: m}\n";

const TASK: &str =
    r#"{"task_id": "sort_it", "intent": "It is sorted.", "constraints": {"scope": null, "deadline": null}}"#;

/// A person at a terminal who has prepared answers; without any left, the input has ended.
struct Person {
    host: Host,
    lines: Mutex<Vec<&'static str>>,
    questions: Mutex<String>,
}

impl Caller for Person {
    fn host(&self) -> &Host {
        &self.host
    }

    fn action_words(&self, action: &UserAction) -> String {
        format!("{action:?}")
    }

    fn message(&self, _: &str) {}

    fn info(&self, _: &str) {}

    fn diagnostics(&self, _: &[CheckedFile]) {}

    fn message_printer(&self) -> Box<dyn Fn(&str) + Send + Sync> {
        Box::new(|_| {})
    }

    fn is_verbose(&self) -> bool {
        false
    }

    fn is_interactive(&self) -> bool {
        true
    }

    fn ask(&self, question: &str) -> Result<String, CommandError> {
        self.questions.lock().unwrap().push_str(question);
        Ok(self.lines.lock().unwrap().pop().unwrap_or_default().to_owned())
    }

    fn line_reader(&self) -> LineReader {
        Box::new(|| Ok(String::new()))
    }

    fn ask_hidden(&self, _: &str) -> Result<String, CommandError> {
        Ok(String::new())
    }
}

/// A workspace whose perceiver replies with these texts, and a person who answers with these lines, the last one first.
fn person(dir: &Path, replies: &[&str], lines: &[&'static str]) -> Person {
    let replies: Vec<_> = replies.iter().map(|text| serde_json::json!({"text": text})).collect();
    fs::write(dir.join("wf.yaml"), CONFIG).unwrap();
    fs::write(dir.join("replies.yaml"), serde_json::json!([{"replies": replies}]).to_string()).unwrap();
    let host = Host::new(BTreeMap::new(), dir.to_owned()).unwrap();
    Person { host, lines: Mutex::new(lines.to_vec()), questions: Mutex::default() }
}

fn perceive(person: &Person, may_ask: bool, cassette: Option<Cassette>) -> Result<TaskSpec, CommandError> {
    let budget = PlanningBudget::default();
    let settings = AuthoringSettings { skills: Vec::new(), cassette, budget, may_ask };
    PlanAuthor::new(person, Path::new("plan.md"), settings)?.perceive("sort that again")
}

fn record(dir: &Path, number: u32) -> PlanningRecord {
    PlanningStore::new(&StateFolder::new(&dir.join(".wf"))).read(number).unwrap().unwrap()
}

#[test]
fn answers_become_part_of_the_task_and_of_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let asks = [r#"{"questions": ["Which\u001b[2J file?", "When?"]}"#, r#"{"questions": ["How?"]}"#, TASK];
    let caller = person(dir.path(), &asks, &["by name\n", "\n", "notes.txt\n"]);
    let tape = dir.path().join("tape");
    let task = perceive(&caller, true, Some(Cassette::create(&tape).unwrap())).unwrap();
    let answers: Vec<_> =
        task.clarifications.iter().map(|clarification| clarification.answer.as_str()).collect();
    assert_eq!(answers, ["notes.txt", "by name"]);
    let shown = caller.questions.lock().unwrap().clone();
    assert!(shown.contains("When?\n> ") && !shown.contains('\u{1b}'), "{shown}");
    assert_eq!(record(dir.path(), 1).clarifications.len(), 3);
    let repeated = person(dir.path(), &[], &[]);
    let again = perceive(&repeated, true, Some(Cassette::open(&tape).unwrap())).unwrap();
    assert_eq!((again, repeated.questions.lock().unwrap().as_str()), (task, ""));
}

#[test]
fn a_perceiver_asks_twice_at_most_and_nobody_need_answer() {
    let more = r#"{"questions": ["Which?"]}"#;
    for (may_ask, replies, lines, rounds) in [
        (true, &[more, more, TASK][..], &["b\n", "a\n"][..], 2),
        (true, &[more, more, more, TASK], &["b\n", "a\n"], 2),
        // An empty answer, the end of the input, and nobody to ask: it is told so, and asks no more.
        (true, &[more, more, TASK], &["\n"], 1),
        (true, &[more, TASK], &[], 1),
        (false, &[more, TASK], &["a\n"], 1),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let person = person(dir.path(), replies, lines);
        perceive(&person, may_ask, None).unwrap();
        let record = record(dir.path(), 1);
        assert_eq!((record.clarifications.len(), record.calls.len()), (rounds, replies.len()), "{replies:?}");
        assert!(may_ask || person.questions.lock().unwrap().is_empty());
    }
    let dir = tempfile::tempdir().unwrap();
    let person = person(dir.path(), &[more, more, more, more], &["b\n", "a\n"]);
    let refused = perceive(&person, true, None).unwrap_err();
    assert!(refused.message.contains("no more questions may be asked"), "{refused:?}");
}
