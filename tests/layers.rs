//! Modules name only what is below them, and each outside crate stays in its place.

use std::fs;
use std::path::Path;

/// Each module and the modules it may name.
const LAYERS: &[(&str, &str)] = &[
    ("digest", ""),
    ("source", "digest"),
    ("diag", "source"),
    ("name", "digest"),
    ("time", ""),
    ("schedule", "time digest"),
    ("crash", ""),
    ("untrusted", ""),
    ("skill", "source diag name digest"),
    ("expr", "source diag"),
    ("model", "name time schedule digest expr diag"),
    ("graph", "name model"),
    ("spec", "source diag name time schedule digest model expr skill"),
    ("check", "source diag name time model expr graph spec skill"),
    ("config", "source diag name time model spec seal approval skill"),
    ("gate", "name digest time model"),
    ("ggs", "model"),
    ("machine", "name digest time untrusted model expr gate ggs"),
    ("verify", "name digest time model expr machine"),
    ("mask", ""),
    ("memory", "digest time"),
    ("goal", "name time schedule model"),
    ("connection", "name time digest model"),
    ("store", "name digest time crash schedule model gate goal machine memory"),
    ("exec", "diag name digest time crash model expr gate machine mask store untrusted verify skill"),
    ("repeat", "name model expr gate machine store"),
    ("service", "digest time untrusted mask model machine exec"),
    (
        "engine",
        "name digest time crash model expr graph gate ggs machine memory verify mask store exec repeat config bus approval skill",
    ),
    ("seal", "digest"),
    ("approval", "digest time name model machine seal"),
    ("bus", "name digest time gate machine"),
    // It watches, and can reach nobody: no engine, no way to publish.
    ("audit", "name digest time crash model gate machine seal store bus"),
    (
        "report",
        "source diag name digest time schedule model expr graph gate ggs machine goal store repeat engine seal skill untrusted",
    ),
];

/// Each outside crate and the modules that may name it.
const CRATES: &[(&str, &str)] = &[
    ("tokio", "store exec service engine cli"),
    ("rusqlite", "store"),
    ("tar", "store"),
    ("petgraph", "graph"),
    ("minijinja", "expr"),
    ("granit_parser", "spec skill"),
    ("unicode_normalization", "skill"),
    ("unicode_general_category", "skill"),
    ("pulldown_cmark", "spec"),
    ("jsonschema", "model"),
    ("serde_json_path", "model"),
    ("reqwest", "exec"),
    ("rustls", "exec"),
    ("hyper", "service"),
    ("hyper_util", "service"),
    ("hmac", "service"),
    ("ed25519_dalek", "seal"),
    ("base64ct", "seal service"),
    ("pkcs8", "seal"),
    ("keyring", "exec"),
    ("keyring_core", "exec"),
    ("aho_corasick", "mask"),
    ("jiff", "time schedule"),
    ("annotate_snippets", "cli report"),
    ("clap", "cli"),
];

#[test]
fn modules_name_only_what_is_below_them() {
    let mut wrong = Vec::new();
    for (module, below) in LAYERS {
        let below: Vec<&str> = below.split_whitespace().collect();
        for_lines(module, |place, line| {
            for rest in line.split("crate::").skip(1) {
                let named = word(rest);
                let known = LAYERS.iter().any(|(name, _)| *name == named) || named == "cli";
                if known && named != *module && !below.contains(&named.as_str()) {
                    wrong.push(format!("{place}: `{module}` must not know `{named}`"));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn outside_crates_stay_in_their_places() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir("src").expect("there is a src").flatten() {
        let module = entry.file_name().to_string_lossy().into_owned();
        for_lines(&module, |place, line| {
            for (name, homes) in CRATES {
                let named = line.contains(&format!("{name}::")) && !line.contains(&format!("_{name}::"));
                if named && homes.split_whitespace().all(|home| home != module) {
                    wrong.push(format!("{place}: `{name}` belongs in {homes}"));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn for_lines(module: &str, mut see: impl FnMut(&str, &str)) {
    let code = sources(&Path::new("src").join(module));
    for (path, text) in code.into_iter().filter(|(path, _)| !path.contains("tests")) {
        let lines = text.lines().take_while(|line| !line.contains("#[cfg(test)]"));
        for (at, line) in lines.enumerate() {
            if !line.trim_start().starts_with("//") {
                see(&format!("{path}:{}", at + 1), line);
            }
        }
    }
}

/// Every Rust file below a folder.
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

#[test]
fn the_auditor_has_no_way_to_publish() {
    let mut wrong = Vec::new();
    for_lines("audit", |place, line| {
        for word in ["Bus", "publish", "Machine", "engine"] {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            // A source of what is known is called after the bus, too.
            let source = line.contains("Source::Bus") || line.trim() == "Bus,";
            if words.into_iter().any(|found| found == word) && !source {
                wrong.push(format!("{place}: {}", line.trim()));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What the engine decides by is made from the log. What it reads besides judges itself: answers are signed,
/// what the cache gives is checked, and memory advises.
#[test]
fn the_engine_reads_the_log_and_no_table() {
    let mut wrong = Vec::new();
    for_lines("engine", |place, line| {
        let is_known = ["asking", "cache", "memory"]
            .iter()
            .any(|file| place.starts_with(&format!("src/engine/{file}.rs")));
        if line.contains(".reader()") && !is_known {
            wrong.push(format!("{place}: {}", line.trim()));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
