//! Lists in documents that the code decides.

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::Value;
use wf_app::CliExitCode;
use wf_base::{
    diag::{Code, Severity},
    keyword::Keyword,
};
use wf_core::verify::{FAILURE_SIGNS, FailureSign, SignPattern};
use wf_model::{EngineFailure, FailureClass};

use crate::support::Sandbox;

/// Compares a generated part of a document, which stands between two comments, with what it
/// should be.
pub(super) fn check(path: &str, name: &str, expected: &str) {
    let text = std::fs::read_to_string(path).expect("the document is there");
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = text.split_once(&open).expect("the part begins");
    let (found, after) = rest.split_once(&close).expect("the part ends");
    if std::env::var_os("WF_UPDATE").is_some() {
        let new = format!("{before}{open}{expected}{close}{after}");
        std::fs::write(path, new).expect("the document can be written");
    } else {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let (old, new) = (lines(found), lines(expected));
        let changed: Vec<_> = new.symmetric_difference(&old).collect();
        assert!(found == expected, "{path}: WF_UPDATE=1 writes it anew: {changed:#?}");
    }
}

#[test]
fn mistakes_are_all_listed() {
    let mut list = String::from("| code | | meaning |\n|---|---|---|\n");
    for code in Code::ALL {
        let severity = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let _ = writeln!(list, "| `{}` | {severity} | {} |", code.as_str(), code.meaning());
    }
    check("docs/mistakes.md", "codes", &list);
}

#[test]
fn signs_of_failure_are_all_listed() {
    let mut list = String::from("| a sign of | what is seen | class |\n|---|---|---|\n");
    for sign in FAILURE_SIGNS {
        let failure_class = match sign.failure_class {
            FailureClass::Logical => "logical",
            FailureClass::Environmental => "environmental",
            FailureClass::Engine => "engine",
            FailureClass::Interrupted => "interrupted",
        };
        let _ = writeln!(list, "| {} | {} | {failure_class} |", sign.meaning, seen(sign));
    }
    check("docs/failure-classes.md", "signs", &list);
}

#[test]
fn failures_of_the_engine_are_all_listed() {
    let mut list = String::from("| cause | what is seen | class | what to do |\n|---|---|---|---|\n");
    for cause in <EngineFailure as Keyword>::ALL {
        let (seen, class, todo) = (cause.meaning(), cause.class(), cause.remedy());
        let _ = writeln!(list, "| {cause} | {seen} | `{class}` | {todo} |");
    }
    check("docs/failure-classes.md", "engine", &list);
}

/// What is seen of a failure, in a few words.
fn seen(sign: &FailureSign) -> String {
    let numbers = |all: &[i32]| all.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
    let lines = |all: &[&str]| {
        let quoted = all.iter().map(|pattern| format!("`{pattern}`"));
        quoted.collect::<Vec<_>>().join(" · ")
    };
    match sign.sign {
        SignPattern::TimedOut => "its `timeout`".into(),
        SignPattern::Signals(all) => {
            format!("signals {}, and exit codes 128 and that", numbers(all))
        }
        SignPattern::Codes(all) => format!("exit codes {}", numbers(all)),
        SignPattern::Reports(all) => format!("in either output: {}", lines(all)),
        SignPattern::Prints(all) => lines(all),
        SignPattern::Rest => "nothing of the above".into(),
    }
}

#[test]
fn operations_are_all_listed() {
    let document = wf_web::openapi();
    let mut list = String::from("| operation | | a key that may |\n|---|---|---|\n");
    for (path, operations) in document["paths"].as_object().expect("there are operations") {
        for (method, operation) in operations.as_object().expect("an address has operations") {
            let path = path.strip_prefix("/api/v1").expect("all are of this version");
            let text = |key: &str| operation[key].as_str().expect("it is described");
            let access = text("description").split('`').nth(1).expect("it says which key it needs");
            let _ =
                writeln!(list, "| `{} {path}` | {} | `{access}` |", method.to_uppercase(), text("summary"));
        }
    }
    check("docs/api.md", "operations", &list);
}

