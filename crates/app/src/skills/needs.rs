//! The undeclared needs of a skill, and the accepted dangers: both are shown, signed for, and
//! written into the lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    str::FromStr,
};

use crate::{CliExitCode, CommandError, skills::InspectedSkill};
use wf_base::untrusted::{BAD, WARN, paint, untrusted};
use wf_skill::{
    inspect::{InspectionIssue, IssueClass, Rule},
    lock::{LockedFile, LockedSkill, locked_files},
};

/// A rule and a file in which its findings are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedDanger {
    rule: Rule,
    file: String,
}

/// The reason why a text is not a danger to accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDanger {
    #[error("expected RULE:FILE, such as pipe-to-shell:SKILL.md")]
    Form,
    #[error("unknown rule `{0}`")]
    UnknownRule(String),
    /// The skill is unusable as it is.
    #[error("`{0}` cannot be accepted: change the skill")]
    Unusable(String),
}

impl FromStr for AcceptedDanger {
    type Err = BadDanger;

    fn from_str(text: &str) -> Result<Self, BadDanger> {
        let (code, file) = text.split_once(':').ok_or(BadDanger::Form)?;
        let rule = Rule::of(code).ok_or_else(|| BadDanger::UnknownRule(code.to_owned()))?;
        if matches!(rule, Rule::NotLoaded | Rule::NameForm) {
            return Err(BadDanger::Unusable(code.to_owned()));
        }
        Ok(Self { rule, file: file.to_owned() })
    }
}

/// The terms on which a skill is installed: the granted rights, and the accepted dangers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallTerms {
    /// The undeclared needs of its files, by file.
    pub granted: BTreeMap<String, BTreeSet<String>>,
    /// The accepted dangers: by rule, the files as they are.
    pub exceptions: BTreeMap<String, BTreeMap<String, LockedFile>>,
}

impl InstallTerms {
    /// The terms for a skill. Accepting an unknown danger is an error.
    pub fn of(inspected: &InspectedSkill, accepted: &[AcceptedDanger]) -> Result<Self, CommandError> {
        let files = locked_files(&inspected.bundle);
        let mut terms = Self { granted: undeclared_needs(inspected), ..Self::default() };
        for danger in accepted {
            let is_it = |issue: &&InspectionIssue| issue.rule == danger.rule && issue.file == danger.file;
            let issue = inspected.findings_of(IssueClass::Danger).find(is_it);
            let (Some(_), Some(file)) = (issue, files.get(&danger.file)) else {
                let (code, file) = (danger.rule.code(), danger.file.escape_debug());
                let message = format!("nothing to accept: `{code}` finds no danger in {file}");
                return Err(CommandError::new(CliExitCode::Usage, message)
                    .hint("to list the findings, omit --accept"));
            };
            let of = terms.exceptions.entry(danger.rule.code().to_owned());
            of.or_default().insert(danger.file.clone(), *file);
        }
        Ok(terms)
    }

    pub fn locked(locked: &LockedSkill) -> Self {
        Self { granted: locked.granted.clone(), exceptions: locked.exceptions.clone() }
    }

    /// True if a danger is left unaccepted.
    pub fn has_unaccepted_danger(&self, inspected: &InspectedSkill) -> bool {
        let files = locked_files(&inspected.bundle);
        inspected.findings_of(IssueClass::Danger).any(|issue| {
            let of = self.exceptions.get(issue.rule.code());
            let accepted = of.and_then(|of| of.get(&issue.file));
            accepted.is_none() || accepted != files.get(&issue.file)
        })
    }

    /// The question before a skill is installed on these terms.
    pub fn question(&self) -> &'static str {
        match (self.granted.is_empty(), self.exceptions.is_empty()) {
            (true, true) => "Install this skill?",
            (false, true) => "Install this skill, and grant what it needs?",
            (_, false) => "Install this skill, although it is dangerous?",
        }
    }

    /// The terms, line by line.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (file, needs) in &self.granted {
            let needs: Vec<String> = needs.iter().map(|need| untrusted(need).to_string()).collect();
            let what = paint(WARN, "grants:");
            let _ = writeln!(text, "{what} {}: {}", untrusted(file), needs.join(", "));
        }
        for (rule, files) in &self.exceptions {
            for (path, file) in files {
                let what = paint(BAD, "accepts:");
                let digest = file.digest;
                let _ = writeln!(text, "{what} danger[{rule}] in {} {digest}", untrusted(path));
            }
        }
        text
    }
}

/// The undeclared needs of the files of a skill, by file.
fn undeclared_needs(inspected: &InspectedSkill) -> BTreeMap<String, BTreeSet<String>> {
    let mut needs_by_file: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for issue in inspected.findings_of(IssueClass::Need) {
        let need = match (issue.rule, issue.subject.as_str()) {
            (Rule::EnvUndeclared, name) => format!("env {name}"),
            (Rule::NetUndeclared, what) => format!("net {what}"),
            (Rule::PrivatePlace, place) => format!("private {place}"),
            (rule, _) => rule.code().to_owned(),
        };
        needs_by_file.entry(issue.file.clone()).or_default().insert(need);
    }
    needs_by_file
}
