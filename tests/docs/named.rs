//! Tests that documents name are there.

use std::path::Path;

use crate::tidy::sources;

/// The folders of tests that documents name, by the first word of their names.
const FOLDERS: [(&str, &str); 2] =
    [("goal::tests::", "crates/core/src/goal/tests"), ("goals::", "tests/goals")];

#[test]
fn tests_that_the_document_of_goals_names_are_there() {
    let text = std::fs::read_to_string("docs/goals.md").expect("the document is there");
    let mut found = 0;
    for (prefix, folder) in FOLDERS {
        let files = sources(Path::new(folder));
        for name in text.split('`').filter(|word| word.starts_with(prefix)) {
            let Some((file, test)) = name[prefix.len()..].split_once("::") else {
                continue;
            };
            let wanted = format!("fn {test}(");
            let is_there = files
                .iter()
                .any(|(path, text)| path.ends_with(&format!("/{file}.rs")) && text.contains(&wanted));
            assert!(is_there, "docs/goals.md names {name}");
            found += 1;
        }
    }
    assert!(found > 20, "{found} names are too few to be all");
}
