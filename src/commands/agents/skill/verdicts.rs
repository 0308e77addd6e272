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

/// A skill and its verdicts by profile.
pub struct SkillVerdicts<'a> {
    /// The skill.
    pub skill: &'a SkillLocation,
    /// One verdict for each requested profile.
    pub verdicts: Vec<SkillVerdict>,
}

/// Judges a skill by profiles.
pub fn judge<'a>(location: &'a SkillLocation, profiles: &[ValidationProfile]) -> SkillVerdicts<'a> {
    let subject = ValidationSubject {
        text: location.text.as_deref().map_err(|none| *none),
        file: location.file,
        folder: &location.name,
        shown: &location.shown,
    };
    SkillVerdicts {
        skill: location,
        verdicts: profiles.iter().map(|profile| validate(*profile, &subject)).collect(),
    }
}

impl SkillVerdicts<'_> {
    /// True if every profile finds it valid.
    pub fn is_valid(&self) -> bool {
        self.verdicts.iter().all(SkillVerdict::is_valid)
    }

    /// The findings as text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", paint(BOLD, &self.skill.shown));
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
            Some((line, column)) => format!("  {}:{line}:{column}", self.skill.file),
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
        let text = self.skill.text.as_deref().ok()?;
        if profile == ValidationProfile::Reference || finding.span == wf_base::source::Span::default() {
            return None;
        }
        let place = SourceText::new(self.skill.file, text).line_column(finding.span.start);
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
        json!({"path": self.skill.shown, "folder": self.skill.name, "verdicts": verdicts})
    }
}

/// The number of skills that pass each profile, and of the findings of each code.
struct VerdictSums {
    passed: usize,
    codes: BTreeMap<&'static str, usize>,
}

fn sums(verdicts: &[SkillVerdicts<'_>], profile: ValidationProfile) -> VerdictSums {
    let own = || {
        verdicts.iter().flat_map(|verdicts| &verdicts.verdicts).filter(|verdict| verdict.profile == profile)
    };
    let mut codes = BTreeMap::new();
    for finding in own().flat_map(|verdict| &verdict.violations) {
        *codes.entry(finding.code).or_insert(0) += 1;
    }
    let passed = own().filter(|verdict| verdict.is_valid()).count();
    VerdictSums { passed, codes }
}

/// One line per skill, and the sums.
pub fn table(verdicts: &[SkillVerdicts<'_>], profiles: &[ValidationProfile]) -> String {
    let mut columns = vec![("skill", ColumnAlign::Left)];
    columns.extend(profiles.iter().map(|profile| (profile.as_str(), ColumnAlign::Left)));
    let mut table = TextTable::new(&columns);
    for of_skill in verdicts {
        let mut row = vec![(of_skill.skill.shown.clone(), BOLD)];
        row.extend(of_skill.verdicts.iter().map(cell));
        table.row(row);
    }
    let mut text = table.render();
    text.push('\n');
    for profile in profiles {
        let VerdictSums { passed, codes } = sums(verdicts, *profile);
        let mut codes: Vec<(&str, usize)> = codes.into_iter().collect();
        codes.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
        let codes: Vec<String> = codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
        let codes = if codes.is_empty() { String::new() } else { format!(" · {}", codes.join(" · ")) };
        let of = plural(verdicts.len(), "skill");
        text.push_str(&format!("{:<9}  {passed} of {of} pass{codes}\n", profile.as_str()));
    }
    text
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

/// The document for programs; see `docs/skills.md`.
pub fn document(verdicts: &[SkillVerdicts<'_>], profiles: &[ValidationProfile]) -> Value {
    let (mut pass, mut codes) = (Map::new(), Map::new());
    for profile in profiles {
        let sums = sums(verdicts, *profile);
        pass.insert(profile.as_str().into(), sums.passed.into());
        codes.insert(profile.as_str().into(), json!(sums.codes));
    }
    let skills: Vec<Value> = verdicts.iter().map(SkillVerdicts::json).collect();
    let summary = json!({"skills": verdicts.len(), "pass": pass, "codes": codes});
    json!({"v": 1, "skills": skills, "summary": summary})
}
