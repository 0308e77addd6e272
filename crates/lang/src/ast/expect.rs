use serde_json::Value;

use crate::decode::{
    JsonPathText, MappingFields, OneOrMany, RegexPattern, SpecDecoder, WorkspacePath, record,
};
use wf_base::diag::{Code, Diagnostic};
use wf_base::source::Spanned;
use wf_model::ValueSchema;

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
    }
}

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

/// Notes a comparison without a condition, which would always pass.
fn compares(_: &mut JsonExpectationSpec, fields: &MappingFields<'_, '_>, decoder: &mut SpecDecoder<'_>) {
    let others = JsonExpectationSpec::KEYS.iter().filter(|key| **key != "path");
    if others.filter(|key| fields.has(key)).count() == 0 {
        let message = "this comparison has no operator";
        let help = "add `equals`, `lt`, `gt`, `exists` or `count`";
        decoder.emit(Diagnostic::new(Code::KeyMissing, fields.head(), message).with_help(help));
    }
}

impl ExpectationSpec {
    /// True if it checks nothing but files, so that nothing need be run.
    pub fn is_files_only(&self) -> bool {
        let output = self.exit_code.is_some()
            || self.equals.is_some()
            || self.contains.is_some()
            || self.regex.is_some()
            || self.output_lt.is_some()
            || self.output_gt.is_some()
            || self.not_empty.is_some()
            || !self.json.0.is_empty()
            || self.json_schema.is_some();
        !output && !self.file_exists.0.is_empty()
    }
}
