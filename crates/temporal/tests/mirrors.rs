//! A run on a backend is the run that it would be here: the same events, the same record.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;

use crate::{farm::Farm, programs::Did};

/// What differs between two runs of the same plan here, too.
const OWN: [&str; 25] = [
    // A repository has other files there.
    "entries",
    "at",
    "run",
    "id",
    "token",
    "tokens",
    "nonce",
    "expires",
    "due",
    "duration_ms",
    "manifest",
    "created",
    "started",
    "ended",
    "evidence_digest",
    "idle_ms",
    // What a ledger knows of time.
    "since",
    "until",
    "progress",
    // What memory weighs fades.
    "attention",
    "decision",
    // Distances to the goal take the time into account.
    "omega",
    "l",
    "gradient",
    "rationale",
];

/// Returns a value without what is of one run alone.
fn common(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(key, _)| !OWN.contains(&key.as_str()));
            kept.map(|(key, value)| (key.clone(), common(value))).collect()
        }
        Value::Array(values) => values.iter().map(common).collect(),
        other => other.clone(),
    }
}

/// The events of tasks, by the name of each.
pub type Stories = BTreeMap<String, Vec<Value>>;

/// Reads events from lines of JSON.
fn read(lines: &str) -> impl Iterator<Item = Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Returns the events of each task of each run, and those of the runs, each in their order: what is independent has none,
/// as the child runs of an agent.
pub fn stories(events: impl IntoIterator<Item = Value>) -> Stories {
    let mut stories = Stories::new();
    for event in events {
        let task = ["parents", "step", "item", "child"].map(|key| event[key].to_string()).join(" ");
        stories.entry(task).or_default().push(common(&event));
    }
    stories
}

/// Runs a plan of the workspace on the backend, and in a copy of the workspace here, and compares what is recorded.
/// Returns the exit code of both.
pub fn compare(farm: &Farm, plan: &str) -> Option<i32> {
    let _ = std::fs::remove_dir_all(farm.path("here"));
    copy(&farm.path("space"), &farm.path("here"));
    compare_commands(farm, &["run", "--json", plan])
}

/// Does the same with any command that runs a plan, where both have the state that the workspace has.
pub fn compare_with_state(farm: &Farm, command: &[&str]) -> Option<i32> {
    let _ = std::fs::remove_dir_all(farm.path("here"));
    copy(&farm.path("space"), &farm.path("here"));
    if farm.path("space/.wf").exists() {
        copy(&farm.path("space/.wf"), &farm.path("here/.wf"));
    }
    compare_commands(farm, command)
}

fn compare_commands(farm: &Farm, command: &[&str]) -> Option<i32> {
    let (here, plan) = (farm.path("here"), command.join(" "));
    let there = farm.wf(&[command, &["--on", "farm"]].concat());
    let local = Did::of(&mut farm.command_in(&here, command));
    assert_eq!(there.code, local.code, "{plan}\n{}\n{}", there.all(), local.all());
    let (there_ids, here_ids) = (run_ids(&there.out), run_ids(&local.out));
    let told = stories(read(&named(&there.out, &there_ids)));
    let expected = stories(read(&named(&local.out, &here_ids)));
    assert!(!expected.is_empty(), "{plan}: {}", local.all());
    for (task, events) in &expected {
        let other = told.get(task).cloned().unwrap_or_default();
        for (event, expected) in other.iter().zip(events) {
            assert_eq!(event, expected, "{plan}: task {task}");
        }
        assert_eq!(other.len(), events.len(), "{plan}: task {task}: {other:?}");
    }
    assert_eq!(told.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{plan}");
    let records = |folder: &Path, ids: &BTreeMap<String, String>| {
        let show =
            |run: &String| record(&Did::of(&mut farm.command_in(folder, &["show", run, "--json"])), ids);
        ids.iter().map(|(run, name)| (name.clone(), show(run))).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(records(&farm.path("space"), &there_ids), records(&here, &here_ids), "{plan}");
    there.code
}

/// Returns the ids of the runs whose events were printed, each with the numbers of attempts that lead to it.
fn run_ids(lines: &str) -> BTreeMap<String, String> {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for line in lines.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let id = event["run"].as_str().unwrap();
        if !ids.contains_key(id) {
            let again = ids.values().filter(|name| name.starts_with(&event["parents"].to_string())).count();
            ids.insert(id.to_owned(), format!("{} {again}", event["parents"]));
        }
    }
    ids
}

/// Returns the record of a run.
fn record(shown: &Did, ids: &BTreeMap<String, String>) -> Value {
    assert_eq!(shown.code, Some(0), "{}", shown.all());
    let mut record = common(&serde_json::from_str(&named(&shown.out, ids)).unwrap());
    order(&mut record);
    record
}

/// Returns a text with the names of runs in the place of their ids.
fn named(text: &str, ids: &BTreeMap<String, String>) -> String {
    ids.iter().fold(text.to_owned(), |text, (id, name)| {
        let name = name.replace('"', "'");
        text.replace(id, &name).replace(&id[..8], &name)
    })
}

/// Sorts the lists of a record that are in the order in which independent things happened.
fn order(record: &mut Value) {
    for list in record.as_object_mut().unwrap().values_mut().filter_map(Value::as_array_mut) {
        list.sort_by_key(ToString::to_string);
    }
}

/// Copies the files of a folder, without a state.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in
        std::fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".wf")
    {
        let place = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &place);
        } else {
            std::fs::copy(entry.path(), place).unwrap();
        }
    }
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn what_a_plan_does_there_is_what_it_does_here() {
    let farm = Farm::new(2);
    let plans = [
        ("outputs", 0, OUTPUTS),
        ("fan", 0, FAN),
        ("again", 0, AGAIN),
        ("hopeless", 1, HOPELESS),
        ("rounds", 0, ROUNDS),
        ("cleaned", 1, CLEANED),
    ];
    compare_all(&farm, &plans);
}

