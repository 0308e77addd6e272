//! The house's own rules about its files. The compiler keeps the direction of dependencies between crates;
//! what it cannot see is here.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// The longest a source file may be, in lines.
const LONGEST: usize = 500;

/// Folders with the code of the program.
const CODE: [&str; 2] = ["src", "crates"];

/// Each crate and the crates of ours that it may depend on. The face, `wf`, may use all but the state.
const ARROWS: [(&str, &str); 16] = [
    ("base", ""),
    ("model", "base"),
    ("skill", "base"),
    ("lang", "base model skill"),
    ("core", "base model"),
    ("sign", "base model core"),
    ("store", "base model core"),
    ("exec", "base model skill core"),
    // What runs, and what is stored, it does not know.
    ("gateway", "base model core"),
    ("engine", "base model core sign store exec gateway"),
    // It watches, and can reach nobody: no engine.
    ("audit", "base core sign store"),
    ("report", "base model core sign store"),
    // It executes the commands of the program, and knows nothing of how they work.
    ("mcp", "base"),
    ("app", "base model skill lang core sign store exec gateway engine audit report"),
    // It shows what the use cases return, and knows neither the state nor the engine.
    ("web", "base app"),
    // It drives runs elsewhere, and is no part of the program.
    ("temporal", "base model lang core sign store exec engine report app"),
];

/// Outside crates that only some of ours may use.
const PLACES: [(&str, &str); 16] = [
    ("rusqlite", "store"),
    ("tar", "store exec"),
    ("tokio", "store exec gateway engine app web temporal"),
    ("reqwest", "exec gateway"),
    ("landlock", "exec"),
    ("seccompiler", "exec"),
    ("petgraph", "model"),
    ("minijinja", "model web"),
    ("axum", "web"),
    ("granit-parser", "base"),
    ("pulldown-cmark", "lang"),
    ("ed25519-dalek", "sign"),
    ("ring", "exec sign"),
    ("clap", "temporal"),
    ("object_store", "temporal"),
    ("temporalio-sdk", "temporal"),
];

/// Every Rust file below a folder, with its text.
pub fn sources(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else {
        return found;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).expect("sources are text");
            found.push((path.display().to_string(), text));
        }
    }
    found
}

/// The code of the program apart from its tests.
pub fn production() -> Vec<(String, String)> {
    let all = CODE.iter().flat_map(|folder| sources(Path::new(folder)));
    let own = all.filter(|(path, _)| !path.contains("/tests"));
    own.map(|(path, text)| {
        // Tests beside the code stand at its end.
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        (path, code)
    })
    .collect()
}

/// The dependencies of a crate, those for its tests apart.
fn dependencies(name: &str) -> Vec<String> {
    let path = format!("crates/{name}/Cargo.toml");
    let text = fs::read_to_string(&path).unwrap_or_else(|bad| panic!("{path}: {bad}"));
    let (_, rest) = text.split_once("\n[dependencies]\n").expect("a crate has dependencies");
    let part = rest.split("\n[").next().unwrap_or_default();
    part.lines().filter_map(|line| line.split(['.', ' ']).next()).map(str::to_owned).collect()
}

