//! The rooms of the store and of the audit log: folders, each of which names only those below it. The compiler does not
//! see this: a file may name all of its crate.

use std::collections::BTreeSet;

use crate::tidy::production;

/// The rooms of the store, from the top. The messages about events, `feed`, are apart: whoever follows them knows no table.
const STORE_ROOMS: [&str; 10] =
    ["maintenance", "tables", "views", "projections", "events", "db", "log", "lease", "files", "feed"];

/// The file of the store that names a room above its own: a reader holds the projections it folded.
const STORE_ARROWS_UP: [(&str, &str); 1] = [("db/reader.rs", "projections")];

/// The rooms of the auditor's crate, from the top.
const AUDIT_ROOMS: [&str; 5] = ["verification", "writer", "log", "stats", "records"];

/// The modules directly below `crate` that a file names, also in one `use` of several.
fn rooms_named(text: &str) -> BTreeSet<String> {
    let name = regex::Regex::new(r"\bcrate::(\w+)").unwrap();
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let mut named: BTreeSet<String> = name.captures_iter(&code).map(|found| found[1].to_owned()).collect();
    for (at, opening) in code.match_indices("crate::{") {
        let (mut depth, mut begins) = (1, true);
        let group = &code[at + opening.len()..];
        for (place, letter) in group.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => begins = true,
                _ if begins && !letter.is_whitespace() => {
                    let end = group[place..].find(|c: char| !c.is_alphanumeric() && c != '_');
                    named.insert(group[place..][..end.unwrap_or_default()].to_owned());
                    begins = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    named
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
        for above in
            rooms_named(&text).into_iter().filter(|named| floor(named).is_some_and(|named| named < own))
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
    let named: Vec<String> = rooms_named(text).into_iter().collect();
    assert_eq!(named, ["db", "error", "log", "views"]);
}
