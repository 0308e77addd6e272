use super::skill::Finding;
use super::{NoText, load, reference, standard};

/// By whose rules a skill is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// Whether wf loads it.
    Load,
    /// What the specification says.
    Spec,
    /// What the published reference validator says.
    Reference,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Load, Self::Spec, Self::Reference];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Spec => "spec",
            Self::Reference => "reference",
        }
    }
}

/// What is judged.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its SKILL.md.
    pub text: Result<&'a str, NoText>,
    /// The name of that file.
    pub file: &'a str,
    /// The name of its folder.
    pub folder: &'a str,
    /// The path as it was given.
    pub shown: &'a str,
}

/// What one profile says about a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// By whose rules.
    pub profile: Profile,
    /// Which rules it breaks; it is valid if there is none.
    pub broken: Vec<Finding>,
    /// What else is to be said.
    pub warnings: Vec<Finding>,
}

impl Verdict {
    /// Whether it breaks no rule.
    pub fn is_valid(&self) -> bool {
        self.broken.is_empty()
    }
}

/// Judges a skill.
pub fn verdict(profile: Profile, subject: &Subject<'_>) -> Verdict {
    let Subject { file, folder, .. } = *subject;
    let (broken, warnings) = match (subject.text, profile) {
        (Err(none), _) => (vec![none.finding(subject.shown)], Vec::new()),
        (Ok(text), Profile::Reference) => (reference(text, folder), Vec::new()),
        (Ok(text), Profile::Spec) => (standard(text, file, folder), Vec::new()),
        (Ok(text), Profile::Load) => match load(text, folder) {
            Ok(skill) => (Vec::new(), skill.warnings),
            Err(broken) => (broken, Vec::new()),
        },
    };
    Verdict {
        profile,
        broken,
        warnings,
    }
}
