//! Reads the file to which a step writes its outputs.

use serde_json::Value;

use wf_base::{diag::nearest, exact_json};
use wf_model::{JsonObject, RequiredOutput};

use super::{
    output_entry::{OutputEntry, entries},
    usage::is_usage,
};

/// The largest output file to read, in bytes.
pub const MAX_OUTPUT_FILE_BYTES: u64 = 1024 * 1024;

/// The way to write a value of several lines, behind the first line that cannot be read.
const SEVERAL_LINES: &str = " (a value of several lines is written as `key<<END`, its lines, and the line `END`, or as JSON on \
     one line, as `jq -c` and python3 print it; print JSON with `printf '%s\\n'`, since `echo` of sh makes a line end of \\n)";

/// Parses the values of an output file, or returns all errors in it.
///
/// A line is `key=value`, or a JSON object of keys and values; `key<<END` begins a value of several lines, up to the line
/// `END`. A value after a key is parsed as its declaration asks; empty lines are ignored. A key may be repeated only
/// with the same value. [Usage](super::usage) is not an output.
pub fn parse(text: &str, outputs: &[RequiredOutput]) -> Result<JsonObject, Vec<String>> {
    let mut values = JsonObject::new();
    let mut problems = Vec::new();
    let mut unreadable = 0;
    for (number, entry) in entries(text) {
        match pairs(entry, outputs) {
            Ok(pairs) => {
                for (key, value) in pairs {
                    if is_usage(&key, outputs) {
                        continue;
                    }
                    if values.get(&key).is_some_and(|before| *before != value) {
                        problems.push(format!(
                            "output `{key}` is set twice, with another value in line {number}"
                        ));
                    }
                    values.insert(key, value);
                }
            }
            Err(mistake) => {
                let way_out = if unreadable == 0 { SEVERAL_LINES } else { "" };
                problems.push(format!("line {number} of the output file {mistake}{way_out}"));
                unreadable += 1;
            }
        }
    }
    match check(values, outputs) {
        Ok(values) if problems.is_empty() => Ok(values),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// Checks values against their declarations: each declared one is given, none is undeclared.
/// Returns them in the order of the declarations.
pub fn check(mut values: JsonObject, required_outputs: &[RequiredOutput]) -> Result<JsonObject, Vec<String>> {
    let mut outputs = JsonObject::new();
    let mut problems = Vec::new();
    for RequiredOutput { name, schema } in required_outputs {
        match values.shift_remove(name.as_str()) {
            None => problems.push(format!("output `{name}` is missing")),
            Some(value) => match schema.first_mistake(&value) {
                Some(mistake) => problems.push(format!("output `{name}`: {mistake}")),
                None => drop(outputs.insert(name.to_string(), value)),
            },
        }
    }
    for key in values.keys() {
        let names = required_outputs.iter().map(|output| output.name.as_str());
        let meant = nearest(key, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        problems.push(format!("output `{}` is not declared{meant}", shorten(key)));
    }
    if problems.is_empty() { Ok(outputs) } else { Err(problems) }
}

/// The mistake in an entry, as it follows the number of its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum OutputEntryMistake {
    #[error("begins a value of several lines, but no line after it is `{0}`")]
    Unended(String),
    #[error("starts like a JSON object but is not valid JSON")]
    InvalidJson,
    #[error("is neither key=value nor a JSON object")]
    OtherForm,
}

/// Returns the keys and values of an entry.
fn pairs(
    entry: OutputEntry<'_>,
    outputs: &[RequiredOutput],
) -> Result<Vec<(String, Value)>, OutputEntryMistake> {
    let read = |key: &str, text: &str| {
        let output = outputs.iter().find(|output| output.name.as_str() == key);
        let value = output.map_or_else(|| text.into(), |output| output.schema.read(text));
        vec![(key.to_owned(), value)]
    };
    let line = match entry {
        OutputEntry::Line(line) => line,
        OutputEntry::Block { key, value } => return Ok(read(key, &value)),
        OutputEntry::Unended { end } => return Err(OutputEntryMistake::Unended(shorten(end))),
    };
    if line.trim().is_empty() {
        return Ok(Vec::new());
    }
    if line.trim_start().starts_with('{') {
        return exact_json::read::<JsonObject>(line)
            .map(|object| object.into_iter().collect())
            .map_err(|_| OutputEntryMistake::InvalidJson);
    }
    let (key, text) = line.split_once('=').ok_or(OutputEntryMistake::OtherForm)?;
    Ok(read(key, text))
}

fn shorten(key: &str) -> String {
    key.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use wf_base::name::Name;
    use wf_model::{RequiredOutput, ValueSchema};

    fn declared() -> Vec<RequiredOutput> {
        [("rows", json!({ "type": "integer" })), ("path", json!({ "type": "string" }))]
            .map(|(name, schema)| RequiredOutput {
                name: Name::parse(name).unwrap(),
                schema: ValueSchema::new(schema).unwrap(),
            })
            .into()
    }

    fn check(text: &str, expected: Result<Value, &[&str]>) {
        match (parse(text, &declared()), expected) {
            (Ok(given), Ok(expected)) => assert_eq!(Value::Object(given), expected, "{text:?}"),
            (Err(problems), Err(parts)) => {
                assert_eq!(problems.len(), parts.len(), "{text:?}: {problems:?}");
                for (problem, part) in problems.iter().zip(parts) {
                    assert!(problem.contains(part), "{text:?}: {problem} lacks {part}");
                }
            }
            (given, _) => panic!("{text:?}: {given:?}"),
        }
    }

    #[test]
    fn values_are_read_as_declared() {
        let both = json!({ "rows": 3, "path": "a=b " });
        check("rows=3\npath=a=b \n", Ok(both.clone()));
        check("path=a=b \r\n\r\n\nrows=3", Ok(both.clone()));
        check(r#"{"rows":3,"path":"a=b "}"#, Ok(both.clone()));
        check("rows=3\nrows=3\n{\"path\":\"a=b \"}\n", Ok(both));
        check("rows=3\n{\"path\":\"a\\nb\"}", Ok(json!({ "rows": 3, "path": "a\nb" })));
        check("rows=3\npath=12", Ok(json!({ "rows": 3, "path": "12" })));
        check("rows=3\npath=", Ok(json!({ "rows": 3, "path": "" })));
        check("path<<END\na=b\n{\nEND\nrows<<E\n3\nE", Ok(json!({ "rows": 3, "path": "a=b\n{" })));
    }

    #[test]
    fn every_mistake_is_told() {
        check("", Err(&["`rows` is missing", "`path` is missing"]));
        check("rows=three\npath=x", Err(&["output `rows`"]));
        check("rows=1\nrows=2\npath=x", Err(&["set twice, with another value in line 2"]));
        check("rows=1\npath=x\npaht=y", Err(&["`paht` is not declared; did you mean `path`?"]));
        check("rows=1\npath=x\nnonsense", Err(&["line 3 of the output file is neither"]));
        check("rows=1\npath=x\n{\"a\"", Err(&["line 3 of the output file starts like"]));
        check("{\"rows\":\"1\",\"path\":\"x\"}", Err(&["output `rows`"]));
        let way_out = "`key<<END`, its lines, and the line `END`, or as JSON on one line";
        check("rows=1\npath=x\n{\"a\nb", Err(&[way_out, "line 4 of the output file is neither"]));
        check("rows=1\npath=x\nbody<<EOF\na=1", Err(&["no line after it is `EOF`"]));
        check("rows =1\npath=x", Err(&["`rows` is missing", "did you mean `rows`?"]));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(\\PC|[={}\"\\n]){0,80}") {
            let _ = parse(&text, &declared());
        }
    }
}
