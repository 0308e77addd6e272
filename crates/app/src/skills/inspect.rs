//! Reads a skill and inspects it; executes nothing.

use serde_json::Value;

use super::declarations::{script_declaration, wf_metadata};
use wf_base::digest::Sha256Digest;
use wf_core::gate::guardrail::find;
use wf_lang::ast::SkillExtension;
use wf_skill::{
    ScriptDeclarations, Skill, SkillBundle,
    inspect::{
        DetectorHit, InspectionInput, InspectionIssue, IssueClass, Rule, inspect, report, report_digest,
    },
    load,
};

/// The result of inspecting a skill without executing any of it.
pub struct InspectedSkill {
    /// Its name: that of its folder in the workspace.
    pub name: String,
    /// Its files.
    pub bundle: SkillBundle,
    /// Its `wf` metadata.
    pub metadata: SkillExtension,
    pub declared: ScriptDeclarations,
    /// The findings.
    pub issues: Vec<InspectionIssue>,
    /// The install report.
    pub report: Value,
}

impl InspectedSkill {
    /// The digest of the install report.
    pub fn report_digest(&self) -> Sha256Digest {
        report_digest(&self.report)
    }

    /// True if a finding refuses an install.
    pub fn is_dangerous(&self) -> bool {
        self.findings_of(IssueClass::Danger).next().is_some()
    }

    pub fn findings_of(&self, class: IssueClass) -> impl Iterator<Item = &InspectionIssue> {
        self.issues.iter().filter(move |issue| issue.class == class)
    }
}

/// The name in a skill, if it can be loaded.
pub fn own_name(bundle: &SkillBundle, folder: &str) -> Option<String> {
    let skill = load(bundle.text("SKILL.md")?, folder).ok()?;
    Some(skill.name)
}

/// Reads a skill under this name, and inspects it.
pub fn inspect_skill(name: &str, bundle: SkillBundle) -> InspectedSkill {
    let mut issues = Vec::new();
    let skill = load_skill(name, &bundle, &mut issues);
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let extension = match skill.as_ref().map(|skill| wf_metadata(skill, text)) {
        Some(Ok(extension)) => extension,
        Some(Err(error)) => {
            issues.push(InspectionIssue::new(Rule::NotLoaded, "SKILL.md", 0, error.to_string()));
            SkillExtension::empty()
        }
        None => SkillExtension::empty(),
    };
    let declared = script_declaration(&extension);
    let case =
        InspectionInput { bundle: &bundle, skill: skill.as_ref(), declared: &declared, detect: &detect };
    issues.extend(inspect(&case));
    issues.sort();
    let report = report(name, &case, &issues);
    InspectedSkill { name: name.to_owned(), bundle, metadata: extension, declared, issues, report }
}

fn load_skill(name: &str, bundle: &SkillBundle, issues: &mut Vec<InspectionIssue>) -> Option<Skill> {
    let mut wrong =
        |at, reason: String| issues.push(InspectionIssue::new(Rule::NotLoaded, "SKILL.md", at, reason));
    let Some(text) = bundle.text("SKILL.md") else {
        let is_there = bundle.files.contains_key("SKILL.md");
        wrong(0, if is_there { "it is not UTF-8" } else { "SKILL.md not found" }.to_owned());
        return None;
    };
    match load(text, name) {
        Ok(skill) => {
            if skill.name != name {
                let other = skill.name.escape_debug();
                wrong(0, format!("its name is `{other}`, but its directory is `{}`", name.escape_debug()));
            }
            Some(skill)
        }
        Err(findings) => {
            for finding in findings {
                wrong(finding.span.range().start, finding.message);
            }
            None
        }
    }
}

/// The findings of the detectors of guardrails, as an inspection needs them.
pub fn detect(text: &str) -> Vec<DetectorHit> {
    let detectors = ["secrets", "hidden_unicode", "injection"].map(str::to_owned);
    let findings = find(&detectors, text).into_iter();
    findings
        .map(|finding| DetectorHit {
            detector: finding.detector,
            description: finding.kind,
            range: finding.range,
        })
        .collect()
}
