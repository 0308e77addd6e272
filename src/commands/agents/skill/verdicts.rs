use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::walk::SkillLocation;
use wf_base::{
    source::SourceText,
    units::plural,
    untrusted::{BAD, BOLD, DIM, GOOD, WARN, paint, untrusted},
};
use wf_report::{ColumnAlign, TextTable};
use wf_skill::{SkillFinding, SkillVerdict, ValidationProfile, ValidationSubject, validate};

/// The verdicts of profiles on skills.
pub struct SkillValidation {
    pub profiles: Vec<ValidationProfile>,
    /// The skills, in the order of their paths.
    pub skills: Vec<SkillVerdicts>,
}

/// A skill and its verdicts by profile.
pub struct SkillVerdicts {
    pub location: SkillLocation,
    /// One verdict for each profile.
    pub verdicts: Vec<SkillVerdict>,
}

impl SkillValidation {
    /// Judges skills by profiles.
    pub fn judge(locations: Vec<SkillLocation>, profiles: Vec<ValidationProfile>) -> Self {
        let judge = |location: SkillLocation| {
            let subject = ValidationSubject {
                text: location.text.as_deref().map_err(|none| *none),
                file: location.file,
                folder: &location.name,
                shown: &location.shown,
            };
            let verdicts = profiles.iter().map(|profile| validate(*profile, &subject)).collect();
            SkillVerdicts { location, verdicts }
        };
        Self { skills: locations.into_iter().map(judge).collect(), profiles }
    }

    /// True if every profile finds every skill valid.
    pub fn is_valid(&self) -> bool {
        self.skills.iter().all(SkillVerdicts::is_valid)
    }

    /// Returns the text: the findings of one skill, or a line per skill, and the sums.
    pub fn text(&self) -> String {
        if let [skill] = self.skills.as_slice() {
            return skill.text();
        }
        let mut columns = vec![("skill", ColumnAlign::Left)];
        columns.extend(self.profiles.iter().map(|profile| (profile.as_str(), ColumnAlign::Left)));
        let mut table = TextTable::new(&columns);
        for skill in &self.skills {
            let first = (skill.location.shown.clone(), BOLD);
            table.row(std::iter::once(first).chain(skill.verdicts.iter().map(cell)).collect());
        }
        let mut text = table.render();
        text.push('\n');
        for profile in &self.profiles {
            let VerdictSums { passed, codes } = self.sums(*profile);
            let mut codes: Vec<(&str, usize)> = codes.into_iter().collect();
            codes.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
            let codes: String = codes.iter().map(|(code, count)| format!(" · {code} {count}")).collect();
            let of = plural(self.skills.len(), "skill");
            text.push_str(&format!("{:<9}  {passed} of {of} pass{codes}\n", profile.as_str()));
        }
        text
    }

    /// Returns the document for programs; see `docs/skills.md`.
    pub fn document(&self) -> Value {
        let (mut pass, mut codes) = (Map::new(), Map::new());
        for profile in &self.profiles {
            let sums = self.sums(*profile);
            pass.insert(profile.as_str().into(), sums.passed.into());
            codes.insert(profile.as_str().into(), json!(sums.codes));
        }
        let skills: Vec<Value> = self.skills.iter().map(SkillVerdicts::json).collect();
        let summary = json!({"skills": skills.len(), "pass": pass, "codes": codes});
        json!({"v": 1, "skills": skills, "summary": summary})
    }

    fn sums(&self, profile: ValidationProfile) -> VerdictSums {
        let verdicts = self.skills.iter().flat_map(|skill| &skill.verdicts);
        let mut sums = VerdictSums::default();
        for verdict in verdicts.filter(|verdict| verdict.profile == profile) {
            sums.passed += usize::from(verdict.is_valid());
            for finding in &verdict.violations {
                *sums.codes.entry(finding.code).or_insert(0) += 1;
            }
        }
        sums
    }
}

/// The number of skills that pass a profile, and of the findings of each code.
#[derive(Default)]
struct VerdictSums {
    passed: usize,
    codes: BTreeMap<&'static str, usize>,
}

impl SkillVerdicts {
    /// True if every profile finds it valid.
    pub fn is_valid(&self) -> bool {
        self.verdicts.iter().all(SkillVerdict::is_valid)
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", paint(BOLD, &self.location.shown));
        for verdict in &self.verdicts {
            let word = match verdict.is_valid() {
                true if verdict.profile == ValidationProfile::Load => paint(GOOD, "loads"),
                true => paint(GOOD, "valid"),
                false => paint(BAD, "broken"),
            };
            text.push_str(&format!("  {:<9}  {word}\n", verdict.profile.as_str()));
            for (style, findings) in [(BAD, &verdict.violations), (WARN, &verdict.warnings)] {
                for finding in findings {
                    text.push_str(&self.line(style, verdict.profile, finding));
                }
            }
        }
        text
    }

    fn line(&self, style: anstyle::Style, profile: ValidationProfile, finding: &SkillFinding) -> String {
        let at = match self.at(profile, finding) {
            Some((line, column)) => format!("  {}:{line}:{column}", self.location.file),
            None => String::new(),
        };
        let code = paint(style, finding.code);
        let mut text = format!("    {code}  {}{}\n", untrusted(&finding.message), paint(DIM, &at));
        if let Some(help) = &finding.help {
            text.push_str(&format!("      {} {}\n", paint(DIM, "="), untrusted(help)));
        }
        text
    }

    /// The position of a finding; the reference validator gives none.
    fn at(&self, profile: ValidationProfile, finding: &SkillFinding) -> Option<(usize, usize)> {
        let text = self.location.text.as_deref().ok()?;
        if profile == ValidationProfile::Reference || finding.span == wf_base::source::Span::default() {
            return None;
        }
        let place = SourceText::new(self.location.file, text).line_column(finding.span.start);
        Some((place.line, place.column))
    }

    fn json(&self) -> Value {
        let finding = |profile: ValidationProfile, finding: &SkillFinding| {
            let at = self.at(profile, finding);
            json!({
                "code": finding.code,
                "message": finding.message,
                "line": at.map(|(line, _)| line),
                "column": at.map(|(_, column)| column),
                "help": finding.help,
            })
        };
        let mut verdicts = Map::new();
        for verdict in &self.verdicts {
            let findings_json = |findings: &[SkillFinding]| -> Vec<Value> {
                findings.iter().map(|skill_finding| finding(verdict.profile, skill_finding)).collect()
            };
            let value = json!({
                "valid": verdict.is_valid(),
                "broken": findings_json(&verdict.violations),
                "warnings": findings_json(&verdict.warnings),
            });
            verdicts.insert(verdict.profile.as_str().into(), value);
        }
        json!({"path": self.location.shown, "folder": self.location.name, "verdicts": verdicts})
    }
}

fn cell(verdict: &SkillVerdict) -> (String, anstyle::Style) {
    let codes = |findings: &[SkillFinding]| {
        let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        codes.dedup();
        codes.join(" ")
    };
    match (verdict.is_valid(), verdict.warnings.is_empty()) {
        (false, _) => (codes(&verdict.violations), BAD),
        (true, true) => ("ok".into(), GOOD),
        (true, false) => (format!("ok, {}", codes(&verdict.warnings)), WARN),
    }
}
