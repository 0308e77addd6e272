//! Rules about what stands between the face and the state: the use cases, whose results every face shows in its own words.

use std::fs;

use crate::tidy::production;

/// What a command reads is a view or the result of a use case, which pages may show, too.
#[test]
fn the_face_does_not_know_the_state() {
    let sources = production().into_iter().filter(|(path, _)| path.starts_with("src/"));
    let wrong: Vec<String> =
        sources.filter(|(_, text)| text.contains("wf_store")).map(|(path, _)| path).collect();
    assert!(wrong.is_empty(), "they name `wf_store`: {wrong:?}");
    let manifest = fs::read_to_string("Cargo.toml").expect("the workspace has a manifest");
    let (_, rest) = manifest.split_once("\n[dependencies]\n").expect("the face has dependencies");
    let own = rest.split("\n[").next().unwrap_or_default();
    assert!(!own.contains("wf-store"), "the face depends on wf-store");
}
