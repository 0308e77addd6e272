use super::{SylkImport, SylkMistake, import_sylk};
use crate::{InMemoryFiles, check::check, load};

const DAG: &str = r#"{
  "id": "3f2a-Limits", "session_id": "s1", "prompt": "Limit requests.\n# Soon",
  "nodes": [
    {"id": "t1", "agent": "librarian", "prompt": "Find the patterns.",
     "context": {"relevant_files": ["src/"], "reason": "they are unknown"},
     "metadata": {"priority": "high", "timeout_ms": 60000, "retry": {"max": 1, "backoff_ms": 1000}, "file_operations": ["read"]},
     "depends_on": []},
    {"id": "t-2", "agent": "engineer", "prompt": "Write the limiter. \u2028 \"Quoted\"",
     "context": {"upstream_outputs": ["t1"], "constraints": ["Follow the pattern."]},
     "metadata": {"file_operations": ["create", "write"]}, "depends_on": ["t1"]},
    {"id": "t3", "agent": "engineer", "prompt": "Describe it.", "depends_on": ["t1"]}
  ],
  "execution_order": [["t1"], ["t3", "t-2"]],
  "policy": {"max_concurrency": 4, "fail_fast": true, "default_retry": {"max": 2, "backoff_ms": 2000}}
}"#;

fn imported() -> SylkImport {
    import_sylk(DAG).expect("it is a graph")
}

fn mistake(old: &str, new: &str) -> SylkMistake {
    assert!(DAG.contains(old), "{old}");
    import_sylk(&DAG.replace(old, new)).expect_err(new)
}

#[track_caller]
fn refused(old: &str, new: &str, says: &str) {
    let found = mistake(old, new);
    assert_eq!(found.to_string(), says);
    assert!(!found.help.is_empty());
}

#[test]
fn the_files_have_no_mistake() {
    let mut files = InMemoryFiles::default();
    for file in imported().files {
        files.0.insert(file.path, file.text.into_bytes());
    }
    let mut loaded = load(&files, "dag.md");
    check(&mut loaded);
    let found: Vec<String> = loaded.diagnostics.iter().map(|(_, wrong)| format!("{wrong:?}")).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn each_key_becomes_one_of_the_language() {
    let done = imported();
    let paths: Vec<&str> = done.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["dag.md", "tasks/t1.md", "tasks/t_2.md", "tasks/t3.md"]);
    assert_eq!(done.roles, ["engineer", "librarian"]);
    let [dag, first, second, _] = &done.files[..] else { panic!("{paths:?}") };
    for part in [
        "id: n-3f2a-limits\n",
        r#"{"id":"t1","uses":"tasks/t1.md","timeout":"60000ms","retry":{"max":1,"backoff":"1000ms"}}"#,
        r#"{"id":"t_2","uses":"tasks/t_2.md","depends_on":["t1"],"with":{"t1":"{{ steps.t1.outputs.result }}"}}"#,
        r#"execution_order: [["t1"],["t3","t_2"]]"#,
        r#"policy: {"max_concurrency":4,"fail_fast":true,"default_retry":{"max":2,"backoff":"2000ms"}}"#,
        "> Limit requests.\n> # Soon\n",
    ] {
        assert!(dag.text.contains(part), "{part}\n{}", dag.text);
    }
    for part in ["Find the patterns.", "The reason: they are unknown", "- src/"] {
        assert!(first.text.contains(part), "{}", first.text);
    }
    assert!(!first.text.contains("allow:"));
    for part in [r#"allow: {"write":["."]}"#, r#""with":{"t1":"{{ params.t1 }}"}"#, "- Follow the pattern."] {
        assert!(second.text.contains(part), "{}", second.text);
    }
}

#[test]
fn what_has_no_meaning_is_told_and_is_in_the_file() {
    let done = imported();
    assert_eq!(
        done.notes,
        [
            "`id`: `3f2a-Limits` is named `n-3f2a-limits` here",
            "`nodes[1].id`: `t-2` is named `t_2` here",
            "`session_id`: left out; a run has an id of its own",
            "`t1`: `priority: high` is left out; nodes that are ready begin in the order of the file",
            "`t-2`: it may write the whole workspace; narrow `allow` if it needs less",
        ]
    );
    assert!(done.notes.iter().all(|note| done.files[0].text.contains(note)));
}

