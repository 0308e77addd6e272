//! The tables of what gates detect, which the code decides.

use std::fmt::Write as _;

use wf_core::gate::guardrail::{BRANDS, COUNTRIES, DETECTORS, KEYWORDS, MARKERS, TOKENS};

use super::lists::check;

const PATH: &str = "docs/gates.md";

/// A regular expression in a cell of a table.
fn cell(shape: &str) -> String {
    format!("`{}`", shape.replace('|', "\\|"))
}

#[test]
fn detectors_are_all_listed() {
    let mut list = String::from("| detector | finds | leaves alone |\n|---|---|---|\n");
    for one in DETECTORS {
        let _ = writeln!(list, "| `{}` | {} | {} |", one.name, one.finds, one.exceptions);
    }
    check(PATH, "detectors", &list);
}

#[test]
fn tokens_are_all_listed() {
    let mut list = String::from("| what | looks like | check value |\n|---|---|---|\n");
    for one in TOKENS {
        let checked = if one.has_checksum { "CRC-32" } else { "" };
        let _ = writeln!(list, "| {} | {} | {checked} |", one.description, cell(one.pattern));
    }
    let words: Vec<String> = KEYWORDS.iter().map(|word| format!("`{word}`")).collect();
    let _ = writeln!(list, "\nWords in names of what holds a secret: {}.", words.join(", "));
    check(PATH, "tokens", &list);
}

#[test]
fn cards_and_accounts_are_all_listed() {
    let mut list = String::from("| brand | begins with | digits |\n|---|---|---|\n");
    for brand in BRANDS {
        let starts = brand
            .starts
            .iter()
            .map(|(low, high)| if low == high { low.to_string() } else { format!("{low} to {high}") });
        let lengths = brand.lengths.iter().map(usize::to_string);
        let (starts, lengths): (Vec<_>, Vec<_>) = (starts.collect(), lengths.collect());
        let _ = writeln!(list, "| {} | {} | {} |", brand.name, starts.join(", "), lengths.join(", "));
    }
    check(PATH, "cards", &list);
    let all = COUNTRIES.iter().map(|(name, long)| format!("{name} {long}"));
    let all = all.collect::<Vec<_>>().join(", ");
    check(PATH, "accounts", &format!("Country and length: {all}.\n"));
}

#[test]
fn markers_are_all_listed() {
    let mut list = String::from("| wants | says |\n|---|---|\n");
    for one in MARKERS {
        let _ = writeln!(list, "| {} | {} |", one.intent, cell(one.pattern));
    }
    check(PATH, "markers", &list);
}
