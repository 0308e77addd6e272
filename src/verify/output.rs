use std::borrow::Cow;

use serde_json::Value;

use super::Found;
use super::text::quoted;
use crate::model::{Class, Expect, JsonExpect, JsonMiss, Once, bounds, is_within};

/// Why an expectation does not hold.
#[derive(Debug)]
pub(super) enum Miss {
    /// It was looked at and is wrong.
    Wrong {
        expected: String,
        found: String,
        class: Class,
    },
    /// It could not be looked at.
    Unknown {
        expected: String,
        found: String,
        class: Class,
    },
}

/// What was looked at and is wrong, which is nobody's fault but the work's.
pub(super) fn wrong(expected: impl Into<String>, found: impl Into<String>) -> Result<(), Miss> {
    Err(Miss::Wrong {
        expected: expected.into(),
        found: found.into(),
        class: Class::Logical,
    })
}

/// Standard output, and whether it is all of it.
struct Output<'a> {
    text: Cow<'a, str>,
    truncated: bool,
}

/// Looks at everything that is expected of standard output.
pub(super) fn all(expect: &Expect, found: &Found<'_>) -> Result<(), Miss> {
    let output = Output {
        text: String::from_utf8_lossy(found.stdout),
        truncated: found.truncated,
    };
    texts(expect, &output)?;
    numbers(expect, &output)?;
    if let Some(wanted) = expect.not_empty {
        not_empty(wanted, &output)?;
    }
    json(expect, &output)
}

impl Output<'_> {
    /// All of it; an output of which only the beginning is known cannot be judged as a whole.
    fn whole(&self, expected: &str) -> Result<&str, Miss> {
        if self.truncated {
            return Err(Miss::Unknown {
                expected: expected.to_owned(),
                found: "more output than is kept for checks".into(),
                class: Class::Logical,
            });
        }
        Ok(&self.text)
    }
}

fn texts(expect: &Expect, output: &Output<'_>) -> Result<(), Miss> {
    let ends = ['\n', '\r'];
    if let Some(text) = &expect.equals {
        let expected = format!("the output {}", quoted(text));
        let found = output.whole(&expected)?.trim_end_matches(ends);
        if found != text.trim_end_matches(ends) {
            return wrong(expected, quoted(found));
        }
    }
    if let Some(part) = &expect.contains
        && !output.text.contains(part.as_str())
    {
        let expected = format!("output with {}", quoted(part));
        return wrong(&expected, quoted(output.whole(&expected)?));
    }
    if let Some(regex) = &expect.regex {
        let expected = format!("output that matches `{}`", regex.as_str());
        // As in Python's `re`, `$` also matches before the line end that closes the output.
        let text = output.whole(&expected)?.trim_end_matches(ends);
        if !regex.is_match(text) {
            return wrong(expected, quoted(text));
        }
    }
    Ok(())
}

fn numbers(expect: &Expect, output: &Output<'_>) -> Result<(), Miss> {
    if expect.output_lt.is_none() && expect.output_gt.is_none() {
        return Ok(());
    }
    let expected = bounds("a number", expect.output_gt, expect.output_lt);
    let text = output.whole(&expected)?.trim();
    match text.parse::<f64>() {
        Ok(number) if is_within(number, expect.output_gt, expect.output_lt) => Ok(()),
        _ => wrong(expected, quoted(text)),
    }
}

fn not_empty(wanted: bool, output: &Output<'_>) -> Result<(), Miss> {
    let expected = if wanted { "some output" } else { "no output" };
    let has_text = !output.text.trim().is_empty();
    if has_text == wanted && (wanted || output.whole(expected).is_ok()) {
        return Ok(());
    }
    if !has_text {
        output.whole(expected)?;
    }
    wrong(expected, quoted(&output.text))
}

fn json(expect: &Expect, output: &Output<'_>) -> Result<(), Miss> {
    if expect.json.is_empty() && expect.json_schema.is_none() {
        return Ok(());
    }
    let expected = "the output is JSON";
    let text = output.whole(expected)?;
    let value = match serde_json::from_str(text) {
        Ok(Once(value)) => value,
        Err(error) => return wrong(expected, format!("{error}: {}", quoted(text))),
    };
    for each in &expect.json {
        at_path(each, &value)?;
    }
    match expect
        .json_schema
        .as_ref()
        .and_then(|schema| schema.mistake(&value))
    {
        Some(mistake) => wrong("the output satisfies the JSON schema", mistake),
        None => Ok(()),
    }
}

fn at_path(expect: &JsonExpect, value: &Value) -> Result<(), Miss> {
    match expect.miss(value, quoted) {
        None => Ok(()),
        Some(JsonMiss {
            expected,
            found,
            is_bad: true,
        }) => Err(Miss::Unknown {
            expected,
            found,
            class: Class::Logical,
        }),
        Some(miss) => wrong(miss.expected, miss.found),
    }
}
