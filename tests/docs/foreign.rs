//! The keys of other tools that the documents list get the hint that they tell.

use std::collections::BTreeMap;

use wf_lang::{self as lang, InMemoryFiles};

/// What a row of the list says: keys of other tools, the key that does it here, and where.
fn rows() -> Vec<(Vec<String>, String, String)> {
    let text = std::fs::read_to_string("docs/mistakes.md").expect("there is a document");
    let (_, list) = text.split_once("<!-- foreign -->").expect("it has the list");
    let (list, _) = list.split_once("<!-- end of foreign -->").expect("it ends");
    let quoted =
        |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let [keys, own, place] = cells.as_slice() else {
            panic!("a row has three cells: {line}");
        };
        let own = quoted(own).first().cloned().unwrap_or_default();
        (quoted(keys), own, place.trim().to_owned())
    };
    list.lines().filter(|line| line.starts_with("| `")).map(row).collect()
}

#[test]
fn keys_of_other_tools_get_the_hint_that_is_told() {
    let rows = rows();
    assert!(rows.len() > 10, "the list is there");
    for (keys, own, place) in rows {
        for key in keys {
            let (plan, step) = match place.as_str() {
                "a step" => (String::new(), format!(", {key}: x")),
                "a plan" => (format!("{key}: x\n"), String::new()),
                other => panic!("a key stands in a step or a plan, not in {other}"),
            };
            let text =
                format!("---\nkind: plan\nid: a\n{plan}steps:\n  - {{id: a, run: \"true\"{step}}}\n---\n");
            let files = InMemoryFiles(BTreeMap::from([("plan.md".to_owned(), text.into_bytes())]));
            let loaded = lang::load(&files, "plan.md");
            let message = format!("unknown key `{key}` in ");
            let found = loaded.diagnostics.iter().find(|(_, one)| one.message.starts_with(&message));
            let help = found.and_then(|(_, one)| one.help.as_deref()).unwrap_or("");
            let told = if own.is_empty() { !help.is_empty() } else { help.contains(&own) };
            assert!(told && !help.starts_with("valid keys:"), "{place}: `{key}`: {help}");
        }
    }
}
