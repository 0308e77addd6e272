use std::path::Path;

use super::sarif::path_from_top;
use wf_base::{
    diag::{CheckedFile, Diagnostic, Severity},
    untrusted::untrusted,
};

/// A workflow command of GitHub Actions: a note shown beside the code.
pub fn annotation(level: &str, properties: &[(&str, &str)], message: &str) -> String {
    let properties: Vec<String> =
        properties.iter().map(|(key, value)| format!("{key}={}", escape(value, true))).collect();
    format!("::{level} {}::{}\n", properties.join(","), escape(message, false))
}

/// The diagnostics of all files as annotations. `folder` is the one their paths are relative to, from the top of the
/// repository.
pub fn annotations(files: &[CheckedFile], folder: &Path) -> String {
    let mut text = String::new();
    for file in files {
        for diagnostic in &file.diagnostics {
            text.push_str(&diagnostic_annotation(file, diagnostic, folder));
        }
    }
    text
}

/// The word for a severity, as GitHub and SARIF spell it.
pub(super) fn level(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn diagnostic_annotation(file: &CheckedFile, diagnostic: &Diagnostic, folder: &Path) -> String {
    let start = file.source.line_column(diagnostic.span.start);
    let end = file.source.line_column(diagnostic.span.end);
    let numbers = [start.line, start.column, end.line, end.column].map(|n| n.to_string());
    let [line, column, end_line, end_column] = &numbers;
    let help = diagnostic.help.as_deref();
    let remedy = help.map(|help| format!("\n{help}")).unwrap_or_default();
    annotation(
        level(diagnostic),
        &[
            ("file", &path_from_top(folder, file.source.path())),
            ("line", line),
            ("col", column),
            ("endLine", end_line),
            ("endColumn", end_column),
            ("title", diagnostic.code.as_str()),
        ],
        &format!("{}{remedy}", diagnostic.message),
    )
}

fn escape(text: &str, property: bool) -> String {
    let untrusted_text = untrusted(text);
    let lines: Vec<String> = if property {
        vec![untrusted_text.to_string()]
    } else {
        untrusted_text.lines().map(|line| line.to_string()).collect()
    };
    let text = lines.join("\n").replace('%', "%25").replace('\n', "%0A");
    if property { text.replace(':', "%3A").replace(',', "%2C") } else { text }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::annotations;
    use crate::mistakes::tests::sample;

    #[test]
    fn an_annotation_names_file_and_place() {
        let expected = "::error file=plans/a.md,line=5,col=10,endLine=5,endColumn=15,\
            title=plan/duplicate-id::two steps are called `build`%0Agive one of them another id\n";
        assert_eq!(annotations(&[sample::checked()], Path::new("")), expected);
        let below = annotations(&[sample::checked()], Path::new("svc"));
        assert_eq!(below, expected.replace("file=", "file=svc/"));
    }
}
