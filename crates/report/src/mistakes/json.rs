use serde::Serialize;

use wf_base::{
    diag::{CheckedFile, Diagnostic, Severity},
    source::{SourceText, Span},
};

/// The version of the document of `wf check --json`. Within a version, keys are only added.
pub const DIAGNOSTICS_VERSION: u32 = 1;

#[derive(Serialize)]
struct DiagnosticsDocument<'a> {
    v: u32,
    files: usize,
    errors: usize,
    warnings: usize,
    diagnostics: Vec<JsonDiagnostic<'a>>,
}

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    code: &'static str,
    severity: &'static str,
    message: &'a str,
    path: &'a str,
    #[serde(flatten)]
    place: JsonPosition,
    #[serde(skip_serializing_if = "str::is_empty")]
    label: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also: Vec<JsonLabel<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonLabel<'a> {
    #[serde(flatten)]
    place: JsonPosition,
    text: &'a str,
}

/// A position: line and column from one, columns in characters; bytes from zero.
#[derive(Serialize)]
struct JsonPosition {
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    bytes: [u32; 2],
}

/// The diagnostics of all files as one JSON document.
pub fn json(files: &[CheckedFile]) -> String {
    let sum = |severity| files.iter().map(|file| file.count(severity)).sum();
    let document = DiagnosticsDocument {
        v: DIAGNOSTICS_VERSION,
        files: files.len(),
        errors: sum(Severity::Error),
        warnings: sum(Severity::Warning),
        diagnostics: files
            .iter()
            .flat_map(|file| file.diagnostics.iter().map(|d| json_diagnostic(&file.source, d)))
            .collect(),
    };
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

fn json_diagnostic<'a>(source: &'a SourceText, diagnostic: &'a Diagnostic) -> JsonDiagnostic<'a> {
    JsonDiagnostic {
        code: diagnostic.code.as_str(),
        severity: super::annotate::level(diagnostic),
        message: &diagnostic.message,
        path: source.path(),
        place: json_position(source, diagnostic.span),
        label: &diagnostic.label,
        also: diagnostic
            .related
            .iter()
            .map(|label| JsonLabel { place: json_position(source, label.span), text: &label.text })
            .collect(),
        help: diagnostic.help.as_deref(),
    }
}

fn json_position(source: &SourceText, span: Span) -> JsonPosition {
    let (start, end) = (source.line_column(span.start), source.line_column(span.end));
    JsonPosition {
        line: start.line,
        column: start.column,
        end_line: end.line,
        end_column: end.column,
        bytes: [span.start, span.end],
    }
}

#[cfg(test)]
mod tests {
    use super::json;
    use crate::mistakes::tests::sample;
    use serde_json::{Value, json as value};

    #[test]
    fn the_document_has_places_as_people_and_programs_count() {
        let document: Value = serde_json::from_str(&json(&[sample::checked()])).unwrap();
        let expected = value!({
            "v": 1, "files": 1, "errors": 1, "warnings": 0,
            "diagnostics": [{
                "code": "plan/duplicate-id",
                "severity": "error",
                "message": "two steps are called `build`",
                "path": "plans/a.md",
                "line": 5, "column": 10, "end_line": 5, "end_column": 15,
                "bytes": [47, 52],
                "label": "the second",
                "also": [{
                    "line": 4, "column": 10, "end_line": 4, "end_column": 15,
                    "bytes": [31, 36],
                    "text": "the first",
                }],
                "help": "give one of them another id",
            }],
        });
        assert_eq!(document, expected);
    }
}
