use super::annotate::level;
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    path::{Component, Path, PathBuf},
};
use wf_base::{
    diag::{CheckedFile, Code, Diagnostic, Severity},
    source::{SourceText, Span},
};

/// The diagnostics of all files as a SARIF 2.1.0 log, for code scanners. `folder` is the one their paths are relative to,
/// from the top of the repository.
pub fn sarif(files: &[CheckedFile], folder: &Path, version: &str) -> String {
    let results: Vec<Value> = files
        .iter()
        .flat_map(|file| file.diagnostics.iter().map(|diagnostic| result(&file.source, folder, diagnostic)))
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "wf", "version": version, "rules": rules() } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
}

fn rules() -> Vec<Value> {
    let rule = |code: &Code| {
        let level = match code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        json!({
            "id": code.as_str(),
            "shortDescription": { "text": code.meaning() },
            "defaultConfiguration": { "level": level },
        })
    };
    Code::ALL.iter().map(rule).collect()
}

fn result(source: &SourceText, folder: &Path, diagnostic: &Diagnostic) -> Value {
    let help = diagnostic.help.as_deref();
    let remedy = help.map(|help| format!("\n{help}")).unwrap_or_default();
    let related: Vec<Value> = diagnostic
        .related
        .iter()
        .map(|label| {
            let mut place = location(source, folder, label.span);
            if let Some(fields) = place.as_object_mut() {
                fields.insert("message".into(), json!({ "text": label.text }));
            }
            place
        })
        .collect();
    json!({
        "ruleId": diagnostic.code.as_str(),
        "level": level(diagnostic),
        "message": { "text": format!("{}{remedy}", diagnostic.message) },
        "locations": [location(source, folder, diagnostic.span)],
        "relatedLocations": related,
    })
}

fn location(source: &SourceText, folder: &Path, span: Span) -> Value {
    let (start, end) = (source.line_column(span.start), source.line_column(span.end));
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&path_from_top(folder, source.path())) },
            "region": {
                "startLine": start.line,
                "startColumn": start.column,
                "endLine": end.line,
                "endColumn": end.column,
            },
        },
    })
}

/// A relative path as a URI reference.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut uri = String::new();
    for byte in path.bytes() {
        if plain(byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Returns a path relative to the top of a repository, as CI systems name files. `folder` is the one the path is relative
/// to, below the top.
pub fn path_from_top(folder: &Path, path: &str) -> String {
    let mut whole = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if whole.file_name().is_some_and(|name| name != "..") => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::{path_from_top, sarif, uri};
    use crate::mistakes::tests::sample;
    use serde_json::Value;
    use std::path::Path;
    use wf_base::diag::Code;

    #[test]
    fn a_scanner_finds_rule_and_place() {
        let log: Value =
            serde_json::from_str(&sarif(&[sample::checked()], std::path::Path::new(""), "1.0")).unwrap();
        let at = |pointer: &str| log.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(at("/runs/0/results/0/ruleId"), "plan/duplicate-id");
        let region = "/runs/0/results/0/locations/0/physicalLocation/region";
        assert_eq!(at(&format!("{region}/startLine")), 5);
        assert_eq!(at(&format!("{region}/endColumn")), 15);
        let rules = at("/runs/0/tool/driver/rules");
        assert_eq!(rules.as_array().map(Vec::len), Some(Code::ALL.len()));
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(uri("plans/ä b.md"), "plans/%C3%A4%20b.md");
    }

    #[test]
    fn a_path_is_that_from_the_top() {
        for (folder, path, expected) in [
            ("", "plans/a.md", "plans/a.md"),
            ("svc", "plans/a.md", "svc/plans/a.md"),
            ("svc/deep", "../a.md", "svc/a.md"),
            ("svc", "../../a.md", "../a.md"),
            ("svc", "/elsewhere/a.md", "/elsewhere/a.md"),
        ] {
            assert_eq!(path_from_top(Path::new(folder), path), expected);
        }
    }
}
