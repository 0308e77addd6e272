//! The list of places names what `wf` makes and reads.

use regex::Regex;
use walkdir::WalkDir;

use crate::examples::workshop;

const PATH: &str = "docs/places.md";

#[test]
fn places_name_what_a_run_leaves_in_the_state_folder() {
    let text = std::fs::read_to_string(PATH).expect("there is a document");
    let sandbox = workshop();
    sandbox.wf(&["run", "examples/broken/plan.md"]);
    let entries = std::fs::read_dir(sandbox.path().join(".wf")).expect("there is a state");
    for entry in entries.flatten() {
        let name = entry.file_name().into_string().expect("names are text");
        assert!(text.contains(&format!("`{name}")), "{PATH} lacks .wf/{name}");
    }
}

#[test]
fn places_name_the_variables_that_the_code_reads() {
    let text = std::fs::read_to_string(PATH).expect("there is a document");
    let read = Regex::new(r#"\bvar(?:_os)?\("([A-Z_]+)"\)"#).expect("the pattern is one");
    let files = ["src", "crates"].into_iter().flat_map(WalkDir::new).flatten();
    let sources = files.filter(|file| file.path().extension().is_some_and(|end| end == "rs"));
    let mut found = 0;
    for file in sources {
        let path = file.path().display().to_string();
        if path.contains("tests") {
            continue;
        }
        let source = std::fs::read_to_string(file.path()).expect("sources are text");
        for name in read.captures_iter(&source).filter_map(|found| found.get(1)) {
            let name = name.as_str();
            assert!(text.contains(&format!("`{name}`")), "{PATH} lacks {name}, which {path} reads");
            found += 1;
        }
    }
    assert!(found > 15, "only {found} variables were found");
}
