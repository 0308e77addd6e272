use serde_json::{Value, json};

use super::{InspectionInput, InspectionIssue, IssueRecord, private_content};
use wf_base::digest::Sha256Digest;

/// The version of the rules and of the form of a report. It is increased by any change that could
/// give the same bytes another report.
pub const REPORT_VERSION: u32 = 4;

/// Returns the install report of a skill: its identity, the permissions of its scripts, the
/// findings. The same bytes give the same report, on every machine.
pub fn report(name: &str, input: &InspectionInput<'_>, issues: &[InspectionIssue]) -> Value {
    let files = input.bundle.files.iter().map(|(path, file)| {
        json!({
            "path": path,
            "bytes": file.bytes.len(),
            "sha256": Sha256Digest::of_bytes(&file.bytes).to_string(),
            "executable": file.is_executable,
        })
    });
    let scripts = input.declared.scripts.iter().map(|(path, script)| {
        let private = script.read.iter().filter_map(|path| {
            let (_, holds) = private_content(path)?;
            Some(json!({ "path": path, "holds": holds }))
        });
        json!({
            "path": path,
            "read": script.read,
            "write": script.write,
            "exec": script.exec,
            "net": script.net,
            "env": script.env,
            "private": private.collect::<Vec<_>>(),
            "dry_run": script.is_tried,
        })
    });
    let findings = issues.iter().map(|issue| {
        let text = input.bundle.text(&issue.file).unwrap_or_default();
        json!(IssueRecord::from_issue(issue, text))
    });
    json!({
        "version": REPORT_VERSION,
        "skill": name,
        "scripts": scripts.collect::<Vec<_>>(),
        "description": input.skill.map(|skill| skill.description.clone()),
        "bundle": input.bundle.digest().to_string(),
        "files": files.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(),
    })
}

/// Formats a report as it is digested and shown: JSON with two spaces, and a line end.
pub fn report_text(report: &Value) -> String {
    let text = serde_json::to_string_pretty(report).unwrap_or_default();
    text + "\n"
}

/// Returns the digest of a report, which is signed with the skill.
pub fn report_digest(report: &Value) -> Sha256Digest {
    Sha256Digest::of_bytes(report_text(report).as_bytes())
}
