//! The rooms of the engine, the machine, the store and the audit log: folders, each of which names only those below it. The
//! compiler does not see this: a file may name all of its crate.

use std::collections::BTreeSet;

use crate::tidy::production;

/// The rooms of the engine, from the top: each may name those below it.
const ENGINE_ROOMS: [&str; 13] = [
    "backend",
    "dispatch",
    "decisions",
    "agent",
    "proof",
    "attempt",
    "nested",
    "files",
    "models",
    "memory",
    "run",
    "session",
    "reuse",
];

/// The files of the engine that name a room above theirs: a nested run has a loop, and a run holds its agents.
const ENGINE_ARROWS_UP: [(&str, &str); 2] = [("nested/running.rs", "dispatch"), ("run/context.rs", "agent")];

/// The rooms of the machine.
const MACHINE_ROOMS: [&str; 8] = ["turn", "tasks", "agents", "gates", "proof", "rounds", "state", "words"];

/// The rooms of the store, from the top. The messages about events, `feed`, are apart: whoever follows them knows no table.
const STORE_ROOMS: [&str; 10] =
    ["maintenance", "tables", "views", "projections", "events", "db", "log", "lease", "files", "feed"];

/// The file of the store that names a room above its own: a reader holds the projections it folded.
const STORE_ARROWS_UP: [(&str, &str); 1] = [("db/reader.rs", "projections")];

/// The rooms of the auditor's crate, from the top.
const AUDIT_ROOMS: [&str; 5] = ["verification", "writer", "log", "stats", "records"];

/// The paths that a `use` tree stands for.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        // After the last comma there is nothing.
        if !tree.trim().is_empty() {
            paths.push(format!("{prefix}{}", tree.trim()));
        }
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let (mut depth, mut begin) = (0, 0);
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            ',' | '}' if depth == 0 => {
                expand(&prefix, &group[begin..at], paths);
                begin = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// The modules directly below `top`, such as `crate`, that a file names, in a `use` or elsewhere.
fn rooms_named(text: &str, top: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let tree = regex::Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").unwrap();
    let path = regex::Regex::new(r"\bcrate(?:::\w+)+").unwrap();
    let mut paths: Vec<String> = path.find_iter(&code).map(|found| found.as_str().to_owned()).collect();
    for found in tree.captures_iter(&code) {
        expand("", &found[1], &mut paths);
    }
    let below = paths.iter().filter_map(|path| path.strip_prefix(top)?.strip_prefix("::"));
    below.filter_map(|path| path.split("::").next()).map(str::to_owned).collect()
}

/// Checks that the rooms of a crate name only those below them, except for the arrows of `up`.
fn check_rooms(name: &str, rooms: &[&str], up: &[(&str, &str)]) {
    let floor = |room: &str| rooms.iter().position(|known| *known == room);
    let (mut wrong, mut found_up) = (Vec::new(), Vec::new());
    for (path, text) in production() {
        let Some(file) = path.strip_prefix(&format!("crates/{name}/src/")) else { continue };
        let Some((room, _)) = file.split_once('/') else { continue };
        let Some(own) = floor(room) else {
            wrong.push(format!("{path}: `{room}` is not in the table of rooms"));
            continue;
        };
        for above in rooms_named(&text, "crate")
            .into_iter()
            .filter(|named| floor(named).is_some_and(|named| named < own))
        {
            match up.iter().find(|arrow| **arrow == (file, above.as_str())) {
                Some(arrow) => found_up.push(*arrow),
                None => wrong.push(format!("{path} names `{above}`, which is above it")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let fewer: Vec<_> = up.iter().filter(|arrow| !found_up.contains(arrow)).collect();
    assert!(fewer.is_empty(), "these need not be named: {fewer:?}");
}

#[test]
fn the_rooms_of_the_engine_name_only_those_below() {
    check_rooms("engine", &ENGINE_ROOMS, &ENGINE_ARROWS_UP);
}

#[test]
fn the_rooms_of_the_machine_name_only_its_state_and_words() {
    let methods = regex::Regex::new(r"(?m)^impl (Machine|Run) \{").unwrap();
    let mut wrong = Vec::new();
    for (path, text) in production() {
        let Some(file) = path.strip_prefix("crates/core/src/machine/") else { continue };
        let Some((room, _)) = file.split_once('/') else { continue };
        if !MACHINE_ROOMS.contains(&room) {
            wrong.push(format!("{path}: `{room}` is not in the list of rooms"));
        }
        let below: &[&str] = match room {
            "turn" => &MACHINE_ROOMS,
            "words" => &[],
            "state" => &["words"],
            _ => &["state", "words"],
        };
        for named in rooms_named(&text, "crate::machine") {
            let named = named.as_str();
            if MACHINE_ROOMS.contains(&named) && named != room && !below.contains(&named) {
                wrong.push(format!("{path} names `{named}`"));
            }
        }
        // A method is called without naming its room.
        for found in methods.captures_iter(&text) {
            let home = if &found[1] == "Machine" { "turn" } else { "state" };
            if room != home {
                wrong.push(format!("{path} has methods of `{}`, which belong to `{home}`", &found[1]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_rooms_of_the_store_name_only_those_below() {
    check_rooms("store", &STORE_ROOMS, &STORE_ARROWS_UP);
}

#[test]
fn the_rooms_of_the_audit_log_name_only_those_below() {
    check_rooms("audit", &AUDIT_ROOMS, &[]);
}

#[test]
fn names_of_rooms_are_found_in_every_form_of_a_use() {
    let text =
        "use crate::{\n    db::{a, b::C},\n    error::E,\n    log,\n};\nuse crate::views::V;\n// crate::no";
    let named: Vec<String> = rooms_named(text, "crate").into_iter().collect();
    assert_eq!(named, ["db", "error", "log", "views"]);
    let text =
        "use crate::{\n    machine::{\n        state::{Run, a},\n        words::B,\n    },\n    json,\n};";
    let named: Vec<String> = rooms_named(text, "crate::machine").into_iter().collect();
    assert_eq!(named, ["state", "words"]);
}