#[test]
fn a_key_that_is_unknown_missing_or_of_another_type_has_its_place() {
    let found = mistake("\"prompt\": \"Describe it.\"", "\"prompt\": \"Describe it.\", \"model\": \"large\"");
    assert!(found.place.starts_with("line 11, column "), "{found}");
    assert!(found.message.starts_with("unknown field `model`, expected one of `id`, `agent`"), "{found}");
    assert!(mistake("\"timeout_ms\": 60000", "\"timeout_ms\": -1").message.contains("invalid value"));
    assert!(mistake("[\"read\"]", "[\"delete\"]").message.contains("unknown variant `delete`"));
    assert!(mistake("\"id\": \"t3\", ", "").message.contains("missing field `id`"));
    assert_eq!(import_sylk("{").expect_err("it ends").place, "line 1, column 1");
}

#[test]
fn ids_and_dependencies_are_checked() {
    refused("\"id\": \"t3\"", "\"id\": \"t1\"", "nodes[2].id: nodes[0] has the id `t1`, too");
    refused("\"id\": \"t3\"", "\"id\": \"T_2\"", "execution_order[1][0]: no node has the id `t3`");
    refused(
        "\"depends_on\": []",
        "\"depends_on\": [\"t9\"]",
        "nodes[0].depends_on[0]: no node has the id `t9`",
    );
    refused(
        "\"depends_on\": []",
        "\"depends_on\": [\"t1\"]",
        "nodes[0].depends_on: a cycle of dependencies: `t1` → `t1`",
    );
    refused(
        "\"depends_on\": []",
        "\"depends_on\": [\"t-2\"]",
        "nodes[0].depends_on: a cycle of dependencies: `t1` → `t-2` → `t1`",
    );
    refused(
        "\"upstream_outputs\": [\"t1\"]",
        "\"upstream_outputs\": [\"t3\"]",
        "nodes[1].context.upstream_outputs[0]: `t3` is not in `depends_on` of `t-2`",
    );
    refused(
        "[\"src/\"]",
        "[\"../x\"]",
        "nodes[0].context.relevant_files[0]: `../x` is not a path inside the workspace",
    );
    refused("Describe it.", " ", "nodes[2].prompt: the prompt of `t3` is empty");
    let two = DAG.replace("\"t3\"", "\"T_2\"");
    let found = import_sylk(&two).expect_err("both have one name");
    assert_eq!(found.to_string(), "nodes[2].id: `T_2` and `t-2` are both named `t_2` here");
}

#[test]
fn the_first_difference_of_the_order_is_named() {
    const ORDER: &str = "[[\"t1\"], [\"t3\", \"t-2\"]]";
    for (order, says) in [
        (
            "[[\"t1\", \"t3\"], [\"t-2\"]]",
            "execution_order[0][1]: `t3` is in layer 0; by `depends_on` it is in layer 1",
        ),
        (
            "[[\"t1\"], [\"t3\"], [\"t-2\"]]",
            "execution_order[2][0]: `t-2` is in layer 2; by `depends_on` it is in layer 1",
        ),
        ("[[\"t1\"], [\"t3\"]]", "execution_order: `t-2` is missing; by `depends_on` it is in layer 1"),
        ("[[\"t1\"], [\"t3\", \"t-2\", \"t1\"]]", "execution_order[1][2]: `t1` is there twice"),
        ("[[\"t1\"], [\"t3\", \"t-2\"], []]", "execution_order[2]: the layer is empty"),
    ] {
        refused(ORDER, order, says);
    }
}

#[test]
fn what_no_plan_can_say_is_a_mistake_of_its_node() {
    let found = mistake("Write the limiter.", "Write {{ params.t1 }}.");
    assert_eq!(found.place, "nodes[1], `t-2`");
    assert!(found.message.starts_with("its file would not be valid: "), "{found}");
    refused(
        "\"max_concurrency\": 4",
        "\"max_concurrency\": 0",
        "policy.max_concurrency: with no node at a time nothing would begin",
    );
}
