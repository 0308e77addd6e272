use super::{SkillTextError, load, reference, skill::SkillFinding, standard};
use wf_base::keywords;

keywords! {
    /// The set of rules by which a skill is judged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ValidationProfile {
        /// The rules of wf for loading it.
        Load = "load",
        /// The rules of the specification.
        Spec = "spec",
        /// The rules of the published reference validator.
        Reference = "reference",
    }
}

/// The subject of a verdict.
#[derive(Clone, Copy, Debug)]
pub struct ValidationSubject<'a> {
    /// Its SKILL.md.
    pub text: Result<&'a str, SkillTextError>,
    /// The name of that file.
    pub file: &'a str,
    /// The name of its folder.
    pub folder: &'a str,
    /// The path as it was given.
    pub shown: &'a str,
}

/// The verdict of one profile on a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillVerdict {
    /// The set of rules.
    pub profile: ValidationProfile,
    /// The violations; the skill is valid if there is none.
    pub violations: Vec<SkillFinding>,
    pub warnings: Vec<SkillFinding>,
}

impl SkillVerdict {
    /// True if it breaks no rule.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }
}

/// Judges a skill.
pub fn validate(profile: ValidationProfile, subject: &ValidationSubject<'_>) -> SkillVerdict {
    let ValidationSubject { file, folder, .. } = *subject;
    let (broken, warnings) = match (subject.text, profile) {
        (Err(none), _) => (vec![none.finding(subject.shown)], Vec::new()),
        (Ok(text), ValidationProfile::Reference) => (reference(text, folder), Vec::new()),
        (Ok(text), ValidationProfile::Spec) => (standard(text, file, folder), Vec::new()),
        (Ok(text), ValidationProfile::Load) => match load(text, folder) {
            Ok(skill) => (Vec::new(), skill.warnings),
            Err(broken) => (broken, Vec::new()),
        },
    };
    SkillVerdict { profile, violations: broken, warnings }
}
