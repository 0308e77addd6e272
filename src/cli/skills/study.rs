//! Reads a skill and inspects it; executes nothing.

use serde_json::Value;

use super::declared::{declared, own};
use crate::digest::Digest;
use crate::gate::guardrail::find;
use crate::skill::inspect::{Case, Class, Issue, Rule, Seen, inspect, report, report_digest};
use crate::skill::{Bundle, Declared, Skill, load};
use crate::spec::ast::SkillOwn;

/// What is known of a skill without having executed any of it.
pub struct Studied {
    /// Its name: that of its folder in the workspace.
    pub name: String,
    /// Its files.
    pub bundle: Bundle,
    /// What it says to wf.
    pub own: SkillOwn,
    /// What it declares of its scripts.
    pub declared: Declared,
    /// What was found.
    pub issues: Vec<Issue>,
    /// The install report.
    pub report: Value,
}

impl Studied {
    /// The digest of the install report.
    pub fn report_digest(&self) -> Digest {
        report_digest(&self.report)
    }

    /// Whether something was found that refuses an install.
    pub fn is_dangerous(&self) -> bool {
        self.of(Class::Danger).next().is_some()
    }

    /// What was found of a class.
    pub fn of(&self, class: Class) -> impl Iterator<Item = &Issue> {
        self.issues.iter().filter(move |issue| issue.class == class)
    }
}

/// The name that a skill gives itself, if it can be loaded.
pub fn own_name(bundle: &Bundle, folder: &str) -> Option<String> {
    let skill = load(bundle.text("SKILL.md")?, folder).ok()?;
    Some(skill.name)
}

/// Reads a skill that is to be called like this, and inspects it.
pub fn study(name: &str, bundle: Bundle) -> Studied {
    let mut issues = Vec::new();
    let skill = loaded(name, &bundle, &mut issues);
    let text = bundle.text("SKILL.md").unwrap_or_default();
    let own = match skill.as_ref().map(|skill| own(skill, text)) {
        Some(Ok(own)) => own,
        Some(Err(why)) => {
            issues.push(Issue::new(Rule::NotLoaded, "SKILL.md", 0, why));
            SkillOwn::none()
        }
        None => SkillOwn::none(),
    };
    let declared = declared(&own);
    let case = Case {
        bundle: &bundle,
        skill: skill.as_ref(),
        declared: &declared,
        detect: &detect,
    };
    issues.extend(inspect(&case));
    issues.sort();
    let report = report(name, &case, &issues);
    Studied {
        name: name.to_owned(),
        bundle,
        own,
        declared,
        issues,
        report,
    }
}

fn loaded(name: &str, bundle: &Bundle, issues: &mut Vec<Issue>) -> Option<Skill> {
    let mut wrong = |at, why: String| issues.push(Issue::new(Rule::NotLoaded, "SKILL.md", at, why));
    let Some(text) = bundle.text("SKILL.md") else {
        let is_there = bundle.files.contains_key("SKILL.md");
        wrong(
            0,
            if is_there {
                "it is not UTF-8"
            } else {
                "there is no SKILL.md"
            }
            .to_owned(),
        );
        return None;
    };
    match load(text, name) {
        Ok(skill) => {
            if skill.name != name {
                let other = skill.name.escape_debug();
                wrong(
                    0,
                    format!(
                        "it calls itself `{other}`, and its folder is `{}`",
                        name.escape_debug()
                    ),
                );
            }
            Some(skill)
        }
        Err(found) => {
            for one in found {
                wrong(one.span.range().start, one.message);
            }
            None
        }
    }
}

/// What the detectors of guardrails see, as an inspection asks for it.
pub fn detect(text: &str) -> Vec<Seen> {
    let detectors = ["secrets", "hidden_unicode", "injection"].map(str::to_owned);
    let found = find(&detectors, text).into_iter();
    found
        .map(|one| Seen {
            detector: one.detector,
            what: one.what,
            at: one.at,
        })
        .collect()
}