/// Compares plans, each with the exit code that it has.
pub fn compare_all(farm: &Farm, plans: &[(&str, i32, &str)]) {
    for (id, _, text) in plans {
        farm.plan(id, text);
    }
    for (id, code, _) in plans {
        assert_eq!(compare(farm, &format!("{id}.md")), Some(*code), "{id}");
    }
}

#[test]
#[ignore = "needs a Temporal server: .ci/real"]
fn examples_do_there_what_they_do_here() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let farm = Farm::new(2);
    copy(&root.join("examples"), &farm.path("space/examples"));
    for (plan, code) in [("examples/self-healing.md", 0), ("examples/correction/plan.md", 0)] {
        assert_eq!(compare(&farm, plan), Some(code), "{plan}");
    }
}

const OUTPUTS: &str = r#"params: {who: {type: string, default: world}}
outputs: {greeting: {value: "{{ steps.make.outputs.text }}", type: string}}
steps:
  - id: make
    run: |
      mkdir -p out/deep
      echo "hello $WF_PARAM_WHO" > out/deep/a.txt
      ln -s deep/a.txt out/link
      printf '#!/bin/sh\necho from a program\n' > out/tool; chmod 755 out/tool
      echo "text=hello" >> "$WF_OUTPUT"
    outputs: {text: {type: string}}
    artifacts: [out/deep/a.txt, out/tool]
    verify:
      - {name: greets, run: cat out/deep/a.txt, expect: {equals: hello world}}
      - {name: executable, run: test -x out/tool}
  - id: use
    depends_on: [make]
    env: {TEXT: "{{ steps.make.outputs.text }}"}
    run: test "$(out/tool)" = "from a program"; cat out/link; rm out/link; test "$TEXT" = hello
  - id: gone
    depends_on: [use]
    run: test ! -e out/link; test -f out/deep/a.txt
verify:
  - {name: all, run: test -x out/tool}"#;

const FAN: &str = r#"policy: {max_parallel: 4}
steps:
  - id: list
    run: echo 'names=["a","b","c","d"]' >> "$WF_OUTPUT"
    outputs: {names: {type: array, items: {type: string}}}
  - id: each
    depends_on: [list]
    for_each: steps.list.outputs.names
    run: echo "size=${#WF_ITEM}" >> "$WF_OUTPUT"; echo "$WF_ITEM" > "$WF_ITEM.txt"
    outputs: {size: {type: integer}}
  - id: all
    depends_on: [each]
    run: cat a.txt b.txt c.txt d.txt"#;

const AGAIN: &str = r#"steps:
  - id: third
    run: echo x >> tries; test "$(wc -l < tries)" -ge 3
    retry: {max: 4, backoff: 10ms}
  - id: careless
    depends_on: [third]
    run: exit 3
    on_error: continue
  - id: after
    depends_on: [third]
    run: test "$(wc -l < tries)" = 3"#;

const HOPELESS: &str = r#"steps:
  - id: wrong
    run: echo 1 > n.txt
    artifacts: [n.txt]
    retry: {max: 2, backoff: 10ms}
    verify: [{name: two, run: cat n.txt, expect: {equals: "2"}}]
  - id: never
    depends_on: [wrong]
    run: "true""#;

const ROUNDS: &str = r"replan: {max_replans: 3, strict: true}
steps:
  - id: fetch
    target: here
    run: exit 7
    alternatives:
      - {id: near, target: there, run: echo got > got.txt}
    artifacts: [got.txt]
    verify: [{name: got, run: cat got.txt, expect: {equals: got}}]";

const CLEANED: &str = r"steps:
  - id: breaks
    run: echo half > half.txt; exit 1
finally:
  - id: clean
    run: rm -f half.txt";