#[test]
fn arrows_between_crates_go_one_way() {
    let known: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for entry in fs::read_dir("crates").expect("there are crates").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(known.contains(&name.as_str()), "crates/{name} is not in the table of arrows");
    }
    let mut wrong = Vec::new();
    for (name, below) in ARROWS {
        for used in dependencies(name) {
            if let Some(own) = used.strip_prefix("wf-")
                && !below.split(' ').any(|one| one == own)
            {
                wrong.push(format!("wf-{name} must not depend on wf-{own}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn outside_crates_stay_in_their_places() {
    let mut wrong = Vec::new();
    for (name, _) in ARROWS {
        for used in dependencies(name) {
            let place = PLACES.iter().find(|(outside, _)| *outside == used);
            if place.is_some_and(|(_, homes)| !homes.split(' ').any(|home| home == name)) {
                wrong.push(format!("wf-{name} must not use {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_auditor_has_no_way_to_publish() {
    let mut wrong = Vec::new();
    for (path, text) in production().into_iter().filter(|(path, _)| path.starts_with("crates/audit/")) {
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            // A source of what is known is called after the bus, too.
            let source = line.contains("Source::Bus") || line.trim() == "Bus,";
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.into_iter().any(|word| ["Bus", "publish", "Machine"].contains(&word)) && !source {
                wrong.push(format!("{path}:{}: {}", at + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the engine decides by is made from the log. What it reads besides judges itself: answers are signed,
/// what the cache gives is checked, memory advises, and the health of models says when to call one again.
#[test]
fn the_engine_reads_the_log_and_no_table() {
    let mut wrong = Vec::new();
    for (path, text) in production().into_iter().filter(|(path, _)| path.starts_with("crates/engine/src/")) {
        let known = [
            "attempt/cache",
            "backend/carried_state",
            "backend/link",
            "decisions/asking",
            "memory",
            "models/keys",
            "session/state_addition",
        ];
        let known = known.iter().any(|file| path.ends_with(&format!("src/{file}.rs")));
        // What a retry reuses is read by `Reader::from_log`.
        if !known && !path.contains("/reuse/") && text.contains(".reader()") {
            wrong.push(path);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_two_types_share_a_name() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in production() {
        for line in text.lines() {
            let line = line.trim_start();
            let item = line.strip_prefix("pub ").unwrap_or(line);
            let item = item.strip_prefix("pub(super) ").or(item.strip_prefix("pub(crate) ")).unwrap_or(item);
            let named = ["struct ", "enum ", "trait "].iter().find_map(|word| item.strip_prefix(word));
            if let Some(rest) = named {
                let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                // A macro names a type by a variable.
                if !name.is_empty() {
                    homes.entry(name).or_default().push(path.clone());
                }
            }
        }
    }
    let shared: Vec<_> = homes.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    assert!(shared.is_empty(), "{shared:#?}");
}

#[test]
fn a_doc_comment_names_the_thing() {
    let words = ["What", "How", "Whether", "Where", "Who", "Whom", "Whose", "Those", "When", "Why"];
    let mut wrong = Vec::new();
    for (path, text) in production() {
        let mut before = "";
        for (at, line) in text.lines().enumerate() {
            let is_doc =
                |line: &str| line.trim_start().starts_with("///") || line.trim_start().starts_with("//!");
            let first = line.trim_start().trim_start_matches(['/', '!']).split_whitespace().next();
            if is_doc(line) && !is_doc(before) && first.is_some_and(|first| words.contains(&first)) {
                wrong.push(format!("{path}:{}: {}", at + 1, line.trim()));
            }
            before = line;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_public_type_says_what_it_is() {
    // A field, a variant or a method is documented where its name and type leave something open. What is said of the
    // arguments of a command is its help.
    let item = regex::Regex::new(r"^\s*pub (?:struct|enum|trait) \w+").unwrap();
    let mut wrong = Vec::new();
    for (path, text) in production().into_iter().filter(|(path, _)| path.starts_with("crates/")) {
        let mut is_documented = false;
        for (at, line) in text.lines().enumerate() {
            let start = line.trim_start();
            if item.is_match(line) && !is_documented {
                wrong.push(format!("{path}:{}: {start}", at + 1));
            }
            // Attributes stand between a type and its documentation, and some have lines of their own.
            let goes_on =
                start.starts_with(['#', ')', ']']) || !line.ends_with(['{', '}', ';']) && !start.is_empty();
            is_documented = start.starts_with("///") || is_documented && goes_on;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parameters_have_names() {
    let head = regex::Regex::new(r"\bfn \w+(?s:.*?)(\{|;\n)").unwrap();
    // A pattern, and a type.
    let tuple =
        regex::Regex::new(r"[(,]\s*(\([a-z_,&\s]+\)|[a-z_]+)\s*:\s*&?(mut )?\([^()]*,[^()]*\)").unwrap();
    let mut wrong = Vec::new();
    for (path, text) in production() {
        for found in head.find_iter(&text).filter(|found| tuple.is_match(found.as_str())) {
            let line = text[..found.start()].lines().count();
            wrong.push(format!("{path}:{line}: {}", found.as_str().lines().next().unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "a tuple hides parameters:\n{}", wrong.join("\n"));
}

/// The most files of a folder: what a reader can look over.
const SHELF: usize = 20;

#[test]
fn folders_can_be_looked_over() {
    let mut counts = BTreeMap::new();
    for (path, _) in CODE.iter().flat_map(|folder| sources(Path::new(folder))) {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        if !folder.contains("/tests/") && !folder.starts_with("crates/temporal/tests") {
            *counts.entry(folder).or_insert(0) += 1;
        }
    }
    counts.retain(|_, count| *count > SHELF);
    assert!(counts.is_empty(), "give these folders rooms, at most {SHELF} files each: {counts:?}");
}

/// The most files with methods of one type: whoever has read them knows what the type may do. Whatever else reads its state
/// is a function there, or belongs to a type of its own.
const HOMES: usize = 3;

#[test]
fn the_methods_of_a_type_lie_in_few_files() {
    let head =
        regex::Regex::new(r"(?m)^impl(?:<[^>]*>)? (?:\w+::)*(\w+)(?:<[^>]*>)? (?:where[^{]*)?\{").unwrap();
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, code) in production() {
        for found in head.captures_iter(&code) {
            files.entry(found[1].to_owned()).or_default().insert(path.clone());
        }
    }
    files.retain(|_, files| files.len() > HOMES);
    assert!(files.is_empty(), "give these types at most {HOMES} files for their methods: {files:?}");
}

#[test]
fn files_fit_in_a_readers_head() {
    let mut wrong = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        for (path, text) in sources(Path::new(folder)) {
            let lines = text.lines().count();
            if lines > LONGEST {
                wrong.push(format!("{path}: {lines} lines, at most {LONGEST}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn module_roots_hold_only_documentation_and_re_exports() {
    let mut wrong = Vec::new();
    for (path, text) in CODE.iter().flat_map(|folder| sources(Path::new(folder))) {
        if !path.ends_with("mod.rs") && !path.ends_with("lib.rs") {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let item = ["fn ", "struct ", "enum ", "impl ", "trait "];
            let bare = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            if !line.trim_start().starts_with("//") && item.iter().any(|word| bare.starts_with(word)) {
                wrong.push(format!("{path}:{}: {line}", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_says_what_it_is() {
    for (path, text) in CODE.iter().flat_map(|folder| sources(Path::new(folder))) {
        if (path.ends_with("mod.rs") || path.ends_with("lib.rs")) && !path.contains("tests") {
            let lines = text.lines().take_while(|line| line.starts_with("//!")).count();
            assert!(lines >= 2, "{path} does not say what it is and what it keeps");
        }
    }
}

#[test]
fn nothing_is_left_for_later_in_silence() {
    for folder in ["src", "crates", "tests"] {
        for (path, text) in sources(Path::new(folder)) {
            for mark in ["TODO", "FIXME", "XXX", "todo!(", "unimplemented!("] {
                let own = path.ends_with("tidy.rs");
                assert!(own || !text.contains(mark), "{path} has a {mark}");
            }
        }
    }
}

/// What writes to standard output and error: all others go through the guard of `Ui`.
const WRITERS: &[&str] = &[
    "src/ui.rs",
    // Mistakes before there is a `Ui`, through the same guard.
    "src/start.rs",
    // Observers that guard themselves: they draw over what they wrote, or write JSON and annotations.
    "src/execute.rs",
    // They only ask where the streams lead.
    "src/terminal.rs",
    "crates/exec/src/manifest/walk.rs",
    // A request about files is answered to the engine.
    "crates/exec/src/agent_tool/stage.rs",
    // It is another program, started by the engine or by an operator.
    "crates/temporal/src/follower/follow.rs",
    "crates/temporal/src/worker.rs",
    // Whom the supervisor speaks to is the engine.
    "crates/exec/src/supervisor/serve.rs",
];

#[test]
fn few_write_to_the_standard_streams() {
    let is_writer = |text: &str| {
        ["io::stdout()", "io::stderr()", "anstream::print", "anstream::eprint"]
            .iter()
            .any(|word| text.contains(word))
    };
    let found: Vec<String> =
        production().into_iter().filter(|(_, text)| is_writer(text)).map(|(path, _)| path).collect();
    let more: Vec<&String> = found.iter().filter(|path| !WRITERS.contains(&path.as_str())).collect();
    assert!(more.is_empty(), "not through `Ui`: {more:?}");
    let fewer: Vec<&&str> = WRITERS.iter().filter(|own| !found.iter().any(|path| path == *own)).collect();
    assert!(fewer.is_empty(), "these need not be named: {fewer:?}");
}

/// The only code that starts git in the repositories of users.
const GIT: &str = "crates/app/src/git/";

/// The code that starts git in a repository of a run: versions of worktrees.
const GIT_OF_RUNS: &str = "crates/exec/src/worktree/git.rs";

#[test]
fn git_is_started_in_one_place() {
    let starts = |text: &str| ["new(\"git\")", "[\"git\"", "\"git\","].iter().any(|word| text.contains(word));
    // They know the name of the program: what scripts do with it, and where it is.
    let names_it = ["crates/skill/src/inspect/", "src/commands/state/doctor.rs"];
    let found: Vec<String> =
        production().into_iter().filter(|(_, text)| starts(text)).map(|(path, _)| path).collect();
    let other =
        |path: &&String| !names_it.iter().chain([&GIT, &GIT_OF_RUNS]).any(|own| path.starts_with(own));
    let more: Vec<&String> = found.iter().filter(other).collect();
    assert!(more.is_empty(), "git is started by {GIT} alone: {more:?}");
    assert!(found.iter().any(|path| path.starts_with(GIT)), "{GIT} starts nothing");
}
