use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::walk::Place;
use crate::report::{Align, BAD, BOLD, DIM, GOOD, Table, WARN, paint, plural};
use crate::skill::{Finding, Profile, Subject, Verdict, verdict};
use crate::source::Source;
use crate::untrusted::untrusted;

/// A skill and what the profiles say about it.
pub struct Judged<'a> {
    /// The skill.
    pub place: &'a Place,
    /// One verdict for each profile that was asked for.
    pub verdicts: Vec<Verdict>,
}

/// Judges a skill by profiles.
pub fn judge<'a>(place: &'a Place, profiles: &[Profile]) -> Judged<'a> {
    let subject = Subject {
        text: place.text.as_deref().map_err(|none| *none),
        file: place.file,
        folder: &place.name,
        shown: &place.shown,
    };
    Judged {
        place,
        verdicts: profiles
            .iter()
            .map(|profile| verdict(*profile, &subject))
            .collect(),
    }
}

impl Judged<'_> {
    /// Whether every profile finds it valid.
    pub fn is_valid(&self) -> bool {
        self.verdicts.iter().all(Verdict::is_valid)
    }

    /// All that is to be said, for a person.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", paint(BOLD, &self.place.shown));
        for verdict in &self.verdicts {
            let word = match verdict.is_valid() {
                true if verdict.profile == Profile::Load => paint(GOOD, "loads"),
                true => paint(GOOD, "valid"),
                false => paint(BAD, "broken"),
            };
            text.push_str(&format!("  {:<9}  {word}\n", verdict.profile.as_str()));
            for (style, findings) in [(BAD, &verdict.broken), (WARN, &verdict.warnings)] {
                for finding in findings {
                    text.push_str(&self.line(style, verdict.profile, finding));
                }
            }
        }
        text
    }

    fn line(&self, style: anstyle::Style, profile: Profile, finding: &Finding) -> String {
        let at = match self.at(profile, finding) {
            Some((line, column)) => format!("  {}:{line}:{column}", self.place.file),
            None => String::new(),
        };
        let code = paint(style, finding.code);
        let mut text = format!(
            "    {code}  {}{}\n",
            untrusted(&finding.message),
            paint(DIM, &at)
        );
        if let Some(help) = &finding.help {
            text.push_str(&format!("      {} {}\n", paint(DIM, "="), untrusted(help)));
        }
        text
    }

    /// Where a finding stands; the reference validator names no places.
    fn at(&self, profile: Profile, finding: &Finding) -> Option<(usize, usize)> {
        let text = self.place.text.as_deref().ok()?;
        if profile == Profile::Reference || finding.span == crate::source::Span::default() {
            return None;
        }
        let place = Source::new(self.place.file, text).place(finding.span.start);
        Some((place.line, place.column))
    }

    fn json(&self) -> Value {
        let finding = |profile: Profile, finding: &Finding| {
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
        for own in &self.verdicts {
            let all = |findings: &[Finding]| -> Vec<Value> {
                findings
                    .iter()
                    .map(|one| finding(own.profile, one))
                    .collect()
            };
            let value = json!({
                "valid": own.is_valid(),
                "broken": all(&own.broken),
                "warnings": all(&own.warnings),
            });
            verdicts.insert(own.profile.as_str().into(), value);
        }
        json!({"path": self.place.shown, "folder": self.place.name, "verdicts": verdicts})
    }
}

/// How many skills pass by which profile, and how often each code was found.
struct Sums {
    passed: usize,
    codes: BTreeMap<&'static str, usize>,
}

fn sums(all: &[Judged<'_>], profile: Profile) -> Sums {
    let own = || {
        all.iter()
            .flat_map(|one| &one.verdicts)
            .filter(|own| own.profile == profile)
    };
    let mut codes = BTreeMap::new();
    for finding in own().flat_map(|own| &own.broken) {
        *codes.entry(finding.code).or_insert(0) += 1;
    }
    let passed = own().filter(|own| own.is_valid()).count();
    Sums { passed, codes }
}

/// One line a skill, and the sums.
pub fn table(all: &[Judged<'_>], profiles: &[Profile]) -> String {
    let mut columns = vec![("skill", Align::Left)];
    columns.extend(
        profiles
            .iter()
            .map(|profile| (profile.as_str(), Align::Left)),
    );
    let mut table = Table::new(&columns);
    for one in all {
        let mut row = vec![(one.place.shown.clone(), BOLD)];
        row.extend(one.verdicts.iter().map(cell));
        table.row(row);
    }
    let mut text = table.render();
    text.push('\n');
    for profile in profiles {
        let Sums { passed, codes } = sums(all, *profile);
        let mut codes: Vec<(&str, usize)> = codes.into_iter().collect();
        codes.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.cmp(b)));
        let codes: Vec<String> = codes
            .iter()
            .map(|(code, count)| format!("{code} {count}"))
            .collect();
        let codes = if codes.is_empty() {
            String::new()
        } else {
            format!(" · {}", codes.join(" · "))
        };
        let of = plural(all.len(), "skill");
        text.push_str(&format!(
            "{:<9}  {passed} of {of} pass{codes}\n",
            profile.as_str()
        ));
    }
    text
}

fn cell(verdict: &Verdict) -> (String, anstyle::Style) {
    let codes = |findings: &[Finding]| {
        let mut codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
        codes.dedup();
        codes.join(" ")
    };
    match (verdict.is_valid(), verdict.warnings.is_empty()) {
        (false, _) => (codes(&verdict.broken), BAD),
        (true, true) => ("ok".into(), GOOD),
        (true, false) => (format!("ok, {}", codes(&verdict.warnings)), WARN),
    }
}

/// Everything for a program; see `docs/skills.md`.
pub fn document(all: &[Judged<'_>], profiles: &[Profile]) -> Value {
    let (mut pass, mut codes) = (Map::new(), Map::new());
    for profile in profiles {
        let sums = sums(all, *profile);
        pass.insert(profile.as_str().into(), sums.passed.into());
        codes.insert(profile.as_str().into(), json!(sums.codes));
    }
    let skills: Vec<Value> = all.iter().map(Judged::json).collect();
    let summary = json!({"skills": all.len(), "pass": pass, "codes": codes});
    json!({"v": 1, "skills": skills, "summary": summary})
}
