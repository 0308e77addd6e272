use crate::gate::guardrail::{DETECTORS, find};

/// The project's own texts and sources are ordinary: nothing is found in them.
#[test]
fn ordinary_texts_and_sources_are_clean() {
    let all: Vec<String> = DETECTORS.iter().map(|one| one.name.to_owned()).collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut looked = 0;
    let mut wrong = Vec::new();
    for folder in [
        "README.md",
        "CHANGELOG.md",
        "Cargo.lock",
        "docs",
        "src",
        "crates",
        "examples",
        "workflows",
        "schemas",
        "migrations",
    ] {
        for entry in walkdir::WalkDir::new(root.join(folder)).into_iter().flatten() {
            // The tests of secrets contain findings, and so does a pack that shows its gates.
            let path = entry.path().to_string_lossy();
            let tried = ["guardrail", "sign", "redact", "approval", "tests", "keys", "workflows/silas"];
            let own = tried.iter().any(|part| path[root.as_os_str().len()..].contains(part));
            let Ok(text) = std::fs::read_to_string(entry.path()) else {
                continue;
            };
            if own || entry.path().ends_with("docs/gates.md") {
                continue;
            }
            looked += text.len();
            for finding in find(&all, &text) {
                let around = finding.range.start.saturating_sub(20)..(finding.range.end + 20).min(text.len());
                wrong.push(format!(
                    "{}: {} {} {:?}",
                    entry.path().display(),
                    finding.detector,
                    finding.kind,
                    text.get(around)
                ));
            }
        }
    }
    assert!(looked > 1_000_000, "{looked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
