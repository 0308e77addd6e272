use serde_json::Value;

use crate::{
    decode::{
        DecodeSpec, JsonPathText, LowerSpec, MappingFields, OneOrMany, RegexPattern, SpecDecoder,
        WorkspacePath, lowers, record,
    },
    yaml::{YamlNode, YamlValue},
};
use wf_base::{
    diag::{Code, Diagnostic},
    inline_schema,
    source::Spanned,
};
use wf_model::{JsonExpectation, LeastTests, ValueSchema};

record! {
    /// The expected result of a check. Everything given must be met.
    pub struct ExpectationSpec as "an expectation" {
        /// The exit code; 0 if absent.
        optional exit_code: i32,
        /// Standard output, without trailing line ends, is this text.
        optional equals: String,
        /// Standard output contains this text.
        optional contains: String,
        /// Some part of standard output matches this regular expression.
        optional regex: RegexPattern,
        /// Standard output is a number below this one.
        optional output_lt: f64,
        /// Standard output is a number above this one.
        optional output_gt: f64,
        /// These paths, relative to the workspace, are files.
        default file_exists: OneOrMany<Spanned<WorkspacePath>>,
        /// Standard output has more than white space, or has not.
        optional not_empty: bool,
        /// Comparisons of values inside standard output read as JSON.
        default json: OneOrMany<JsonExpectationSpec>,
        /// Standard output, read as JSON, satisfies this JSON Schema.
        optional json_schema: Spanned<ValueSchema>,
        /// A report of tests has enough that passed, and none that failed.
        optional tests: Box<TestExpectationSpec>,
    }
    lowers wf_model::Expectation;
}

record! {
    /// The expected numbers of a report of tests: JUnit XML, TAP, or the JSON of `cargo nextest` or pytest.
    pub struct TestExpectationSpec as "the `tests` of an expectation" {
        /// The file that the check writes, in the folder that `$WF_REPORTS` names: standard output if absent.
        optional report: Spanned<WorkspacePath>,
        /// The least number of tests that pass, or `before`: as many as before the work, and none skipped that was
        /// not skipped then.
        required at_least: LeastTestsText,
    }
    lowers wf_model::TestExpectation;
}

/// The least number of tests that pass.
#[derive(Clone, Copy, Debug)]
pub struct LeastTestsText(pub LeastTests);

impl DecodeSpec for LeastTestsText {
    fn decode(node: &YamlNode<'_>, decoder: &mut SpecDecoder<'_>) -> Option<Self> {
        match &node.value {
            YamlValue::Text(text) if text == "before" => Some(Self(LeastTests::Before)),
            YamlValue::Number(number) => {
                let number = number.as_u64().and_then(|number| u32::try_from(number).ok());
                let Some(number) = number.filter(|number| *number > 0) else {
                    decoder.wrong_value(node, "expected a whole number above 0, or `before`".to_owned());
                    return None;
                };
                Some(Self(LeastTests::Number(number)))
            }
            _ => {
                decoder.wrong_type(node, "a number of tests, or `before`");
                None
            }
        }
    }
}

lowers! { LeastTestsText => LeastTests, |text| text.0; }

inline_schema!(LeastTestsText, "LeastTests", {
    "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "before" }]
});

record! {
    /// A comparison of the values that a JSON path selects.
    pub struct JsonExpectationSpec as "a JSON comparison" {
        /// The JSON path (RFC 9535).
        required path: Spanned<JsonPathText>,
        /// It selects exactly one value, equal to this one.
        optional equals: Value,
        /// It selects exactly one number, below this one.
        optional lt: f64,
        /// It selects exactly one number, above this one.
        optional gt: f64,
        /// It selects something, or nothing.
        optional exists: bool,
        /// It selects this many values.
        optional count: u32,
    }
    finish compares;
}

impl LowerSpec for JsonExpectationSpec {
    type Model = JsonExpectation;

    fn lower(&self) -> JsonExpectation {
        JsonExpectation {
            path: self.path.lower(),
            equals: self.equals.clone(),
            lt: self.lt,
            gt: self.gt,
            exists: self.exists,
            count: self.count.and_then(|count| usize::try_from(count).ok()),
        }
    }
}

/// Notes a comparison without a condition, which would always pass.
fn compares(
    _expectation: &mut JsonExpectationSpec,
    fields: &MappingFields<'_, '_>,
    decoder: &mut SpecDecoder<'_>,
) {
    let others = JsonExpectationSpec::KEYS.iter().filter(|key| **key != "path");
    if others.filter(|key| fields.has(key)).count() == 0 {
        let message = "this comparison has no operator";
        let help = "add `equals`, `lt`, `gt`, `exists` or `count`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.head(), message).with_help(help));
    }
}

impl ExpectationSpec {
    /// True if it checks nothing but files, so nothing need be run.
    pub fn is_files_only(&self) -> bool {
        let output = self.exit_code.is_some()
            || self.equals.is_some()
            || self.contains.is_some()
            || self.regex.is_some()
            || self.output_lt.is_some()
            || self.output_gt.is_some()
            || self.not_empty.is_some()
            || !self.json.0.is_empty()
            || self.json_schema.is_some()
            || self.tests.is_some();
        !output && !self.file_exists.0.is_empty()
    }
}