#[test]
fn exit_codes_are_all_listed() {
    let mut list = String::from("| code | meaning |\n|--:|---|\n");
    for exit in CliExitCode::ALL {
        let _ = writeln!(list, "| {} | {} |", exit.code(), exit.meaning());
    }
    check("docs/cli.md", "exits", &list);
}

#[test]
fn commands_are_all_described() {
    let sandbox = Sandbox::new();
    let help = |args: &[&str]| sandbox.wf(args).exits(0).out;
    let all = help(&["--help"]);
    let mut list = format!("```text\n{}```\n", trimmed(&all));
    let mut rest: Vec<String> = commands(&all).into_iter().rev().collect();
    while let Some(command) = rest.pop() {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push("--help");
        let text = trimmed(&help(&words));
        let own = text.split("\nGlobal options:").next().unwrap_or_default();
        let _ = write!(list, "\n### wf {command}\n\n```text\n{}\n```\n", own.trim_end());
        let below = commands(&text).into_iter().rev();
        rest.extend(below.map(|name| format!("{command} {name}")));
    }
    check("docs/cli.md", "commands", &list);
}

/// The names in the list of commands.
fn commands(help: &str) -> Vec<String> {
    crate::support::commands_in(help)
}

fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[test]
fn every_dependency_is_explained() {
    let manifest = std::fs::read_to_string("Cargo.toml").expect("there is a manifest");
    let text = std::fs::read_to_string("docs/dependencies.md").expect("there is a document");
    let part = |name: &str| -> BTreeSet<String> {
        let lines = manifest.lines().skip_while(|line| *line != name).skip(1);
        let own = lines.take_while(|line| !line.starts_with('['));
        own.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned())).collect()
    };
    for name in part("[workspace.dependencies]").iter().filter(|name| !name.starts_with("wf-")) {
        assert!(text.contains(&format!("| `{name}` |")), "docs/dependencies.md lacks {name}");
    }
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let name = line.split('`').nth(1).unwrap_or_default();
        let known = manifest.contains(&format!("\n{name} = "));
        assert!(known || line.contains("not used"), "docs/dependencies.md names {name}");
    }
}

#[test]
fn every_event_and_every_key_of_it_is_described() {
    let schema = Sandbox::new().wf(&["schema", "event"]).exits(0).out;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    words(&schema, &mut names, &mut keys);
    assert!(names.len() > 10 && keys.len() > 30, "the schema has changed its form");
    let text = std::fs::read_to_string("docs/events.md").expect("there is a document");
    for name in names {
        assert!(text.contains(&format!("| `{name}` |")), "docs/events.md lacks {name}");
    }
    for key in keys {
        assert!(text.contains(&format!("`{key}`")), "docs/events.md lacks the key {key}");
    }
}

/// The constants that the key `event` may be, and all keys, anywhere in a schema.
fn words(schema: &Value, names: &mut BTreeSet<String>, keys: &mut BTreeSet<String>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| words(item, names, keys)),
        Value::Object(fields) => {
            let event = schema.pointer("/properties/event/const").and_then(Value::as_str);
            names.extend(event.map(str::to_owned));
            if let Some(Value::Object(properties)) = fields.get("properties") {
                keys.extend(properties.keys().cloned());
            }
            fields.values().for_each(|item| words(item, names, keys));
        }
        _ => {}
    }
}

/// The documents that promise something and name the tests that show it.
const PROMISES: [&str; 3] = ["docs/guarantees.md", "docs/conformance.md", "docs/approvals.md"];

#[test]
fn promises_name_tests_that_exist() {
    for document in PROMISES {
        let text = std::fs::read_to_string(document).expect("there is a document");
        let named = text.split('`').skip(1).step_by(2);
        let mut found = 0;
        for (module, name) in named.filter_map(|word| word.rsplit_once("::")) {
            let path = format!("tests/{}", module.replace("::", "/"));
            let tests = std::fs::read_to_string(format!("{path}.rs"))
                .or_else(|_| std::fs::read_to_string(format!("{path}/mod.rs")))
                .unwrap_or_else(|_| panic!("{document}: there is no {path}.rs"));
            assert!(tests.contains(&format!("fn {name}()")), "{document}: {path} has no test {name}");
            found += 1;
        }
        assert!(found > 5, "{document}: only {found} promises name a test");
    }
}
